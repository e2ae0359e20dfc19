//===- Clamp.cpp - Elements within bounds ---------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What models put behind nearly every convolution, by the widest vectors that
// the processor has. oneDNN's lose NaN.
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/kernels/Nest.h"
#include "runtime/backends/cpu/Families.h"
#include "runtime/backends/cpu/Team.h"
#include "runtime/kernels/Families.h"

#include <algorithm>

namespace divisi::rt::cpu {

/// Of a NaN on either side NaN is left, as everywhere (Arithmetic.h).
__attribute__((target_clones("avx512f", "avx2", "default"))) static void
raise(const float *from, float *to, int64_t count, float bound) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) {
    to[i] = from[i] < bound ? bound : from[i];
  }
}

__attribute__((target_clones("avx512f", "avx2", "default"))) static void
lower(const float *from, float *to, int64_t count, float bound) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) {
    to[i] = from[i] > bound ? bound : from[i];
  }
}

namespace {

/// Where the bound and the elements are; all else follows from the operator.
/// The bound is read before anything is written: the result may lie over it.
class ClampKernel final : public PreparedKernel {
public:
  ClampKernel(bool raises, std::optional<size_t> bound, int64_t count)
      : raises_(raises), bound_(bound), count_(count) {}

  Status launch(LaunchContext &context) override {
    context_ = &context;
    value_ =
        bound_ ? *static_cast<const float *>(context.operands[*bound_]) : 0;
    pieces_ = count_ < leastElements ? 1 : context.threads;
    forEach(context.threads, pieces_, &runPiece, this);
    return {};
  }

private:
  static void runPiece(void *kernel, int i) {
    auto &own = *static_cast<ClampKernel *>(kernel);
    const LaunchContext &context = *own.context_;
    int64_t begin = own.count_ * i / own.pieces_;
    int64_t count = own.count_ * (i + 1) / own.pieces_ - begin;
    auto *from = static_cast<const float *>(
                     context.operands[own.bound_ == size_t(0) ? 1 : 0]) +
                 begin;
    auto *to = static_cast<float *>(context.results[0]) + begin;
    if (own.value_ != own.value_) {
      std::fill_n(to, count, own.value_);
    } else {
      (own.raises_ ? raise : lower)(from, to, count, own.value_);
    }
  }

  /// Fewer are done before a team is awake.
  static constexpr int64_t leastElements = 131072;

  bool raises_;
  std::optional<size_t> bound_; ///< The operand; none: it is 0.
  int64_t count_;
  /// Of the present launch.
  const LaunchContext *context_ = nullptr;
  float value_ = 0;
  int pieces_ = 1;
};

} // namespace

/// The operand that is one number, beside one of the result's box.
static std::optional<size_t> boundOf(const CallSite &site) {
  for (size_t o : {size_t(1), size_t(0)}) {
    const TensorInfo &bound = site.operands[o];
    if (bound.count() == 1 && numElements(bound.global) == 1 &&
        bound.rank() <= site.results[0].rank() &&
        isSameBox(site.operands[1 - o], site.results[0])) {
      return o;
    }
  }
  return std::nullopt;
}

static bool acceptsClamp(const CallSite &site) {
  auto isF32 = [](const TensorInfo &info) { return info.type == DType::F32; };
  bool isRelu = site.op == "nn.relu";
  return site.operands.size() == (isRelu ? 1 : 2) && site.results.size() == 1 &&
         std::all_of(site.operands.begin(), site.operands.end(), isF32) &&
         isF32(site.results[0]) &&
         (isRelu ? isSameBox(site.operands[0], site.results[0])
                 : boundOf(site).has_value());
}

static std::unique_ptr<PreparedKernel> prepareClamp(const CallSite &site,
                                                    std::string &) {
  bool isRelu = site.op == "nn.relu";
  return std::make_unique<ClampKernel>(site.op != "nn.min",
                                       isRelu ? std::nullopt : boundOf(site),
                                       site.results[0].count());
}

std::span<const Kernel> clampKernels() {
  using enum KernelUse;
  static constexpr Kernel kernels[] = {
      {"nn.max", 1, Whole, queryInPlace, prepareClamp, acceptsClamp},
      {"nn.min", 1, Whole, queryInPlace, prepareClamp, acceptsClamp},
      {"nn.relu", 1, Whole, queryInPlace, prepareClamp, acceptsClamp},
  };
  return kernels;
}

} // namespace divisi::rt::cpu
