//===- Unflatten.cpp - Dims that mean one thing ---------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Import/Unflatten.h"
#include "DimFactors.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/TypeSwitch.h"

#include <numeric>

using namespace divisi;
using namespace mlir;

using Shape = llvm::SmallVector<int64_t>;

static ArrayRef<int64_t> shapeIn(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

static RankedTensorType withShape(Value value, ArrayRef<int64_t> shape) {
  auto type = cast<RankedTensorType>(value.getType());
  return RankedTensorType::get(shape, type.getElementType());
}

namespace {

/// Rewrites one function, operator by operator, in front of the old ones.
class Rewriter {
public:
  Rewriter(func::FuncOp function, const DimFactors &factors)
      : function_(function), factors_(factors),
        builder_(function.getContext()) {}

  int64_t run();

private:
  void rewrite(Operation *op);
  bool isTouched(Operation *op) const;
  Value get(Value old) const { return values_.lookup_or(old, old); }
  Value reshape(Operation *op, Value value, ArrayRef<int64_t> shape);
  /// `op` again, with other operands, another result and attributes.
  void replace(Operation *op, ValueRange operands, ArrayRef<int64_t> shape,
               ArrayRef<NamedAttribute> changed = {});
  /// `op` as it was, between reshapes.
  void refold(Operation *op);

  /// Where the factors of `dim` begin among those of `value`.
  int64_t position(Value value, int64_t dim) const;
  SmallVector<int64_t> positions(Value value, ArrayRef<int64_t> dims) const;
  /// `entries`, one for each dim of `value`, as one for each factor; those of
  /// dims with several factors say nothing, and become `idle`.
  SmallVector<int64_t> spread(Value value, ArrayRef<int64_t> entries,
                              int64_t idle) const;
  NamedAttribute i64(StringRef name, int64_t value);
  NamedAttribute i64s(StringRef name, ArrayRef<int64_t> values);

  void rewriteElementwise(Operation *op);
  bool rewriteMatmul(nn::MatmulOp op);
  bool rewriteSlice(nn::SliceOp op);
  bool rewriteConcat(nn::ConcatOp op);
  void rewriteConstant(nn::ConstantOp op);
  void rewriteTranspose(nn::TransposeOp op);
  void rewriteBroadcast(nn::BroadcastOp op);
  /// Operators whose operands are aligned with the result, and whose attribute
  /// `name` is an axis of operand 0.
  template <typename OpT> void rewriteAxis(OpT op);
  template <typename OpT> void rewritePool(OpT op);

  func::FuncOp function_;
  const DimFactors &factors_;
  OpBuilder builder_;
  struct Map : llvm::DenseMap<Value, Value> {
    Value lookup_or(Value key, Value fallback) const {
      auto it = find(key);
      return it == end() ? fallback : it->second;
    }
  } values_;
};

} // namespace

//===----------------------------------------------------------------------===//
// Pieces
//===----------------------------------------------------------------------===//

bool Rewriter::isTouched(Operation *op) const {
  auto isRefined = [&](Value value) { return factors_.isRefined(value); };
  return llvm::any_of(op->getOperands(), isRefined) ||
         llvm::any_of(op->getResults(), isRefined);
}

Value Rewriter::reshape(Operation *op, Value value, ArrayRef<int64_t> shape) {
  if (shapeIn(value) == shape) {
    return value;
  }
  auto made = nn::ReshapeOp::create(builder_, op->getLoc(),
                                    withShape(value, shape), value);
  if (Attribute scope = op->getDiscardableAttr("nn.scope")) {
    made->setDiscardableAttr("nn.scope", scope);
  }
  return made.getY();
}

void Rewriter::replace(Operation *op, ValueRange operands,
                       ArrayRef<int64_t> shape,
                       ArrayRef<NamedAttribute> changed) {
  OperationState state(op->getLoc(), op->getName());
  state.addOperands(operands);
  NamedAttrList attributes(op->getAttrDictionary());
  for (NamedAttribute attribute : changed) {
    attributes.set(attribute.getName(), attribute.getValue());
  }
  state.addAttributes(attributes);
  Value old = op->getResult(0);
  state.addTypes(withShape(old, shape));
  Value made = builder_.create(state)->getResult(0);
  values_[old] = reshape(op, made, factors_.shapeOf(old));
}

void Rewriter::refold(Operation *op) {
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    operands.push_back(reshape(op, get(operand), shapeIn(operand)));
  }
  replace(op, operands, shapeIn(op->getResult(0)));
}

int64_t Rewriter::position(Value value, int64_t dim) const {
  int64_t at = 0;
  for (int64_t i = 0; i < dim; ++i) {
    at += factors_.of(value, static_cast<unsigned>(i)).size();
  }
  return at;
}

