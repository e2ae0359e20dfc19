//===- ScalarCodeTest.cpp - Tests of code of functions of elements --------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each row of the table of functions is read by each of those who read it:
// generated code computes it as the reference kernel does, and regions and
// oneDNN take it as the row says.
//
//===----------------------------------------------------------------------===//

#include "divisi/Codegen/GridKernels.h"
#include "divisi/Codegen/NativeCode.h"
#include "divisi/runtime/code/RowCall.h"
#include "divisi/runtime/code/RowCode.h"
#include "lib/Codegen/RowProgram.h"
#include "runtime/backends/cpu/NativeObject.h"
#include "runtime/backends/cpu/PostOps.h"
#include "test/Codegen/ScalarCalls.h"

#include <cmath>
#include <gmock/gmock.h>
#include <random>

using namespace divisi;
using namespace divisi::test;
using rt::DType;
using rt::ScalarFacts;
using rt::ScalarFunction;

//===----------------------------------------------------------------------===//
// Generated code
//===----------------------------------------------------------------------===//

TEST(ScalarCode, AreFunctionsOfCodeForTheirTypes) {
  for (const ScalarFacts &row : operatorRows()) {
    for (unsigned bit = 0; bit != 32; ++bit) {
      auto type = DType(bit);
      bool isTaken = (row.types >> bit & 1) != 0 && type != DType::Field;
      // Of a cast to the same type nothing is left.
      if ((rt::AllTypes >> bit & 1) == 0 ||
          row.function == ScalarFunction::Cast) {
        continue;
      }
      RegionCall call = callOf(row, type, {5});
      rt::CallSite site = call.site();
      std::optional<rt::RowCall> rows = rt::RowCall::of(site);
      ASSERT_TRUE(rows) << nameOf(row);
      auto program = RowProgram::of(rows->site(), rows->nest());
      EXPECT_EQ(program.has_value(), isTaken)
          << nameOf(row) << " of " << rt::stringify(type);
      if (program) {
        EXPECT_EQ(program->nodes.back().function, row.function) << nameOf(row);
        EXPECT_EQ(program->isForVectors(),
                  row.has(rt::ForVectors) &&
                      (computedAs(type) == DType::F32 || type == DType::Bool))
            << nameOf(row) << " of " << rt::stringify(type);
        EXPECT_TRUE(generatesGridKernel(site)) << nameOf(row);
      }
    }
  }
}

/// What generated code makes of the operands.
static std::vector<double>
runCode(const RegionCall &call,
        const std::vector<std::vector<std::byte>> &operands) {
  auto code = generateCode(call.site(), std::string(rt::hostLevel()));
  EXPECT_TRUE(code) << code.status().message();
  auto object = rt::cpu::NativeObject::load(std::as_bytes(std::span(*code)));
  EXPECT_TRUE(object) << object.status().message();
  std::vector<std::byte> result(call.results[0].bytes());
  std::vector<const void *> tensors;
  for (const std::vector<std::byte> &operand : operands) {
    tensors.push_back(operand.data());
  }
  tensors.push_back(result.data());
  int64_t count = call.results[0].count();
  std::vector<int64_t> numbers(tensors.size() + 1, 1);
  numbers[0] = count;
  rt::RowArguments arguments = {
      tensors.data(), numbers.data(), nullptr, 0, 0, 1, 0, count};
  (*object)->function()(&arguments);
  return numbersFrom(call.results[0], result.data());
}

TEST(ScalarCode, AreComputedByCodeForVectors) {
  if (rt::hostLevel().empty()) {
    GTEST_SKIP() << "no code is made for this processor";
  }
  std::mt19937 random(5);
  size_t count = 0;
  for (const ScalarFacts &row : operatorRows()) {
    if (!row.has(rt::ForVectors)) {
      continue;
    }
    ++count;
    bool isReal = (row.types & rt::typeBit(DType::F32)) != 0;
    RegionCall call = callOf(row, isReal ? DType::F32 : DType::Bool, {99});
    auto operands = drawOperands(call, random);
    EXPECT_EQ(differenceOf(call.results[0].type, runCode(call, operands),
                           evaluateCall(call, operands)),
              "")
        << nameOf(row);
  }
  EXPECT_GT(count, 35u);
}

//===----------------------------------------------------------------------===//
// Regions and oneDNN
//===----------------------------------------------------------------------===//

TEST(ScalarCode, TakeRowsOfScratchMemoryIfTheyCostMuch) {
  for (const ScalarFacts &row : operatorRows()) {
    bool isReal = (row.types & rt::typeBit(DType::F32)) != 0;
    if (!isReal || row.function == ScalarFunction::Cast ||
        row.function == ScalarFunction::Select || row.has(rt::Tests)) {
      continue;
    }
    RegionCall call = callOf(row, DType::F32, {4, 8});
    rt::RegionPart line;
    line.op = "nn.normalize";
    line.attributes = {
        {"axes", rt::Dims{1}}, {"center", int64_t(1)}, {"epsilon", 1e-3}};
    line.operands = {int(row.operands)};
    line.results = call.results;
    call.region.parts.push_back(line);
    call.region.results = {int(row.operands) + 1};
    std::optional<rt::RowCall> rows = rt::RowCall::of(call.site());
    ASSERT_TRUE(rows) << nameOf(row);
    EXPECT_EQ(rows->nest().scratchRows,
              row.cost != rt::FunctionCost::Few ? 1 : 0)
        << nameOf(row);
  }
}

TEST(ScalarCode, ArePostOpsIfTheirRowsSaySo) {
  size_t count = 0;
  for (const ScalarFacts &row : operatorRows()) {
    bool isReal = (row.types & rt::typeBit(DType::F32)) != 0;
    if (!isReal || row.operands > 2 || row.has(rt::Tests)) {
      continue;
    }
    // A product, and the function of it and of a number.
    auto whole = rt::TensorInfo::whole(DType::F32, {2, 2});
    auto single = rt::TensorInfo::whole(DType::F32, {1});
    std::vector<rt::TensorInfo> operands = {whole, whole, single};
    rt::Region region;
    region.parts.push_back({"nn.matmul",
                            1,
                            {{"labels", std::string("mk,kn->mn")}},
                            {0, 1},
                            {whole}});
    std::vector<int> values = {3};
    values.resize(row.operands, 2);
    region.parts.push_back(
        {std::string(row.op), 1, attributesOf(row), values, {whole}});
    region.results = {4};
    rt::Attributes none;
    rt::CallSite site{rt::fusedOp, none, operands, {&whole, 1}};
    float number = 0.5;
    std::vector<rt::Constant> constants(3);
    constants[2] = &number;
    site.constants = constants;
    site.region = &region;
    bool isPostOp = row.postOp != rt::PostOpKind::NoPostOp;
    rt::cpu::PostOps ops;
    size_t done = ops.read(site, 2, rt::cpu::Clips::Known);
    EXPECT_EQ(done == 2, isPostOp || row.function == ScalarFunction::Cast)
        << nameOf(row);
    if (isPostOp) {
      ++count;
      rt::cpu::PrimitiveAttr attr = rt::cpu::scratchpadAttr();
      EXPECT_TRUE(ops.addTo(attr.get(), whole)) << nameOf(row);
    }
    // Only clips are lost where they may not be.
    EXPECT_EQ(ops.read(site, 2) == 2,
              done == 2 && row.postOp != rt::PostOpKind::Clip)
        << nameOf(row);
  }
  EXPECT_EQ(count, 13u);
}
