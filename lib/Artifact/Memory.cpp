//===- Memory.cpp - What the ranks of a lowered module hold ---------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Artifact/Memory.h"

#include "Manifest.h"
#include "divisi/runtime/kernels/HostTensor.h"

using namespace mlir;
using namespace divisi;

Expected<std::vector<rt::RankMemory>>
divisi::predictMemory(ModuleOp module, bool countsKernels,
                      const rt::Backend *device) {
  Expected<ManifestDraft> draft = draftManifest(module);
  if (!draft) {
    return draft.status();
  }
  // A resolved manifest has data, as many bytes as the types say.
  for (artifact::Global &global : *draft->manifest.mutable_globals()) {
    const artifact::Tensor &tensor =
        draft->manifest.tensors(int(global.tensor()));
    std::optional<rt::DType> type = rt::parseDType(tensor.dtype());
    std::optional<int64_t> bytes =
        type ? rt::checkedBytes(
                   *type, rt::Dims(tensor.dims().begin(), tensor.dims().end()))
             : std::nullopt;
    global.set_bytes(bytes.value_or(0));
  }
  for (auto [number, bytes] : llvm::enumerate(draft->codes)) {
    draft->manifest.mutable_codes(int(number))
        ->set_bytes(int64_t(bytes.size()));
  }
  std::vector<const rt::Backend *> backends;
  if (countsKernels) {
    // As `run` asks them, unless told otherwise.
    backends = {&rt::cpuBackend(), &rt::referenceBackend()};
  }
  if (device) {
    backends.push_back(device);
  }
  return rt::predictMemory(draft->manifest, backends);
}
