//===- WeighRowTest.cpp - Tests of weights of scores ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/cpu/WeighRow.h"

#include <cmath>
#include <gmock/gmock.h>
#include <limits>
#include <random>
#include <vector>

using namespace divisi::rt::cpu;
using testing::Each;
using testing::ElementsAre;
using testing::IsNan;

static constexpr float inf = std::numeric_limits<float>::infinity();

/// The weights of a row behind which something lies, and that comes in two
/// parts, as shares of their sum.
static std::vector<float> weightsOf(std::vector<float> row) {
  constexpr float behind = 7;
  auto first = static_cast<int64_t>(row.size() / 3);
  auto rest = static_cast<int64_t>(row.size()) - first;
  row.push_back(behind);
  float top = -inf;
  float part = weighRow()(row.data(), first, top), before = top;
  float total = weighRow()(row.data() + first, rest, top);
  EXPECT_EQ(row.back(), behind);
  row.pop_back();
  float factor = before == top ? 1 : std::exp(before - top);
  total += factor * part;
  for (int64_t i = 0; i < first + rest; ++i) {
    row[i] *= total == 0 ? 1 : (i < first ? factor : 1) / total;
  }
  return row;
}

/// Of scores that differ by up to `range`, whose difference is rounded.
static void expectNear(int count, float range, std::mt19937 &random) {
  std::uniform_real_distribution<float> scores(-range, 0);
  std::vector<float> row(count);
  double sum = 0;
  for (float &score : row) {
    score = scores(random);
    sum += std::exp(double(score));
  }
  std::vector<float> weights = weightsOf(row);
  for (int i = 0; i < count; ++i) {
    double exact = std::exp(double(row[i])) / sum;
    double relative = 0x1p-24 * (range + 40);
    ASSERT_NEAR(weights[i], exact, exact * relative + 0x1p-126)
        << "element " << i << " of " << count;
  }
}

TEST(WeighRow, IsNearTheExactOne) {
  std::mt19937 random(1);
  for (int count : {1, 2, 7, 8, 9, 15, 16, 17, 49, 197, 1000, 1024}) {
    for (float range : {0.0f, 1.0f, 30.0f, 200.0f}) {
      expectNear(count, range, random);
    }
  }
}

TEST(WeighRow, KnowsWhatIsNoNumber) {
  EXPECT_THAT(weightsOf({-inf, 5, -inf, -300}), ElementsAre(0, 1, 0, 0));
  for (size_t count : {3, 8, 20}) {
    EXPECT_THAT(weightsOf(std::vector<float>(count, -inf)), Each(0));
    for (size_t at = 0; at < count; ++at) {
      std::vector<float> row(count, -1);
      row[at] = std::numeric_limits<float>::quiet_NaN();
      EXPECT_THAT(weightsOf(row), Each(IsNan()));
      row[at] = inf; // less itself
      EXPECT_TRUE(std::isnan(weightsOf(row)[at]));
    }
  }
}
