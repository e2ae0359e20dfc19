//===- KernelCall.cpp - Operators as a kernel sees them -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
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

static std::optional<rt::KernelQuery> askReference(const rt::CallSite &site) {
  const rt::Kernel *kernel = rt::referenceBackend().find(site);
  return kernel ? std::optional(kernel->query(site)) : std::nullopt;
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
  return askReference({callee, attributes, *operandInfos, *resultInfos});
}

std::optional<rt::Region> divisi::kernelRegion(Block &block) {
  rt::Region region;
  llvm::DenseMap<Value, int> numbers;
  auto number = [&](Value value) {
    int next = int(numbers.size());
    numbers[value] = next;
  };
  llvm::for_each(block.getArguments(), number);
  for (Operation &op : block.without_terminator()) {
    auto results = kernelTensors(op.getResultTypes());
    if (!results) {
      return std::nullopt;
    }
    std::string name = op.getName().getStringRef().str();
    rt::RegionPart &part = region.parts.emplace_back();
    part.version = rt::kernelVersion(name).value_or(0);
    part.op = std::move(name);
    part.attributes = toRuntimeAttributes(&op);
    for (Value operand : op.getOperands()) {
      part.operands.push_back(numbers.lookup(operand));
    }
    part.results = std::move(*results);
    llvm::for_each(op.getResults(), number);
  }
  for (Value result : block.getTerminator()->getOperands()) {
    region.results.push_back(numbers.lookup(result));
  }
  return region;
}

std::optional<unsigned> divisi::viewedOperand(const rt::KernelQuery &query,
                                              size_t numResults) {
  if (query.views.size() != 1 || numResults != 1) {
    return std::nullopt;
  }
  return unsigned(query.views[0].operand);
}

bool divisi::beginsItsBuffer(Value value) {
  while (auto op = value.getDefiningOp<nn::LoopInterface>()) {
    if (op->getNumOperands() == 0) {
      break;
    }
    std::optional<rt::KernelQuery> query =
        queryKernel(op->getName().getStringRef(), kernelConfig(op),
                    op->getOperandTypes(), op->getResultTypes());
    std::optional<unsigned> viewed =
        query ? viewedOperand(*query, op->getNumResults()) : std::nullopt;
    if (!viewed) {
      break;
    }
    if (query->views[0].offset != 0) {
      return false;
    }
    value = op->getOperand(*viewed);
  }
  return true;
}

ViewQuery::ViewQuery(Operation *op)
    : callee_(op->getName().getStringRef().str()),
      attributes_(toRuntimeAttributes(kernelConfig(op))),
      operands_(kernelTensors(op->getOperandTypes())),
      results_(kernelTensors(op->getResultTypes())) {}

/// `whole` as boxes of the given extents, at the origin.
static std::vector<rt::TensorInfo>
boxesOf(std::vector<rt::TensorInfo> whole,
        ArrayRef<SmallVector<int64_t, 4>> extents) {
  for (auto [info, box] : llvm::zip_equal(whole, extents)) {
    info.extents = rt::Dims(box.begin(), box.end());
  }
  return whole;
}

std::optional<unsigned>
ViewQuery::viewedOperand(ArrayRef<SmallVector<int64_t, 4>> operands,
                         ArrayRef<SmallVector<int64_t, 4>> results) const {
  if (!operands_ || !results_) {
    return std::nullopt;
  }
  std::vector<rt::TensorInfo> from = boxesOf(*operands_, operands);
  std::vector<rt::TensorInfo> to = boxesOf(*results_, results);
  std::optional<rt::KernelQuery> query =
      askReference({callee_, attributes_, from, to});
  return query ? divisi::viewedOperand(*query, to.size()) : std::nullopt;
}
