//===- FieldTest.cpp - What the prime field computes ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The field's laws, the images of numbers, and what it is for: equal programs
// give equal elements, and wrong ones others.
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/kernels/Arithmetic.h"
#include "test/runtime/kernels/ReferenceCalls.h"

#include <algorithm>
#include <random>

using namespace divisi::rt;
using namespace divisi::rt::test;
using testing::ElementsAre;
using testing::Ne;

using Elements = std::vector<FieldElement>;

namespace {

/// Elements and numbers at random.
class Field : public testing::Test {
protected:
  ~Field() override { setFieldSeed(seed); }

  FieldElement element() { return FieldElement(random()); }
  Elements elements(int64_t count) {
    Elements values(static_cast<size_t>(count));
    std::generate(values.begin(), values.end(), [&] { return element(); });
    return values;
  }
  Tensor matrix(int64_t rows, int64_t columns) {
    return make({rows, columns}, elements(rows * columns));
  }

  std::mt19937_64 random{1};
  uint64_t seed = fieldSeed();
};

} // namespace

TEST_F(Field, HasItsLaws) {
  constexpr auto p = FieldElement::modulus;
  for (int i = 0; i < 10000; ++i) {
    FieldElement a = element(), b = element(), c = element();
    ASSERT_EQ((a + b) + c, a + (b + c));
    ASSERT_EQ((a * b) * c, a * (b * c));
    ASSERT_EQ((a + b) * c, a * c + b * c);
    ASSERT_EQ(a + b, b + a);
    ASSERT_EQ(a * b, b * a);
    ASSERT_EQ(a - b + b, a);
    ASSERT_EQ(a + -a, 0);
    ASSERT_EQ(a / b * b, a);
    auto product = static_cast<unsigned __int128>(a.residue) * b.residue % p;
    ASSERT_EQ((a * b).residue, uint64_t(product));
    ASSERT_LT((a + b).residue, p);
  }
}

TEST_F(Field, HasTheImagesOfIntegers) {
  constexpr auto p = int64_t(FieldElement::modulus);
  for (int64_t value : {int64_t(0), int64_t(-1), p / 2, -(p / 2)}) {
    EXPECT_EQ(int64_t(FieldElement(value)), value);
  }
  EXPECT_EQ(FieldElement(p), 0);
  EXPECT_EQ(FieldElement(-p), 0);
  EXPECT_EQ(FieldElement(UINT64_MAX).residue, UINT64_MAX % p);
  EXPECT_EQ(FieldElement(INT64_MIN), -FieldElement(uint64_t(1) << 63));
  EXPECT_EQ(FieldElement(true), 1);
}

/// What is exact in doubles is so in the field.
TEST_F(Field, HasTheExactImagesOfNumbers) {
  EXPECT_EQ(FieldElement(0.5) + FieldElement(0.5), 1);
  EXPECT_EQ(FieldElement(-0.0), 0);
  EXPECT_EQ(FieldElement(0x1p-1074) * FieldElement(0x1p1000) *
                FieldElement(0x1p74),
            1);
  EXPECT_EQ(FieldElement(1.7976931348623157e308),
            FieldElement(0x1p1023) * (2 - FieldElement(0x1p-52)));
  std::uniform_int_distribution<int> exponent(-500, 500);
  for (int i = 0; i < 10000; ++i) {
    auto part = [&] { return double(int32_t(random()) / 1024); };
    double a = part(), b = part();
    int places = exponent(random);
    double x = std::ldexp(a, places), y = std::ldexp(b, places);
    ASSERT_EQ(FieldElement(x) + FieldElement(y), FieldElement(x + y));
    ASSERT_EQ(FieldElement(x) * FieldElement(b), FieldElement(x * b));
    ASSERT_EQ(convertElement<FieldElement>(float(a)), FieldElement(int64_t(a)));
  }
}

