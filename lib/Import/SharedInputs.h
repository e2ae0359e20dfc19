//===- SharedInputs.h - Inputs without a batch ------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The names of open dims tell the batch: it is the name that dim 0 of an input
// has, and no other dim of any.
//
//   ids        [batch, tokens]      has a batch
//   mask       [tokens, tokens]     is shared: dim 0 is called as others are
//   positions  [1, tokens]          is shared: dim 0 is 1, whatever the batch
//   table      [16, 4]              is shared, unless the batch is 16
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_IMPORT_SHAREDINPUTS_H
#define DIVISI_LIB_IMPORT_SHAREDINPUTS_H

#include "InputShapes.h"

namespace divisi {

/// Sets InputShape::isShared of `inputs`, which are those of `graph`: of those
/// that `options` name, else as the names of dims tell. Where no name is that
/// of the batch alone, none is shared. ExitCode::Usage for names that are no
/// inputs of a run.
Status markShared(const OnnxGraph &graph, const ImportOptions &options,
                  std::vector<InputShape> &inputs);

} // namespace divisi

#endif // DIVISI_LIB_IMPORT_SHAREDINPUTS_H
