//===- ScalarCalls.h - Calls of functions of elements -----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_CODEGEN_SCALARCALLS_H
#define DIVISI_TEST_CODEGEN_SCALARCALLS_H

#include "divisi/runtime/kernels/ScalarFunctions.h"
#include "test/Codegen/RegionCall.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace divisi::test {

/// The rows that are operators.
inline std::vector<rt::ScalarFacts> operatorRows() {
  std::vector<rt::ScalarFacts> rows;
  std::ranges::copy_if(
      rt::scalarFacts, std::back_inserter(rows),
      [](const rt::ScalarFacts &row) { return !row.op.empty(); });
  return rows;
}

/// The attributes that choose the function.
inline rt::Attributes attributesOf(const rt::ScalarFacts &row) {
  bool isFlag = row.choice == "true" || row.choice == "false";
  rt::Attribute value = isFlag ? rt::Attribute(int64_t(row.choice == "true"))
                               : rt::Attribute(std::string(row.choice));
  return row.attribute.empty()
             ? rt::Attributes()
             : rt::Attributes{{std::string(row.attribute), value}};
}

/// Operands of `type`, of which a choice's first is logical.
inline std::vector<rt::TensorInfo> operandsOf(const rt::ScalarFacts &row,
                                              rt::DType type, rt::Dims dims) {
  std::vector<rt::TensorInfo> operands(row.operands,
                                       rt::TensorInfo::whole(type, dims));
  if (row.function == rt::ScalarFunction::Select) {
    operands[0].type = rt::DType::Bool;
  }
  return operands;
}

/// A result of operands of `type`.
inline rt::TensorInfo resultOf(const rt::ScalarFacts &row, rt::DType type,
                               rt::Dims dims) {
  return rt::TensorInfo::whole(row.has(rt::Tests) ? rt::DType::Bool : type,
                               dims);
}

/// A call with a region of the function alone.
inline RegionCall callOf(const rt::ScalarFacts &row, rt::DType type,
                         rt::Dims dims) {
  RegionCall call;
  call.operands = operandsOf(row, type, dims);
  call.results = {resultOf(row, type, dims)};
  rt::RegionPart part;
  part.op = row.op;
  part.attributes = attributesOf(row);
  for (size_t i = 0; i != row.operands; ++i) {
    part.operands.push_back(int(i));
  }
  part.results = call.results;
  call.region = {{part}, {int(row.operands)}};
  return call;
}

/// Quarters from -4 to 4, or other numbers that the types have, for the
/// operands as they lie in memory.
inline std::vector<std::vector<std::byte>> drawOperands(const RegionCall &call,
                                                        std::mt19937 &random) {
  std::vector<std::vector<std::byte>> operands;
  for (const rt::TensorInfo &info : call.operands) {
    std::vector<double> numbers(size_t(info.count()));
    for (double &number : numbers) {
      number = info.type == rt::DType::Bool ? double(random() % 2)
               : rt::isFloatType(info.type) ? double(random() % 33) / 4 - 4
                                            : double(random() % 9) - 4;
    }
    operands.push_back(storedFrom(info, numbers));
  }
  return operands;
}

/// What the reference kernel makes of them.
inline std::vector<double>
evaluateCall(const RegionCall &call,
             const std::vector<std::vector<std::byte>> &operands) {
  std::vector<const void *> data;
  for (const std::vector<std::byte> &operand : operands) {
    data.push_back(operand.data());
  }
  std::vector<std::byte> result(call.results[0].bytes());
  void *to = result.data();
  const rt::RegionPart &part = call.region.parts[0];
  Status status = rt::evaluate(part.op, part.attributes, call.operands, data,
                               call.results, {&to, 1});
  return status.isOk() ? numbersFrom(call.results[0], result.data())
                       : std::vector<double>();
}

/// What is wrong with results of `type`, of which the reference makes `wanted`:
/// more than rounding; empty if nothing is.
inline std::string differenceOf(rt::DType type, const std::vector<double> &made,
                                const std::vector<double> &wanted) {
  double tolerance = type == rt::DType::F64 ? 1e-13 : 1e-5;
  if (made.size() != wanted.size()) {
    return "there are " + std::to_string(made.size()) + " results";
  }
  for (size_t i = 0; i != wanted.size(); ++i) {
    bool isSame = made[i] == wanted[i] ||
                  (std::isnan(made[i]) && std::isnan(wanted[i])) ||
                  std::abs(made[i] - wanted[i]) <=
                      tolerance * std::max(std::abs(wanted[i]), 0.1);
    if (!isSame) {
      return std::to_string(made[i]) + ", expected " +
             std::to_string(wanted[i]);
    }
  }
  return "";
}

/// For messages.
inline std::string nameOf(const rt::ScalarFacts &row) {
  return std::string(row.op) + " " + std::string(row.choice);
}

} // namespace divisi::test

#endif // DIVISI_TEST_CODEGEN_SCALARCALLS_H
