//===- AttentionRules.cpp - Gradients of attention ------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Attention is derived by operators of its own, which keep no product of a
// query and a key; lse stands behind the attention, so that one kernel can make
// both:
//
//   lse = attention_lse(q, k)    delta = sum of dy*y by e
//   dq, dk, dv = attention_gradient(q, k, v, dy, lse, delta)
//
// A gradient by a mask of numbers is such products: with one, all gradients are
// those of the written form.
//
//===----------------------------------------------------------------------===//

#include "Rules.h"
#include "WrittenAttention.h"
#include "dialects/NN/AttentionGradient.h"
#include "divisi/Autodiff/Gradients.h"

using namespace mlir;
using namespace divisi;
using namespace divisi::autodiff;

/// The sum of the result times its gradient, [b, (h g), s], of the type of
/// sums. By the result, it is a product with rows of ones less.
static Value makeDelta(nn::AttentionOp op, const nn::AttentionParts &parts,
                       GradientBuilder &b) {
  RankedTensorType rows = parts.rowsType();
  auto wide = [&](Value x) { return b.cast(x, rows.getElementType()); };
  Value sum = b.sum(b.mul(wide(b.gradient()), wide(op.getY())), {3});
  nn::AttentionLabels labels = *nn::AttentionLabels::parse(parts.text);
  SmallVector<int64_t> order;
  for (size_t dim = 0; dim < 3; ++dim) {
    order.push_back(int64_t(labels.find(3, dim)));
  }
  return b.transpose(sum, order);
}

static LogicalResult deriveAttention(nn::AttentionOp op, GradientBuilder &b) {
  auto parts = nn::AttentionParts::of(op, op.getV());
  Value delta = makeDelta(op, parts, b);
  if (op.getMask() && b.wants(3)) {
    WrittenAttention written(parts, b);
    written.setGradient(b.gradient(), Value(), delta, op.getNan());
    for (unsigned i = 0; i != 4; ++i) {
      b.give(i, [&] { return written.gradient("qkvm"[i]); });
    }
    return success();
  }
  Value lse = b.emitBehind<nn::AttentionLseOp>(
      parts.q, parts.k, parts.mask, parts.scale, parts.softcap, parts.left,
      parts.right, parts.offset, parts.text, op.getNan());
  for (unsigned i = 0; i != 3; ++i) {
    b.give(i, [&] {
      return b.emit<nn::AttentionGradientOp>(
          parts.q, parts.k, parts.v, b.gradient(), lse, delta, parts.mask,
          StringRef("qkv").substr(i, 1), parts.scale, parts.softcap, parts.left,
          parts.right, parts.offset, parts.text);
    });
  }
  return success();
}

/// `parts` of the operands of a written form.
static nn::AttentionParts partsOf(nn::AttentionParts parts, ValueRange operands,
                                  bool hasValues) {
  parts.q = operands[0];
  parts.k = operands[1];
  parts.v = hasValues ? operands[2] : Value();
  parts.mask = parts.mask ? operands.back() : Value();
  return parts;
}

static LogicalResult deriveLse(nn::AttentionLseOp op, GradientBuilder &b) {
  auto parts = nn::AttentionParts::of(op, Value());
  return deriveWritten(op, b, [&](ValueRange operands, GradientBuilder &inner) {
    return WrittenAttention(partsOf(parts, operands, false), inner)
        .lse(op.getNan());
  });
}

static LogicalResult deriveGradient(nn::AttentionGradientOp op,
                                    GradientBuilder &b) {
  auto parts = nn::AttentionParts::of(op, op.getV());
  return deriveWritten(op, b, [&](ValueRange operands, GradientBuilder &inner) {
    WrittenAttention written(partsOf(parts, operands, true), inner);
    written.setGradient(operands[3], operands[4], operands[5]);
    return written.gradient(op.getOf().front());
  });
}

/// What divides the weights of `op`, if it is of the same attention: these are
/// a softmax then.
static nn::AttentionLseOp ownLse(nn::AttentionGradientOp op) {
  auto lse = op.getLse().getDefiningOp<nn::AttentionLseOp>();
  auto facts = [](auto of) {
    return std::tuple(of.getQ(), of.getK(), of.getMask(), of.getScale(),
                      of.getSoftcap(), of.getLeft(), of.getRight(),
                      of.getOffset(), of.getLabels());
  };
  return lse && facts(lse) == facts(op) ? lse : nn::AttentionLseOp();
}

static Value writeGradient(nn::AttentionGradientOp op, GradientBuilder &b) {
  auto parts = nn::AttentionParts::of(op, op.getV());
  WrittenAttention written(parts, b);
  nn::AttentionLseOp own = ownLse(op);
  written.setGradient(op.getDy(), own ? Value() : op.getLse(), op.getDelta(),
                      own && own.getNan());
  return written.gradient(op.getOf().front());
}

static Value writeLse(nn::AttentionLseOp op, GradientBuilder &b) {
  auto parts = nn::AttentionParts::of(op, Value());
  return WrittenAttention(parts, b).lse(op.getNan());
}

/// How many elements a row of `value` has.
static int64_t widthOf(Value value) {
  return nn::globalType(value.getType()).getShape().back();
}

template <typename OpT, typename IsMeant, typename Write>
static int64_t writeAll(ModuleOp module, IsMeant isMeant, Write write) {
  SmallVector<OpT> found;
  module.walk([&](OpT op) {
    if (isMeant(op)) {
      found.push_back(op);
    }
  });
  for (OpT op : found) {
    if (!op->use_empty()) {
      OpBuilder builder(op);
      GradientBuilder b(builder, op, Value(), {});
      Value written = write(op, b);
      op->getResult(0).replaceAllUsesWith(
          b.cast(written, elementOf(op->getResult(0))));
    }
    op->erase();
  }
  return int64_t(found.size());
}

int64_t divisi::writeAttentionGradients(ModuleOp module, int64_t widest) {
  // Of sums, those that softmaxes do not make.
  int64_t gradients = writeAll<nn::AttentionGradientOp>(
      module,
      [&](nn::AttentionGradientOp op) {
        return std::max(widthOf(op.getQ()), widthOf(op.getV())) > widest;
      },
      writeGradient);
  auto isWide = [&](nn::AttentionLseOp op) {
    return widthOf(op.getQ()) > widest;
  };
  return gradients + writeAll<nn::AttentionLseOp>(module, isWide, writeLse);
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
  attach<nn::AttentionLseOp, deriveLse>(context);
  attach<nn::AttentionGradientOp, deriveGradient>(context);
  attach<nn::RotaryOp, deriveRotary>(context);
}
