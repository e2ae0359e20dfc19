//===- IsolateBodies.cpp - Bodies that need nothing but their loop --------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All later stages know of one form only, an nn.loop with a body of its own:
//
//   %y = nn.if %c then @up else @down(%x)
//   becomes
//   %n = cast %c    %m = cast (not %c)    %0 = broadcast 0
//   %1 = nn.loop @up_if(%n, %0, %x) max 1
//   %y = nn.loop @down_if(%m, %1, %x) max 1
//
//===----------------------------------------------------------------------===//

#include "dialects/NN/Bodies.h"
#include "passes/Plan/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <set>

namespace divisi {
#define GEN_PASS_DEF_ISOLATEBODIES
#include "passes/Plan/Passes.h.inc"
} // namespace divisi

using namespace divisi;
using namespace mlir;

namespace {

class BodyIsolator {
public:
  explicit BodyIsolator(ModuleOp module) : symbols_(module) {}

  /// Isolates what `entry` runs. Failure after an error.
  LogicalResult run(func::FuncOp entry);
  /// Whether some loop that was seen has `body`.
  bool isOwned(func::FuncOp body) const {
    return owned_.contains(body.getName().str());
  }

private:
  void expand(nn::IfOp op);
  func::FuncOp copy(func::FuncOp function, const Twine &suffix);
  void separate(func::FuncOp function);
  LogicalResult giveGlobals(func::FuncOp function);
  LogicalResult giveGlobals(nn::LoopOp op, func::FuncOp body);

  SymbolTable symbols_;
  std::set<std::string> owned_; ///< Bodies that some loop has.
};

class IsolateBodiesPass
    : public divisi::impl::IsolateBodiesBase<IsolateBodiesPass> {
public:
  void runOnOperation() override;
};

} // namespace

/// A private function like `function`, under a name of its own.
func::FuncOp BodyIsolator::copy(func::FuncOp function, const Twine &suffix) {
  func::FuncOp made = function.clone();
  made.setName((function.getName() + suffix).str());
  symbols_.insert(made, std::next(function->getIterator()));
  return made;
}

/// All elements are 0, which nobody sees.
static Value zeros(OpBuilder &builder, Location loc, RankedTensorType type) {
  Type element = type.getElementType();
  auto scalar = RankedTensorType::get({}, element);
  bool isField = isa<nn::FieldType>(element);
  auto written =
      RankedTensorType::get({}, isField ? Type(builder.getF64Type()) : element);
  auto value = DenseElementsAttr::get(
      written, builder.getZeroAttr(written.getElementType()));
  Value zero = nn::ConstantOp::create(builder, loc, scalar, value);
  return nn::BroadcastOp::create(builder, loc, zero, type.getShape(),
                                 ArrayRef<int64_t>());
}

/// Runs the branch once if `count` is 1; else its results are `before`.
static ValueRange runBranch(OpBuilder &builder, nn::IfOp op, func::FuncOp body,
                            Value count, ValueRange before) {
  SmallVector<Value> operands = {count};
  llvm::append_range(operands, before);
  llvm::append_range(operands, op.getValues());
  return nn::LoopOp::create(builder, op.getLoc(), op.getResultTypes(),
                            body.getSymName(), count,
                            ArrayRef(operands).drop_front(), /*max=*/1)
      .getResults();
}

/// Gives a branch the arguments of a loop's body, which it does not look at.
static void takeIteration(func::FuncOp branch, TypeRange results) {
  Builder builder(branch.getContext());
  SmallVector<Type> types = {RankedTensorType::get({}, builder.getI64Type())};
  llvm::append_range(types, results);
  for (auto [index, type] : llvm::enumerate(types)) {
    (void)branch.insertArgument(unsigned(index), type, DictionaryAttr(),
                                branch.getLoc());
  }
}

void BodyIsolator::expand(nn::IfOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Value otherwise = nn::NotOp::create(builder, loc, op.getCondition());
  SmallVector<Value> results;
  for (Type type : op.getResultTypes()) {
    results.push_back(zeros(builder, loc, cast<RankedTensorType>(type)));
  }
  for (auto [name, condition] :
       {std::pair(op.getThenAttr(), Value(op.getCondition())),
        std::pair(op.getOtherwiseAttr(), otherwise)}) {
    func::FuncOp body =
        copy(symbols_.lookup<func::FuncOp>(name.getAttr()), "_if");
    takeIteration(body, op.getResultTypes());
    Value count =
        nn::CastOp::create(builder, loc, condition, builder.getI64Type());
    results = SmallVector<Value>(runBranch(builder, op, body, count, results));
  }
  op->replaceAllUsesWith(results);
  op.erase();
}

/// Makes the globals that `body` reads arguments, which `op` gives.
LogicalResult BodyIsolator::giveGlobals(nn::LoopOp op, func::FuncOp body) {
  llvm::DenseMap<Attribute, Value> given; // by the symbol; looked up only
  OpBuilder builder(op);
  for (Operation &inner : llvm::make_early_inc_range(body.front())) {
    if (isa<nn::UpdateOp>(inner)) {
      InFlightDiagnostic error =
          inner.emitOpError("updates a global in a body; return the value, and "
                            "update the global with the loop's result");
      error.attachNote(op.getLoc()) << "the loop is here";
      return error;
    }
    auto read = dyn_cast<nn::ReadOp>(inner);
    if (!read) {
      continue;
    }
    Value &argument = given[read.getGlobalAttr()];
    if (!argument) {
      unsigned last = body.getNumArguments();
      (void)body.insertArgument(last, read.getType(), DictionaryAttr(),
                                read.getLoc());
      argument = body.getArgument(last);
      op.getValuesMutable().append(Value(nn::ReadOp::create(
          builder, read.getLoc(), read.getType(), read.getGlobalAttr())));
    }
    read.getResult().replaceAllUsesWith(argument);
    read.erase();
  }
  return success();
}

void BodyIsolator::separate(func::FuncOp function) {
  for (auto op : llvm::make_early_inc_range(function.getOps<nn::IfOp>())) {
    expand(op);
  }
  for (auto op : function.getOps<nn::LoopOp>()) {
    auto body = symbols_.lookup<func::FuncOp>(op.getBody());
    if (isOwned(body)) {
      body = copy(body, "_copy");
      op.setBody(body.getSymName());
    }
    owned_.insert(body.getName().str());
    separate(body);
  }
}

/// From the innermost, so that what it reads is read further outside.
LogicalResult BodyIsolator::giveGlobals(func::FuncOp function) {
  for (auto op : function.getOps<nn::LoopOp>()) {
    auto body = symbols_.lookup<func::FuncOp>(op.getBody());
    if (failed(giveGlobals(body)) || failed(giveGlobals(op, body))) {
      return failure();
    }
  }
  return success();
}

LogicalResult BodyIsolator::run(func::FuncOp entry) {
  separate(entry);
  return giveGlobals(entry);
}

void IsolateBodiesPass::runOnOperation() {
  SmallVector<func::FuncOp> entries;
  for (auto function : getOperation().getOps<func::FuncOp>()) {
    if (!function.isExternal() && !nn::isBody(function)) {
      entries.push_back(function);
    }
  }
  BodyIsolator isolator(getOperation());
  for (func::FuncOp entry : entries) {
    if (failed(isolator.run(entry))) {
      return signalPassFailure();
    }
  }
  // Branches have become other functions, and nobody runs the rest.
  for (auto function :
       llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
    if (nn::isBody(function) && !isolator.isOwned(function)) {
      function.erase();
    }
  }
}
