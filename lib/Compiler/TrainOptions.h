//===- TrainOptions.h - Options of training as given ------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_COMPILER_TRAINOPTIONS_H
#define DIVISI_LIB_COMPILER_TRAINOPTIONS_H

#include "divisi/Compiler/Options.h"

namespace divisi {

/// Sets `options` to what `given` asks for, if it does; a step then takes the
/// micro-batches that a call was to take. ExitCode::Usage for
/// values that an option does not take, and for options without use.
Status addTraining(const GivenOptions &given, CompileOptions &options);

} // namespace divisi

#endif // DIVISI_LIB_COMPILER_TRAINOPTIONS_H
