//===- ConformanceTypes.cpp - Cases over other element types --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/kernels/Element.h"
#include "test/runtime/backends/cpu/ConformanceCases.h"

#include <algorithm>

namespace divisi::rt::test {

using S = std::string;

static Case retyped(Case test, DType from, DType to) {
  test.name += "_" + S(stringify(to));
  auto retype = [&](TensorInfo &info, bool isSum) {
    DType own = isSum ? sumType(to) : to;
    info.type = info.type == from ? own : info.type;
  };
  for (size_t i = 0; i < test.operands.size(); ++i) {
    retype(test.operands[i], std::ranges::count(test.sums, i) != 0);
  }
  retype(test.result, test.resultIsSum);
  return test;
}

/// Whether a kernel takes a case over a type that is stored only.
static bool canRun(const Case &test) {
  CallSite site{test.op, test.attributes, test.operands, {&test.result, 1}};
  std::string ignored;
  return referenceBackend().find(site)->prepare(site, ignored) != nullptr;
}

/// Small cases over f32 also over the other floats, the field and what is
/// stored only, those over i32 alone over the other integers.
void addTypes(std::vector<Case> &cases) {
  for (size_t i = 0, n = cases.size(); i < n; ++i) {
    Case test = cases[i];
    if (test.result.count() > 2000) {
      continue;
    }
    auto isF32 = [](const TensorInfo &info) { return info.type == DType::F32; };
    bool isFloat =
        isF32(test.result) ||
        std::any_of(test.operands.begin(), test.operands.end(), isF32);
    for (unsigned type = 0; type < numDTypes; ++type) {
      DType to = DType(type);
      if (isFloat && (typeBit(to) & (Reals | Stored)) != 0 &&
          to != DType::F32) {
        Case other = retyped(test, DType::F32, to);
        // What is quantized is rounded, and the field knows no rounding.
        bool rounds = test.op == "nn.quantize" && to == DType::Field;
        bool mustRun = (typeBit(to) & Reals) != 0 && !rounds;
        if (mustRun || canRun(other)) {
          cases.push_back(std::move(other));
        }
      } else if (!isFloat && test.indexed == 0 &&
                 test.result.type == DType::I32 && (typeBit(to) & Ints) != 0 &&
                 to != DType::I32) {
        cases.push_back(retyped(test, DType::I32, to));
      }
    }
  }
}

} // namespace divisi::rt::test
