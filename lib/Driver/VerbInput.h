//===- VerbInput.h - What a verb got ----------------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_DRIVER_VERBINPUT_H
#define DIVISI_LIB_DRIVER_VERBINPUT_H

#include "ActsOn.h"
#include "divisi/Compiler/GivenInput.h"

#include "llvm/Support/CommandLine.h"

#include <vector>

namespace divisi {

/// An input with the options of the verb that reads it.
class VerbInput : public GivenInput {
public:
  using GivenInput::GivenInput; ///< Of what the verb was given.

  /// Honours `option`, whatever it acts on.
  void honour(const llvm::cl::Option &option) { also_.push_back(&option); }

  /// ExitCode::Usage for the options of `verb` that were given and act on what
  /// is decided. `replan`: its plan is dropped before.
  Status check(llvm::cl::SubCommand &verb, bool replan) const;

private:
  std::vector<const llvm::cl::Option *> also_;
};

} // namespace divisi

#endif // DIVISI_LIB_DRIVER_VERBINPUT_H
