//===- ThisModule.h - Where this code lies ----------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_SUPPORT_THISMODULE_H
#define DIVISI_SUPPORT_THISMODULE_H

#include <string>

namespace divisi {

/// The path of the program that this process runs; empty if the system does not
/// say.
std::string thisProgram();

/// The path of the file with this code, without links: the program, or a shared
/// library that it has loaded; empty if the system does not say.
std::string thisModule();

} // namespace divisi

#endif // DIVISI_SUPPORT_THISMODULE_H