TEST_F(Field, KeepsWhatIsNoNumberApart) {
  Elements values{INFINITY, -INFINITY, NAN};
  setFieldSeed(7);
  EXPECT_EQ(values, (Elements{INFINITY, -INFINITY, NAN}));
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_NE(values[i], values[(i + 1) % 3]);
    EXPECT_GT(std::abs(int64_t(values[i])), 1 << 30);
  }
  EXPECT_THAT(run<uint8_t>("nn.is_nan", {}, {make({3}, values)}, {3}),
              ElementsAre(0, 0, 1));
  EXPECT_THAT(run<uint8_t>("nn.is_inf", {}, {make({3}, values)}, {3}),
              ElementsAre(1, 1, 0));
}

TEST_F(Field, IsOrderedByRepresentatives) {
  EXPECT_LT(FieldElement(-3), FieldElement(2));
  EXPECT_EQ(lowestOf<FieldElement>() - 1, highestOf<FieldElement>());
  for (int i = 0; i < 1000; ++i) {
    FieldElement a = element(), b = element(), c = element();
    ASSERT_EQ(maxOf(a, b), maxOf(b, a));
    ASSERT_EQ(maxOf(maxOf(a, b), c), maxOf(a, maxOf(b, c)));
    ASSERT_EQ(maxOf(a, a), a);
    ASSERT_EQ(minOf(a, b), -maxOf(-a, -b));
    ASSERT_EQ(maxOf(a, lowestOf<FieldElement>()), a);
    ASSERT_EQ(minOf(a, highestOf<FieldElement>()), a);
  }
}

TEST_F(Field, ConvertsToTheIntegerOfLeastMagnitude) {
  Tensor x = make<FieldElement>({3}, {5, -3, 0});
  EXPECT_THAT(run<int32_t>("nn.cast", {}, {x}, {3}), ElementsAre(5, -3, 0));
  EXPECT_THAT(run<float>("nn.cast", {}, {x}, {3}), ElementsAre(5, -3, 0));
  EXPECT_THAT(run<uint8_t>("nn.cast", {}, {x}, {3}), ElementsAre(1, 1, 0));
}

//===----------------------------------------------------------------------===//
// Uninterpreted functions
//===----------------------------------------------------------------------===//

TEST_F(Field, DrawsFunctionsByTheSeed) {
  Elements x = elements(4);
  Elements first = unary("nn.exp", x);
  EXPECT_EQ(unary("nn.exp", x), first);
  EXPECT_THAT(unary("nn.tanh", x), Ne(first));
  FieldElement inverse = FieldElement(1) / 0;
  setFieldSeed(seed + 1);
  Elements other = unary("nn.exp", x);
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_NE(other[i], first[i]);
  }
  EXPECT_NE(FieldElement(1) / 0, inverse);
  setFieldSeed(seed);
  EXPECT_EQ(unary("nn.exp", x), first);
  EXPECT_EQ(FieldElement(1) / 0, inverse);
}

/// No two of them are the same function.
TEST_F(Field, TellsFunctionsApart) {
  Elements seen;
  for (const char *op :
       {"nn.sqrt",  "nn.rsqrt", "nn.exp",       "nn.log",   "nn.erf",
        "nn.sin",   "nn.cos",   "nn.tan",       "nn.asin",  "nn.acos",
        "nn.atan",  "nn.sinh",  "nn.cosh",      "nn.asinh", "nn.acosh",
        "nn.atanh", "nn.tanh",  "nn.sigmoid",   "nn.silu",  "nn.floor",
        "nn.ceil",  "nn.round", "nn.hard_swish"}) {
    FieldElement value = unary<FieldElement>(op, {12345})[0];
    EXPECT_THAT(seen, testing::Not(testing::Contains(value))) << op;
    seen.push_back(value);
  }
}

