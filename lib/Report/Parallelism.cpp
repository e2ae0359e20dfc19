//===- Parallelism.cpp - What a plan is called ----------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Parallelism.h"

#include "dialects/NN/NN.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

using namespace mlir;
using namespace divisi;

/// As they are written, in the order of AxisUse.
static constexpr StringLiteral kKinds[] = {"DP", "TP", "SP", "EP"};
static constexpr size_t kData = 0, kTensor = 1, kSequence = 2, kExpert = 3;

/// Whether `value` is a parameter, moved or converted.
static bool isWeight(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (auto read = dyn_cast<nn::ReadOp>(op)) {
      auto global = SymbolTable::lookupNearestSymbolFrom<nn::GlobalOp>(
          op, read.getGlobalAttr());
      return global && global.getKind() != nn::GlobalKind::State;
    }
    bool isMoved =
        isa<spmd::StepInterface, nn::ReshapeOp, nn::TransposeOp, nn::CastOp,
            nn::DequantizeOp, nn::BroadcastOp, nn::SliceOp>(op);
    if (!isMoved || op->getNumOperands() == 0) {
      return false;
    }
    value = op->getOperand(0);
  }
  return false;
}

/// The weight among the operands of what sums products; nothing if there is
/// none.
static std::optional<size_t> weightOf(nn::LoopInterface op,
                                      const LoopNest &nest) {
  bool sums = llvm::any_of(nest.loops, [](const Loop &loop) {
    return loop.kind == LoopKind::Reduction && loop.extent > 1;
  });
  if (!sums || op->getNumOperands() < 2) {
    return std::nullopt;
  }
  for (auto [number, operand] : llvm::enumerate(op->getOperands())) {
    if (number > 0 && isWeight(operand) && !isWeight(op->getOperand(0))) {
      return number;
    }
  }
  return isWeight(op->getOperand(0)) && !isWeight(op->getOperand(1))
             ? std::optional<size_t>(0)
             : std::nullopt;
}

std::optional<size_t> Parallelism::batchDim(Value value) const {
  if (auto known = batchOf_.find(value); known != batchOf_.end()) {
    return known->second;
  }
  auto type = cast<RankedTensorType>(value.getType());
  return isa<BlockArgument>(value) && type.getRank() > 0
             ? std::optional<size_t>(0)
             : std::nullopt;
}

/// The loops that go over the batch of an operand.
SmallVector<LoopId, 2> Parallelism::batchLoops(Operation *op,
                                               const LoopNest &nest) const {
  SmallVector<LoopId, 2> loops;
  for (auto [number, operand] : llvm::enumerate(op->getOperands())) {
    if (std::optional<size_t> dim = batchDim(operand)) {
      llvm::append_range(loops, nest.operands[number].dims[*dim].loops);
    }
  }
  return loops;
}

void Parallelism::follow(Operation &op) {
  if (isa<spmd::StepInterface>(op) && op.getNumOperands() == 1 &&
      op.getNumResults() == 1) {
    if (std::optional<size_t> dim = batchDim(op.getOperand(0))) {
      batchOf_[op.getResult(0)] = *dim;
    }
    return;
  }
  auto loops = dyn_cast<nn::LoopInterface>(op);
  if (!loops) {
    return;
  }
  LoopNest nest = loops.getLoopNest();
  SmallVector<LoopId, 2> batch = batchLoops(&op, nest);
  for (auto [number, result] : llvm::enumerate(op.getResults())) {
    const auto *dim =
        llvm::find_if(nest.results[number].dims, [&](const DimMap &map) {
          return llvm::any_of(batch,
                              [&](LoopId loop) { return map.mentions(loop); });
        });
    if (dim != nest.results[number].dims.end()) {
      batchOf_[result] = size_t(dim - nest.results[number].dims.begin());
    }
  }
}

