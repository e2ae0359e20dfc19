//===- DimFactors.cpp - Which factors each dim is made of -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DimFactors.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace divisi;

/// What the reference kernels take.
static constexpr size_t kMaxRank = 16;

static llvm::ArrayRef<int64_t> shapeIn(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType()).getShape();
}

/// Whether nobody has said where `op` runs, or how what it touches lies.
static bool isPlain(mlir::Operation *op) {
  auto isWhole = [](mlir::Type type) {
    auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
    return tensor && !tensor.getEncoding();
  };
  auto isOwn = [](mlir::NamedAttribute attribute) {
    return attribute.getName().strref().starts_with("nn.");
  };
  return llvm::all_of(op->getOperandTypes(), isWhole) &&
         llvm::all_of(op->getResultTypes(), isWhole) &&
         llvm::all_of(op->getDiscardableAttrs(), isOwn);
}

//===----------------------------------------------------------------------===//
// Dims as nodes
//===----------------------------------------------------------------------===//

void DimFactors::addValue(mlir::Value value) {
  if (auto type = llvm::dyn_cast<mlir::RankedTensorType>(value.getType())) {
    first_[value] = classes_.next();
    values_.push_back(value);
    for (int64_t extent : type.getShape()) {
      classes_.add(extent);
    }
  }
}

DimFactors::Node DimFactors::nodeOf(mlir::Value value, unsigned dim) const {
  return first_.lookup(value) + dim;
}

void DimFactors::pinAll(mlir::Operation *op) {
  auto pinValue = [&](mlir::Value value) {
    if (!first_.count(value)) {
      return;
    }
    for (unsigned dim = 0; dim < shapeIn(value).size(); ++dim) {
      keepWhole(value, dim);
    }
  };
  for (mlir::Value operand : op->getOperands()) {
    pinValue(operand);
  }
  for (mlir::Value result : op->getResults()) {
    pinValue(result);
  }
}

//===----------------------------------------------------------------------===//
// What operators say
//===----------------------------------------------------------------------===//

void DimFactors::tie(mlir::Value a, unsigned dimA, mlir::Value b,
                     unsigned dimB) {
  classes_.tie(nodeOf(a, dimA), nodeOf(b, dimB));
}

void DimFactors::keepWhole(mlir::Value value, unsigned dim) {
  classes_.pin(nodeOf(value, dim));
}

void DimFactors::visitMap(const DimMap &map, const LoopNest &nest,
                          llvm::ArrayRef<Node> loops, Node node) {
  bool isLoop = map.kind == DimMap::Kind::Product && map.loops.size() == 1 &&
                nest.loop(map.loops[0]).extent == classes_.extent(node);
  if (isLoop) {
    return classes_.tie(node, loops[map.loops[0].index]);
  }
  // A broadcast; a dim that is read whole; a window, whose loop then has to
  // stay in one piece as well.
  classes_.pin(node);
  for (LoopId loop : map.loops) {
    classes_.pin(loops[loop.index]);
  }
}

void DimFactors::tieLoops(mlir::Operation *op, bool splitsExchange) {
  LoopNest nest = llvm::cast<nn::LoopInterface>(op).getLoopNest();
  llvm::SmallVector<Node> loops;
  for (const Loop &loop : nest.loops) {
    loops.push_back(classes_.add(loop.extent));
    bool isOpen = loop.kind == LoopKind::Parallel ||
                  loop.kind == LoopKind::Reduction ||
                  (loop.kind == LoopKind::Exchange && splitsExchange);
    if (!isOpen) {
      classes_.pin(loops.back());
    }
  }
  auto visitTensor = [&](const TensorMap &map, mlir::Value value) {
    for (unsigned dim = 0; dim < map.dims.size(); ++dim) {
      // A dim of extent 1 says nothing, unless others are made from it.
      if (map.shape[dim] != 1 || map.dims[dim].kind != DimMap::Kind::Product) {
        visitMap(map.dims[dim], nest, loops, nodeOf(value, dim));
      }
    }
  };
  for (auto [map, value] : llvm::zip(nest.operands, op->getOperands())) {
    visitTensor(map, value);
  }
  for (auto [map, value] : llvm::zip(nest.results, op->getResults())) {
    visitTensor(map, value);
  }
}

void DimFactors::cutOut(mlir::Value whole, unsigned dim, mlir::Value part,
                        int64_t start, int64_t limit) {
  classes_.addCut(nodeOf(whole, dim), nodeOf(part, dim), start, limit);
}

void DimFactors::join(mlir::Value whole, unsigned dim, mlir::ValueRange parts) {
  std::vector<Node> nodes;
  for (mlir::Value part : parts) {
    nodes.push_back(nodeOf(part, dim));
  }
  classes_.addJoin(nodeOf(whole, dim), std::move(nodes));
}

