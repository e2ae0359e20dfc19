//===- Version.h - The version of Divisi ------------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_SUPPORT_VERSION_H
#define DIVISI_SUPPORT_VERSION_H

#include <string_view>

namespace divisi {

/// `0.1.0`: the project's version in CMakeLists.txt.
std::string_view version();

} // namespace divisi

#endif // DIVISI_SUPPORT_VERSION_H
