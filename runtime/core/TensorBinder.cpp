//===- TensorBinder.cpp - The caller's tensors in a rank's tasks ----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/TensorBinder.h"

#include <algorithm>

using namespace divisi;
using namespace divisi::rt;

/// The box that a view shows of a tensor.
static Box shownBox(const Placement &placement, const Box &box, bool isWhole) {
  return isWhole ? Box::whole(placement.dims) : box;
}

/// Its strides, in bytes.
static Dims shownStrides(const Placement &placement, const Box &shown,
                         const Dims &strides) {
  int64_t width = byteWidth(placement.type);
  if (strides.empty()) {
    return denseStrides(width, shown.extents());
  }
  Dims bytes = strides;
  for (int64_t &stride : bytes) {
    stride *= width;
  }
  return bytes;
}

BoxCopy ViewLayout::copyIn(const Placement &placement, const Box &box) const {
  int64_t width = byteWidth(placement.type);
  Box shown = shownBox(placement, box, isWhole);
  return BoxCopy(width, box, shown, shownStrides(placement, shown, strides),
                 box, denseStrides(width, box.extents()));
}

BoxCopy ViewLayout::copyOut(const Placement &placement, const Box &box,
                            const Box &piece) const {
  int64_t width = byteWidth(placement.type);
  Box shown = shownBox(placement, box, isWhole);
  return BoxCopy(width, piece, box, denseStrides(width, box.extents()), shown,
                 shownStrides(placement, shown, strides));
}

/// What has to be staged of what `copy` brings from a whole tensor.
static int64_t bytesToStage(const BoxCopy &copy) {
  bool isUsable =
      copy.bytes() == 0 ||
      (copy.isContiguous() && copy.sourceOffset() % kernelAlignment == 0);
  return isUsable ? 0 : copy.bytes();
}

int64_t TensorBinder::stagedBytes(const Placement &placement, const Box &box) {
  return bytesToStage(ViewLayout().copyIn(placement, box));
}

int64_t TensorBinder::addInput(uint32_t input, const Placement &placement,
                               const Box &box) {
  ViewLayout whole;
  InputSlice slice{&placement, box, whole, whole.copyIn(placement, box), {}};
  int64_t bytes = bytesToStage(slice.copy);
  inputs_.emplace(input, std::move(slice));
  return bytes;
}

Status TensorBinder::bindInput(InputSlice &slice,
                               const TensorArgument &argument) {
  const TensorView &view = argument.viewOf(local_);
  ViewLayout layout{argument.isWhole, view.strides};
  if (layout != slice.layout) {
    slice.copy = layout.copyIn(*slice.placement, slice.box);
    slice.layout = std::move(layout);
  }
  if (slice.copy.bytes() == 0) {
    slice.address = nullptr;
    return {};
  }
  slice.address = view.first() + slice.copy.sourceOffset();
  if (slice.copy.isContiguous() &&
      reinterpret_cast<uintptr_t>(slice.address) % kernelAlignment == 0) {
    return {};
  }
  if (slice.staging.size() == 0) {
    Expected<AlignedBytes> staging = AlignedBytes::allocate(slice.copy.bytes());
    if (!staging) {
      return staging.status();
    }
    slice.staging = std::move(*staging);
  }
  slice.copy.run(view.first(), slice.staging.data());
  slice.address = slice.staging.data();
  return {};
}

/// Notes where all bytes of inputs are: of any rank, that may read them last.
void TensorBinder::listInputs(std::span<const TensorArgument> inputs) {
  inputBytes_.clear();
  for (const TensorArgument &argument : inputs) {
    for (const TensorView &view : argument.views) {
      if (!view.data || numElements(view.dims) == 0) {
        continue;
      }
      auto width = static_cast<uintptr_t>(byteWidth(view.type));
      auto begin = reinterpret_cast<uintptr_t>(view.first());
      uintptr_t end = begin + width;
      if (view.strides.empty()) {
        end = begin + width * numElements(view.dims);
      }
      for (size_t d = 0; d < view.strides.size(); ++d) {
        uintptr_t reach = width * (view.dims[d] - 1) * view.strides[d];
        (view.strides[d] < 0 ? begin : end) += reach;
      }
      inputBytes_.push_back({begin, end});
    }
  }
}

