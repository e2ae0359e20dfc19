//===- ScalarFunctionsTest.cpp - Tests of the table of functions ----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What each row of the table says is what its reference kernel does.
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/kernels/FieldElement.h"
#include "divisi/runtime/kernels/OperatorKinds.h"
#include "runtime/kernels/Families.h"
#include "test/Codegen/ScalarCalls.h"

#include <cmath>
#include <gmock/gmock.h>
#include <set>

using namespace divisi;
using namespace divisi::test;
using rt::DType;
using rt::ScalarFacts;
using rt::ScalarFunction;

TEST(ScalarFunctions, AreFoundByOperatorAndAttributes) {
  for (const ScalarFacts &row : operatorRows()) {
    const ScalarFacts *found = rt::findFunction(row.op, attributesOf(row));
    ASSERT_TRUE(found) << nameOf(row);
    EXPECT_EQ(found->function, row.function) << nameOf(row);
    EXPECT_TRUE(rt::isElementwise(row.op)) << nameOf(row);
  }
  EXPECT_FALSE(rt::findFunction("nn.matmul", {}));
  EXPECT_FALSE(rt::findFunction("", {}));
  EXPECT_FALSE(
      rt::findFunction("nn.compare", {{"predicate", std::string("like")}}));
}

TEST(ScalarFunctions, AreAllThatElementwiseKernelsCompute) {
  std::set<std::string_view> ops;
  for (const ScalarFacts &row : operatorRows()) {
    ops.insert(row.op);
  }
  for (auto family : {rt::unaryKernels(), rt::elementwiseKernels()}) {
    for (const rt::Kernel &kernel : family) {
      EXPECT_EQ(ops.erase(kernel.op), 1u) << kernel.op;
    }
  }
  EXPECT_THAT(ops, testing::IsEmpty());
}

TEST(ScalarFunctions, HaveReferenceKernelsForTheirTypesAndNoOthers) {
  for (const ScalarFacts &row : operatorRows()) {
    for (unsigned bit = 0; bit != 32; ++bit) {
      if ((rt::AllTypes >> bit & 1) == 0) {
        continue;
      }
      auto type = DType(bit);
      RegionCall call = callOf(row, type, {3});
      rt::CallSite site{row.op, call.region.parts[0].attributes, call.operands,
                        call.results};
      const rt::Kernel *kernel = rt::referenceBackend().find(site);
      ASSERT_TRUE(kernel) << nameOf(row);
      std::string error;
      EXPECT_EQ(kernel->prepare(site, error) != nullptr,
                (row.types >> bit & 1) != 0)
          << nameOf(row) << " of " << rt::stringify(type);
    }
  }
}

/// What the kernel makes of elements of the field, or the message.
static Expected<std::vector<uint64_t>>
evaluateInField(const ScalarFacts &row,
                const std::vector<std::vector<uint64_t>> &operands) {
  RegionCall call = callOf(row, DType::Field, {int64_t(operands[0].size())});
  std::vector<std::vector<uint8_t>> flags;
  std::vector<const void *> data;
  for (size_t i = 0; i != operands.size(); ++i) {
    data.push_back(operands[i].data());
    if (call.operands[i].type == DType::Bool) {
      flags.emplace_back(operands[i].begin(), operands[i].end());
      data.back() = flags.back().data();
    }
  }
  bool isTest = row.has(rt::Tests);
  std::vector<uint64_t> results(operands[0].size());
  std::vector<uint8_t> tests(operands[0].size());
  void *to = isTest ? static_cast<void *>(tests.data()) : results.data();
  Status status = rt::evaluate(row.op, call.region.parts[0].attributes,
                               call.operands, data, call.results, {&to, 1});
  if (!status.isOk()) {
    return status;
  }
  return isTest ? std::vector<uint64_t>(tests.begin(), tests.end()) : results;
}

