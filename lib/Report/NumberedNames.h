//===- NumberedNames.h - Names that differ in numbers -----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_REPORT_NUMBEREDNAMES_H
#define DIVISI_LIB_REPORT_NUMBEREDNAMES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace divisi {

/// `name` with # for each of its numbers: `h.#.attn`.
std::string withoutNumbers(llvm::StringRef name);

/// One text for `names`, which are equal without their numbers: `h.0-3,5`; if
/// several numbers differ, all combinations as `h.0-1.experts.0-7`, or one text
/// for each value of the first ones.
std::string nameAll(llvm::ArrayRef<std::string> names);

} // namespace divisi

#endif // DIVISI_LIB_REPORT_NUMBEREDNAMES_H