TEST_F(Field, TakesSmallPowersAsProducts) {
  FieldElement x = element(), odd = element();
  Elements powers = binary<FieldElement>("nn.pow", {x, x, x, x, x, odd},
                                         {3, 0, -1, 0.5, odd, odd});
  EXPECT_EQ(powers[0], x * x * x);
  EXPECT_EQ(powers[1], 1);
  EXPECT_EQ(powers[2], 1 / x);
  EXPECT_NE(powers[3], powers[4]);
  EXPECT_NE(powers[4], powers[5]);
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

static Tensor product(const Tensor &a, const Tensor &b,
                      const std::string &labels = "mk,kn->mn") {
  Dims dims{a.info.extents[0], b.info.extents[1]};
  return make(
      dims, run<FieldElement>("nn.matmul", {{"labels", labels}}, {a, b}, dims));
}

static Elements valuesOf(const Tensor &tensor) {
  return tensor.values<FieldElement>();
}

static Tensor call(const char *op, const Tensor &a, const Tensor &b) {
  return make(a.info.extents,
              run<FieldElement>(op, {}, {a, b}, a.info.extents));
}

TEST_F(Field, MultipliesMatricesDistributively) {
  for (int64_t n : {1, 5, 9, 33}) {
    Tensor a = matrix(n, n), b = matrix(n, n), c = matrix(n, n);
    EXPECT_EQ(valuesOf(product(call("nn.add", a, b), c)),
              valuesOf(call("nn.add", product(a, c), product(b, c))));
  }
}

TEST_F(Field, ReassociatesProducts) {
  Tensor a = matrix(4, 30), b = matrix(30, 11), c = matrix(11, 3);
  EXPECT_EQ(valuesOf(product(product(a, b), c)),
            valuesOf(product(a, product(b, c))));
}

TEST_F(Field, TellsATransposedOperand) {
  Tensor a = matrix(6, 6), b = matrix(6, 6);
  Elements right = valuesOf(product(a, b));
  Elements wrong = valuesOf(product(a, b, "mk,nk->mn"));
  size_t same = 0;
  for (size_t i = 0; i < right.size(); ++i) {
    same += right[i] == wrong[i];
  }
  EXPECT_EQ(same, 0u);
}

static Elements softmax(const Tensor &x, int64_t axis, int64_t log = 0) {
  return run<FieldElement>("nn.softmax", {{"axis", axis}, {"log", log}}, {x},
                           x.info.extents);
}

TEST_F(Field, TellsAnotherAxisOfSoftmax) {
  Tensor x = matrix(5, 5);
  Elements right = softmax(x, 1), wrong = softmax(x, 0);
  for (size_t i = 0; i < right.size(); ++i) {
    EXPECT_NE(right[i], wrong[i]);
  }
}

TEST_F(Field, ComputesFormulasFromTheirParts) {
  Tensor x = matrix(1, 6);
  Elements values = valuesOf(x), e = unary("nn.exp", values);
  FieldElement sum, mean, variance;
  for (size_t i = 0; i < 6; ++i) {
    sum += e[i];
    mean += values[i] / 6;
  }
  for (FieldElement value : values) {
    variance += (value - mean) * (value - mean) / 6;
  }
  FieldElement logarithm = unary<FieldElement>("nn.log", {sum})[0];
  FieldElement scale = unary<FieldElement>("nn.rsqrt", {variance + 0.5})[0];
  Elements normal = run<FieldElement>(
      "nn.normalize",
      {{"axes", Dims{1}}, {"center", int64_t(1)}, {"epsilon", 0.5}}, {x},
      {1, 6});
  Elements sigmoid = unary("nn.sigmoid", values);
  Elements negative = unary("nn.exp", unary("nn.neg", values));
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(softmax(x, 1)[i], e[i] / sum);
    EXPECT_EQ(softmax(x, 1, 1)[i], values[i] - logarithm);
    EXPECT_EQ(normal[i], (values[i] - mean) * scale);
    EXPECT_EQ(sigmoid[i], 1 / (1 + negative[i]));
  }
  EXPECT_EQ(unary("nn.relu", values),
            binary("nn.max", values, Elements(6, FieldElement(0))));
  EXPECT_EQ(unary("nn.abs", values),
            binary("nn.max", values, unary("nn.neg", values)));
}
