//===- GivenTensors.cpp - Tensors that files give an entry ----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/core/GivenTensors.h"
#include "runtime/core/EntryInputs.h"

using namespace divisi;
using namespace divisi::rt;

/// What holds of inputs holds of outputs; `role` is "input" or "output".
static Expected<std::vector<HostTensor>>
arrange(const EntryInfo &entry, const std::vector<ValueInfo> &values,
        const std::string &role, std::vector<GivenTensor> tensors) {
  std::vector<TensorLabel> labels;
  for (const GivenTensor &given : tensors) {
    labels.push_back(given.label);
  }
  std::vector<TensorSlot> slots;
  for (const ValueInfo &value : values) {
    slots.push_back({value.name, describe(value.type, value.dims)});
  }
  auto slotOf =
      matchLabels(labels, slots, role + "s of entry '" + entry.name + "'",
                  ExitCode::Invalid, /*needsAll=*/true);
  if (!slotOf) {
    return slotOf.status();
  }
  // What does not fit is not unpacked.
  std::byte none;
  std::vector<TensorArgument> views(values.size(), TensorView());
  for (size_t i = 0; i < tensors.size(); ++i) {
    const TensorHead &head = tensors[i].head;
    DType type = values[(*slotOf)[i]].type;
    bool isTyped = !head.isOpaque || !isStoredType(type);
    views[(*slotOf)[i]] =
        TensorView{&none, isTyped ? head.type : type, head.dims};
  }
  if (Status status = checkTensors(values, views, role); !status.isOk()) {
    return status;
  }
  std::vector<HostTensor> arranged(values.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    Expected<HostTensor> tensor = tensors[i].take();
    DType type = values[(*slotOf)[i]].type;
    if (tensor && tensor->isOpaque() && isStoredType(type)) {
      tensor = tensor->bytesAs(type);
    }
    if (!tensor) {
      return tensor.status();
    }
    arranged[(*slotOf)[i]] = std::move(*tensor);
  }
  return arranged;
}

Expected<std::vector<HostTensor>>
divisi::rt::arrangeInputs(const EntryInfo &entry,
                          std::vector<GivenTensor> tensors) {
  return arrange(entry, entry.inputs, "input", std::move(tensors));
}

Expected<std::vector<HostTensor>>
divisi::rt::arrangeOutputs(const EntryInfo &entry,
                           std::vector<GivenTensor> tensors) {
  return arrange(entry, entry.outputs, "output", std::move(tensors));
}
