//===- Int8Product.cpp - Products of bytes by oneDNN ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/cpu/Int8Product.h"
#include "divisi/runtime/kernels/Nest.h"

#include <algorithm>

namespace divisi::rt::cpu {

Int8Operator::Int8Operator(const CallSite &call)
    : FirstOperator(call),
      result(call.results.empty() ? TensorInfo() : call.results[0]) {
  result.type = DType::I32;
}

bool Int8Operator::isProduct(const CallSite &call,
                             std::string_view wanted) const {
  bool isFused = call.op == fusedOp;
  if (op != wanted || call.results.size() != 1 || operands.size() < 2 ||
      isFused != (call.region != nullptr) || result.count() == 0 ||
      byteWidth(call.results[0].type) == 2 ||
      typeOf(call.results[0].type) == dnnl_data_type_undef) {
    return false;
  }
  return !part || (part->results.size() == 1 &&
                   isSameBox(part->results[0], call.results[0]));
}

bool isPackable(const CallSite &call, size_t operand) {
  return operand < call.constants.size() && bool(call.constants[operand]) &&
         !(call.region && call.region->countReads(int(operand)) > 1);
}

bool Int8Plan::read(const CallSite &call, const Int8Operator &first,
                    size_t left, std::array<const char *, 2> names,
                    const Dims &channels, bool hasValues) {
  if (!sumsBytesExactly() || !engine() ||
      !epilogue.read(call, channels, hasValues)) {
    return false;
  }
  for (size_t i : {size_t(0), size_t(1)}) {
    size_t operand = i == 0 ? left : 1 - left;
    const TensorInfo &info = call.operands[size_t(first.operands[operand])];
    if (info.type != DType::I8 && info.type != DType::U8) {
      return false;
    }
    zeros[i] = first.attributes.getInt(names[operand]);
    isSigned[i] = info.type == DType::I8;
    if (i == 1 && info.type == DType::U8) {
      flips = true;
      zeros[i] -= 128;
    }
    if (operand == 0 && first.operands.size() > 2) {
      zeroAt[i] = size_t(first.operands[2]);
    }
  }
  return true;
}

PrimitiveAttr Int8Plan::attr(const CallSite &call, int scaled,
                             const MemoryDesc &channels,
                             const_dnnl_memory_desc_t result) {
  PrimitiveAttr attr = scratchpadAttr();
  if (!attr) {
    return nullptr;
  }
  bool done = !epilogue.scales() || isDone(dnnl_primitive_attr_set_scales_mask(
                                        attr.get(), DNNL_ARG_WEIGHTS,
                                        epilogue.scaleAt() ? 0 : scaled));
  for (size_t i : {size_t(0), size_t(1)}) {
    done &= (zeros[i] == 0 && !zeroAt[i]) ||
            isDone(dnnl_primitive_attr_set_zero_points_mask(
                attr.get(), i == 0 ? DNNL_ARG_SRC : DNNL_ARG_WEIGHTS, 0));
  }
  done = done && epilogue.addTo(attr.get(), call, channels, result);
  return done ? std::move(attr) : nullptr;
}

/// oneDNN adds sums of weights to them, which no description shows.
std::string Int8Plan::weightsName() const {
  const_dnnl_memory_desc_t x =
      dnnl_primitive_desc_query_md(primitive.get(), dnnl_query_src_md, 0);
  dnnl_data_type_t type = dnnl_data_type_undef;
  dnnl_memory_desc_query(x, dnnl_query_data_type, &type);
  return std::string("int8 ") + (type == dnnl_s8 ? "s" : "u") +
         (zeros[0] != 0 || zeroAt[0] ? "z" : "") + (flips ? "f " : " ");
}

Int8Primitive::Int8Primitive(Int8Plan &plan,
                             std::array<const_dnnl_memory_desc_t, 3> layouts,
                             const_dnnl_memory_desc_t bias)
    : primitive_(plan.primitive.get()), epilogue_(std::move(plan.epilogue)),
      zeros_{int32_t(plan.zeros[0]), int32_t(plan.zeros[1])},
      zeroAt_(plan.zeroAt), isSigned_(plan.isSigned),
      hasBias_(bias != nullptr) {
  if (!primitive_) {
    return;
  }
  static constexpr int arguments[] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS,
                                      DNNL_ARG_DST};
  for (size_t i = 0; i < 3; ++i) {
    primitive_.bind(arguments[i], layouts[i]);
  }
  auto bindNumbers = [&](int argument, dnnl_data_type_t type, size_t count) {
    MemoryDesc desc = describe({int64_t(count)}, {1}, type);
    primitive_.bind(argument, desc.get());
  };
  for (size_t i : {size_t(0), size_t(1)}) {
    if (zeros_[i] != 0 || zeroAt_[i]) {
      bindNumbers(DNNL_ARG_ATTR_ZERO_POINTS |
                      (i == 0 ? DNNL_ARG_SRC : DNNL_ARG_WEIGHTS),
                  dnnl_s32, 1);
    }
  }
  if (epilogue_.scales()) {
    bindNumbers(DNNL_ARG_ATTR_SCALES | DNNL_ARG_WEIGHTS, dnnl_f32,
                epilogue_.scaleAt() ? 1 : epilogue_.channelScales().size());
  }
  if (hasBias_) {
    primitive_.bind(DNNL_ARG_BIAS, bias);
  }
  for (size_t r = 0; r < epilogue_.readers().size(); ++r) {
    int postOp = epilogue_.readers()[r].postOp;
    primitive_.bind(DNNL_ARG_ATTR_MULTIPLE_POST_OP(postOp) | DNNL_ARG_SRC_1,
                    epilogue_.descOf(r));
  }
}