/// Pairs of eighths, of which sums and products are exact, as far as operands
/// need them: in the field some of the positive ones count as negative.
static std::vector<std::vector<double>> drawnOperands(const ScalarFacts &row) {
  // Beyond some of them a sigmoid is 0 or 1.
  constexpr int eighths[] = {-512, -32, -11, -8, -5, 0,  2,
                             7,    8,   16,  21, 32, 512};
  std::vector<std::vector<double>> operands(row.operands);
  for (int x : eighths) {
    for (int y : eighths) {
      // Powers are exact where exponents are small integers.
      bool isPower = row.function == ScalarFunction::Pow;
      double drawn[] = {x / 8.0, isPower ? double(y % 4) : y / 8.0,
                        (y + 5) / 8.0};
      for (size_t i = 0; i != row.operands; ++i) {
        bool isCondition = row.function == ScalarFunction::Select && i == 0;
        operands[i].push_back(isCondition ? double(x > y) : drawn[i]);
      }
    }
  }
  return operands;
}

/// The value that the kernel makes of doubles, per place.
static std::vector<double>
evaluateNumbers(const ScalarFacts &row,
                const std::vector<std::vector<double>> &operands) {
  RegionCall call = callOf(row, DType::F64, {int64_t(operands[0].size())});
  std::vector<std::vector<std::byte>> bytes;
  std::vector<const void *> data;
  for (size_t i = 0; i != operands.size(); ++i) {
    bytes.push_back(storedFrom(call.operands[i], operands[i]));
    data.push_back(bytes.back().data());
  }
  std::vector<std::byte> result(call.results[0].bytes());
  void *to = result.data();
  EXPECT_TRUE(rt::evaluate(row.op, call.region.parts[0].attributes,
                           call.operands, data, call.results, {&to, 1})
                  .isOk());
  return numbersFrom(call.results[0], result.data());
}

/// The images of numbers in the field; flags are as they are.
static std::vector<std::vector<uint64_t>>
imagesOf(const ScalarFacts &row,
         const std::vector<std::vector<double>> &operands) {
  std::vector<std::vector<uint64_t>> images;
  for (const std::vector<double> &numbers : operands) {
    bool isFlags = row.function == ScalarFunction::Select && images.empty();
    std::vector<uint64_t> all;
    for (double number : numbers) {
      all.push_back(isFlags ? uint64_t(number)
                            : rt::FieldElement(number).residue);
    }
    images.push_back(std::move(all));
  }
  return images;
}

/// Whether what the kernel makes of images is the image of what it makes of
/// numbers, where that is exact.
static bool isExactInField(const ScalarFacts &row) {
  auto operands = drawnOperands(row);
  auto made = evaluateInField(row, imagesOf(row, operands));
  EXPECT_TRUE(made) << nameOf(row);
  std::vector<double> numbers = evaluateNumbers(row, operands);
  for (size_t i = 0; i != numbers.size(); ++i) {
    bool isExact = std::isfinite(numbers[i]) &&
                   numbers[i] * 4096 == std::floor(numbers[i] * 4096);
    uint64_t image = row.has(rt::Tests) ? uint64_t(numbers[i])
                                        : rt::FieldElement(numbers[i]).residue;
    if (isExact && (*made)[i] != image) {
      return false;
    }
  }
  return true;
}

/// Whether what the kernel makes depends on what names of functions stand for.
static bool dependsOnNames(const ScalarFacts &row) {
  auto images = imagesOf(row, drawnOperands(row));
  uint64_t seed = rt::fieldSeed();
  auto once = evaluateInField(row, images);
  rt::setFieldSeed(seed + 1);
  auto again = evaluateInField(row, images);
  rt::setFieldSeed(seed);
  EXPECT_TRUE(once && again) << nameOf(row);
  // Beside what is inverse to 0, which has no inverse.
  size_t differ = 0;
  for (size_t i = 0; i != once->size(); ++i) {
    differ += (*once)[i] != (*again)[i];
  }
  return differ * 2 > once->size();
}

