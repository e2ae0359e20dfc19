//===- Segments.cpp - Parts of a program, each a program ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Optimize/Segments.h"

#include "dialects/NN/Known.h"
#include "dialects/NN/Locations.h"
#include "dialects/NN/NN.h"
#include "divisi/Optimize/ProgramPrice.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace divisi;
using namespace divisi::optimize;
using namespace mlir;

static constexpr llvm::StringLiteral kPlace = "segment";

//===----------------------------------------------------------------------===//
// Cutting
//===----------------------------------------------------------------------===//

/// How many results of `run` before each of its operators are read there or
/// later; one more at the end.
static std::vector<size_t> countAlive(const Segment &run) {
  llvm::DenseMap<Operation *, size_t> numbers;
  for (auto [number, op] : llvm::enumerate(run)) {
    numbers[op] = number;
  }
  // Each result begins behind its operator, and ends behind its last reader.
  std::vector<int64_t> changes(run.size() + 2);
  for (auto [number, op] : llvm::enumerate(run)) {
    for (Value result : op->getResults()) {
      size_t last = number;
      for (Operation *user : result.getUsers()) {
        auto at = numbers.find(user);
        last = std::max(last, at == numbers.end() ? run.size() : at->second);
      }
      ++changes[number + 1];
      --changes[last + 1];
    }
  }
  std::vector<size_t> alive(run.size() + 1);
  int64_t sum = 0;
  for (size_t i = 0; i != alive.size(); ++i) {
    sum += changes[i];
    alive[i] = size_t(sum);
  }
  return alive;
}

static void cutRun(const Segment &run, SegmentSizes sizes,
                   std::vector<Segment> &segments) {
  std::vector<size_t> alive = countAlive(run);
  size_t begin = 0;
  auto add = [&](size_t end) {
    segments.emplace_back(run.begin() + begin, run.begin() + end);
    begin = end;
  };
  if (sizes.skipped != 0 && sizes.skipped < run.size()) {
    add(sizes.skipped);
  }
  while (run.size() - begin > sizes.most) {
    auto from = alive.begin() + begin + sizes.least;
    auto to = alive.begin() + begin + sizes.most + 1;
    add(size_t(std::min_element(from, to) - alive.begin()));
  }
  if (begin != run.size()) {
    add(run.size());
  }
}

std::vector<Segment>
divisi::optimize::cutIntoSegments(Block &body, const nn::KnownValues &known,
                                  SegmentSizes sizes) {
  std::vector<Segment> segments;
  Segment run;
  auto end = [&] {
    cutRun(run, sizes, segments);
    run.clear();
  };
  for (Operation &op : body) {
    if (asComputed(op, known)) {
      run.push_back(&op);
    } else if (op.getNumResults() != 1 || !known.isKnown(op.getResult(0))) {
      end();
    }
  }
  end();
  return segments;
}

//===----------------------------------------------------------------------===//
// Taking out
//===----------------------------------------------------------------------===//

namespace {

/// Copies one segment.
class Taker {
public:
  Taker(const Segment &segment, const nn::KnownValues &known)
      : segment_(segment), known_(known),
        builder_(segment.front()->getContext()) {}
  TakenOut run();

private:
  void copyOperand(Value value);
  void copyKnown(Operation *op);
  std::string globalOf(nn::ReadOp read);
  func::FuncOp begin();

  const Segment &segment_;
  const nn::KnownValues &known_;
  OpBuilder builder_;
  IRMapping map_;
  Block *body_ = nullptr;
  TakenOut taken_;
};

} // namespace

func::FuncOp Taker::begin() {
  Location location = builder_.getUnknownLoc();
  taken_.module = ModuleOp::create(location);
  builder_.setInsertionPointToEnd(taken_.module->getBody());
  auto function = func::FuncOp::create(builder_, location, "forward",
                                       builder_.getFunctionType({}, {}));
  body_ = function.addEntryBlock();
  builder_.setInsertionPointToEnd(body_);
  return function;
}

/// The global of the module that stands for the one that is read.
std::string Taker::globalOf(nn::ReadOp read) {
  auto found = llvm::find(taken_.globals, read.getGlobal());
  std::string name = "g" + std::to_string(found - taken_.globals.begin());
  if (found == taken_.globals.end()) {
    taken_.globals.push_back(read.getGlobal().str());
    auto global = SymbolTable::lookupNearestSymbolFrom<nn::GlobalOp>(
        read, read.getGlobalAttr());
    OpBuilder::InsertionGuard guard(builder_);
    builder_.setInsertionPointToStart(taken_.module->getBody());
    auto copy = cast<nn::GlobalOp>(builder_.clone(*global));
    copy->setLoc(builder_.getUnknownLoc());
    copy.setSymName(name);
    copy->setDiscardableAttrs(ArrayRef<NamedAttribute>());
    if (copy.getKind() != nn::GlobalKind::Constant) {
      copy.removeFileAttr();
      copy.removeOffsetAttr();
      copy.removeLengthAttr();
      copy.setZero(false);
    }
  }
  return name;
}

