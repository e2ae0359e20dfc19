//===- ExportWeights.h - Trained weights back to a model --------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A weight is called as the initializer that it was read from, and has its
// elements in the same order: what the importer makes of a weight's shape is no
// more than another shape. So it goes back to where it came from:
//
//   readOnnxModel -> nn.global @h.0.weight -> training -> writeOnnxWeights
//
// An .onnx of PyTorch's exporter has the weight of a linear layer transposed,
// and calls it after the operator (`onnx::MatMul_42`). A .safetensors has it as
// PyTorch does, where the names of nodes tell (`/h.0/fc/MatMul` ->
// `h.0.fc.weight`).
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_IMPORT_EXPORTWEIGHTS_H
#define DIVISI_IMPORT_EXPORTWEIGHTS_H

#include "divisi/Support/Status.h"
#include "divisi/runtime/kernels/HostTensor.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace divisi {

/// Weights that go to a model.
struct NewWeights {
  /// What is known of one before its elements are read.
  struct Head {
    rt::DType type = rt::DType::F32; ///< Of its elements.
    rt::Dims dims;                   ///< The extents.
    bool isNeeded = false;           ///< The model must have it.
  };
  std::map<std::string, Head> heads; ///< By name.
  /// Reads one of them.
  std::function<Expected<rt::HostTensor>(const std::string &name)> read;
};

/// What was written.
struct WrittenWeights {
  int64_t replaced = 0;            ///< Initializers with new values.
  int64_t kept = 0;                ///< Others.
  std::vector<std::string> unused; ///< Weights that the model does not have.
  /// In a .safetensors: initializers that are called otherwise, and how.
  std::vector<std::pair<std::string, std::string>> renamed;
};

/// Writes the model at `model` with new weights to `path`; data that it has in
/// other files goes to one beside that, `PATH.data`. Fails with File, with
/// Invalid for a model that cannot be read, or whose initializers do not fit
/// the weights or are not there.
Expected<WrittenWeights> writeOnnxWeights(const std::string &model,
                                          const NewWeights &weights,
                                          const std::string &path);

/// Writes all initializers of that model, with new weights, as .safetensors.
/// Fails alike.
Expected<WrittenWeights> writeSafeWeights(const std::string &model,
                                          const NewWeights &weights,
                                          const std::string &path);

} // namespace divisi

#endif // DIVISI_IMPORT_EXPORTWEIGHTS_H
