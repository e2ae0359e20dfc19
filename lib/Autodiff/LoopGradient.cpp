//===- LoopGradient.cpp - Gradients of loops ------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopGradient.h"

#include "GradientBuilder.h"
#include "divisi/Autodiff/Gradients.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace divisi;
using namespace divisi::autodiff;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// `count` of `type` in a new first dim.
static RankedTensorType stackOf(RankedTensorType type, int64_t count) {
  SmallVector<int64_t> shape(type.getShape());
  shape.insert(shape.begin(), count);
  return RankedTensorType::get(shape, type.getElementType());
}

namespace {

/// Derives one loop. One use.
class LoopDeriver {
public:
  LoopDeriver(OpBuilder &builder, nn::LoopOp &loop, ArrayRef<Value> gradients,
              ArrayRef<bool> wanted)
      : builder_(builder), loop_(loop), gradients_(gradients),
        body_(cast<func::FuncOp>(
            nn::lookupBody(loop, loop.getBodyAttr()).getOperation())),
        carried_(loop.getNumResults()), wanted_(wanted) {}

  FailureOr<SmallVector<Value>> run();

private:
  void spreadWanted();
  void insert(func::FuncOp function);
  func::FuncOp makeFunction(ArrayRef<Type> own);
  LogicalResult fillBody();
  Value addTo(GradientBuilder &b, Value sum, Value part);
  void dropUnused();
  void keepCarried();
  void readKept(unsigned carried);
  SmallVector<Value> runBackwards();

  OpBuilder &builder_;
  nn::LoopOp &loop_;
  ArrayRef<Value> gradients_;
  func::FuncOp body_;
  unsigned carried_;
  /// Of the loop's values, those that have a gradient: of what is carried it is
  /// carried, too, and of others summed.
  SmallVector<bool> wanted_;

  func::FuncOp back_; ///< The body of the loop that runs backwards.
  /// Its arguments: gradients by wanted values, in their order, the number of
  /// the last iteration, and the values.
  SmallVector<unsigned> derived_;
  BlockArgument last_;
  SmallVector<BlockArgument> values_;
  /// Which of what is carried is kept by each iteration, in order.
  SmallVector<unsigned> kept_;
};

} // namespace

/// What is carried depends on what is wanted if it does after an iteration.
void LoopDeriver::spreadWanted() {
  Operation *end = body_.front().getTerminator();
  for (bool isChanged = true; isChanged;) {
    SmallVector<Value> inputs;
    for (auto [value, wants] :
         llvm::zip_equal(body_.getArguments().drop_front(), wanted_)) {
      if (wants) {
        inputs.push_back(value);
      }
    }
    llvm::DenseSet<Value> depending = findDepending(body_.front(), inputs);
    isChanged = false;
    for (unsigned i = 0; i != carried_; ++i) {
      if (!wanted_[i] && depending.contains(end->getOperand(i))) {
        wanted_[i] = isChanged = true;
      }
    }
  }
}

/// Lets the module have `function`, behind the body, by a name of its own.
void LoopDeriver::insert(func::FuncOp function) {
  function.setPrivate();
  SymbolTable(body_->getParentOfType<ModuleOp>())
      .insert(function, std::next(body_->getIterator()));
}

/// A private function of an index and values of the types `own`.
func::FuncOp LoopDeriver::makeFunction(ArrayRef<Type> own) {
  OpBuilder functions(body_.getContext());
  SmallVector<Type> types{body_.getArgumentTypes().front()};
  llvm::append_range(types, own);
  auto function =
      func::FuncOp::create(functions, body_.getLoc(),
                           (body_.getSymName() + nn::kGradientSuffix).str(),
                           functions.getFunctionType(types, {}));
  function.addEntryBlock();
  insert(function);
  return function;
}

/// `sum` plus `part`; rows that are added to zeros are added to the sum.
Value LoopDeriver::addTo(GradientBuilder &b, Value sum, Value part) {
  auto add = part.getDefiningOp<nn::AddOp>();
  if (add && add->use_empty() && add.getLhs().getType() == part.getType() &&
      add.getRhs().getType() == part.getType()) {
    Value both[] = {add.getLhs(), add.getRhs()};
    add.erase();
    return addTo(b, addTo(b, sum, both[0]), both[1]);
  }
  auto scatter = part.getDefiningOp<nn::ScatterOp>();
  if (scatter && scatter.getKind() == "add") {
    Value init = scatter.getInit();
    if (auto repeated = init.getDefiningOp<nn::BroadcastOp>()) {
      init = repeated.getX();
    }
    if (constantOf(init) == 0.0) {
      return b.emit<nn::ScatterOp>(sum, scatter.getIndices(),
                                   scatter.getUpdates(),
                                   int64_t(scatter.getBatchDims()), "add");
    }
  }
  return b.add(sum, part);
}