SmallVector<int64_t> Rewriter::positions(Value value,
                                         ArrayRef<int64_t> dims) const {
  SmallVector<int64_t> result;
  for (int64_t dim : dims) {
    int64_t at = position(value, dim);
    for (size_t i = factors_.of(value, static_cast<unsigned>(dim)).size();
         i > 0; --i) {
      result.push_back(at++);
    }
  }
  return result;
}

SmallVector<int64_t> Rewriter::spread(Value value, ArrayRef<int64_t> entries,
                                      int64_t idle) const {
  SmallVector<int64_t> result;
  for (auto [dim, entry] : llvm::enumerate(entries)) {
    size_t count = factors_.of(value, dim).size();
    result.append(count, count == 1 ? entry : idle);
  }
  return result;
}

NamedAttribute Rewriter::i64(StringRef name, int64_t value) {
  return builder_.getNamedAttr(name, builder_.getI64IntegerAttr(value));
}

NamedAttribute Rewriter::i64s(StringRef name, ArrayRef<int64_t> values) {
  return builder_.getNamedAttr(name, builder_.getDenseI64ArrayAttr(values));
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

/// An operand that broadcasts gets a 1 for each factor that it does not have.
void Rewriter::rewriteElementwise(Operation *op) {
  Value result = op->getResult(0);
  int64_t rank = shapeIn(result).size();
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    ArrayRef<int64_t> own = shapeIn(operand);
    Shape shape;
    for (int64_t i = 0; i < static_cast<int64_t>(own.size()); ++i) {
      unsigned to = rank - own.size() + i;
      Shape wide = factors_.of(result, to);
      if (own[i] == 1 && shapeIn(result)[to] != 1) {
        shape.append(wide.size(), 1);
      } else {
        llvm::append_range(shape, wide);
      }
    }
    operands.push_back(reshape(op, get(operand), shape));
  }
  replace(op, operands, factors_.shapeOf(result));
}

/// One letter per factor: the label's own for the first, fresh ones for the
/// others.
bool Rewriter::rewriteMatmul(nn::MatmulOp op) {
  StringRef labels = op.getLabels();
  std::string fresh;
  for (char c : StringRef("abcdefghijklmnopqrstuvwxyz"
                          "ABCDEFGHIJKLMNOPQRSTUVWXYZ")) {
    if (!labels.contains(c)) {
      fresh.push_back(c);
    }
  }
  size_t used = 0;
  std::map<char, std::string> letters;
  auto assign = [&](StringRef term, Value value) {
    for (auto [dim, label] : llvm::enumerate(term)) {
      std::string &own = letters[label];
      size_t count = factors_.of(value, dim).size();
      if (own.empty()) {
        own = label;
        while (own.size() < count && used < fresh.size()) {
          own.push_back(fresh[used++]);
        }
      }
      if (own.size() != count) {
        return false;
      }
    }
    return true;
  };
  auto [a, rest] = labels.split(',');
  auto [b, out] = rest.split("->");
  if (!assign(a, op.getA()) || !assign(b, op.getB())) {
    return false;
  }
  std::string spelled;
  for (char c : labels) {
    spelled += letters.count(c) ? letters[c] : std::string(1, c);
  }
  // The arrow's characters are no letters.
  replace(op, {get(op.getA()), get(op.getB())},
          factors_.shapeOf(op->getResult(0)),
          builder_.getNamedAttr("labels", builder_.getStringAttr(spelled)));
  return true;
}

/// Starts and limits count the major factor of a dim that is cut.
bool Rewriter::rewriteSlice(nn::SliceOp op) {
  Shape starts, limits, steps, result;
  auto push = [&](int64_t start, int64_t limit, int64_t step, int64_t extent) {
    starts.push_back(start);
    limits.push_back(limit);
    steps.push_back(step);
    result.push_back(extent);
  };
  for (unsigned dim = 0; dim < shapeIn(op.getX()).size(); ++dim) {
    Shape whole = factors_.of(op.getX(), dim);
    Shape part = factors_.of(op->getResult(0), dim);
    int64_t start = op.getStarts()[dim], limit = op.getLimits()[dim];
    int64_t step = op.getSteps()[dim], extent = shapeIn(op.getX())[dim];
    if (whole.size() == 1 && part.size() == 1) {
      push(start, limit, step, part.front());
      continue;
    }
    int64_t unit = extent / whole.front();
    bool isAll = step == 1 && limit - start == extent;
    Shape expected(llvm::drop_begin(whole));
    if (limit - start != unit) {
      expected.insert(expected.begin(), (limit - start) / unit);
    }
    if (!isAll && (step != 1 || start % unit != 0 || limit % unit != 0 ||
                   expected != part)) {
      return false;
    }
    push(start / unit, limit / unit, 1, (limit - start) / unit);
    for (int64_t factor : llvm::drop_begin(whole)) {
      push(0, factor, 1, factor);
    }
  }
  replace(
      op, get(op.getX()), result,
      {i64s("starts", starts), i64s("limits", limits), i64s("steps", steps)});
  return true;
}