/// What it is to split `loop`, of the batch if `isBatch`.
static size_t kindOf(const LoopNest &nest, std::optional<size_t> weight,
                     LoopId loop, bool isBatch) {
  if (!weight || !nest.operands[*weight].mentions(loop)) {
    return isBatch ? kData : kSequence;
  }
  const TensorMap &activation = nest.operands[*weight == 0 ? 1 : 0];
  return activation.mentions(loop) && nest.results[0].mentions(loop) ? kExpert
                                                                     : kTensor;
}

void Parallelism::count(nn::LoopInterface op, const spmd::Strategy &strategy) {
  const LoopNest &nest = strategy.nest;
  std::optional<size_t> weight = weightOf(op, nest);
  SmallVector<LoopId, 2> batch = batchLoops(op, nest);
  double flops = std::max(nest.flops(), 1.0);
  all_ += flops;
  products_ += weight ? flops : 0;
  std::string grid = spmd::GridOp(strategy.grid).getSymName().str();
  for (auto [index, axes] : llvm::enumerate(strategy.split.loopAxes)) {
    LoopId loop{uint32_t(index)};
    size_t kind = kindOf(nest, weight, loop, llvm::is_contained(batch, loop));
    for (AxisId axis : axes) {
      AxisUse &use = uses_[{grid, axis.index}];
      use.ofAll[kind] += flops;
      use.ofProducts[kind] += weight ? flops : 0;
    }
  }
}

/// Whether most of the weights rest split over `axis`.
static bool areSharded(const ReportGrid &grid, ArrayRef<ReportTensor> globals,
                       AxisId axis) {
  double all = 0, split = 0;
  for (const ReportTensor &global : globals) {
    if (global.grid != grid.name || global.kind == "state") {
      continue;
    }
    double elements = 1;
    for (int64_t extent : global.shape) {
      elements *= double(extent);
    }
    bool isSplit =
        llvm::any_of(global.layout.layout.dims, [&](const DimLayout &dim) {
          return llvm::is_contained(dim.axes, axis);
        });
    all += elements;
    split += isSplit ? elements : 0;
  }
  return split > all / 2;
}

std::string Parallelism::text(const ReportGrid &grid,
                              ArrayRef<ReportTensor> globals) const {
  constexpr double kMost = 0.9; // of the split arithmetic: else a mixture
  double base = products_ > 0 ? products_ : all_;
  std::vector<std::pair<std::string, int64_t>> parts;
  for (auto [index, axis] : llvm::enumerate(grid.axes.axes())) {
    auto found = uses_.find({grid.name, index});
    std::array<double, 4> use = {};
    if (found != uses_.end()) {
      use = products_ > 0 ? found->second.ofProducts : found->second.ofAll;
    }
    double sum = 0;
    for (double flops : use) {
      sum += flops;
    }
    if (axis.size == 1) {
      continue;
    }
    size_t kind = size_t(llvm::max_element(use) - use.begin());
    std::string name = kKinds[kind].str();
    if (kind == kData && areSharded(grid, globals, AxisId{uint32_t(index)})) {
      name = "FSDP (ZeRO-3)";
    }
    if (sum <= 0.01 * base) {
      name = "unused by products";
    } else if (use[kind] < kMost * sum) {
      name = "mixed (";
      for (auto [each, flops] : llvm::enumerate(use)) {
        if (flops > 0) {
          name +=
              llvm::formatv("{0}{1} {2:F0} %", name.back() == '(' ? "" : ", ",
                            kKinds[each], 100 * flops / sum)
                  .str();
        }
      }
      name += ")";
    }
    auto same = llvm::find_if(
        parts, [&](const auto &part) { return part.first == name; });
    if (same == parts.end()) {
      parts.push_back({name, axis.size});
    } else {
      same->second *= axis.size;
    }
  }
  std::string text;
  for (const auto &[name, size] : parts) {
    text += (text.empty() ? "" : ", ") + name + " " + std::to_string(size);
  }
  return text;
}
