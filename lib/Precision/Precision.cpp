//===- Precision.cpp - From f32 to floats of fewer bits -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Precision/Precision.h"

#include "StoredWeights.h"
#include "TypeChoice.h"
#include "dialects/NN/Bodies.h"
#include "dialects/NN/Functions.h"
#include "dialects/NN/Locations.h"
#include "dialects/NN/NN.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"

#include <set>

using namespace mlir;
using namespace divisi;

namespace {

/// Rewrites one function.
class Lowering {
public:
  Lowering(func::FuncOp function, FloatType narrow,
           const DenseSet<Operation *> &named, const PrecisionOptions &options)
      : function_(function), narrow_(narrow), narrowsSums_(options.narrowSums),
        origins_(function), named_(named),
        choice_(function, origins_, named, options.keepsFirst) {}

  /// Adds to `record` what it does.
  void run(PrecisionRecord &record);

private:
  void count(Operation *op, PrecisionRecord &record) const;
  /// Whether `op` is a product with weights whose sum becomes narrow.
  bool isNarrowSum(Operation *op) const;
  void rewrite(Operation *op);
  void rewriteReturn(func::ReturnOp op);
  Value inNarrow(Value value);
  Value inF32(Value value);
  Value castBehind(Value value, Type element);

  func::FuncOp function_;
  FloatType narrow_;
  bool narrowsSums_;
  Origins origins_;
  const DenseSet<Operation *> &named_;
  TypeChoice choice_;
  DenseSet<Value> rewritten_; ///< Were f32.
  DenseMap<Value, Value> narrowed_, widened_;
};

} // namespace

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// The constant in `type`; numbers that it has not become its largest, for a
/// mask of the least f32 must not become one of infinities.
static DenseElementsAttr roundConstant(DenseElementsAttr value,
                                       FloatType type) {
  return value.mapValues(type, [&](const APFloat &number) {
    APFloat result = number;
    bool losesInfo = false;
    const llvm::fltSemantics &format = type.getFloatSemantics();
    result.convert(format, APFloat::rmNearestTiesToEven, &losesInfo);
    if (result.isInfinity() && number.isFinite()) {
      result = APFloat::getLargest(format, number.isNegative());
    }
    return result.bitcastToAPInt();
  });
}

/// Where the value is made, so that there is one cast for all users, and what
/// moves behind it is what it makes.
Value Lowering::castBehind(Value value, Type element) {
  Operation *op = value.getDefiningOp();
  OpBuilder builder(function_.getContext());
  if (op) {
    builder.setInsertionPointAfter(op);
  } else {
    builder.setInsertionPointToStart(&function_.getBody().front());
  }
  auto cast = nn::CastOp::create(builder, value.getLoc(), value, element);
  if (op) {
    nn::copyScope(op, cast);
  }
  return cast;
}

Value Lowering::inNarrow(Value value) {
  if (getElementTypeOrSelf(value.getType()) == narrow_) {
    return value;
  }
  Value &known = narrowed_[value];
  if (known) {
    return known;
  }
  auto constant = value.getDefiningOp<nn::ConstantOp>();
  auto dense =
      constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : nullptr;
  auto cast = value.getDefiningOp<nn::CastOp>();
  if (dense) {
    OpBuilder builder(constant);
    known = nn::ConstantOp::create(builder, value.getLoc(),
                                   roundConstant(dense, narrow_));
  } else if (cast && getElementTypeOrSelf(cast.getX().getType()) == narrow_) {
    known = cast.getX();
  } else {
    known = castBehind(value, narrow_);
  }
  return known;
}

