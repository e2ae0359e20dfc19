//===- RunAgain.cpp - Operators of the forward pass that run again --------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunAgain.h"

#include "dialects/SPMD/SPMD.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace divisi::plan {
namespace {

/// Makes the copies, in the order of the program.
class Copier {
public:
  Copier(const ModuleDataflow &dataflow, const RecomputeReading &reading)
      : dataflow_(dataflow), reading_(reading) {
    for (auto [index, tensor] : llvm::enumerate(dataflow.values)) {
      if (tensor.kind == DataflowValue::Kind::Result) {
        numberOf_[dataflow.ops[tensor.index]->getResult(tensor.number)] =
            unsigned(index);
      }
    }
  }

  std::vector<RunAgain> run(ArrayRef<std::vector<unsigned>> again);

private:
  Value now(Value value, OpBuilder &builder);
  Operation *copy(Operation *original, OpBuilder &builder);
  void noteView(Operation *user);
  void dropIdlePlaces();
  void dropIdle();

  const ModuleDataflow &dataflow_;
  const RecomputeReading &reading_;
  llvm::DenseMap<Value, unsigned> numberOf_; ///< In Dataflow::values.
  /// Of results of the forward pass: what stands for them now, roots and views.
  llvm::DenseMap<Value, Value> now_;
  /// Of a view: the value of its root when it was made.
  llvm::DenseMap<Value, Value> madeOf_;
  std::vector<RunAgain> copies_;
};

} // namespace

/// `operand` takes another tensor than equivalent operators, so through no
/// stop.
static void give(OpOperand &operand, Value value) {
  if (operand.get() == value) {
    return;
  }
  Operation *op = operand.getOwner();
  operand.set(value);
  if (auto stops = op->getAttrOfType<ArrayAttr>(spmd::SPMDDialect::kStops)) {
    SmallVector<Attribute> list(stops.getValue());
    list[operand.getOperandNumber()] = UnitAttr::get(op->getContext());
    op->setAttr(spmd::SPMDDialect::kStops,
                ArrayAttr::get(op->getContext(), list));
  }
}

Operation *Copier::copy(Operation *original, OpBuilder &builder) {
  SmallVector<Value> operands;
  for (Value operand : original->getOperands()) {
    operands.push_back(now(operand, builder));
  }
  Operation *made = builder.clone(*original);
  for (auto [operand, value] :
       llvm::zip_equal(made->getOpOperands(), operands)) {
    give(operand, value);
  }
  copies_.push_back({made, original});
  return made;
}

/// What a user takes for a value of the forward pass: views are made anew of
/// what their root is now.
Value Copier::now(Value value, OpBuilder &builder) {
  auto number = numberOf_.find(value);
  if (number == numberOf_.end()) {
    return value;
  }
  unsigned root = reading_.roots[number->second];
  if (root == number->second) {
    Value changed = now_.lookup(value);
    return changed ? changed : value;
  }
  const DataflowValue &tensor = dataflow_.values[root];
  if (tensor.kind != DataflowValue::Kind::Result) {
    return value;
  }
  Value of = dataflow_.ops[tensor.index]->getResult(tensor.number);
  Value changed = now_.lookup(of);
  if (!changed) {
    return value;
  }
  if (madeOf_.lookup(value) != changed) {
    madeOf_[value] = changed;
    auto result = cast<OpResult>(value);
    now_[value] =
        copy(result.getOwner(), builder)->getResult(result.getResultNumber());
  }
  Value known = now_.lookup(value);
  return known ? known : value;
}

/// `user` may be a view, of what its root is now.
void Copier::noteView(Operation *user) {
  for (Value result : user->getResults()) {
    unsigned number = numberOf_.at(result), root = reading_.roots[number];
    const DataflowValue &tensor = dataflow_.values[root];
    if (root != number && tensor.kind == DataflowValue::Kind::Result) {
      Value of = dataflow_.ops[tensor.index]->getResult(tensor.number);
      madeOf_[result] = now_.lookup(of);
    }
  }
}

/// A tensor with one user rests nowhere.
void Copier::dropIdlePlaces() {
  auto drop = [](Operation *op) {
    if (op->getNumResults() == 1 && op->getResult(0).hasOneUse()) {
      op->removeAttr(spmd::SPMDDialect::kPlaces);
    }
  };
  for (const RunAgain &pair : copies_) {
    drop(pair.copy);
    drop(pair.original); // dropIdle() comes later
  }
}

/// What only the backward pass wants runs there alone.
void Copier::dropIdle() {
  for (size_t i = copies_.size(); i-- != 0;) {
    Operation *original = copies_[i].original;
    if (!original || !original->use_empty()) {
      continue;
    }
    for (RunAgain &pair : copies_) {
      pair.original = pair.original == original ? nullptr : pair.original;
    }
    original->erase();
  }
}

std::vector<RunAgain> Copier::run(ArrayRef<std::vector<unsigned>> again) {
  size_t stage = 0;
  for (unsigned site = 0; site != dataflow_.sites.size(); ++site) {
    if (dataflow_.sites[site].time <= reading_.turn) {
      continue;
    }
    Operation *user = dataflow_.ops[site];
    OpBuilder builder(user);
    if (stage != again.size() && reading_.sites[stage] == site) {
      for (unsigned value : again[stage]) {
        const DataflowValue &tensor = dataflow_.values[reading_.tensors[value]];
        Operation *original = dataflow_.ops[tensor.index];
        Operation *made = copy(original, builder);
        now_[original->getResult(tensor.number)] =
            made->getResult(tensor.number);
      }
      ++stage;
    }
    for (OpOperand &operand : user->getOpOperands()) {
      give(operand, now(operand.get(), builder));
    }
    noteView(user);
  }
  dropIdlePlaces();
  dropIdle();
  return std::move(copies_);
}

std::vector<RunAgain> runAgain(const ModuleDataflow &dataflow,
                               const RecomputeReading &reading,
                               ArrayRef<std::vector<unsigned>> again) {
  return Copier(dataflow, reading).run(again);
}

/// The last ones first: copies use copies.
void runOnce(std::vector<RunAgain> copies) {
  for (const RunAgain &pair : llvm::reverse(copies)) {
    if (!pair.original) {
      continue;
    }
    for (auto [result, before] : llvm::zip_equal(pair.copy->getResults(),
                                                 pair.original->getResults())) {
      for (OpOperand &use : llvm::make_early_inc_range(result.getUses())) {
        give(use, before);
      }
    }
    pair.copy->erase();
  }
}

} // namespace divisi::plan
