//===- ModuleText.h - What MLIR's parser may be given -----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MLIR's parser trusts its text: it recurses for every bracket, and an alias
// that names another twice, forty times over, stands for more than any memory
// holds when it is printed:
//
//   #a1 = [#a0, #a0]
//   #a2 = [#a1, #a1]
//   …
//
// So a text from a file is scanned first. The scan knows tokens, brackets and
// aliases alone. Where it cannot tell, it takes text to be deeper than it is.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_COMPILER_MODULETEXT_H
#define DIVISI_COMPILER_MODULETEXT_H

#include "divisi/Support/Status.h"

#include "llvm/ADT/StringRef.h"

#include <string>

namespace divisi {

/// How deep brackets may be nested, with the aliases that stand in them. A
/// literal of the highest rank takes 64, and regions few.
inline constexpr int kMostTextDepth = 256;

/// Whether MLIR's parser can be given `text`, the content of `name`; else
/// ExitCode::Invalid with line and column. Refused are what is nested too
/// deeply, or by aliases grows too large; and forms that no module of Divisi
/// has and that crash the parser: affine maps, and arrays of anything but
/// integers and floats of a named width.
Status checkModuleText(llvm::StringRef text, const std::string &name);

} // namespace divisi

#endif // DIVISI_COMPILER_MODULETEXT_H
