//===- SequenceInputs.h - Sequences that a model takes ----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_IMPORT_SEQUENCEINPUTS_H
#define DIVISI_LIB_IMPORT_SEQUENCEINPUTS_H

#include "OnnxModel.h"
#include "divisi/Import/Import.h"

namespace divisi {

/// `x[2]`: how tensor 2 of the sequence `x` is called where it is an input or
/// an output of the program.
std::string elementName(const std::string &sequence, size_t index);

/// Makes the tensors of each sequence that the model takes inputs in its place,
/// of which a node makes the sequence:
///
///   m (seq(float[3, n]) x) => ...      options say x[0] and x[1]
///   becomes
///   m (float[3, n] x[0], float[3, n] x[1]) => {
///     x = SequenceConstruct(x[0], x[1]) ... }
///
/// One of which options do not say x[0] stays, for resolveInputs() to refuse.
/// An optional of which they say nothing holds nothing, which is noted.
void expandSequences(OnnxGraph &graph, const ImportOptions &options);

} // namespace divisi

#endif // DIVISI_LIB_IMPORT_SEQUENCEINPUTS_H
