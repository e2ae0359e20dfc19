//===- Fusion.cpp - Operators in one kernel -------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Cost/Fusion.h"

#include "dialects/Pipe/Pipe.h"
#include "dialects/SPMD/Strategy.h"
#include "divisi/Support/FormatLimits.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace divisi {

//===----------------------------------------------------------------------===//
// By loops
//===----------------------------------------------------------------------===//

/// Whether each element is made in one place: no window of another's.
static bool isMadeOnce(const TensorMap &result) {
  return llvm::all_of(result.dims, [](const DimMap &dim) {
    return dim.kind == DimMap::Kind::Product;
  });
}

/// The loop behind each dimension of more than one index, if it is one loop,
/// iteration for index.
static std::optional<llvm::SmallVector<LoopId, 4>>
loopPerDim(const TensorMap &tensor) {
  llvm::SmallVector<LoopId, 4> loops;
  for (auto [dim, extent] : llvm::zip_equal(tensor.dims, tensor.shape)) {
    if (extent == 1) {
      continue;
    }
    if (dim.kind != DimMap::Kind::Product || dim.loops.size() != 1) {
      return std::nullopt;
    }
    loops.push_back(dim.loops.front());
  }
  return loops;
}

/// Whether each iteration makes one element of each result from the element of
/// operand `index` that stands at the same place. No other one uses it, since
/// results have all parallel loops.
static bool isElementwise(const LoopNest &nest, unsigned index) {
  auto read = loopPerDim(nest.operands[index]);
  return read &&
         llvm::all_of(nest.loops,
                      [](const Loop &loop) {
                        return loop.kind == LoopKind::Parallel;
                      }) &&
         llvm::all_of(nest.results, [&](const TensorMap &result) {
           return loopPerDim(result) == read;
         });
}

bool fuses(const LoopNest &producer, unsigned result, const LoopNest &consumer,
           unsigned operand) {
  return producer.results[result].shape == consumer.operands[operand].shape &&
         isMadeOnce(producer.results[result]) &&
         isElementwise(consumer, operand);
}

//===----------------------------------------------------------------------===//
// In a program
//===----------------------------------------------------------------------===//

/// Whether a kernel runs, on whole tensors, that could be part of another.
static bool hasKernel(nn::LoopInterface op) {
  if (isa<nn::ReadOp, nn::UpdateOp>(op)) {
    return false;
  }
  LoopNest nest = op.getLoopNest();
  return !profileOf(op).isView(nest, Grid(), Split::replicated(nest));
}

/// Whether it does on the shards of a device.
static bool hasLocalKernel(nn::LoopInterface op) {
  FailureOr<spmd::Strategy> strategy = spmd::requireStrategy(op);
  return succeeded(strategy) &&
         !profileOf(op).isView(strategy->nest, strategy->grid.getValue(),
                               strategy->split);
}

/// The operator whose only result `operand` is on no way but this, along which
/// steps may change its layout; null if there is none.
static nn::LoopInterface makerOf(OpOperand &operand) {
  Value value = operand.get();
  while (value.hasOneUse()) {
    Operation *op = value.getDefiningOp();
    if (auto step = dyn_cast_or_null<spmd::StepInterface>(op)) {
      value = step.getInput();
    } else if (auto transfer = dyn_cast_or_null<spmd::TransferOp>(op);
               transfer && transfer.getInput()) {
      value = transfer.getInput();
    } else {
      auto maker = dyn_cast_or_null<nn::LoopInterface>(op);
      return maker && op->getNumResults() == 1 ? maker : nullptr;
    }
  }
  return nullptr;
}

/// Whether both run as often, and at one time. A kernel of several steps would
/// keep what all of them read until the last: gradients of all micro-batches.
static bool isOneStep(Operation *maker, Operation *user) {
  auto isSame = [&](StringRef name) {
    return maker->getAttr(name) == user->getAttr(name);
  };
  return isSame(pipe::PipeDialect::kStep) && isSame(pipe::PipeDialect::kEach);
}

/// Whether each device has of `operand` what its kernel goes on with.
static bool isFused(OpOperand &operand, nn::LoopInterface maker) {
  spmd::LocalAttr local = spmd::getLocal(operand.get().getType());
  return local && operand.get().getDefiningOp() == maker &&
         !local.getLayout().isPartial() && hasLocalKernel(maker) &&
         hasLocalKernel(cast<nn::LoopInterface>(operand.getOwner()));
}

namespace {
/// How many parts and operands a kernel has that ends with an operator.
struct KernelSize {
  int64_t parts = 0, operands = 0;
};
} // namespace

llvm::DenseMap<Operation *, OpFusion> fusionsOf(Block &body) {
  llvm::DenseMap<Operation *, OpFusion> fusions;
  llvm::DenseMap<Operation *, KernelSize> sizes;
  for (auto op : body.getOps<nn::LoopInterface>()) {
    LoopNest nest = op.getLoopNest();
    sizes[op] = {1, int64_t(op->getNumOperands())};
    for (OpOperand &operand : op->getOpOperands()) {
      unsigned number = operand.getOperandNumber();
      nn::LoopInterface maker = makerOf(operand);
      if (!maker || !isOneStep(maker, op) ||
          !fuses(maker.getLoopNest(), 0, nest, number) || !hasKernel(maker) ||
          !hasKernel(op)) {
        continue;
      }
      KernelSize size = sizes.lookup(maker);
      size.parts += 1;
      size.operands += op->getNumOperands() - 1;
      if (size.parts > mostFusedParts || size.operands > mostFusedParts) {
        continue;
      }
      sizes[op] = size;
      fusions[op].fusible.operands = {number};
      fusions[maker].fusible.results = {0};
      if (isFused(operand, maker)) {
        fusions[op].fused.operands = {number};
        fusions[maker].fused.results = {0};
      }
      break;
    }
  }
  return fusions;
}

} // namespace divisi
