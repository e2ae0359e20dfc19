//===- AbsorbMovement.cpp - Labels instead of movement --------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What names its dimensions by letters reads a transpose by other letters, and
// a repetition by none:
//
//   nn.matmul(nn.transpose(x), w) {"mk,kn->mn"}  ->  nn.matmul(x, w) {"km,kn->mn"}
//
//===----------------------------------------------------------------------===//

#include "dialects/NN/Canonicalize.h"
#include "dialects/NN/Labels.h"

using namespace mlir;

namespace divisi::nn {

static LogicalResult absorbOperandTranspose(MatmulOp op,
                                            PatternRewriter &rewriter) {
  Labels labels = *Labels::parse(op.getLabels());
  for (OpOperand &operand : op->getOpOperands()) {
    auto transpose = operand.get().getDefiningOp<TransposeOp>();
    if (!transpose || !isPlain(transpose) || !isPlain(op)) {
      continue;
    }
    std::string &letters =
        operand.getOperandNumber() == 0 ? labels.a : labels.b;
    std::string before = letters;
    for (auto [dim, from] : llvm::enumerate(transpose.getPermutation())) {
      letters[from] = before[dim];
    }
    rewriter.modifyOpInPlace(op, [&] {
      operand.set(transpose.getX());
      op.setLabels(labels.str());
    });
    return success();
  }
  return rewriter.notifyMatchFailure(op, "no operand is a plain transpose");
}

static LogicalResult absorbResultTranspose(TransposeOp op,
                                           PatternRewriter &rewriter) {
  auto matmul = op.getX().getDefiningOp<MatmulOp>();
  if (!matmul || !matmul->hasOneUse() || !isPlain(matmul) || !isPlain(op)) {
    return rewriter.notifyMatchFailure(op, "no matmul of which it is the use");
  }
  Labels labels = *Labels::parse(matmul.getLabels());
  std::string result;
  for (int64_t dim : op.getPermutation()) {
    result += labels.result[dim];
  }
  labels.result = result;
  // The work is the matmul's, and so are its place and what is said of it.
  auto merged = MatmulOp::create(rewriter, matmul.getLoc(), op.getType(),
                                 matmul.getA(), matmul.getB(), labels.str());
  merged->setDiscardableAttrs(matmul->getDiscardableAttrDictionary());
  rewriter.replaceOp(op, merged);
  rewriter.eraseOp(matmul);
  return success();
}

/// The letters of what `transpose` is of; nothing if the last does not stay.
static std::optional<std::string> before(TransposeOp transpose,
                                         const std::string &letters) {
  std::string from = letters;
  for (auto [dim, to] : llvm::enumerate(transpose.getPermutation())) {
    from[to] = letters[dim];
  }
  return from.back() == letters.back() ? std::optional(from) : std::nullopt;
}

static LogicalResult absorbQueryTranspose(AttentionOp op,
                                          PatternRewriter &rewriter) {
  AttentionLabels labels = *AttentionLabels::parse(op.getLabels());
  for (OpOperand &operand : op->getOpOperands().take_front(3)) {
    auto transpose = operand.get().getDefiningOp<TransposeOp>();
    std::string &letters = labels.tensors[operand.getOperandNumber()];
    auto from = transpose && isPlain(transpose) && isPlain(op)
                    ? before(transpose, letters)
                    : std::nullopt;
    if (from) {
      letters = *from;
      rewriter.modifyOpInPlace(op, [&] {
        operand.set(transpose.getX());
        op.setLabels(labels.str());
      });
      return success();
    }
  }
  return rewriter.notifyMatchFailure(op, "no operand is a plain transpose that "
                                         "leaves rows");
}

static LogicalResult absorbAttendedTranspose(TransposeOp op,
                                             PatternRewriter &rewriter) {
  auto attention = op.getX().getDefiningOp<AttentionOp>();
  if (!attention || !attention->hasOneUse() || !isPlain(attention) ||
      !isPlain(op) || op.getPermutation().back() != 3) {
    return rewriter.notifyMatchFailure(op, "no attention of which it is the "
                                           "use and leaves rows");
  }
  AttentionLabels labels = *AttentionLabels::parse(attention.getLabels());
  std::string letters;
  for (int64_t dim : op.getPermutation()) {
    letters += labels.tensors[3][dim];
  }
  labels.tensors[3] = letters;
  rewriter.setInsertionPoint(attention);
  auto made = cast<AttentionOp>(rewriter.clone(*attention));
  made.setLabels(labels.str());
  made.getY().setType(op.getType());
  rewriter.replaceOp(op, made);
  rewriter.eraseOp(attention);
  return success();
}

/// A repeated dim needs no letter in the operand that repeats it, as long as
/// the other operand has the letter and it is not summed over.
static LogicalResult absorbOperandBroadcast(MatmulOp op,
                                            PatternRewriter &rewriter) {
  Labels labels = *Labels::parse(op.getLabels());
  for (OpOperand &operand : op->getOpOperands()) {
    auto broadcast = operand.get().getDefiningOp<BroadcastOp>();
    if (!broadcast || !isPlain(broadcast) || !isPlain(op)) {
      continue;
    }
    bool isFirst = operand.getOperandNumber() == 0;
    std::string &letters = isFirst ? labels.a : labels.b;
    const std::string &other = isFirst ? labels.b : labels.a;
    // Where each dim of the result comes from, or -1 where it is repeated.
    SmallVector<int64_t> source(letters.size(), -1);
    ArrayRef<int64_t> extents = broadcast.getX().getType().getShape();
    for (auto [dim, to] : llvm::enumerate(broadcast.getDims())) {
      bool isRepeated = extents[dim] != broadcast.getType().getDimSize(to);
      source[to] = isRepeated ? -1 : static_cast<int64_t>(dim);
    }
    std::string kept;
    SmallVector<int64_t> shape;
    bool canDrop = true;
    for (auto [dim, letter] : llvm::enumerate(letters)) {
      if (source[dim] >= 0) {
        kept += letter;
        shape.push_back(extents[source[dim]]);
      } else {
        canDrop &= StringRef(other).contains(letter) &&
                   StringRef(labels.result).contains(letter);
      }
    }
    if (!canDrop) {
      continue;
    }
    Value x = broadcast.getX();
    if (shape != extents) {
      x = ReshapeOp::create(rewriter, broadcast.getLoc(), x, shape);
    }
    letters = kept;
    rewriter.modifyOpInPlace(op, [&] {
      operand.set(x);
      op.setLabels(labels.str());
    });
    return success();
  }
  return rewriter.notifyMatchFailure(op, "no operand repeats a free dim");
}

void addAbsorption(RewritePatternSet &patterns) {
  patterns.add(absorbOperandTranspose);
  patterns.add(absorbOperandBroadcast);
  patterns.add(absorbResultTranspose);
  patterns.add(absorbQueryTranspose);
  patterns.add(absorbAttendedTranspose);
}

} // namespace divisi::nn