/// Where the caller's memory takes the box as the arena would; null if nowhere.
std::byte *TensorBinder::placeFor(const OutputPatch &patch,
                                  const TensorView &view) const {
  const std::vector<BoxCopy> &copies = program_.tasks[patch.task].copies;
  if (patch.mentions.empty() || !copies.front().isContiguous()) {
    return nullptr;
  }
  std::byte *place = view.first() + copies.front().resultOffset();
  auto begin = reinterpret_cast<uintptr_t>(place);
  uintptr_t end = begin + static_cast<uintptr_t>(copies.front().bytes());
  bool isFree = std::none_of(inputBytes_.begin(), inputBytes_.end(),
                             [=](const CallerBytes &input) {
                               return input.begin < end && begin < input.end;
                             });
  return isFree && begin % kernelAlignment == 0 ? place : nullptr;
}

void TensorBinder::bindOutput(OutputPatch &patch,
                              const TensorArgument &argument, bool isRecorded) {
  const TensorView &view = argument.viewOf(local_);
  RankTask &task = program_.tasks[patch.task];
  ViewLayout layout{argument.isWhole, view.strides};
  if (layout != patch.layout) {
    task.copies.clear();
    std::span<const Box> pieces = patch.pieces;
    for (const Box &piece :
         layout.isWhole ? pieces : std::span(&patch.box, 1)) {
      task.copies.push_back(layout.copyOut(*patch.placement, patch.box, piece));
    }
    patch.layout = std::move(layout);
  }
  // What is recorded has the arena's address.
  std::byte *place = isRecorded ? nullptr : placeFor(patch, view);
  std::byte *wanted = place ? place : patch.arena;
  if (wanted != patch.present) {
    for (const BufferMention &mention : patch.mentions) {
      RankTask &other = program_.tasks[mention.task];
      if (mention.isResult) {
        other.results[mention.index] = wanted + mention.offset;
      } else {
        other.operands[mention.index] = wanted + mention.offset;
      }
    }
    patch.present = wanted;
  }
  task.isSkipped = place != nullptr;
  task.results[0] = view.first();
  for (const BoxCopy &copy : task.copies) {
    (place ? outputBytes_.inPlace : outputBytes_.copied) += copy.bytes();
  }
}

Status TensorBinder::bind(std::span<const TensorArgument> inputs,
                          std::span<const TensorArgument> outputs,
                          GraphRecorder *graph) {
  for (auto &[index, slice] : inputs_) {
    Status status = bindInput(slice, inputs[index]);
    if (status.isOk() && graph && slice.address) {
      auto staged = graph->stageInput(index, slice.address, slice.copy.bytes());
      status = staged.status();
      slice.address = staged ? *staged : nullptr;
    }
    if (!status.isOk()) {
      return status;
    }
  }
  for (const InputUse &use : inputUses_) {
    program_.tasks[use.task].operands[use.operand] =
        use.from(inputs_.at(use.input).address);
  }
  listInputs(inputs);
  outputBytes_ = {};
  for (OutputPatch &patch : outputs_) {
    bindOutput(patch, outputs[patch.output], graph != nullptr);
  }
  return {};
}

void TensorBinder::bindIteration(std::span<const void *const> inputs,
                                 std::span<void *const> outputs) {
  for (const InputUse &use : inputUses_) {
    program_.tasks[use.task].operands[use.operand] =
        use.from(inputs[use.input]);
  }
  for (const InputUse &use : newInputs_) {
    // The loop's own place, which no caller has.
    program_.tasks[use.task].results[use.operand] =
        const_cast<void *>(inputs[use.input]);
  }
  for (const OutputPatch &patch : outputs_) {
    RankTask &task = program_.tasks[patch.task];
    task.results[0] = outputs[patch.output];
    task.isSkipped = task.operands[0] == task.results[0]; // written in place
  }
}
