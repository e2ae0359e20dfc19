//===- KernelCall.cpp - Operators as a kernel sees them ---------*- C++ -*-===//
//
// Part of Divisi, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Evaluate/KernelCall.h"

#include "dialects/NN/NN.h"
#include "divisi/Evaluate/Evaluator.h"

using namespace mlir;
using namespace divisi;

DictionaryAttr divisi::kernelConfig(Operation *op) {
  SmallVector<NamedAttribute> config;
  for (NamedAttribute attribute : op->getAttrs()) {
    if (!attribute.getName().getValue().contains('.')) {
      config.push_back(attribute);
    }
  }
  return DictionaryAttr::get(op->getContext(), config);
}

std::optional<rt::TensorInfo> divisi::kernelTensor(RankedTensorType type) {
  std::optional<rt::DType> element = fromMLIRType(type.getElementType());
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
  rt::Attributes attributes = toRuntimeAttributes(config);
  rt::CallSite site{callee, attributes, *operandInfos, *resultInfos};
  const rt::Kernel *kernel = rt::referenceBackend().find(site);
  return kernel ? std::optional(kernel->query(site)) : std::nullopt;
}
