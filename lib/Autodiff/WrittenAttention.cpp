//===- WrittenAttention.cpp - Attention as products and sums --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WrittenAttention.h"

#include "divisi/Autodiff/Gradients.h"

using namespace mlir;
using namespace divisi;
using namespace divisi::autodiff;

/// The dims of the products.
static constexpr const char *kScores = "bhgst";

WrittenAttention::WrittenAttention(const nn::AttentionParts &parts,
                                   GradientBuilder &b)
    : parts_(parts), b_(b), labels_(*nn::AttentionLabels::parse(parts.text)) {
  SmallVector<int64_t, 4> q = labels_.sort(0, shapeOf(parts.q));
  SmallVector<int64_t, 4> k = labels_.sort(1, shapeOf(parts.k));
  heads_ = k[1];
  groups_ = heads_ == 0 ? 1 : q[1] / heads_;
  queries_ = q[2];
  keys_ = k[2];
}

/// The letters of q or y when its heads are [h, g].
std::string WrittenAttention::grouped(size_t tensor) const {
  std::string letters;
  for (char letter : labels_.tensors[tensor]) {
    letters += letter;
    letters += letter == 'h' ? "g" : "";
  }
  return letters;
}

Value WrittenAttention::group(Value x, size_t tensor) {
  SmallVector<int64_t> shape(shapeOf(x));
  size_t at = labels_.tensors[tensor].find('h');
  shape[at] = heads_;
  shape.insert(shape.begin() + at + 1, groups_);
  return b_.reshape(x, shape);
}

Value WrittenAttention::ungroup(Value x, size_t tensor) {
  SmallVector<int64_t> shape(shapeOf(x));
  size_t at = labels_.tensors[tensor].find('h');
  shape[at] *= groups_;
  shape.erase(shape.begin() + at + 1);
  return b_.reshape(x, shape);
}

/// Numbers of queries, so that they broadcast to all keys.
Value WrittenAttention::groupRows(Value rows) {
  ArrayRef<int64_t> shape = shapeOf(rows);
  return b_.reshape(rows, {shape[0], heads_, groups_, shape[2], 1});
}

/// Which keys the positions of queries attend, [s, t]; null for all.
Value WrittenAttention::window() {
  Type element = IntegerType::get(parts_.q.getContext(), 64);
  auto iota = [&](int64_t axis) {
    auto type = RankedTensorType::get({queries_, keys_}, element);
    return b_.emit<nn::IotaOp>(type, axis);
  };
  Value seen;
  auto bound = [&](StringRef predicate, int64_t distance) {
    Value edge = b_.add(iota(0), double(parts_.offset + distance));
    Value is = b_.compare(predicate, iota(1), edge);
    seen = seen ? b_.emit<nn::AndOp>(seen, is) : is;
  };
  if (parts_.left >= 0) {
    bound("ge", -parts_.left);
  }
  if (parts_.right >= 0) {
    bound("le", parts_.right);
  }
  return seen;
}

/// What is exponentiated: minus infinity for what is not attended.
Value WrittenAttention::scores() {
  if (scores_) {
    return scores_;
  }
  query_ = group(parts_.q, 0);
  Value x =
      b_.mul(b_.matmul(query_, parts_.k,
                       grouped(0) + "," + labels_.tensors[1] + "->" + kScores),
             parts_.scale);
  if (parts_.softcap > 0) {
    tanh_ = b_.emit<nn::TanhOp>(b_.div(x, parts_.softcap));
    x = b_.mul(tanh_, parts_.softcap);
  }
  Value none = b_.number(-INFINITY, x);
  if (Value seen = window()) {
    x = b_.emit<nn::SelectOp>(seen, x, none);
  }
  if (Value mask = parts_.mask) {
    SmallVector<int64_t> shape(shapeOf(mask));
    bool isAnyHead = shape[1] == 1;
    shape[1] = isAnyHead ? 1 : heads_;
    shape.insert(shape.begin() + 2, isAnyHead ? 1 : groups_);
    mask = b_.reshape(mask, shape);
    x = elementOf(mask).isInteger(1) ? b_.emit<nn::SelectOp>(mask, x, none)
                                     : b_.add(x, b_.cast(mask, elementOf(x)));
  }
  return scores_ = x;
}

/// The largest is subtracted before, but where that is minus infinity.
Value WrittenAttention::lse(bool nan) {
  Value x = scores();
  SmallVector<int64_t> keys{4};
  auto type = RankedTensorType::get(shapeOf(x).drop_back(), elementOf(x));
  Value most = b_.emit<nn::ReduceOp>(type, x, "max", keys);
  Value isNone = b_.compare("eq", most, -INFINITY);
  most = b_.dropWhere(isNone, most);
  Value own = b_.emit<nn::ExpOp>(b_.sub(x, b_.insertDims(most, keys)));
  // A sum of nothing has a logarithm, too, lest the gradient is no number.
  Value sum = b_.sum(own, keys);
  sum = b_.emit<nn::SelectOp>(isNone, b_.number(1, sum), sum);
  sum = b_.add(most, b_.emit<nn::LogOp>(sum));
  Value ofNone = b_.number(nan ? NAN : INFINITY, sum);
  sum = b_.emit<nn::SelectOp>(isNone, ofNone, sum);
  RankedTensorType rows = parts_.rowsType();
  return b_.cast(b_.reshape(sum, rows.getShape()), rows.getElementType());
}

