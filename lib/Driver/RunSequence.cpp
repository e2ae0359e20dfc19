//===- RunSequence.cpp - Runs one after the other -------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunSequence.h"

#include "Sessions.h"
#include "TensorArguments.h"

#include <algorithm>
#include <optional>

using namespace divisi;

RunSequence RunSequence::single(std::vector<rt::HostTensor> inputs) {
  RunSequence sequence;
  sequence.isStacked_.resize(inputs.size());
  sequence.tensors_ = std::move(inputs);
  return sequence;
}

Expected<RunSequence> RunSequence::read(llvm::ArrayRef<std::string> arguments,
                                        const rt::EntryInfo &entry) {
  auto tensors = readTensorArguments(arguments, "input");
  if (!tensors) {
    return tensors.status();
  }
  auto slotOf = matchInputs(*tensors, entry, /*needsAll=*/true);
  if (!slotOf) {
    return slotOf.status();
  }
  rt::EntryInfo stacked{entry.name, entry.inputs, {}};
  RunSequence sequence;
  sequence.isSequence_ = true;
  sequence.isStacked_.resize(entry.inputs.size());
  std::optional<size_t> first; // that says how many runs there are
  for (size_t i = 0; i < tensors->size(); ++i) {
    size_t slot = (*slotOf)[i];
    rt::ValueInfo &input = stacked.inputs[slot];
    const rt::Dims &dims = (*tensors)[i].head.dims;
    if (dims.size() != input.dims.size() + 1) {
      continue;
    }
    if (first && dims[0] != sequence.size_) {
      return makeError(ExitCode::Invalid, "--sequence: input '", input.name,
                       "' is for ", dims[0], " runs, and '",
                       entry.inputs[*first].name, "' for ", sequence.size_);
    }
    first = first.value_or(slot);
    sequence.size_ = dims[0];
    sequence.isStacked_[slot] = true;
    input.dims.insert(input.dims.begin(), dims[0]);
  }
  if (!first || sequence.size_ < 1) {
    return makeError(
        ExitCode::Invalid,
        "--sequence: no input has one more dim "
        "in front, of as many indices as there are runs; entry '",
        entry.name, "' takes ",
        entry.inputs.empty()
            ? "no inputs: give --repeat"
            : "'" + entry.inputs[0].name + "' as " +
                  rt::describe(entry.inputs[0].type, entry.inputs[0].dims));
  }
  auto arranged = rt::arrangeInputs(stacked, std::move(*tensors));
  if (!arranged) {
    return arranged.status();
  }
  sequence.tensors_ = std::move(*arranged);
  return sequence;
}

Expected<std::vector<rt::HostTensor>> RunSequence::inputs(int64_t i) const {
  std::vector<rt::HostTensor> inputs = tensors_;
  for (size_t input = 0; input < inputs.size(); ++input) {
    if (!isStacked_[input]) {
      continue;
    }
    const rt::HostTensor &all = tensors_[input];
    auto bytes = static_cast<size_t>(all.byteSize() / size_);
    auto part = rt::HostTensor::copyOf(
        all.type(), rt::Dims(all.dims().begin() + 1, all.dims().end()),
        all.bytes().subspan(static_cast<size_t>(i) * bytes, bytes), all.name());
    if (!part) {
      return part.status();
    }
    inputs[input] = std::move(*part);
  }
  return inputs;
}

Status RunSequence::add(int64_t i, std::vector<rt::HostTensor> outputs) {
  if (!isSequence_) {
    outputs_ = std::move(outputs);
    return Status();
  }
  for (size_t k = 0; k < outputs.size(); ++k) {
    const rt::HostTensor &one = outputs[k];
    if (k == outputs_.size()) {
      rt::Dims dims = one.dims();
      dims.insert(dims.begin(), size_);
      auto all = rt::HostTensor::zeros(one.type(), dims, one.name());
      if (!all) {
        return all.status();
      }
      outputs_.push_back(std::move(*all));
    }
    std::copy_n(one.data(), one.byteSize(),
                outputs_[k].data() + i * one.byteSize());
  }
  return Status();
}