Value Lowering::inF32(Value value) {
  if (isF32(value.getType())) {
    return value;
  }
  Value &known = widened_[value];
  if (!known) {
    known = castBehind(value, Float32Type::get(function_.getContext()));
  }
  return known;
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

static bool hasF32(Operation *op) {
  return llvm::any_of(op->getOperandTypes(), isF32) ||
         llvm::any_of(op->getResultTypes(), isF32);
}

/// Whether `op` computes: is no leaf, and has floats that could be narrow.
static bool isCounted(Operation *op) {
  return isa<nn::LoopInterface>(op) && op->getNumOperands() > 0 && hasF32(op);
}

bool Lowering::isNarrowSum(Operation *op) const {
  return narrowsSums_ && roundingOf(op) == nn::Rounding::SumsProducts &&
         choice_.isNarrow(op) && choice_.isActivation(op->getResult(0));
}

void Lowering::count(Operation *op, PrecisionRecord &record) const {
  if (llvm::all_of(op->getResults(),
                   [&](Value v) { return origins_.isStatic(v); })) {
    return;
  }
  nn::Rounding rounding = roundingOf(op);
  if (choice_.isNarrow(op)) {
    ++record.narrowOperators;
    record.narrowSums += isNarrowSum(op);
  } else if (named_.contains(op)) {
    ++record.named;
  } else if (op->getNumResults() == 1 &&
             origins_.of(op->getResult(0)) == Origin::Table) {
    ++record.tables;
  } else if (rounding == nn::Rounding::StaysWide) {
    ++record.sensitive;
  } else if (choice_.isFirst(op)) {
    ++record.first;
  } else if (choice_.isJoin(op)) {
    ++record.joins;
  } else if (choice_.isEndOfSum(op)) {
    ++record.sums;
  } else {
    ++record.between;
  }
}

void Lowering::rewrite(Operation *op) {
  bool isNarrow = choice_.isNarrow(op);
  for (OpOperand &operand : op->getOpOperands()) {
    Value value = operand.get();
    // What was not f32 in the model is none of ours.
    bool isOurs = isF32(value.getType()) || rewritten_.contains(value);
    if (!isOurs) {
      continue;
    }
    bool isRounded = choice_.isActivation(value) && !choice_.isEndOfSum(op);
    operand.set(isNarrow    ? inNarrow(value)
                : isRounded ? inF32(inNarrow(value))
                            : inF32(value));
  }
  nn::Rounding rounding = roundingOf(op);
  bool keepsResult = rounding == nn::Rounding::SumsProducts ||
                     rounding == nn::Rounding::SumsElements;
  if (!isNarrow || (keepsResult && !isNarrowSum(op))) {
    return;
  }
  for (Value result : op->getResults()) {
    if (isF32(result.getType())) {
      auto type = cast<RankedTensorType>(result.getType());
      result.setType(type.clone(narrow_));
      rewritten_.insert(result);
    }
  }
}

/// Whatever comes out is f32, of what it would have been inside.
void Lowering::rewriteReturn(func::ReturnOp op) {
  for (OpOperand &operand : op->getOpOperands()) {
    Value value = operand.get();
    if (rewritten_.contains(value)) {
      operand.set(inF32(value));
    } else if (isF32(value.getType()) && !choice_.isExact(value) &&
               !named_.contains(value.getDefiningOp())) {
      operand.set(inF32(inNarrow(value)));
    }
  }
}

void Lowering::run(PrecisionRecord &record) {
  SmallVector<Operation *> operators;
  for (Operation &op : function_.getOps()) {
    operators.push_back(&op);
  }
  for (Operation *op : operators) {
    if (isCounted(op)) {
      count(op, record);
    }
  }
  for (Operation *op : operators) {
    if (auto last = dyn_cast<func::ReturnOp>(op)) {
      rewriteReturn(last);
    } else if (isCounted(op)) {
      rewrite(op);
    }
  }
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

namespace {

/// Finds what --keep-f32 names.
class NameFinder {
public:
  explicit NameFinder(ArrayRef<std::string> names) : names_(names) {}

  /// Adds what is named in `function`.
  void find(func::FuncOp function);
  /// ExitCode::Usage for a name of nothing.
  Status check() const;

  DenseSet<Operation *> named; ///< Of all functions.

private:
  bool matches(llvm::function_ref<bool(StringRef)> isMeant);
  void keepReaders(Value value);

  ArrayRef<std::string> names_;
  std::set<std::string> found_;
};

} // namespace

bool NameFinder::matches(llvm::function_ref<bool(StringRef)> isMeant) {
  bool any = false;
  for (const std::string &name : names_) {
    if (!name.empty() && isMeant(name)) {
      found_.insert(name);
      any = true;
    }
  }
  return any;
}

/// A weight is f32 if those are that compute with it.
void NameFinder::keepReaders(Value value) {
  for (Operation *user : value.getUsers()) {
    if (named.insert(user).second && user->getNumResults() == 1 &&
        roundingOf(user) == nn::Rounding::Moves) {
      keepReaders(user->getResult(0));
    }
  }
}

void NameFinder::find(func::FuncOp function) {
  for (Operation &op : function.getOps()) {
    auto read = dyn_cast<nn::ReadOp>(op);
    if (read && matches([&](StringRef name) {
          name.consume_front("@");
          return nn::matchesName(name, read.getGlobal());
        })) {
      keepReaders(read);
    } else if (isCounted(&op) && matches([&](StringRef name) {
                 return nn::isNamed(&op, name);
               })) {
      named.insert(&op);
    }
  }
  Operation *last = function.getBody().front().getTerminator();
  for (auto [i, value] : llvm::enumerate(last->getOperands())) {
    auto known =
        function.getResultAttrOfType<StringAttr>(unsigned(i), "nn.name");
    Operation *op = value.getDefiningOp();
    if (op && known && matches([&](StringRef name) {
          return nn::matchesName(name, known.getValue());
        })) {
      named.insert(op);
    }
  }
}

Status NameFinder::check() const {
  for (const std::string &name : names_) {
    if (!found_.contains(name)) {
      return Status(ExitCode::Usage,
                    "--keep-f32 names '" + name +
                        "', and there is nothing of that name; expected a "
                        "node, a scope, an operator such as nn.matmul, a "
                        "weight or an output, * and ? standing for any "
                        "characters");
    }
  }
  return Status();
}

static FloatType typeOf(MLIRContext *context, StringRef name) {
  if (name == "bf16") {
    return BFloat16Type::get(context);
  }
  return name == "f16" ? FloatType(Float16Type::get(context)) : FloatType();
}

divisi::Expected<PrecisionRecord>
divisi::lowerPrecision(ModuleOp module, const PrecisionOptions &options) {
  FloatType narrow = typeOf(module.getContext(), options.type);
  if (!narrow) {
    return Status(ExitCode::Usage,
                  "--precision '" + options.type + "': expected bf16 or f16");
  }
  NameFinder finder(options.keepF32);
  SmallVector<func::FuncOp> entries;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (nn::isBody(function)) {
      return Status(ExitCode::Unsupported,
                    "--precision: '" + function.getSymName().str() +
                        "' is run by an nn.loop or nn.if, whose values cannot "
                        "change their types; leave it out");
    }
    if (nn::isEntry(function)) {
      entries.push_back(function);
      finder.find(function);
    }
  }
  if (Status status = finder.check(); !status.isOk()) {
    return status;
  }
  PrecisionRecord record;
  record.type = options.type;
  int64_t alreadyNarrow = 0;
  for (func::FuncOp entry : entries) {
    StoredWeights before(entry);
    record.bytesBefore += before.countBytes();
    alreadyNarrow += before.count(narrow);
    Lowering(entry, narrow, finder.named, options).run(record);
    StoredWeights after(entry);
    record.bytesAfter += after.countBytes();
    record.narrowWeights += after.count(narrow);
    record.wideWeights += after.count(Float32Type::get(narrow.getContext()));
  }
  record.narrowWeights -= alreadyNarrow;
  if (alreadyNarrow > 0 && record.narrowWeights == 0) {
    return Status(ExitCode::Usage, "--precision " + options.type +
                                       ": the weights of the model are in " +
                                       options.type + " already; leave it out");
  }
  if (record.narrowOperators == 0) {
    return Status(ExitCode::Usage,
                  "--precision " + options.type +
                      " changes nothing: no operator computes in f32 that "
                      "might compute in " +
                      options.type +
                      "; leave it out, or let --keep-f32 name less");
  }
  setPrecisionRecord(module, record);
  return record;
}
