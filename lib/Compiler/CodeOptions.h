//===- CodeOptions.h - For which machines code is made ----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_COMPILER_CODEOPTIONS_H
#define DIVISI_LIB_COMPILER_CODEOPTIONS_H

#include "divisi/Compiler/Options.h"

namespace divisi {

/// CompileOptions::nativeLevel for GivenOptions::native and targetCpu.
/// ExitCode::Usage for another value of one of them.
Expected<std::string> nativeLevelOf(const GivenOptions &given);

/// Sets CompileOptions::device or deviceOf by GivenOptions::gpu, cubins and
/// collectives. ExitCode::Usage for another value of one of them.
Status addDevice(const GivenOptions &given, CompileOptions &options);

} // namespace divisi

#endif // DIVISI_LIB_COMPILER_CODEOPTIONS_H
