//===- AttentionRules.cpp - Gradients of attention ------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The probabilities p are computed again, with the groups of query heads that
// share keys as a dim of their own, g:
//
//   z = scale * q.k        c = softcap(z)      p = softmax(c + mask) by t
//   dv = p.dy              dp = dy.v           delta = sum of dy*y by e
//   dc = p * (dp - delta)  dz = dc * (1 - (c/softcap)^2)
//   dq = scale * dz.k      dk = scale * dz.q   dmask = dc
//
//===----------------------------------------------------------------------===//

#include "Rules.h"
#include "dialects/NN/Labels.h"

using namespace mlir;
using namespace divisi;
using namespace divisi::autodiff;

namespace {

/// The gradients of one attention.
class AttentionGradient {
public:
  AttentionGradient(nn::AttentionOp op, GradientBuilder &b);

  void run();

private:
  std::string grouped(size_t tensor) const;
  Value group(Value x, size_t tensor);
  Value ungroup(Value x, size_t tensor);
  Value window();
  Value weights(Value capped);
  bool hidesRows();

  nn::AttentionOp op_;
  GradientBuilder &b_;
  nn::AttentionLabels labels_;
  int64_t heads_, groups_, queries_, keys_;
  std::string scores_ = "bhgst"; ///< The dims of the products.
};

} // namespace

AttentionGradient::AttentionGradient(nn::AttentionOp op, GradientBuilder &b)
    : op_(op), b_(b), labels_(*nn::AttentionLabels::parse(op.getLabels())) {
  SmallVector<int64_t, 4> q = labels_.sort(0, shapeOf(op.getQ()));
  SmallVector<int64_t, 4> k = labels_.sort(1, shapeOf(op.getK()));
  heads_ = k[1];
  groups_ = heads_ == 0 ? 1 : q[1] / heads_;
  queries_ = q[2];
  keys_ = k[2];
}

/// The letters of q or y when its heads are [h, g].
std::string AttentionGradient::grouped(size_t tensor) const {
  std::string letters;
  for (char letter : labels_.tensors[tensor]) {
    letters += letter;
    letters += letter == 'h' ? "g" : "";
  }
  return letters;
}

Value AttentionGradient::group(Value x, size_t tensor) {
  SmallVector<int64_t> shape(shapeOf(x));
  size_t at = labels_.tensors[tensor].find('h');
  shape[at] = heads_;
  shape.insert(shape.begin() + at + 1, groups_);
  return b_.reshape(x, shape);
}

Value AttentionGradient::ungroup(Value x, size_t tensor) {
  SmallVector<int64_t> shape(shapeOf(x));
  size_t at = labels_.tensors[tensor].find('h');
  shape[at] *= groups_;
  shape.erase(shape.begin() + at + 1);
  return b_.reshape(x, shape);
}

/// Which keys the positions of queries attend, [s, t]; null for all.
Value AttentionGradient::window() {
  MLIRContext *context = op_.getContext();
  Type element = IntegerType::get(context, 64);
  auto iota = [&](int64_t axis) {
    auto type = RankedTensorType::get({queries_, keys_}, element);
    return b_.emit<nn::IotaOp>(type, axis);
  };
  Value seen;
  auto bound = [&](StringRef predicate, int64_t distance) {
    Value edge = b_.add(iota(0), double(op_.getOffset() + distance));
    Value is = b_.compare(predicate, iota(1), edge);
    seen = seen ? b_.emit<nn::AndOp>(seen, is) : is;
  };
  if (op_.getLeft() >= 0) {
    bound("ge", -op_.getLeft());
  }
  if (op_.getRight() >= 0) {
    bound("le", op_.getRight());
  }
  return seen;
}

/// Whether a query may attend nothing.
bool AttentionGradient::hidesRows() {
  if (op_.getMask()) {
    return true;
  }
  for (int64_t row : {int64_t(0), queries_ - 1}) {
    int64_t at = row + op_.getOffset();
    int64_t first = op_.getLeft() < 0 ? 0 : at - op_.getLeft();
    int64_t last = op_.getRight() < 0 ? keys_ - 1 : at + op_.getRight();
    if (std::max<int64_t>(first, 0) > std::min(last, keys_ - 1)) {
      return true;
    }
  }
  return false;
}

