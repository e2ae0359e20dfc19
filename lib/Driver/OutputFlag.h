//===- OutputFlag.h - Where a verb writes what it answers -------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_DRIVER_OUTPUTFLAG_H
#define DIVISI_LIB_DRIVER_OUTPUTFLAG_H

#include "ActsOn.h"

#include "llvm/Support/CommandLine.h"

#include <string>

namespace divisi {

/// -o, and --output, which is the same.
class OutputFlag : public llvm::cl::opt<std::string> {
public:
  /// Adds both to `verb`; `value` is its value_desc.
  OutputFlag(llvm::cl::SubCommand &verb, llvm::StringLiteral value,
             const llvm::cl::desc &help)
      : opt("o", llvm::cl::sub(verb), on(ActsOn::Answer),
            llvm::cl::value_desc(value), help),
        longName_("output", llvm::cl::aliasopt(*this), llvm::cl::NotHidden,
                  llvm::cl::value_desc(value),
                  llvm::cl::desc("the same as -o")) {}

private:
  llvm::cl::alias longName_;
};

} // namespace divisi

#endif // DIVISI_LIB_DRIVER_OUTPUTFLAG_H