/// Joins major factors; the minor ones are common to all operands.
bool Rewriter::rewriteConcat(nn::ConcatOp op) {
  Value result = op->getResult(0);
  int64_t axis = op.getAxis();
  Shape whole = factors_.of(result, axis);
  int64_t unit = whole.size() == 1 ? 1 : shapeIn(result)[axis] / whole.front();
  int64_t at = position(result, axis);
  SmallVector<Value> operands;
  for (Value x : op.getXs()) {
    int64_t extent = shapeIn(x)[axis];
    Shape part = factors_.of(x, axis);
    Shape minor(llvm::drop_begin(whole)), expected = minor;
    if (extent != unit || whole.size() == 1) {
      expected.insert(expected.begin(), extent / unit);
    }
    if (extent % unit != 0 || part != expected) {
      return false;
    }
    Shape shape = factors_.shapeOf(x);
    shape.erase(shape.begin() + at, shape.begin() + at + part.size());
    minor.insert(minor.begin(), extent / unit);
    shape.insert(shape.begin() + at, minor.begin(), minor.end());
    operands.push_back(reshape(op, get(x), shape));
  }
  replace(op, operands, factors_.shapeOf(result), i64("axis", at));
  return true;
}

void Rewriter::rewriteConstant(nn::ConstantOp op) {
  auto value = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!value) {
    return refold(op);
  }
  Shape shape = factors_.shapeOf(op->getResult(0));
  auto type = withShape(op->getResult(0), shape);
  replace(op, {}, shape, builder_.getNamedAttr("value", value.reshape(type)));
}

void Rewriter::rewriteTranspose(nn::TransposeOp op) {
  SmallVector<int64_t> permutation = positions(op.getX(), op.getPermutation());
  replace(op, get(op.getX()), factors_.shapeOf(op->getResult(0)),
          i64s("permutation", permutation));
}

void Rewriter::rewriteBroadcast(nn::BroadcastOp op) {
  Value result = op->getResult(0);
  SmallVector<int64_t> dims;
  for (auto [from, to] : llvm::enumerate(op.getDims())) {
    int64_t at = position(result, to);
    for (size_t i = factors_.of(op.getX(), from).size(); i > 0; --i) {
      dims.push_back(at++);
    }
  }
  replace(op, get(op.getX()), factors_.shapeOf(result), i64s("dims", dims));
}

template <typename OpT> void Rewriter::rewritePool(OpT op) {
  Value x = op.getX();
  replace(op, get(x), factors_.shapeOf(op.getY()),
          {i64s("kernel", spread(x, op.getKernel(), 1)),
           i64s("strides", spread(x, op.getStrides(), 1)),
           i64s("dilations", spread(x, op.getDilations(), 1)),
           i64s("pads_lo", spread(x, op.getPadsLo(), 0)),
           i64s("pads_hi", spread(x, op.getPadsHi(), 0))});
}

template <typename OpT> void Rewriter::rewriteAxis(OpT op) {
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    operands.push_back(get(operand));
  }
  Value indexed = operands.empty() ? op->getResult(0) : op->getOperand(0);
  SmallVector<NamedAttribute> changed = {
      i64("axis", position(indexed, op.getAxis()))};
  if constexpr (std::is_same_v<OpT, nn::GatherOp>) {
    changed.push_back(i64("batch_dims", position(indexed, op.getBatchDims())));
  }
  replace(op, operands, factors_.shapeOf(op->getResult(0)), changed);
}

