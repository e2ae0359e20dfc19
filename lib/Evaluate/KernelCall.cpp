//===- KernelCall.cpp - Operators as a kernel sees them ---------*- C++ -*-===//
//
// Part of Divisi, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Evaluate/KernelCall.h"

#include "dialects/NN/NN.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace divisi;

namespace {

/// One row of the table between MLIR's element types and the kernels'.
struct TypeRow {
  rt::DType kernel;
  bool isFloat;
  unsigned width;
  bool isUnsigned = false;
};

} // namespace

static constexpr TypeRow kTypes[] = {
    {rt::DType::F64, true, 64},        {rt::DType::F32, true, 32},
    {rt::DType::F16, true, 16},        {rt::DType::I64, false, 64},
    {rt::DType::I32, false, 32},       {rt::DType::I16, false, 16},
    {rt::DType::I8, false, 8},         {rt::DType::U64, false, 64, true},
    {rt::DType::U32, false, 32, true}, {rt::DType::U16, false, 16, true},
    {rt::DType::U8, false, 8, true},   {rt::DType::Bool, false, 1},
};

std::optional<rt::DType> divisi::kernelType(Type element) {
  if (element.isBF16()) {
    return rt::DType::BF16;
  }
  for (const TypeRow &row : kTypes) {
    bool matches = row.isFloat ? element.isF16() || element.isF32() ||
                                     element.isF64()
                               : element.isInteger();
    if (matches && element.getIntOrFloatBitWidth() == row.width &&
        element.isUnsignedInteger() == row.isUnsigned) {
      return row.kernel;
    }
  }
  return std::nullopt;
}

Type divisi::elementType(MLIRContext *context, rt::DType type) {
  if (type == rt::DType::BF16) {
    return BFloat16Type::get(context);
  }
  const TypeRow *row = llvm::find_if(
      kTypes, [&](const TypeRow &candidate) { return candidate.kernel == type; });
  Builder builder(context);
  if (row->isFloat) {
    return row->width == 64   ? builder.getF64Type()
           : row->width == 32 ? Type(builder.getF32Type())
                              : Type(builder.getF16Type());
  }
  return IntegerType::get(context, row->width,
                          row->isUnsigned ? IntegerType::Unsigned
                                          : IntegerType::Signless);
}

DictionaryAttr divisi::kernelConfig(Operation *op) {
  SmallVector<NamedAttribute> config;
  for (NamedAttribute attribute : op->getAttrs()) {
    if (!attribute.getName().getValue().contains('.')) {
      config.push_back(attribute);
    }
  }
  return DictionaryAttr::get(op->getContext(), config);
}

static std::optional<rt::Attribute> kernelAttribute(Attribute attribute) {
  if (auto value = dyn_cast<BoolAttr>(attribute)) {
    return int64_t(value.getValue());
  }
  if (auto value = dyn_cast<IntegerAttr>(attribute)) {
    return value.getInt();
  }
  if (auto value = dyn_cast<FloatAttr>(attribute)) {
    return value.getValueAsDouble();
  }
  if (auto value = dyn_cast<StringAttr>(attribute)) {
    return value.str();
  }
  if (auto value = dyn_cast<DenseI64ArrayAttr>(attribute)) {
    return std::vector<int64_t>(value.asArrayRef());
  }
  if (auto value = dyn_cast<DenseF64ArrayAttr>(attribute)) {
    return std::vector<double>(value.asArrayRef());
  }
  return std::nullopt;
}

rt::Attributes divisi::kernelAttributes(DictionaryAttr config) {
  rt::Attributes attributes;
  for (NamedAttribute named : config) {
    if (std::optional<rt::Attribute> value = kernelAttribute(named.getValue())) {
      attributes.set(named.getName().str(), *value);
    }
  }
  return attributes;
}

std::optional<rt::TensorInfo> divisi::kernelTensor(RankedTensorType type) {
  std::optional<rt::DType> element = kernelType(type.getElementType());
  if (!element) {
    return std::nullopt;
  }
  ArrayRef<int64_t> global = nn::globalShape(type);
  return rt::TensorInfo{*element, rt::Dims(type.getShape()),
                        rt::Dims(type.getRank(), 0), rt::Dims(global)};
}

static std::optional<std::vector<rt::TensorInfo>>
kernelTensors(TypeRange types) {
  std::vector<rt::TensorInfo> infos;
  for (Type type : types) {
    auto info = kernelTensor(cast<RankedTensorType>(type));
    if (!info) {
      return std::nullopt;
    }
    infos.push_back(std::move(*info));
  }
  return infos;
}

std::optional<rt::KernelQuery> divisi::queryKernel(StringRef callee,
                                                   DictionaryAttr config,
                                                   TypeRange operands,
                                                   TypeRange results) {
  auto operandInfos = kernelTensors(operands);
  auto resultInfos = kernelTensors(results);
  if (!operandInfos || !resultInfos) {
    return std::nullopt;
  }
  rt::Attributes attributes = kernelAttributes(config);
  rt::CallSite site{callee, attributes, *operandInfos, *resultInfos};
  const rt::Kernel *kernel = rt::referenceBackend().find(site);
  return kernel ? std::optional(kernel->query(site)) : std::nullopt;
}
