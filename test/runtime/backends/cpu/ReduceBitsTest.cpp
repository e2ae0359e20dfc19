//===- ReduceBitsTest.cpp - Sums and extrema have the reference's bits ----===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/runtime/backends/cpu/FusedCalls.h"

#include <bit>
#include <cmath>
#include <random>

using namespace divisi;
using namespace divisi::rt;
using namespace divisi::rt::test;

namespace {

/// Draws calls whose numbers often are zeros of both signs, sometimes NaN.
class Draw {
public:
  explicit Draw(unsigned seed) : random_(seed) {}

  int64_t below(int64_t end) {
    return std::uniform_int_distribution<int64_t>(0, end - 1)(random_);
  }

  Tensor tensor(const Dims &dims) {
    static const float few[] = {0.0f, -0.0f, -1.5f, -HUGE_VALF};
    std::vector<float> values(size_t(numElements(dims)));
    bool isEven = below(2), hasNaN = below(4) == 0;
    for (float &value : values) {
      value = isEven ? few[below(4)]
                     : std::uniform_real_distribution<float>(-9, 3)(random_);
      value = hasNaN && below(50) == 0 ? std::nanf("") : value;
    }
    return make<float>(dims, values);
  }

private:
  std::mt19937 random_;
};

} // namespace

/// By the first of `backends` that takes it.
static std::vector<float> reduceBy(const std::vector<const Backend *> &backends,
                                   const Tensor &x,
                                   const Attributes &attributes,
                                   const TensorInfo &result, int threads) {
  Tensor y(result);
  CallSite site{"nn.reduce", attributes, {&x.info, 1}, {&result, 1}};
  site.threads = threads;
  runAlone(backends, site, {x.data.data()}, y.data.data());
  return y.values<float>();
}

TEST(ReduceBits, areThoseOfTheReference) {
  Draw draw(1);
  for (int round = 0; round < 600; ++round) {
    Dims dims, axes, kept;
    for (int64_t d = 0, rank = 1 + draw.below(3); d < rank; ++d) {
      dims.push_back(1 + draw.below(draw.below(3) ? 9 : 150));
      (draw.below(2) ? axes : kept).push_back(d);
    }
    for (int64_t &d : kept) {
      d = dims[size_t(d)];
    }
    Tensor x = draw.tensor(dims);
    TensorInfo result = TensorInfo::whole(DType::F32, kept);
    for (const char *kind : {"sum", "max", "min"}) {
      Attributes attributes{{"kind", std::string(kind)}, {"axes", axes}};
      std::vector<float> expected =
          reduceBy({&referenceBackend()}, x, attributes, result, 1);
      std::vector<float> got =
          reduceBy({&cpuBackend(), &referenceBackend()}, x, attributes, result,
                   1 + int(draw.below(3)));
      for (size_t i = 0; i < expected.size(); ++i) {
        ASSERT_TRUE(std::isnan(expected[i])
                        ? std::isnan(got[i])
                        : std::bit_cast<uint32_t>(got[i]) ==
                              std::bit_cast<uint32_t>(expected[i]))
            << kind << " of " << testing::PrintToString(dims) << " along "
            << testing::PrintToString(axes) << ", round " << round
            << ", element " << i << ": " << got[i] << ", expected "
            << expected[i];
      }
    }
  }
}