/// One iteration backwards: its values again, and their gradients.
LogicalResult LoopDeriver::fillBody() {
  SmallVector<Type> own;
  for (auto [i, value] : llvm::enumerate(loop_.getValues())) {
    if (wanted_[i]) {
      derived_.push_back(unsigned(i));
      own.push_back(value.getType());
    }
  }
  own.push_back(loop_.getCount().getType());
  llvm::append_range(own, loop_.getValues().getTypes());
  back_ = makeFunction(own);
  auto arguments = back_.getArguments();
  auto sums = arguments.slice(1, derived_.size());
  last_ = arguments[1 + derived_.size()];
  llvm::append_range(values_, arguments.drop_front(2 + derived_.size()));

  OpBuilder inside = OpBuilder::atBlockBegin(&back_.front());
  Value index =
      nn::SubOp::create(inside, loop_.getLoc(), last_, back_.getArgument(0));
  IRMapping mapping;
  mapping.map(body_.getArgument(0), index);
  for (auto [from, to] :
       llvm::zip_equal(body_.getArguments().drop_front(), values_)) {
    mapping.map(from, to);
  }
  for (Operation &op : body_.front().without_terminator()) {
    inside.clone(op, mapping);
  }
  SmallVector<Value> outputs, seeds, inputs;
  Operation *end = body_.front().getTerminator();
  for (auto [i, sum] : llvm::zip_equal(derived_, sums)) {
    inputs.push_back(values_[i]);
    if (i < carried_) {
      outputs.push_back(mapping.lookupOrDefault(end->getOperand(i)));
      seeds.push_back(sum);
    }
  }
  auto gradients = makeGradients(inside, outputs, seeds, inputs);
  if (failed(gradients)) {
    return failure();
  }
  GradientBuilder b(inside, loop_, Value(), {});
  SmallVector<Value> results;
  for (auto [i, sum, gradient] : llvm::zip_equal(derived_, sums, *gradients)) {
    if (i < carried_) {
      results.push_back(gradient ? gradient
                                 : b.zeros(shapeOf(sum), elementOf(sum)));
    } else {
      results.push_back(gradient ? addTo(b, sum, gradient) : Value(sum));
    }
  }
  func::ReturnOp::create(inside, back_.getLoc(), results);
  back_.setFunctionType(inside.getFunctionType(
      back_.getArgumentTypes(),
      SmallVector<Type>(ValueRange(results).getTypes())));
  dropUnused();
  return success();
}

/// What the gradients do not need is not made again.
void LoopDeriver::dropUnused() {
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(back_.front()))) {
    if (isOpTriviallyDead(&op)) {
      op.erase();
    }
  }
}

/// Lets the body that runs backwards read what was carried into the iteration.
void LoopDeriver::readKept(unsigned carried) {
  BlockArgument value = values_[carried];
  RankedTensorType type = typeOf(value);
  value.setType(stackOf(type, int64_t(loop_.getMax())));
  OpBuilder inside = OpBuilder::atBlockBegin(&back_.front());
  Value index =
      nn::SubOp::create(inside, loop_.getLoc(), last_, back_.getArgument(0));
  auto row = nn::GatherOp::create(inside, loop_.getLoc(), value, index,
                                  /*axis=*/0, /*batch_dims=*/0);
  value.replaceAllUsesExcept(row.getResult(), row);
}

