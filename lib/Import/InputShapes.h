//===- InputShapes.h - Make the shapes of inputs static ---------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_IMPORT_INPUTSHAPES_H
#define DIVISI_LIB_IMPORT_INPUTSHAPES_H

#include "OnnxModel.h"
#include "StatePairs.h"
#include "Unsupported.h"
#include "divisi/Import/Import.h"

namespace divisi {

/// An input of the model with everything known.
struct InputShape {
  std::string name; ///< As the graph calls it.
  rt::DType type;   ///< As declared, and as given where that is said.
  rt::Dims dims;    ///< Every one known.
  /// Why it cannot be imported, else empty; then only its name counts.
  std::string unsupported;
  /// What ImportOptions::constants give for it, or null.
  const rt::HostTensor *constant = nullptr;
  /// Of `states`, or null.
  const StatePair *state = nullptr;
  /// Whether it has no batch, though it is no scalar.
  bool isShared = false;
  /// Whether it is what a run takes, and may have a batch.
  bool mayHaveBatch() const { return !constant && !state && !dims.empty(); }
};

/// What an UnsupportedList says of an input that is unsupported.
UnsupportedPlace unsupportedPlace(const InputShape &input);

/// The inputs of `graph` that no initializer provides, and those of `states`,
/// in order. One failure lists every dim that is not given, with the inputs
/// that have it; no dims are asked for while the types of inputs are
/// unsupported.
Expected<std::vector<InputShape>>
resolveInputs(const OnnxGraph &graph, const ImportOptions &options,
              const std::vector<StatePair> &states);

} // namespace divisi

#endif // DIVISI_LIB_IMPORT_INPUTSHAPES_H
