//===- Models.cpp - Any bytes as an ONNX model ----------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Readers.h"

#include "lib/Import/OnnxModel.h"

using namespace divisi;

/// A model that came through a pipe; it may name no file that is there.
void fuzz::readModels(std::string_view bytes) {
  GlobalStore store;
  store.addBytes("fuzz.onnx", std::as_bytes(std::span<const char>(bytes)),
                 nullptr);
  auto model = readOnnxModel("fuzz.onnx", store);
  if (!model) {
    fuzz::requireFailure(model.status());
  }
}
