//===- ConvWeightsTest.cpp - Gradients of convolutions by their weights ---===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/runtime/backends/cpu/FusedCalls.h"

#include <cmath>
#include <random>

using namespace divisi;
using namespace divisi::rt;
using namespace divisi::rt::test;

namespace {

/// Draws gradients as passes/Lower/FuseWeightGradients.cpp makes them.
class Draw {
public:
  explicit Draw(unsigned seed) : random_(seed) {}

  int64_t below(int64_t end) {
    return std::uniform_int_distribution<int64_t>(0, end - 1)(random_);
  }

  FusedCall draw() {
    size_t spatial = 1 + size_t(below(3));
    int64_t n = 1 + below(4), c = 1 + below(40), k = 1 + below(80);
    Dims x{n, c}, dy{n, k}, swapped{c, k}, dw{k, c};
    Dims strides, dilations, low, high;
    for (size_t d = 0; d < spatial; ++d) {
      int64_t taps = 1 + below(3), stride = 1 + below(2);
      int64_t dilation = 1 + below(2), reach = (taps - 1) * dilation + 1;
      low.push_back(below(reach));
      int64_t after = below(reach), positions = 1 + below(6);
      // Some of the last elements may be in no window.
      int64_t room = reach + (positions - 1) * stride + below(stride);
      x.push_back(std::max<int64_t>(1, room - low.back() - after));
      int64_t padded = x.back() + low.back() + after;
      dy.push_back((padded - reach) / stride + 1);
      swapped.push_back(taps);
      dw.push_back(taps);
      strides.push_back(stride);
      dilations.push_back(dilation);
      // Of the convolution of both, whose taps are gradients.
      high.push_back((taps - 1) * dilation + (dy.back() - 1) * stride + 1 -
                     x.back() - low.back());
    }
    auto f32 = [](Dims dims) {
      return TensorInfo::whole(DType::F32, std::move(dims));
    };
    auto swap = [](Dims dims) {
      std::swap(dims[0], dims[1]);
      return dims;
    };
    Dims order(x.size());
    std::iota(order.begin(), order.end(), int64_t(0));
    Attributes transposed{{"permutation", swap(order)}};
    FusedCall call;
    call.operands = {numbers(x), numbers(dy)};
    call.region.parts = {{"nn.transpose", 1, transposed, {0}, {f32(swap(x))}},
                         {"nn.transpose", 1, transposed, {1}, {f32(swap(dy))}},
                         {"nn.conv",
                          1,
                          {{"groups", int64_t(1)},
                           {"strides", dilations},
                           {"dilations", strides},
                           {"pads_lo", low},
                           {"pads_hi", high}},
                          {2, 3},
                          {f32(swapped)}},
                         {"nn.transpose", 1, transposed, {4}, {f32(dw)}}};
    for (RegionPart &part : call.region.parts) {
      part.version = kernelVersion(part.op).value();
    }
    if (below(2) == 0) { // sums of devices stand before the last swap
      call.region.parts.pop_back();
    }
    call.region.results = {int(call.region.parts.size()) + 1};
    return call;
  }

private:
  Tensor numbers(const Dims &dims) {
    std::vector<float> values(static_cast<size_t>(numElements(dims)));
    for (float &value : values) {
      value = std::uniform_real_distribution<float>(-2, 2)(random_);
    }
    return make<float>(dims, values);
  }

  std::mt19937 random_;
};

} // namespace

/// The same, stored with its channels last.
static Tensor withChannelsLast(const Tensor &plain) {
  Tensor last(plain.info);
  last.info.format = channelsLast;
  TensorInfo infos[] = {plain.info};
  Attributes none;
  CallSite site{packOp, none, infos, {&last.info, 1}};
  runAlone({&referenceBackend()}, site, {plain.data.data()}, last.data.data());
  return last;
}

TEST(ConvWeightsTest, equalsItsPartsInEitherFormat) {
  Draw draw(11);
  int64_t taken = 0, all = 200;
  for (int64_t i = 0; i < all; ++i) {
    FusedCall call = draw.draw();
    Tensor expected =
        expectedOf(call, {&cpuBackend(), {&referenceBackend()}, 1})[0];
    for (Tensor &operand : call.operands) {
      operand = draw.below(2) == 0 ? withChannelsLast(operand) : operand;
    }
    std::vector<TensorInfo> from = call.operandInfos();
    std::vector<TensorInfo> to = call.resultInfos();
    std::vector<Tensor> found;
    for (int threads : {1, 2, 3}) {
      CallSite site{fusedOp, call.none, from, to};
      site.threads = threads;
      site.region = &call.region;
      const Kernel *kernel = cpuBackend().find(site);
      if (!kernel || kernel->library.empty()) {
        continue;
      }
      taken += threads == 1 ? 1 : 0;
      found.push_back(runFused(call, site, *kernel, std::nullopt)[0]);
      EXPECT_EQ(found.back().data, found.front().data)
          << "threads " << threads << " of case " << i;
    }
    if (found.empty()) {
      continue;
    }
    std::vector<float> got = found[0].values<float>();
    std::vector<float> wanted = expected.values<float>();
    for (size_t e = 0; e < got.size(); ++e) {
      ASSERT_NEAR(got[e], wanted[e], 2e-4 * (1 + std::fabs(wanted[e])))
          << "element " << e << " of case " << i;
    }
  }
  RecordProperty("taken", int(taken));
  EXPECT_GE(taken, all / 2);
}
