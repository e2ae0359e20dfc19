//===- DimFactors.cpp - Which factors each dim is made of -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DimFactors.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <numeric>

using namespace divisi;

/// What the reference kernels take.
static constexpr size_t kMaxRank = 16;

static llvm::ArrayRef<int64_t> shapeIn(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType()).getShape();
}

bool divisi::isPlain(mlir::Operation *op) {
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
// Classes
//===----------------------------------------------------------------------===//

DimFactors::Node DimFactors::addNode(int64_t extent) {
  Node node = static_cast<Node>(parent_.size());
  parent_.push_back(node);
  classes_.push_back({extent, false, {}});
  return node;
}

DimFactors::Node DimFactors::find(Node node) const {
  while (parent_[node] != node) {
    node = parent_[node];
  }
  return node;
}

/// The older node becomes the root: chains stay as short as programs are deep.
void DimFactors::tie(Node a, Node b) {
  a = find(a);
  b = find(b);
  if (a == b) {
    return;
  }
  if (classes_[a].extent != classes_[b].extent) {
    // No operator does this; should one, nothing is taken apart.
    pin(a);
    pin(b);
    return;
  }
  auto [root, child] = std::minmax(a, b);
  parent_[child] = root;
  classes_[root].isPinned |= classes_[child].isPinned;
}

void DimFactors::addValue(mlir::Value value) {
  if (auto type = llvm::dyn_cast<mlir::RankedTensorType>(value.getType())) {
    first_[value] = static_cast<Node>(parent_.size());
    values_.push_back(value);
    for (int64_t extent : type.getShape()) {
      addNode(extent);
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
      pin(nodeOf(value, dim));
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
    Group group;
    for (auto *side : {&left, &right}) {
      int64_t low = 1;
      for (auto [node, extent] : llvm::reverse(*side)) {
        if (extent != 1) {
          group.members.push_back({node, low, extent});
        }
        low *= extent;
      }
    }
    bool isPair = group.members.size() == 2 &&
                  group.members[0].extent == group.members[1].extent;
    if (isPair) {
      tie(group.members[0].node, group.members[1].node);
    } else if (!group.members.empty()) {
      groups_.push_back(std::move(group));
    }
  }
}

void DimFactors::visitSlice(nn::SliceOp op) {
  auto shape = shapeIn(op.getX()), result = shapeIn(op->getResult(0));
  for (unsigned dim = 0; dim < shape.size(); ++dim) {
    Node whole = nodeOf(op.getX(), dim);
    Node part = nodeOf(op->getResult(0), dim);
    int64_t start = op.getStarts()[dim], limit = op.getLimits()[dim];
    if (op.getSteps()[dim] != 1 || result[dim] == 0) {
      pin(whole);
      pin(part);
    } else if (result[dim] == shape[dim]) {
      tie(whole, part);
    } else {
      Pieces &pieces = slices_.try_emplace(whole).first->second;
      pieces.whole = whole;
      pieces.parts.push_back(part);
      pieces.unit =
          std::gcd(std::gcd(pieces.unit, shape[dim]), std::gcd(start, limit));
    }
  }
}

void DimFactors::visitConcat(nn::ConcatOp op) {
  mlir::Value result = op->getResult(0);
  for (unsigned dim = 0; dim < shapeIn(result).size(); ++dim) {
    Pieces pieces;
    pieces.whole = nodeOf(result, dim);
    for (mlir::Value x : op.getXs()) {
      pieces.parts.push_back(nodeOf(x, dim));
      pieces.unit = std::gcd(pieces.unit, shapeIn(x)[dim]);
    }
    if (static_cast<int64_t>(dim) == op.getAxis()) {
      concats_.push_back(std::move(pieces));
      continue;
    }
    for (Node part : pieces.parts) {
      tie(pieces.whole, part);
    }
  }
}

void DimFactors::visitMap(const DimMap &map, const LoopNest &nest,
                          llvm::ArrayRef<Node> loops, Node node) {
  bool isLoop = map.kind == DimMap::Kind::Product && map.loops.size() == 1 &&
                nest.loop(map.loops[0]).extent == classes_[node].extent;
  if (isLoop) {
    return tie(node, loops[map.loops[0].index]);
  }
  // A broadcast; a dim that is read whole; a window, whose loop then has to
  // stay in one piece as well.
  pin(node);
  for (LoopId loop : map.loops) {
    pin(loops[loop.index]);
  }
}

void DimFactors::visitLoops(nn::LoopInterface op) {
  LoopNest nest = op.getLoopNest();
  llvm::SmallVector<Node> loops;
  // normalize names a list of axes; other exchanges are over one axis.
  bool canSplitExchange = llvm::isa<nn::NormalizeOp>(op);
  for (const Loop &loop : nest.loops) {
    loops.push_back(addNode(loop.extent));
    bool isOpen = loop.kind == LoopKind::Parallel ||
                  loop.kind == LoopKind::Reduction ||
                  (loop.kind == LoopKind::Exchange && canSplitExchange);
    if (!isOpen) {
      pin(loops.back());
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

/// A global has one shape, whoever reads it; a box has an extent of its own.
void DimFactors::visitGlobal(llvm::StringRef name, mlir::Value value) {
  auto known = globals_.find(name.str());
  if (known == globals_.end()) {
    return;
  }
  for (unsigned dim = 0; dim < shapeIn(value).size(); ++dim) {
    tie(known->second + dim, nodeOf(value, dim));
  }
}

void DimFactors::visit(mlir::Operation *op) {
  if (llvm::isa<mlir::func::ReturnOp>(op)) {
    return; // Its operands are reshaped.
  }
  bool isOpen = isPlain(op) && op->getName().getDialectNamespace() == "nn" &&
                !llvm::isa<nn::ConvOp>(op);
  if (!isOpen) {
    pinAll(op);
  }
  if (auto read = llvm::dyn_cast<nn::ReadOp>(op)) {
    visitGlobal(read.getGlobal(), read.getValue());
  } else if (auto update = llvm::dyn_cast<nn::UpdateOp>(op)) {
    visitGlobal(update.getGlobal(), update.getValue());
  } else if (!isOpen) {
    return;
  } else if (auto reshape = llvm::dyn_cast<nn::ReshapeOp>(op)) {
    visitReshape(reshape);
  } else if (auto slice = llvm::dyn_cast<nn::SliceOp>(op)) {
    visitSlice(slice);
  } else if (auto concat = llvm::dyn_cast<nn::ConcatOp>(op)) {
    visitConcat(concat);
  } else if (auto loops = llvm::dyn_cast<nn::LoopInterface>(op)) {
    visitLoops(loops);
    // One index runs along these axes.
    if (auto iota = llvm::dyn_cast<nn::IotaOp>(op)) {
      pin(nodeOf(op->getResult(0), static_cast<unsigned>(iota.getAxis())));
    } else if (auto take = llvm::dyn_cast<nn::TakeAlongOp>(op)) {
      pin(nodeOf(op->getResult(0), static_cast<unsigned>(take.getAxis())));
    }
  }
}

//===----------------------------------------------------------------------===//
// Demands
//===----------------------------------------------------------------------===//

/// Adds a cut if the class can have it; whether it is new.
bool DimFactors::cut(Node node, int64_t stride) {
  Class &own = classes_[find(node)];
  if (own.isPinned || stride <= 1 || stride >= own.extent ||
      own.extent % stride != 0 || own.cuts.count(stride)) {
    return false;
  }
  for (int64_t other : own.cuts) {
    if (std::max(other, stride) % std::min(other, stride) != 0) {
      return false;
    }
  }
  own.cuts.insert(stride);
  return true;
}

bool DimFactors::spread(const Group &group) {
  std::set<int64_t> flat;
  for (const Group::Member &member : group.members) {
    flat.insert(member.low);
    for (int64_t stride : classes_[find(member.node)].cuts) {
      flat.insert(member.low * stride);
    }
  }
  bool changed = false;
  for (const Group::Member &member : group.members) {
    for (int64_t at : flat) {
      if (at > member.low && at % member.low == 0) {
        changed |= cut(member.node, at / member.low);
      }
    }
  }
  return changed;
}

bool DimFactors::spread(const Pieces &pieces) {
  std::set<int64_t> shared;
  auto collect = [&](Node node) {
    for (int64_t stride : classes_[find(node)].cuts) {
      if (stride <= pieces.unit && pieces.unit % stride == 0) {
        shared.insert(stride);
      }
    }
  };
  collect(pieces.whole);
  llvm::for_each(pieces.parts, collect);
  if (!shared.empty() && pieces.areUnits) {
    shared.insert(pieces.unit);
  }
  bool changed = false;
  for (int64_t stride : shared) {
    changed |= cut(pieces.whole, stride);
    for (Node part : pieces.parts) {
      changed |= cut(part, stride);
    }
  }
  return changed;
}

void DimFactors::addModule(mlir::ModuleOp module) {
  for (auto global : module.getOps<nn::GlobalOp>()) {
    Node first = static_cast<Node>(parent_.size());
    globals_[global.getSymName().str()] = first;
    bool isOpen = isPlain(global) && !global.getTensorType().getEncoding();
    for (int64_t extent : global.getTensorType().getShape()) {
      Node node = addNode(extent);
      if (!isOpen) {
        pin(node);
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
  auto finish = [&](Pieces &pieces) {
    pieces.areUnits = llvm::all_of(pieces.parts, [&](Node part) {
      return classes_[part].extent == pieces.unit;
    });
  };
  for (auto &[whole, pieces] : slices_) {
    finish(pieces);
  }
  llvm::for_each(concats_, finish);
}

void DimFactors::spreadAll() {
  for (Class &own : classes_) {
    own.cuts.clear();
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (const Group &group : groups_) {
      changed |= spread(group);
    }
    for (const auto &[whole, pieces] : slices_) {
      changed |= spread(pieces);
    }
    for (const Pieces &pieces : concats_) {
      changed |= spread(pieces);
    }
  }
}

bool DimFactors::pinLarge() {
  bool changed = false;
  for (mlir::Value value : values_) {
    if (isRefined(value) && shapeOf(value).size() > kMaxRank) {
      changed = true;
      for (unsigned dim = 0; dim < shapeIn(value).size(); ++dim) {
        pin(nodeOf(value, dim));
      }
    }
  }
  return changed;
}

DimFactors::DimFactors(mlir::ModuleOp module) {
  addModule(module);
  // Each round pins a class that was open, so there is a last one.
  do {
    spreadAll();
  } while (pinLarge());
}

llvm::SmallVector<int64_t> DimFactors::factorsOf(Node node) const {
  const Class &own = classes_[find(node)];
  llvm::SmallVector<int64_t> factors;
  int64_t above = own.extent;
  for (int64_t stride : llvm::reverse(own.cuts)) {
    factors.push_back(above / stride);
    above = stride;
  }
  factors.push_back(above);
  return factors;
}

llvm::SmallVector<int64_t> DimFactors::of(mlir::Value value,
                                          unsigned dim) const {
  return factorsOf(nodeOf(value, dim));
}

llvm::SmallVector<int64_t> DimFactors::shapeOf(mlir::Value value) const {
  llvm::SmallVector<int64_t> shape;
  for (unsigned dim = 0; dim < shapeIn(value).size(); ++dim) {
    llvm::append_range(shape, of(value, dim));
  }
  return shape;
}

llvm::SmallVector<int64_t> DimFactors::shapeOf(nn::GlobalOp global) const {
  llvm::SmallVector<int64_t> shape;
  Node first = globals_.at(global.getSymName().str());
  for (unsigned dim = 0; dim < global.getTensorType().getRank(); ++dim) {
    llvm::append_range(shape, factorsOf(first + dim));
  }
  return shape;
}

bool DimFactors::isRefined(mlir::Value value) const {
  return first_.count(value) && shapeOf(value).size() != shapeIn(value).size();
}
