//===- ConvPlan.h - What oneDNN does of a convolution -----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// oneDNN chooses the layouts of what is row-major, and is told those of tensors
// whose channels come last, which suit it; constant weights are brought to
// where it wants them once. A region whose operators go on with the result, one
// after the other, is one primitive:
//
//   exact    as many operators as oneDNN computes as the reference does; the
//            others, the tail, go on with the result in place
//   clipped  all of them: clips of oneDNN turn NaN into a number, so that it is
//            right as long as bounds of the operands show that there is none
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_BACKENDS_CPU_CONVPLAN_H
#define DIVISI_RUNTIME_BACKENDS_CPU_CONVPLAN_H

#include "runtime/backends/cpu/ConvSides.h"
#include "runtime/backends/cpu/FirstOperator.h"
#include "runtime/backends/cpu/PackedWeights.h"
#include "runtime/backends/cpu/PostOps.h"
#include "runtime/backends/cpu/RegionTail.h"

namespace divisi::rt::cpu {

/// A convolution alone, or the first operator of a region.
struct ConvPlan {
  /// One that has a result.
  explicit ConvPlan(const CallSite &call);
  ConvPlan(const ConvPlan &) = delete;

  const std::vector<int> numbers;         ///< Of its operands, in the call.
  const std::vector<TensorInfo> operands; ///< Of the convolution.
  const std::vector<Constant> constants;  ///< One for each of these.
  const TensorInfo result;                ///< Of the convolution.
  const CallSite site;                    ///< The convolution.
  ConvSides sides;                        ///< How its tensors lie.
  PostOps postOps; ///< What the exact primitive does behind it.
  int threads = 1; ///< The team's size.
  std::unique_ptr<RegionTail> tail; ///< Null if the primitive does all.
  std::shared_ptr<const dnnl_primitive_desc> primitive; ///< The exact one.
  /// Null if that does all, or the layouts that it wants would be others.
  std::shared_ptr<const dnnl_primitive_desc> clipped;
  PostOps clippedOps;
  /// The layouts that the primitive wants of x, w and y.
  std::array<const_dnnl_memory_desc_t, 3> wanted = {};
  /// To these of x and w, and back of y; null where they are given.
  std::array<PrimitiveDesc, 3> reorders;
  bool constant = false; ///< w is brought there once.

  /// Plans `call`, a convolution or a region that begins with one; false if
  /// oneDNN cannot do it. `clips`: what is known of bounds; not None.
  bool make(const CallSite &call, Clips clips);

  /// Of x, w or y, by number, in the layout that the primitive wants.
  int64_t bytes(size_t side) const {
    return int64_t(dnnl_memory_desc_get_size(wanted[side]));
  }
  /// What PackedForms call w when it is packed, before its layout.
  std::string packedName() const;
  /// How it lies where it is given.
  GivenWeights givenWeights() const {
    return {sides.given[1].get(), sides.bases[1] * int64_t(sizeof(float))};
  }
  /// Whether each launch reorders it.
  bool reordersAlways(size_t side) const {
    return reorders[side] && !(side == 1 && constant);
  }

private:
  ConvPlan(const CallSite &call, const FirstOperator &first);
};

/// Where a launch finds its scratch memory.
struct ConvWorkspace {
  /// For a launch of `plan`, which was made.
  explicit ConvWorkspace(const ConvPlan &plan);

  int64_t scratchpad = 0; ///< One for all primitives: they run in turn.
  /// Offsets of x, w and y; those that are reordered.
  std::array<int64_t, 3> sides = {};
  int64_t tail = 0;
  int64_t bytes = 0;
};

} // namespace divisi::rt::cpu

#endif // DIVISI_RUNTIME_BACKENDS_CPU_CONVPLAN_H
