//===- BindTensors.cpp - The caller's tensors in a rank's tasks -----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An input is used where it lies if the rank's box is there in one piece and
// aligned, else copied. How to copy is worked out when a layout comes for the
// first time, and kept for the runs after.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/RankProgram.h"

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

BoxCopy RankProgram::ViewLayout::copyIn(const Placement &placement,
                                        const Box &box) const {
  int64_t width = byteWidth(placement.type);
  Box shown = shownBox(placement, box, isWhole);
  return BoxCopy(width, box, shown, shownStrides(placement, shown, strides),
                 box, denseStrides(width, box.extents()));
}

BoxCopy RankProgram::ViewLayout::copyOut(const Placement &placement,
                                         const Box &box,
                                         const Box &piece) const {
  int64_t width = byteWidth(placement.type);
  Box shown = shownBox(placement, box, isWhole);
  return BoxCopy(width, piece, box, denseStrides(width, box.extents()), shown,
                 shownStrides(placement, shown, strides));
}

Status RankProgram::bindInput(InputSlice &slice,
                              const TensorArgument &argument) {
  constexpr uintptr_t alignment = 64; // what kernels are promised
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
      reinterpret_cast<uintptr_t>(slice.address) % alignment == 0) {
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

void RankProgram::bindOutput(OutputPatch &patch,
                             const TensorArgument &argument) {
  const TensorView &view = argument.viewOf(local_);
  Task &task = tasks_[patch.task];
  task.results[0] = view.first();
  ViewLayout layout{argument.isWhole, view.strides};
  if (layout == patch.layout) {
    return;
  }
  task.copies.clear();
  std::span<const Box> pieces = patch.pieces;
  for (const Box &piece : layout.isWhole ? pieces : std::span(&patch.box, 1)) {
    task.copies.push_back(layout.copyOut(*patch.placement, patch.box, piece));
  }
  patch.layout = std::move(layout);
}

Status RankProgram::bind(std::span<const TensorArgument> inputs,
                         std::span<const TensorArgument> outputs) {
  for (auto &[index, slice] : inputs_) {
    if (Status status = bindInput(slice, inputs[index]); !status.isOk()) {
      return status;
    }
  }
  for (const InputPatch &patch : inputPatches_) {
    tasks_[patch.task].operands[patch.operand] =
        inputs_.at(patch.input).address;
  }
  for (OutputPatch &patch : outputPatches_) {
    bindOutput(patch, outputs[patch.output]);
  }
  return {};
}