/// What weights and constants make is copied with all that it is made of.
void Taker::copyKnown(Operation *op) {
  for (Value operand : op->getOperands()) {
    copyOperand(operand);
  }
  Operation *copy = builder_.clone(*op, map_);
  copy->setLoc(builder_.getUnknownLoc());
  copy->removeDiscardableAttr(nn::kScopeAttr);
  if (auto read = dyn_cast<nn::ReadOp>(copy)) {
    read.setGlobal(globalOf(cast<nn::ReadOp>(op)));
  }
}

void Taker::copyOperand(Value value) {
  if (map_.contains(value)) {
    return;
  }
  if (value.getDefiningOp() && known_.isKnown(value)) {
    return copyKnown(value.getDefiningOp());
  }
  map_.map(value,
           body_->addArgument(value.getType(), builder_.getUnknownLoc()));
  taken_.inputs.push_back(value);
}

TakenOut Taker::run() {
  func::FuncOp function = begin();
  llvm::DenseSet<Operation *> inside(segment_.begin(), segment_.end());
  SmallVector<Value> results;
  for (auto [number, op] : llvm::enumerate(segment_)) {
    for (Value operand : op->getOperands()) {
      copyOperand(operand);
    }
    Operation *copy = builder_.clone(*op, map_);
    copy->setLoc(FileLineColLoc::get(builder_.getContext(), kPlace,
                                     unsigned(number), 0));
    copy->removeDiscardableAttr(nn::kScopeAttr);
    for (Value result : op->getResults()) {
      if (llvm::any_of(result.getUsers(), [&](Operation *user) {
            return !inside.contains(user);
          })) {
        taken_.outputs.push_back(result);
        results.push_back(map_.lookup(result));
      }
    }
  }
  func::ReturnOp::create(builder_, builder_.getUnknownLoc(), results);
  function.setFunctionType(builder_.getFunctionType(
      body_->getArgumentTypes(), ValueRange(results).getTypes()));
  llvm::raw_string_ostream key(taken_.key);
  taken_.module->print(key);
  return std::move(taken_);
}

TakenOut divisi::optimize::takeOut(const Segment &segment,
                                   const nn::KnownValues &known) {
  return Taker(segment, known).run();
}

func::FuncOp divisi::optimize::functionOf(ModuleOp module) {
  return *module.getOps<func::FuncOp>().begin();
}

//===----------------------------------------------------------------------===//
// Putting back
//===----------------------------------------------------------------------===//

std::optional<size_t> divisi::optimize::numberOf(Location location) {
  std::optional<size_t> number;
  location->walk([&](Location part) {
    auto place = dyn_cast<FileLineColLoc>(part);
    if (!place || place.getFilename() != kPlace) {
      return WalkResult::advance();
    }
    number = place.getLine();
    return WalkResult::interrupt();
  });
  return number;
}

void divisi::optimize::putBack(ModuleOp program, const TakenOut &taken,
                               const Segment &segment) {
  func::FuncOp function = functionOf(program);
  Block &body = function.front();
  OpBuilder builder(segment.front());
  IRMapping map;
  map.map(body.getArguments(), taken.inputs);
  for (Operation &op : body.without_terminator()) {
    Operation *copy = builder.clone(op, map);
    size_t number = numberOf(op.getLoc()).value_or(0);
    copy->setLoc(
        nn::withRules(segment[number]->getLoc(), nn::rulesOf(op.getLoc())));
    nn::copyScope(segment[number], copy);
    if (auto read = dyn_cast<nn::ReadOp>(copy)) {
      size_t global = 0;
      (void)read.getGlobal().drop_front().getAsInteger(10, global);
      read.setGlobal(taken.globals[global]);
    }
  }
  for (auto [old, result] :
       llvm::zip_equal(taken.outputs, body.getTerminator()->getOperands())) {
    Value(old).replaceAllUsesWith(map.lookupOrDefault(result));
  }
  for (Operation *op : llvm::reverse(segment)) {
    op->erase();
  }
}

//===----------------------------------------------------------------------===//
// Comparing
//===----------------------------------------------------------------------===//

uint64_t divisi::optimize::fingerprint(func::FuncOp function) {
  llvm::DenseMap<Value, llvm::hash_code> values;
  for (BlockArgument argument : function.getArguments()) {
    values[argument] = llvm::hash_combine("argument", argument.getArgNumber());
  }
  llvm::hash_code all = 0;
  for (Operation &op : function.front()) {
    llvm::hash_code hash =
        llvm::hash_combine(op.getName().getAsOpaquePointer(),
                           op.getAttrDictionary().getAsOpaquePointer());
    for (Value operand : op.getOperands()) {
      hash = llvm::hash_combine(hash, values.lookup(operand));
    }
    for (OpResult result : op.getResults()) {
      values[result] =
          llvm::hash_combine(hash, result.getResultNumber(),
                             result.getType().getAsOpaquePointer());
    }
    all = hash; // The last operator is the return, which reads all results.
  }
  return uint64_t(size_t(all));
}
