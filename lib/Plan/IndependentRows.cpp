//===- IndependentRows.cpp - Whether a batch can be divided ---------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Plan/IndependentRows.h"

#include "dialects/NN/Batches.h"
#include "dialects/NN/Bodies.h"
#include "dialects/NN/Known.h"
#include "dialects/NN/Locations.h"
#include "dialects/NN/NN.h"
#include "dialects/NN/Random.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

#include <cstring>
#include <map>

using namespace mlir;

namespace divisi::plan {

namespace {

/// Where the rows of the batch are in a value.
struct Rows {
  static constexpr int kNone = -1;
  int dim = kNone;            ///< The dim of whose major iterations they are.
  Operation *mixer = nullptr; ///< That has mixed them; null: nobody.
  friend bool operator==(const Rows &, const Rows &) = default;
};

/// Follows rows through an entry. One use.
class RowFinder {
public:
  RowFinder(ModuleOp module, GlobalStore &store, int64_t batch, bool isTrained)
      : module_(module), store_(store), batch_(batch), isTrained_(isTrained) {}

  /// `argument` has a row of the batch in each index of dim 0.
  void begin(Value argument) { rows_[argument] = {0, nullptr}; }
  /// Goes through the operators of `block`.
  void read(Block &block);
  Rows rowsOf(Value value) const { return rows_.lookup(value); }
  /// The update of a global that depends on the batch, or on runs before.
  Operation *update() const { return update_; }
  bool drawsNumbers() const { return drawsNumbers_; }
  int64_t batch() const { return batch_; }

private:
  /// The loops that go through the batch, outermost first.
  using Prefix = SmallVector<LoopId, 2>;

  std::optional<Prefix> prefixOf(const LoopNest &nest, const TensorMap &map,
                                 unsigned dim) const;
  bool beginsWith(const DimMap &dim, const Prefix &prefix) const;
  bool areRowsEqual(Value value, unsigned dim);
  bool makesEqualRows(OpResult result, unsigned dim);
  bool isAlike(const LoopNest &nest, const TensorMap &map, Value operand,
               const Prefix &prefix);
  bool hasEqualRows(ArrayRef<char> bytes) const;
  bool readsEqualRows(nn::ReadOp read);
  Rows through(nn::LoopInterface op, const Rows &operand, unsigned number,
               std::optional<Prefix> &prefix);
  void readOperator(nn::LoopInterface op);
  void readLoop(nn::LoopOp loop);
  bool readBody(nn::LoopOp loop, func::FuncOp body);
  void mix(Operation *op, Operation *mixer);

