//===- PlaneCopy.cpp - Boxes of a GPU's memory are copied -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/cuda/PlaneCopy.h"

#include <algorithm>

using namespace divisi;
using namespace divisi::rt;
using namespace divisi::rt::cuda;

PlaneCopy::PlaneCopy(int64_t width, const Dims &extents,
                     const Dims &sourceStrides, const Dims &resultStrides)
    : rowBytes_(width) {
  std::vector<Loop> loops;
  for (size_t d = 0; d < extents.size(); ++d) {
    if (extents[d] != 1) {
      loops.push_back(
          {extents[d], sourceStrides[d] * width, resultStrides[d] * width});
    }
  }
  std::ranges::stable_sort(loops, {}, &Loop::result);
  for (const Loop &loop : loops) {
    Loop *last = calls_.empty() ? nullptr : &calls_.back();
    if (!last && loop.source == rowBytes_ && loop.result == rowBytes_) {
      rowBytes_ *= loop.count;
    } else if (last && loop.source == last->source * last->count &&
               loop.result == last->result * last->count) {
      last->count *= loop.count;
    } else {
      calls_.push_back(loop);
    }
  }
  rows_ = take(false);
  planes_ = take(true);
}

/// Takes the innermost loop that is left, if CUDA can go along it with the
/// others; one iteration if not.
PlaneCopy::Loop PlaneCopy::take(bool isPlane) {
  int64_t source = isPlane ? rows_.source * rows_.count : rowBytes_;
  int64_t result = isPlane ? rows_.result * rows_.count : rowBytes_;
  Loop one{1, source, result};
  if (calls_.empty()) {
    return one;
  }
  Loop next = calls_.front();
  bool areEven = !isPlane || (next.source % rows_.source == 0 &&
                              next.result % rows_.result == 0);
  if (next.source < source || next.result < result || !areEven) {
    return one;
  }
  calls_.erase(calls_.begin());
  return next;
}

Status PlaneCopy::run(const CudaQueue &queue, const void *source,
                      void *result) const {
  const Driver &driver = queue.context().driver();
  CUDA_MEMCPY3D plan = {};
  plan.srcMemoryType = plan.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  plan.srcPitch = size_t(rows_.source);
  plan.srcHeight = size_t(planes_.source / rows_.source);
  plan.dstPitch = size_t(rows_.result);
  plan.dstHeight = size_t(planes_.result / rows_.result);
  plan.WidthInBytes = size_t(rowBytes_);
  plan.Height = size_t(rows_.count);
  plan.Depth = size_t(planes_.count);
  int64_t count = 1;
  for (const Loop &loop : calls_) {
    count *= loop.count;
  }
  CUresult done = CUDA_SUCCESS;
  for (int64_t i = 0; i < count && done == CUDA_SUCCESS; ++i) {
    int64_t rest = i, from = 0, to = 0;
    for (const Loop &loop : calls_) {
      from += rest % loop.count * loop.source;
      to += rest % loop.count * loop.result;
      rest /= loop.count;
    }
    plan.srcDevice = reinterpret_cast<CUdeviceptr>(source) + CUdeviceptr(from);
    plan.dstDevice = reinterpret_cast<CUdeviceptr>(result) + CUdeviceptr(to);
    done = driver.memcpy3DAsync(&plan, queue.stream());
  }
  return queue.context().check(done, "copy");
}
