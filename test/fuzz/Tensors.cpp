//===- Tensors.cpp - Any bytes as a file of tensors -----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Readers.h"

#include "divisi/runtime/tensors/TensorFile.h"

using namespace divisi;
using namespace divisi::rt;
using fuzz::require;

static void check(const Expected<HostTensor> &tensor) {
  if (!tensor) {
    return fuzz::requireFailure(tensor.status());
  }
  require(checkedBytes(tensor->type(), tensor->dims()) ==
              static_cast<int64_t>(tensor->bytes().size()),
          "a tensor has the bytes of its shape");
}

void fuzz::readTensors(std::string_view text) {
  auto bytes = std::as_bytes(std::span<const char>(text));
  check(parseNpy(bytes));
  check(parseOnnxTensor(bytes));
  auto given = parseTensors(bytes, "x.npz", nullptr);
  if (!given) {
    return fuzz::requireFailure(given.status());
  }
  for (const GivenTensor &each : *given) {
    auto tensor = each.take();
    check(tensor);
    require(!tensor || (tensor->type() == each.head.type &&
                        tensor->dims() == each.head.dims),
            "a tensor is what its head says");
  }
}