bool Int8Primitive::run(const void *x, const void *w, void *y,
                        std::span<const void *const> tensors,
                        std::span<const void *const> operands,
                        void *scratchpad) {
  pointers_.assign({x, w, y});
  for (size_t i : {size_t(0), size_t(1)}) {
    if (zeroAt_[i]) {
      const void *zero = operands[*zeroAt_[i]];
      zeros_[i] = isSigned_[i] ? int32_t(*static_cast<const int8_t *>(zero))
                               : int32_t(*static_cast<const uint8_t *>(zero)) -
                                     (i == 1 ? 128 : 0);
    }
    if (zeros_[i] != 0 || zeroAt_[i]) {
      pointers_.push_back(&zeros_[i]);
    }
  }
  if (epilogue_.scales()) {
    pointers_.push_back(epilogue_.scaleAt() ? operands[*epilogue_.scaleAt()]
                                            : epilogue_.channelScales().data());
  }
  if (hasBias_) {
    pointers_.push_back(epilogue_.channelBiases().data());
  }
  size_t next = 0;
  for (const Int8Epilogue::Reader &reader : epilogue_.readers()) {
    pointers_.push_back(reader.operand ? tensors[next++]
                                       : reader.channels.data());
  }
  return primitive_.run(pointers_, scratchpad);
}

namespace {

class OwnMemoryKernel final : public PreparedKernel {
public:
  OwnMemoryKernel(std::unique_ptr<PreparedKernel> inner, int64_t bytes)
      : inner_(std::move(inner)), workspace_(size_t(bytes)) {}
  Status launch(LaunchContext &context) override {
    LaunchContext own = context;
    own.workspace = workspace_.data();
    return inner_->launch(own);
  }

private:
  std::unique_ptr<PreparedKernel> inner_;
  Bytes workspace_;
};

} // namespace

std::unique_ptr<PreparedKernel> prepareReference(const CallSite &site,
                                                 std::string &error) {
  const Kernel *kernel = referenceBackend().find(site);
  std::unique_ptr<PreparedKernel> inner =
      kernel ? kernel->prepare(site, error) : nullptr;
  return inner ? std::make_unique<OwnMemoryKernel>(
                     std::move(inner), kernel->query(site).workspaceBytes)
               : nullptr;
}

void flipBytes(const void *from, int64_t count, void *to) {
  auto *bytes = static_cast<const uint8_t *>(from);
  std::transform(bytes, bytes + count, static_cast<uint8_t *>(to),
                 [](uint8_t byte) { return uint8_t(byte ^ 0x80); });
}

} // namespace divisi::rt::cpu