/// Lets iterations keep those of `kept_`, behind what they carry.
void LoopDeriver::keepCarried() {
  auto kept = cast<func::FuncOp>(body_->clone());
  kept.setName((body_.getSymName() + "_kept").str());
  insert(kept);
  Block &block = kept.front();
  Operation *end = block.getTerminator();
  OpBuilder inside(end), before(loop_);
  GradientBuilder front(before, loop_, Value(), {});
  Location loc = loop_.getLoc();
  SmallVector<Value> returned(end->getOperands());
  SmallVector<Value> operands(loop_.getCarried()), others(loop_.getValues());
  others.erase(others.begin(), others.begin() + carried_);
  for (auto [n, i] : llvm::enumerate(kept_)) {
    RankedTensorType one = typeOf(block.getArgument(1 + i));
    RankedTensorType all = stackOf(one, int64_t(loop_.getMax()));
    BlockArgument stack =
        block.insertArgument(unsigned(1 + carried_ + n), all, loc);
    SmallVector<int64_t> row(stackOf(one, 1).getShape());
    Value slice =
        nn::ReshapeOp::create(inside, loc, block.getArgument(1 + i), row);
    returned.push_back(nn::InsertOp::create(inside, loc, stack, slice,
                                            block.getArgument(0), /*axis=*/0));
    operands.push_back(front.zeros(all.getShape(), all.getElementType()));
  }
  end->setOperands(returned);
  SmallVector<Type> results(ValueRange(returned).getTypes());
  kept.setFunctionType(
      inside.getFunctionType(block.getArgumentTypes(), results));
  llvm::append_range(operands, others);
  auto loop =
      nn::LoopOp::create(before, loc, results, FlatSymbolRefAttr::get(kept),
                         loop_.getCount(), operands, loop_.getMaxAttr());
  nn::copyScope(loop_, loop);
  loop_->replaceAllUsesWith(loop.getResults().take_front(carried_));
  loop_.erase();
  loop_ = loop;
}

/// The loop backwards, and what it gives: by derived values.
SmallVector<Value> LoopDeriver::runBackwards() {
  GradientBuilder b(builder_, loop_, Value(), {});
  // Others of the loop stand behind what it keeps now.
  auto valueOf = [&](unsigned i) -> Value {
    return loop_.getValues()[i < carried_ ? i : i + kept_.size()];
  };
  SmallVector<Value> operands;
  for (unsigned i : derived_) {
    Value value = valueOf(i);
    Value given = i < carried_ ? gradients_[i] : Value();
    operands.push_back(given ? given
                             : b.zeros(shapeOf(value), elementOf(value)));
  }
  size_t sums = operands.size();
  operands.push_back(b.add(loop_.getCount(), -1));
  auto stacks = loop_.getResults().drop_front(carried_);
  for (unsigned i = 0; i != values_.size(); ++i) {
    const auto *at = llvm::find(kept_, i);
    operands.push_back(at != kept_.end() ? Value(stacks[at - kept_.begin()])
                                         : valueOf(i));
  }
  // What the gradients do not use is not passed.
  Block &block = back_.front();
  for (unsigned i = block.getNumArguments(); i-- > 1 + sums;) {
    if (block.getArgument(i).use_empty()) {
      block.eraseArgument(i);
      operands.erase(operands.begin() + (i - 1));
    }
  }
  back_.setFunctionType(builder_.getFunctionType(
      block.getArgumentTypes(), back_.getFunctionType().getResults()));
  auto loop = nn::LoopOp::create(
      builder_, b.location(), back_.getFunctionType().getResults(),
      FlatSymbolRefAttr::get(back_), loop_.getCount(), operands,
      loop_.getMaxAttr());
  nn::copyScope(loop_, loop);
  return SmallVector<Value>(loop.getResults());
}

FailureOr<SmallVector<Value>> LoopDeriver::run() {
  SmallVector<Value> results(loop_.getValues().size());
  if (loop_.getMax() == 0) {
    llvm::copy(gradients_, results.begin());
    return results;
  }
  spreadWanted();
  if (llvm::none_of(wanted_, [](bool wants) { return wants; })) {
    return results;
  }
  if (failed(fillBody())) {
    return failure();
  }
  if (loop_.getMax() > 1) {
    for (unsigned i = 0; i != carried_; ++i) {
      if (!values_[i].use_empty()) {
        kept_.push_back(i);
        readKept(i);
      }
    }
  }
  if (!kept_.empty()) {
    keepCarried();
  }
  SmallVector<Value> given = runBackwards();
  for (auto [i, gradient] : llvm::zip_equal(derived_, given)) {
    results[i] = gradient;
  }
  return results;
}

FailureOr<SmallVector<Value>> autodiff::deriveLoop(OpBuilder &builder,
                                                   nn::LoopOp &loop,
                                                   ArrayRef<Value> gradients,
                                                   ArrayRef<bool> wanted) {
  return LoopDeriver(builder, loop, gradients, wanted).run();
}