/// The softmax of `capped`, masked; 0 in rows that attend nothing, if that is
/// what their results are.
Value AttentionGradient::weights(Value capped) {
  Value none = b_.number(-INFINITY, capped), x = capped;
  if (Value seen = window()) {
    x = b_.emit<nn::SelectOp>(seen, x, none);
  }
  if (Value mask = op_.getMask()) {
    SmallVector<int64_t> shape(shapeOf(mask));
    bool isAnyHead = shape[1] == 1;
    shape[1] = isAnyHead ? 1 : heads_;
    shape.insert(shape.begin() + 2, isAnyHead ? 1 : groups_);
    mask = b_.reshape(mask, shape);
    x = elementOf(mask).isInteger(1) ? b_.emit<nn::SelectOp>(mask, x, none)
                                     : b_.add(x, b_.cast(mask, elementOf(x)));
  }
  Value p = b_.emit<nn::SoftmaxOp>(x, int64_t(4), false);
  if (op_.getNan() || !hidesRows()) {
    return p;
  }
  SmallVector<int64_t> keys{4};
  SmallVector<int64_t> shape(shapeOf(x).drop_back());
  auto type = RankedTensorType::get(shape, elementOf(x));
  Value most = b_.emit<nn::ReduceOp>(type, x, "max", keys);
  return b_.dropWhere(b_.insertDims(b_.compare("eq", most, none), keys), p);
}

void AttentionGradient::run() {
  std::string q = grouped(0), y = grouped(3);
  const std::string &k = labels_.tensors[1], &v = labels_.tensors[2];
  double scale = op_.getScale(), softcap = op_.getSoftcap();
  Value query = group(op_.getQ(), 0), dy = group(b_.gradient(), 3);
  Value z =
      b_.mul(b_.matmul(query, op_.getK(), q + "," + k + "->" + scores_), scale);
  Value tanh;
  if (softcap > 0) {
    tanh = b_.emit<nn::TanhOp>(b_.div(z, softcap));
    z = b_.mul(tanh, softcap);
  }
  Value p = weights(z);
  b_.give(2, [&] { return b_.matmul(p, dy, scores_ + "," + y + "->" + v); });
  if (!b_.wants(0) && !b_.wants(1) && !(op_.getMask() && b_.wants(3))) {
    return;
  }
  // By the result, delta is a product with rows of ones less.
  Value both = b_.mul(dy, group(op_.getY(), 3));
  std::string rows = y;
  rows.pop_back();
  SmallVector<int64_t> order;
  for (char letter : StringRef("bhgs")) {
    order.push_back(int64_t(rows.find(letter)));
  }
  Value delta = b_.transpose(b_.sum(both, {4}), order);
  Value dp = b_.matmul(dy, op_.getV(), y + "," + v + "->" + scores_);
  delta = b_.cast(b_.insertDims(delta, {4}), elementOf(dp));
  Value dc = b_.mul(p, b_.sub(dp, delta));
  if (op_.getMask()) {
    b_.give(3, [&] {
      SmallVector<int64_t> shape(shapeOf(dc));
      shape[1] *= groups_;
      shape.erase(shape.begin() + 2);
      return b_.reshape(dc, shape);
    });
  }
  Value dz = tanh ? b_.mul(dc, b_.sub(1, b_.square(tanh))) : dc;
  dz = b_.mul(dz, scale);
  b_.give(0, [&] {
    Value dq = b_.matmul(dz, op_.getK(), scores_ + "," + k + "->" + q);
    return ungroup(dq, 0);
  });
  b_.give(1,
          [&] { return b_.matmul(dz, query, scores_ + "," + q + "->" + k); });
}

static LogicalResult deriveAttention(nn::AttentionOp op, GradientBuilder &b) {
  AttentionGradient(op, b).run();
  return success();
}

//===- rotary -------------------------------------------------------------===//

/// A rotation is turned back by the opposite angle.
static LogicalResult deriveRotary(nn::RotaryOp op, GradientBuilder &b) {
  if (b.wants(1) || b.wants(2)) {
    return op.emitOpError() << "has no gradient by its angles: freeze what "
                               "they are made of";
  }
  b.give(0, [&] {
    Value sin = b.emit<nn::NegOp>(op.getSin());
    return b.emit<nn::RotaryOp>(b.gradient(), op.getCos(), sin,
                                op.getInterleaved());
  });
  return success();
}

void autodiff::attachAttentionRules(MLIRContext &context) {
  attach<nn::AttentionOp, deriveAttention>(context);
  attach<nn::RotaryOp, deriveRotary>(context);
}
