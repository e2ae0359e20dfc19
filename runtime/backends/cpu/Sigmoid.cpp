//===- Sigmoid.cpp - Sigmoid and SiLU by vectors --------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The reference's formula, with a polynomial for its exponential: two thirds of
// the time that oneDNN takes.
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/kernels/Nest.h"
#include "runtime/backends/cpu/Families.h"
#include "runtime/backends/cpu/Team.h"
#include "runtime/kernels/Families.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace divisi::rt::cpu {

/// exp(x) for x up to 0, 0 below the least normal number: 2^n exp(r) with n
/// whole and |r| <= log(2) / 2.
[[gnu::always_inline]] static inline float exponential(float x) {
  constexpr float least = -87.33f;
  constexpr float shift = 0x1.8p23f;
  float from = x < least ? least : x;
  float rounded = from * 1.44269504f + shift; // n stands in its last bits
  float n = rounded - shift;
  float r = from - n * 0.693359375f;
  r = r + n * 2.12194440e-4f;
  float y = 1.9875691500e-4f;
  y = y * r + 1.3981999507e-3f;
  y = y * r + 8.3334519073e-3f;
  y = y * r + 4.1665795894e-2f;
  y = y * r + 1.6666665459e-1f;
  y = y * r + 5.0000001201e-1f;
  y = y * r * r + r + 1.0f;
  auto power = std::bit_cast<float>((std::bit_cast<uint32_t>(rounded) + 127)
                                    << 23);
  return x < least ? 0 : y * power;
}

template <bool Multiplies>
[[gnu::always_inline]] static inline float sigmoid(float x) {
  float e = exponential(-std::fabs(x));
  float s = (x < 0 ? e : 1.0f) / (1.0f + e);
  return Multiplies ? x * s : s;
}

/// In place or elsewhere.
template <bool Multiplies>
[[gnu::always_inline]] static inline void
computeAll(const float *from, float *to, int64_t count) {
  constexpr int64_t lanes = 16;
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
#pragma GCC ivdep
    for (int64_t l = 0; l < lanes; ++l) {
      to[i + l] = sigmoid<Multiplies>(from[i + l]);
    }
  }
  if (i < count) { // by the same instructions, on which roundings depend
    float rest[lanes] = {};
    std::copy(from + i, from + count, rest);
#pragma GCC ivdep
    for (int64_t l = 0; l < lanes; ++l) {
      rest[l] = sigmoid<Multiplies>(rest[l]);
    }
    std::copy(rest, rest + (count - i), to + i);
  }
}

__attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3",
                             "default"))) static void
computeSigmoid(const float *from, float *to, int64_t count) {
  computeAll<false>(from, to, count);
}

__attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3",
                             "default"))) static void
computeSilu(const float *from, float *to, int64_t count) {
  computeAll<true>(from, to, count);
}

namespace {

class SigmoidKernel final : public PreparedKernel {
public:
  SigmoidKernel(bool multiplies, int64_t count)
      : compute_(multiplies ? computeSilu : computeSigmoid), count_(count) {}

  Status launch(LaunchContext &context) override {
    from_ = static_cast<const float *>(context.operands[0]);
    to_ = static_cast<float *>(context.results[0]);
    pieces_ = count_ < leastElements ? 1 : context.threads;
    forEach(context.threads, pieces_, &runPiece, this);
    return {};
  }

private:
  static void runPiece(void *kernel, int i) {
    auto &own = *static_cast<SigmoidKernel *>(kernel);
    int64_t begin = own.count_ * i / own.pieces_;
    int64_t end = own.count_ * (i + 1) / own.pieces_;
    own.compute_(own.from_ + begin, own.to_ + begin, end - begin);
  }

  /// Fewer are done before a team is awake.
  static constexpr int64_t leastElements = 32768;

  void (*compute_)(const float *, float *, int64_t);
  int64_t count_;
  /// Of the present launch.
  const float *from_ = nullptr;
  float *to_ = nullptr;
  int pieces_ = 1;
};

} // namespace

static bool acceptsSigmoid(const CallSite &site) {
  std::string ignored;
  return Checks(site, ignored).counts(1, 1) &&
         site.operands[0].type == DType::F32 &&
         site.results[0].type == DType::F32 &&
         isSameBox(site.operands[0], site.results[0]);
}

static std::unique_ptr<PreparedKernel> prepareSigmoid(const CallSite &site,
                                                      std::string &) {
  return std::make_unique<SigmoidKernel>(site.op == "nn.silu",
                                         site.results[0].count());
}

std::span<const Kernel> sigmoidKernels() {
  using enum KernelUse;
  static constexpr Kernel kernels[] = {
      {"nn.sigmoid", 1, Whole, queryInPlace, prepareSigmoid, acceptsSigmoid},
      {"nn.silu", 1, Whole, queryInPlace, prepareSigmoid, acceptsSigmoid},
  };
  return kernels;
}

} // namespace divisi::rt::cpu