void WrittenAttention::setGradient(Value dy, Value lse, Value delta, bool nan) {
  nan_ = nan;
  dy_ = group(dy, 3);
  lse_ = lse;
  delta_ = delta;
}

/// Whether a query may attend nothing.
bool WrittenAttention::hidesRows() const {
  if (parts_.mask) {
    return true;
  }
  for (int64_t row : {int64_t(0), queries_ - 1}) {
    int64_t at = row + parts_.offset;
    int64_t first = parts_.left < 0 ? 0 : at - parts_.left;
    int64_t last = parts_.right < 0 ? keys_ - 1 : at + parts_.right;
    if (std::max<int64_t>(first, 0) > std::min(last, keys_ - 1)) {
      return true;
    }
  }
  return false;
}

/// The weights, 0 in rows that attend nothing, if that is what their results
/// are.
Value WrittenAttention::softmax() {
  Value x = scores();
  Value p = b_.emit<nn::SoftmaxOp>(x, int64_t(4), false);
  if (nan_ || !hidesRows()) {
    return p;
  }
  SmallVector<int64_t> keys{4};
  auto type = RankedTensorType::get(shapeOf(x).drop_back(), elementOf(x));
  Value most = b_.emit<nn::ReduceOp>(type, x, "max", keys);
  Value isNone = b_.compare("eq", most, -INFINITY);
  return b_.dropWhere(b_.insertDims(isNone, keys), p);
}

Value WrittenAttention::weights() {
  if (!weights_ && !lse_) {
    weights_ = softmax();
  } else if (!weights_) {
    Value x = scores();
    Value lse = b_.cast(groupRows(lse_), elementOf(x));
    weights_ = b_.emit<nn::ExpOp>(b_.sub(x, lse));
  }
  return weights_;
}

/// The gradient by what is exponentiated.
Value WrittenAttention::byScores() {
  if (!byScores_) {
    Value p = weights();
    Value dp = b_.matmul(
        dy_, parts_.v, grouped(3) + "," + labels_.tensors[2] + "->" + kScores);
    Value delta = b_.cast(groupRows(delta_), elementOf(dp));
    byScores_ = b_.mul(p, b_.sub(dp, delta));
  }
  return byScores_;
}

Value WrittenAttention::gradient(char of) {
  std::string scores = kScores;
  if (of == 'v') {
    return b_.matmul(weights(), dy_,
                     scores + "," + grouped(3) + "->" + labels_.tensors[2]);
  }
  Value dz = byScores();
  if (of == 'm') {
    SmallVector<int64_t> shape(shapeOf(dz));
    shape[1] *= groups_;
    shape.erase(shape.begin() + 2);
    return b_.reshape(dz, shape);
  }
  if (tanh_) {
    dz = b_.mul(dz, b_.sub(1, b_.square(tanh_)));
  }
  dz = b_.mul(dz, parts_.scale);
  if (of == 'q') {
    return ungroup(
        b_.matmul(dz, parts_.k,
                  scores + "," + labels_.tensors[1] + "->" + grouped(0)),
        0);
  }
  return b_.matmul(dz, query_,
                   scores + "," + grouped(0) + "->" + labels_.tensors[1]);
}

/// The written form stands in a block of its own while it is derived, so that
/// operands are just that, whatever one of them is made of.
LogicalResult autodiff::deriveWritten(
    Operation *op, GradientBuilder &b,
    llvm::function_ref<Value(ValueRange, GradientBuilder &)> write) {
  Block block;
  OpBuilder builder(op->getContext());
  builder.setInsertionPointToEnd(&block);
  SmallVector<Value> inputs;
  SmallVector<unsigned> wanted;
  for (OpOperand &operand : op->getOpOperands()) {
    unsigned number = operand.getOperandNumber();
    Value input = block.addArgument(operand.get().getType(), op->getLoc());
    if (b.wants(number)) {
      inputs.push_back(input);
      wanted.push_back(number);
    }
  }
  SmallVector<Value> operands(block.getArguments());
  Value seed = block.addArgument(b.gradient().getType(), op->getLoc());
  GradientBuilder written(builder, op, Value(), {});
  Value y = written.cast(write(operands, written), elementOf(b.gradient()));
  FailureOr<SmallVector<Value>> gradients =
      makeGradients(builder, y, seed, inputs);
  if (failed(gradients)) {
    return failure();
  }
  SmallVector<Value> values(op->getOperands());
  values.push_back(b.gradient());
  b.take(block, values);
  for (auto [number, gradient] : llvm::zip_equal(wanted, *gradients)) {
    if (gradient) {
      b.give(number, [&] { return gradient; });
    }
  }
  return success();
}