/// A global has one shape, whoever reads it; a box has an extent of its own.
void DimFactors::tieGlobal(llvm::StringRef global, mlir::Value value) {
  auto known = globals_.find(global.str());
  if (known == globals_.end()) {
    return;
  }
  for (unsigned dim = 0; dim < shapeIn(value).size(); ++dim) {
    classes_.tie(known->second + dim, nodeOf(value, dim));
  }
}

/// Splits both shapes where their products agree: [8, 16, 64] and [128, 8, 8]
/// into {8, 16}/{128} and {64}/{8, 8}.
void DimFactors::visitReshape(nn::ReshapeOp op) {
  auto from = shapeIn(op.getX()), to = shapeIn(op.getY());
  if (llvm::is_contained(from, 0)) {
    return pinAll(op);
  }
  unsigned i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    std::vector<std::pair<Node, int64_t>> left, right;
    int64_t m = 1, n = 1;
    do {
      bool takesLeft = i < from.size() && (m <= n || j == to.size());
      if (takesLeft) {
        m *= from[i];
        left.emplace_back(nodeOf(op.getX(), i), from[i]);
        ++i;
      } else {
        n *= to[j];
        right.emplace_back(nodeOf(op.getY(), j), to[j]);
        ++j;
      }
    } while (m != n && (i < from.size() || j < to.size()));
    std::vector<FactorClasses::Member> members;
    for (auto *side : {&left, &right}) {
      int64_t low = 1;
      for (auto [node, extent] : llvm::reverse(*side)) {
        if (extent != 1) {
          members.push_back({node, low, extent});
        }
        low *= extent;
      }
    }
    bool isPair = members.size() == 2 && members[0].extent == members[1].extent;
    if (isPair) {
      classes_.tie(members[0].node, members[1].node);
    } else if (!members.empty()) {
      classes_.addGroup(std::move(members));
    }
  }
}

//===----------------------------------------------------------------------===//
// All of a module
//===----------------------------------------------------------------------===//

void DimFactors::visit(mlir::Operation *op) {
  if (llvm::isa<mlir::func::ReturnOp>(op)) {
    return; // Its operands are reshaped.
  }
  auto reshape = llvm::dyn_cast<nn::ReshapeOp>(op);
  auto opens = llvm::dyn_cast<nn::UnflattenInterface>(op);
  if (!isPlain(op) || !(reshape || opens)) {
    pinAll(op);
  }
  if (opens) {
    // Also of an operator that keeps its form: a global that it reads does.
    opens.tieDims(*this);
  } else if (reshape && isPlain(op)) {
    visitReshape(reshape);
  }
}

void DimFactors::addModule(mlir::ModuleOp module) {
  for (auto global : module.getOps<nn::GlobalOp>()) {
    globals_[global.getSymName().str()] = classes_.next();
    bool isOpen = isPlain(global) && !global.getTensorType().getEncoding();
    for (int64_t extent : global.getTensorType().getShape()) {
      Node node = classes_.add(extent);
      if (!isOpen) {
        classes_.pin(node);
      }
    }
  }
  for (auto function : module.getOps<mlir::func::FuncOp>()) {
    for (mlir::Value argument : function.getArguments()) {
      addValue(argument);
    }
    for (mlir::Operation &op : function.getOps()) {
      llvm::for_each(op.getResults(), [&](mlir::Value v) { addValue(v); });
      visit(&op);
    }
  }
}

bool DimFactors::pinLarge() {
  bool changed = false;
  for (mlir::Value value : values_) {
    if (isRefined(value) && shapeOf(value).size() > kMaxRank) {
      changed = true;
      for (unsigned dim = 0; dim < shapeIn(value).size(); ++dim) {
        keepWhole(value, dim);
      }
    }
  }
  return changed;
}

DimFactors::DimFactors(mlir::ModuleOp module) {
  addModule(module);
  // Each round pins a class that was open, so there is a last one.
  do {
    classes_.spread();
  } while (pinLarge());
}

llvm::SmallVector<int64_t> DimFactors::of(mlir::Value value,
                                          unsigned dim) const {
  return classes_.factorsOf(nodeOf(value, dim));
}

llvm::SmallVector<int64_t> DimFactors::shapeOf(nn::GlobalOp global) const {
  llvm::SmallVector<int64_t> shape;
  Node first = globals_.at(global.getSymName().str());
  for (unsigned dim = 0; dim < global.getTensorType().getRank(); ++dim) {
    llvm::append_range(shape, classes_.factorsOf(first + dim));
  }
  return shape;
}

bool DimFactors::isRefined(mlir::Value value) const {
  return first_.count(value) && shapeOf(value).size() != shapeIn(value).size();
}