  ModuleOp module_;
  GlobalStore &store_;
  int64_t batch_;
  bool isTrained_, drawsNumbers_ = false;
  Operation *update_ = nullptr;
  llvm::DenseMap<Value, Rows> rows_;     ///< Lookups only.
  llvm::DenseMap<Value, Value> outside_; ///< Of what a body only reads.
  std::map<std::pair<const void *, unsigned>, bool> equal_; ///< areRowsEqual()
};

} // namespace

/// Index for iteration.
static bool isPlain(const LoopNest &nest, const TensorMap &map, unsigned dim) {
  const DimMap &at = map.dims[dim];
  if (at.kind == DimMap::Kind::Product) {
    return true;
  }
  return at.kind == DimMap::Kind::Window && at.stride == 1 && at.lo == 0 &&
         at.reach == 0 && nest.loop(at.loops.front()).extent == map.shape[dim];
}

/// Nothing where no parallel loops go through the batch alone.
std::optional<RowFinder::Prefix> RowFinder::prefixOf(const LoopNest &nest,
                                                     const TensorMap &map,
                                                     unsigned dim) const {
  Prefix prefix;
  int64_t major = 1;
  if (!isPlain(nest, map, dim)) {
    return std::nullopt;
  }
  for (LoopId loop : map.dims[dim].loops) {
    if (major >= batch_) {
      break;
    }
    if (nest.loop(loop).kind != LoopKind::Parallel) {
      return std::nullopt;
    }
    major *= nest.loop(loop).extent;
    prefix.push_back(loop);
  }
  return major % batch_ == 0 ? std::optional(prefix) : std::nullopt;
}

bool RowFinder::beginsWith(const DimMap &dim, const Prefix &prefix) const {
  return dim.loops.size() >= prefix.size() &&
         std::equal(prefix.begin(), prefix.end(), dim.loops.begin());
}

//===----------------------------------------------------------------------===//
// What all rows have in common
//===----------------------------------------------------------------------===//

bool RowFinder::hasEqualRows(ArrayRef<char> bytes) const {
  size_t row = bytes.size() / size_t(batch_);
  if (bytes.size() % size_t(batch_) != 0) {
    return false;
  }
  for (size_t at = row; at < bytes.size(); at += row) {
    if (std::memcmp(bytes.data(), bytes.data() + at, row) != 0) {
      return false;
    }
  }
  return true;
}

/// Of dim 0. What is trained does not stay as it is.
bool RowFinder::readsEqualRows(nn::ReadOp read) {
  auto global = module_.lookupSymbol<nn::GlobalOp>(read.getGlobal());
  if (!global || global.getKind() == nn::GlobalKind::State ||
      global->hasAttr(nn::kTrainedAttr) || !global.getFile()) {
    return false;
  }
  auto bytes = store_.bytes({global.getFile()->str(),
                             int64_t(global.getOffset().value_or(0)),
                             int64_t(global.getLength().value_or(0))});
  return bytes && hasEqualRows({reinterpret_cast<const char *>(bytes->data()),
                                bytes->size()});
}

bool RowFinder::makesEqualRows(OpResult result, unsigned dim) {
  Operation *op = result.getOwner();
  if (auto constant = dyn_cast<nn::ConstantOp>(op)) {
    auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
    return elements && (elements.isSplat() ||
                        (dim == 0 && hasEqualRows(elements.getRawData())));
  }
  if (auto read = dyn_cast<nn::ReadOp>(op)) {
    return dim == 0 && readsEqualRows(read);
  }
  if (auto iota = dyn_cast<nn::IotaOp>(op)) {
    return int64_t(iota.getAxis()) != int64_t(dim);
  }
  if (isa<nn::RandomOp>(op)) { // each row has its own, and none a certain one
    drawsNumbers_ = true;
    return true;
  }
  auto loops = dyn_cast<nn::LoopInterface>(op);
  if (!loops || op->getNumOperands() == 0) {
    return false;
  }
  LoopNest nest = loops.getLoopNest();
  auto prefix = prefixOf(nest, nest.results[result.getResultNumber()], dim);
  if (!prefix) {
    return false;
  }
  return llvm::all_of(llvm::enumerate(op->getOperands()), [&](auto operand) {
    return isAlike(nest, nest.operands[operand.index()], operand.value(),
                   *prefix);
  });
}

/// Whether what loops of `prefix` read of `operand` is the same in all rows.
bool RowFinder::isAlike(const LoopNest &nest, const TensorMap &map,
                        Value operand, const Prefix &prefix) {
  for (unsigned i = 0; i != map.dims.size(); ++i) {
    bool mentions = llvm::any_of(
        prefix, [&](LoopId loop) { return map.dims[i].mentions(loop); });
    if (mentions &&
        !(isPlain(nest, map, i) && beginsWith(map.dims[i], prefix) &&
          areRowsEqual(operand, i))) {
      return false;
    }
  }
  return true;
}

/// Whether `value`, which does not depend on the batch, is the same in all rows
/// that `dim` would have of one.
bool RowFinder::areRowsEqual(Value value, unsigned dim) {
  if (Value outside = outside_.lookup(value)) {
    return areRowsEqual(outside, dim);
  }
  auto [known, isNew] =
      equal_.emplace(std::pair(value.getAsOpaquePointer(), dim), false);
  auto result = dyn_cast<OpResult>(value);
  if (isNew && result) {
    known->second = makesEqualRows(result, dim);
  }
  return known->second;
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

void RowFinder::mix(Operation *op, Operation *mixer) {
  for (Value result : op->getResults()) {
    rows_[result] = {Rows::kNone, mixer};
  }
}

/// Finds, and compares, the loops that go through the rows of an operand; says
/// who mixes them, if anybody.
Rows RowFinder::through(nn::LoopInterface op, const Rows &operand,
                        unsigned number, std::optional<Prefix> &prefix) {
  if (operand.mixer || operand.dim == Rows::kNone) {
    return operand;
  }
  LoopNest nest = op.getLoopNest();
  auto own = prefixOf(nest, nest.operands[number], unsigned(operand.dim));
  if (!own || (prefix && *prefix != *own)) {
    return {Rows::kNone, op};
  }
  prefix = std::move(own);
  return operand;
}

void RowFinder::readOperator(nn::LoopInterface op) {
  std::optional<Prefix> prefix;
  for (auto [number, operand] : llvm::enumerate(op->getOperands())) {
    Rows rows = through(op, rowsOf(operand), unsigned(number), prefix);
    if (rows.mixer) {
      return mix(op, rows.mixer);
    }
  }
  if (!prefix) {
    return; // as of no batch
  }
  LoopNest nest = op.getLoopNest();
  for (auto [number, operand] : llvm::enumerate(op->getOperands())) {
    if (rowsOf(operand).dim == Rows::kNone &&
        !isAlike(nest, nest.operands[number], operand, *prefix)) {
      return mix(op, op);
    }
  }
  for (auto [number, result] : llvm::enumerate(op->getResults())) {
    const TensorMap &map = nest.results[number];
    const auto *found = llvm::find_if(
        map.dims, [&](const DimMap &dim) { return beginsWith(dim, *prefix); });
    unsigned dim = unsigned(found - map.dims.begin());
    if (found == map.dims.end() || !isPlain(nest, map, dim)) {
      return mix(op, op);
    }
    rows_[result] = {int(dim), nullptr};
  }
}

/// One iteration of `loop` on what is known of the first one's arguments;
/// whether more is known of the next one's.
bool RowFinder::readBody(nn::LoopOp loop, func::FuncOp body) {
  read(body.front());
  bool isMore = false;
  for (unsigned i = 0; i != loop.getNumResults(); ++i) {
    Value argument = body.getArgument(nn::carriedArgument(i));
    Rows before = rowsOf(argument);
    Rows after = rowsOf(body.front().getTerminator()->getOperand(i));
    if (before.mixer || before == after) {
      continue;
    }
    bool begins = before.dim == Rows::kNone && after.dim != Rows::kNone &&
                  areRowsEqual(loop->getOperand(nn::carriedArgument(i)),
                               unsigned(after.dim));
    rows_[argument] = after.mixer ? after
                      : begins    ? after
                                  : Rows{Rows::kNone, loop};
    isMore = true;
  }
  return isMore;
}

void RowFinder::readLoop(nn::LoopOp loop) {
  auto body = dyn_cast_or_null<func::FuncOp>(
      nn::lookupBody(loop, loop.getBodyAttr()).getOperation());
  Rows count = rowsOf(loop.getCount());
  bool depends = llvm::any_of(loop->getOperands(), [&](Value operand) {
    return rowsOf(operand) != Rows();
  });
  if (!body || count != Rows()) {
    return mix(loop, count.mixer ? count.mixer : loop.getOperation());
  }
  if (!depends) {
    return;
  }
  for (auto [number, operand] : llvm::enumerate(loop->getOperands())) {
    Value argument = body.getArgument(unsigned(number));
    rows_[argument] = rowsOf(operand);
    if (number > loop.getNumResults()) {
      outside_[argument] = operand;
    }
  }
  // Each time one more is known, or mixed.
  while (readBody(loop, body)) {
  }
  for (unsigned i = 0; i != loop.getNumResults(); ++i) {
    rows_[loop.getResult(i)] = rowsOf(body.getArgument(nn::carriedArgument(i)));
  }
}

void RowFinder::read(Block &block) {
  for (Operation &op : block.without_terminator()) {
    if (auto update = dyn_cast<nn::UpdateOp>(op)) {
      Rows rows = rowsOf(update.getValue());
      if (!update_ && (!isTrained_ || rows != Rows())) {
        update_ = rows.mixer ? rows.mixer : update.getOperation();
      }
    } else if (auto loop = dyn_cast<nn::LoopOp>(op)) {
      readLoop(loop);
    } else if (isa<nn::ReadOp, nn::ConstantOp>(op)) {
      continue;
    } else if (auto loops = dyn_cast<nn::LoopInterface>(op)) {
      readOperator(loops);
    } else if (llvm::any_of(op.getOperands(), [&](Value operand) {
                 return rowsOf(operand) != Rows();
               })) {
      mix(&op, &op);
    }
  }
}

//===----------------------------------------------------------------------===//
// What a user is told
//===----------------------------------------------------------------------===//

static std::string nameOf(func::FuncOp entry, unsigned number, bool isInput) {
  auto name = isInput
                  ? entry.getArgAttrOfType<StringAttr>(number, "nn.name")
                  : entry.getResultAttrOfType<StringAttr>(number, "nn.name");
  return name ? "'" + name.str() + "'" : std::to_string(number);
}

/// `node '/bn/BatchNormalization' (nn.reduce) combines rows of the batch`
static std::string describeMixer(Operation *op) {
  if (auto update = dyn_cast<nn::UpdateOp>(op)) {
    return "the state @" + update.getGlobal().str() +
           " would change from one part of the batch to the next";
  }
  std::string node = nn::nodeName(op->getLoc());
  std::string kind = op->getName().getStringRef().str();
  return (node.empty() ? kind : "node '" + node + "' (" + kind + ")") +
         " combines rows of the batch, or treats them differently";
}

static std::string obstacleOf(func::FuncOp entry, const RowFinder &finder,
                              const std::optional<std::string> &trainedBy) {
  if (finder.update()) {
    return describeMixer(finder.update());
  }
  unsigned wanted = 0;
  for (unsigned i = 0; trainedBy && i != entry.getNumResults(); ++i) {
    wanted = nameOf(entry, i, false) == "'" + *trainedBy + "'" ? i : wanted;
  }
  Operation *end = entry.front().getTerminator();
  for (auto [i, value] : llvm::enumerate(end->getOperands())) {
    if (trainedBy && i != wanted) {
      continue;
    }
    Rows rows = finder.rowsOf(value);
    if (rows.mixer) {
      return describeMixer(rows.mixer);
    }
    auto type = cast<RankedTensorType>(value.getType());
    if (rows.dim != 0 || type.getDimSize(0) != finder.batch()) {
      return "output " + nameOf(entry, unsigned(i), false) +
             " has no row for each of the batch";
    }
  }
  return "";
}

IndependentRows
findIndependentRows(func::FuncOp entry, GlobalStore &store,
                    const std::optional<std::string> &trainedBy) {
  IndependentRows found;
  std::optional<int64_t> batch;
  for (BlockArgument argument : entry.getArguments()) {
    if (!nn::hasBatch(entry, argument.getArgNumber())) {
      continue;
    }
    auto type = cast<RankedTensorType>(argument.getType());
    if (batch && *batch != type.getDimSize(0)) {
      found.obstacle = "input " + nameOf(entry, argument.getArgNumber(), true) +
                       " has " + std::to_string(type.getDimSize(0)) +
                       " rows, and one before it " + std::to_string(*batch) +
                       "; --shared-inputs names inputs without a batch";
      return found;
    }
    batch = type.getDimSize(0);
  }
  found.batch = batch.value_or(1);
  if (found.batch < 2) {
    return found;
  }
  RowFinder finder(entry->getParentOfType<ModuleOp>(), store, found.batch,
                   trainedBy.has_value());
  for (BlockArgument argument : entry.getArguments()) {
    if (nn::hasBatch(entry, argument.getArgNumber())) {
      finder.begin(argument);
    }
  }
  finder.read(entry.front());
  found.obstacle = obstacleOf(entry, finder, trainedBy);
  found.drawsNumbers = finder.drawsNumbers();
  return found;
}

} // namespace divisi::plan
