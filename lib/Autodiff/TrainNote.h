//===- TrainNote.h - What a module says of its training ---------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_AUTODIFF_TRAINNOTE_H
#define DIVISI_LIB_AUTODIFF_TRAINNOTE_H

#include "divisi/Autodiff/Training.h"

namespace divisi {

/// Notes on `module` what its step shall be; notedTraining() reads it.
void noteTraining(mlir::ModuleOp module, const TrainOptions &options);

/// Takes the note away: the step is made.
void dropTrainingNote(mlir::ModuleOp module);

} // namespace divisi

#endif // DIVISI_LIB_AUTODIFF_TRAINNOTE_H