TEST(ScalarFunctions, MeanInTheFieldWhatTheirRowsSay) {
  for (const ScalarFacts &row : operatorRows()) {
    bool hasField = (row.types & rt::typeBit(DType::Field)) != 0;
    EXPECT_EQ(hasField, row.field != rt::FieldMeaning::NoField) << nameOf(row);
    // A cast has a type that the row does not know.
    if (!hasField || row.function == ScalarFunction::Cast) {
      continue;
    }
    EXPECT_EQ(isExactInField(row), row.field == rt::FieldMeaning::Exact)
        << nameOf(row);
    EXPECT_EQ(dependsOnNames(row), row.field == rt::FieldMeaning::Named)
        << nameOf(row);
  }
}

TEST(ScalarFunctions, CommuteIfTheirRowsSaySo) {
  for (const ScalarFacts &row : operatorRows()) {
    if (row.operands != 2) {
      EXPECT_FALSE(row.has(rt::Commutes)) << nameOf(row);
      continue;
    }
    bool isLogical = (row.types & rt::typeBit(DType::F64)) == 0;
    DType type = isLogical ? DType::I32 : DType::F64;
    auto operands = drawnOperands(row);
    for (std::vector<double> &numbers : operands) {
      for (double &number : numbers) {
        number = isLogical ? number * 8 : number;
      }
    }
    RegionCall call = callOf(row, type, {int64_t(operands[0].size())});
    auto a = storedFrom(call.operands[0], operands[0]),
         b = storedFrom(call.operands[1], operands[1]);
    std::vector<std::byte> results[2];
    for (size_t turn : {0, 1}) {
      const void *data[] = {turn ? b.data() : a.data(),
                            turn ? a.data() : b.data()};
      results[turn].resize(call.results[0].bytes());
      void *to = results[turn].data();
      ASSERT_TRUE(rt::evaluate(row.op, call.region.parts[0].attributes,
                               call.operands, data, call.results, {&to, 1})
                      .isOk());
    }
    EXPECT_EQ(results[0] == results[1], row.has(rt::Commutes)) << nameOf(row);
  }
}

//===----------------------------------------------------------------------===//
// Real numbers
//===----------------------------------------------------------------------===//

/// What the kernel makes of numbers from -8 to 8.
static std::vector<double> valuesOf(const ScalarFacts &row, double sign) {
  std::vector<double> numbers;
  for (int i = -1024; i <= 1024; ++i) {
    numbers.push_back(sign * i / 128);
  }
  return evaluateNumbers(row, {numbers});
}

TEST(ScalarFunctions, HaveTheLawsThatTheirRowsName) {
  size_t counts[4] = {};
  for (const ScalarFacts &row : operatorRows()) {
    bool isReal = (row.types & rt::typeBit(DType::F64)) != 0;
    if (row.operands != 1 || !isReal || row.function == ScalarFunction::Cast) {
      EXPECT_EQ(
          row.traits & (rt::Odd | rt::Even | rt::Ascending | rt::Integral), 0u)
          << nameOf(row);
      continue;
    }
    std::vector<double> values = valuesOf(row, 1), turned = valuesOf(row, -1);
    double last = -INFINITY;
    for (size_t i = 0; i != values.size(); ++i) {
      double y = values[i];
      if (std::isnan(y)) {
        continue;
      }
      if (row.has(rt::Odd)) {
        EXPECT_EQ(turned[i], -y) << nameOf(row);
      }
      if (row.has(rt::Even)) {
        EXPECT_EQ(turned[i], y) << nameOf(row);
      }
      if (row.has(rt::Ascending)) {
        EXPECT_GE(y, last) << nameOf(row);
      }
      if (row.has(rt::Integral)) {
        EXPECT_EQ(y, std::floor(y)) << nameOf(row);
      }
      last = y;
    }
    counts[0] += row.has(rt::Odd);
    counts[1] += row.has(rt::Even);
    counts[2] += row.has(rt::Ascending);
    counts[3] += row.has(rt::Integral);
  }
  EXPECT_THAT(counts, testing::ElementsAre(11, 2, 11, 3));
}