void Rewriter::rewrite(Operation *op) {
  auto setOperands = [&] {
    for (OpOperand &operand : op->getOpOperands()) {
      operand.set(get(operand.get()));
    }
  };
  if (isa<func::ReturnOp>(op)) {
    for (OpOperand &operand : op->getOpOperands()) {
      Value old = operand.get();
      operand.set(factors_.isRefined(old) ? reshape(op, get(old), shapeIn(old))
                                          : get(old));
    }
    return;
  }
  if (isa<nn::UpdateOp>(op) || !isTouched(op)) {
    return setOperands();
  }
  llvm::TypeSwitch<Operation *>(op)
      .Case<nn::ReshapeOp>([&](auto reshaped) {
        Value result = reshaped.getY();
        values_[result] =
            reshape(op, get(reshaped.getX()), factors_.shapeOf(result));
      })
      .Case<nn::MatmulOp>([&](auto matmul) {
        if (!rewriteMatmul(matmul)) {
          refold(op);
        }
      })
      .Case<nn::SliceOp>([&](auto slice) {
        if (!rewriteSlice(slice)) {
          refold(op);
        }
      })
      .Case<nn::ConcatOp>([&](auto concat) {
        if (!rewriteConcat(concat)) {
          refold(op);
        }
      })
      .Case<nn::ConstantOp>([&](auto c) { rewriteConstant(c); })
      .Case<nn::TransposeOp>([&](auto t) { rewriteTranspose(t); })
      .Case<nn::BroadcastOp>([&](auto b) { rewriteBroadcast(b); })
      .Case<nn::SoftmaxOp, nn::IotaOp, nn::GatherOp, nn::TakeAlongOp,
            nn::ResampleOp>([&](auto axial) { rewriteAxis(axial); })
      .Case<nn::ReduceOp, nn::NormalizeOp>([&](auto over) {
        replace(op, get(over.getX()), factors_.shapeOf(op->getResult(0)),
                i64s("axes", positions(over.getX(), over.getAxes())));
      })
      .Case<nn::ReadOp>([&](auto read) {
        replace(op, {}, factors_.shapeOf(read.getValue()));
      })
      .Case<nn::PadOp>([&](auto pad) {
        replace(op, get(pad.getX()), factors_.shapeOf(pad.getY()),
                {i64s("lo", spread(pad.getX(), pad.getLo(), 0)),
                 i64s("hi", spread(pad.getX(), pad.getHi(), 0))});
      })
      .Case<nn::PoolMaxOp, nn::PoolSumOp>([&](auto pool) { rewritePool(pool); })
      .Default([&](Operation *) { rewriteElementwise(op); });
}

int64_t Rewriter::run() {
  Block &body = function_.getBody().front();
  builder_.setInsertionPointToStart(&body);
  SmallVector<Operation *> old;
  for (Operation &op : body) {
    old.push_back(&op);
  }
  for (Value argument : function_.getArguments()) {
    if (factors_.isRefined(argument)) {
      auto made = nn::ReshapeOp::create(
          builder_, argument.getLoc(),
          withShape(argument, factors_.shapeOf(argument)), argument);
      values_[argument] = made.getY();
    }
  }
  for (Operation *op : old) {
    builder_.setInsertionPoint(op);
    rewrite(op);
  }
  int64_t rewritten = 0;
  for (Operation *op : llvm::reverse(old)) {
    if (op->getNumResults() == 1 && values_.count(op->getResult(0))) {
      op->erase();
      ++rewritten;
    }
  }
  return rewritten;
}

/// An error unless functions stand in the module itself and are one list of
/// operators: only then is everything that reads a global in sight.
static LogicalResult checkForm(ModuleOp module) {
  for (Operation &op : *module.getBody()) {
    auto function = dyn_cast<func::FuncOp>(op);
    if (!function && op.getNumRegions() != 0) {
      return op.emitOpError("holds a region, expected a module of globals and "
                            "functions");
    }
    if (!function || function.isExternal()) {
      continue;
    }
    if (!function.getBody().hasOneBlock()) {
      return op.emitOpError("has several blocks, expected one list of "
                            "operators");
    }
    for (Operation &inner : function.getOps()) {
      if (inner.getNumRegions() != 0) {
        return inner.emitOpError("holds a region, expected operators alone");
      }
    }
  }
  return success();
}

/// Gives every use of a constant or an iota one of its own: users who share
/// one say nothing about each other's dims.
static void unshare(func::FuncOp function) {
  OpBuilder builder(function.getContext());
  for (Operation &op : function.getOps()) {
    for (OpOperand &use : op.getOpOperands()) {
      Operation *source = use.get().getDefiningOp();
      if (source && isa<nn::ConstantOp, nn::IotaOp>(source) &&
          !use.get().hasOneUse()) {
        builder.setInsertionPoint(&op);
        use.set(builder.clone(*source)->getResult(0));
      }
    }
  }
}

FailureOr<int64_t> divisi::unflatten(ModuleOp module) {
  if (failed(checkForm(module))) {
    return failure();
  }
  for (auto function : module.getOps<func::FuncOp>()) {
    unshare(function);
  }
  DimFactors factors(module);
  int64_t rewritten = 0;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!function.isExternal()) {
      rewritten += Rewriter(function, factors).run();
    }
  }
  for (auto global : module.getOps<nn::GlobalOp>()) {
    global.setType(global.getTensorType().clone(factors.shapeOf(global)));
  }
  return rewritten;
}
