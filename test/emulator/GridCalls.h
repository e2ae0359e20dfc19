//===- GridCalls.h - Calls for kernels of GPUs ------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_EMULATOR_GRIDCALLS_H
#define DIVISI_TEST_EMULATOR_GRIDCALLS_H

#include "divisi/runtime/kernels/Kernel.h"

#include <vector>

namespace divisi::test {

/// Sums along rows of which each needs a block, or across them.
struct ReduceCall {
  rt::TensorInfo operand, result;
  rt::Attributes attributes;

  ReduceCall(rt::DType type, int64_t axis)
      : operand(rt::TensorInfo::whole(type, axis == 1 ? rt::Dims{3, 300}
                                                      : rt::Dims{300, 90})),
        result(rt::TensorInfo::whole(
            type, {operand.extents[static_cast<size_t>(1 - axis)]})),
        attributes{{"axes", rt::Dims{axis}}, {"kind", std::string("sum")}} {}
  rt::CallSite site() const {
    return {"nn.reduce", attributes, {&operand, 1}, {&result, 1}};
  }
};

/// Two heads of 20 queries and 50 keys.
struct AttentionCall {
  std::vector<rt::TensorInfo> operands;
  rt::TensorInfo result;
  rt::Attributes attributes{{"left", int64_t(-1)},  {"right", int64_t(-1)},
                            {"offset", int64_t(0)}, {"nan", int64_t(0)},
                            {"scale", 0.25},        {"softcap", 0.0}};

  AttentionCall(rt::DType type, int64_t depth, int64_t features)
      : operands{rt::TensorInfo::whole(type, {1, 2, 20, depth}),
                 rt::TensorInfo::whole(type, {1, 2, 50, depth}),
                 rt::TensorInfo::whole(type, {1, 2, 50, features})},
        result(rt::TensorInfo::whole(type, {1, 2, 20, features})) {}
  rt::CallSite site() const {
    return {"nn.attention", attributes, operands, {&result, 1}};
  }
};

/// The gradient by queries, keys or values of such an attention.
struct AttentionGradientCall {
  std::vector<rt::TensorInfo> operands;
  rt::TensorInfo result;
  rt::Attributes attributes;

  /// `of` is one of "qkv"; of so many heads.
  AttentionGradientCall(rt::DType type, char of, int64_t depth,
                        int64_t features, int64_t heads = 2) {
    AttentionCall forward(type, depth, features);
    attributes = forward.attributes;
    attributes.set("of", std::string(1, of));
    operands = {forward.operands[0], forward.operands[1], forward.operands[2],
                forward.result};
    for (rt::TensorInfo &operand : operands) {
      operand = rt::TensorInfo::whole(
          type, {1, heads, operand.global[2], operand.global[3]});
    }
    operands.resize(6,
                    rt::TensorInfo::whole(rt::sumType(type), {1, heads, 20}));
    result = operands[std::string_view("qkv").find(of)];
  }
  rt::CallSite site() const {
    return {"nn.attention_gradient", attributes, operands, {&result, 1}};
  }
};

} // namespace divisi::test

#endif // DIVISI_TEST_EMULATOR_GRIDCALLS_H
