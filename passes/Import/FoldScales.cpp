//===- FoldScales.cpp - Scales behind convolutions into their weights -----===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Batch normalization of a model that is not trained is a scale and a shift of
// each channel. Behind a convolution the scale is one of its features:
//
//   s · conv(x, w) = conv(x, s · w)
//
// What stands between them is a shift, which is scaled, too:
//
//   s · (c + b) = s · c + s · b          (c + b) + t = c + (b + t)
//
//===----------------------------------------------------------------------===//

#include "passes/Import/Passes.h"

#include "dialects/NN/Functions.h"
#include "dialects/NN/Known.h"
#include "dialects/NN/NN.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace divisi {
#define GEN_PASS_DEF_FOLDSCALES
#include "passes/Import/Passes.h.inc"
} // namespace divisi

using namespace divisi;
using namespace mlir;

/// Whether `value` is one number per channel of a result with `rank` dims, of
/// which dim 1 has `channels`: it broadcasts along all others.
static bool isPerChannel(Value value, int64_t rank, int64_t channels) {
  auto type = cast<RankedTensorType>(value.getType());
  int64_t dim = 1 - (rank - type.getRank());
  return dim >= 0 && type.getDimSize(dim) == channels &&
         type.getNumElements() == channels;
}

namespace {

/// c, and the vector that it is scaled with or shifted by.
struct Vectored {
  Value source, vector;
};

/// What all its rules need.
class Folder {
public:
  explicit Folder(ModuleOp module) : known_(module) {}

  LogicalResult scaleWeights(nn::MulOp op, PatternRewriter &rewriter) const;
  LogicalResult scaleShift(nn::MulOp op, PatternRewriter &rewriter) const;
  LogicalResult addShifts(nn::AddOp op, PatternRewriter &rewriter) const;

private:
  template <typename OpT> std::optional<Vectored> match(OpT op) const;

  nn::KnownValues known_;
};

/// One of its rules as a pattern.
template <typename OpT,
          LogicalResult (Folder::*Rule)(OpT, PatternRewriter &) const>
class Fold : public OpRewritePattern<OpT> {
public:
  Fold(const Folder &folder, MLIRContext *context)
      : OpRewritePattern<OpT>(context), folder_(folder) {}
  LogicalResult matchAndRewrite(OpT op,
                                PatternRewriter &rewriter) const override {
    return (folder_.*Rule)(op, rewriter);
  }

private:
  const Folder &folder_;
};

class FoldScalesPass : public divisi::impl::FoldScalesBase<FoldScalesPass> {
public:
  void runOnOperation() override;
};

} // namespace

/// The other operand of `op` than a known vector of its channels.
template <typename OpT> std::optional<Vectored> Folder::match(OpT op) const {
  auto type = cast<RankedTensorType>(op.getType());
  if (type.getRank() < 3 ||
      !isa<Float32Type, Float64Type>(type.getElementType())) {
    return std::nullopt;
  }
  for (auto [source, vector] : {std::pair(op.getLhs(), op.getRhs()),
                                std::pair(op.getRhs(), op.getLhs())}) {
    if (source.getType() == type && source.hasOneUse() &&
        isPerChannel(vector, type.getRank(), type.getDimSize(1)) &&
        known_.isKnown(vector) && !known_.isKnown(source)) {
      return Vectored{source, vector};
    }
  }
  return std::nullopt;
}

LogicalResult Folder::scaleWeights(nn::MulOp op,
                                   PatternRewriter &rewriter) const {
  std::optional<Vectored> scaled = match(op);
  auto conv = scaled ? scaled->source.getDefiningOp<nn::ConvOp>() : nullptr;
  if (!conv || !known_.isKnown(conv.getW()) || !conv.getW().hasOneUse()) {
    return rewriter.notifyMatchFailure(op, "is no scale of a convolution whose "
                                           "weights are known");
  }
  auto weights = cast<RankedTensorType>(conv.getW().getType());
  SmallVector<int64_t> shape(weights.getRank(), 1);
  shape.front() = weights.getDimSize(0);
  Value factors = nn::ReshapeOp::create(
      rewriter, op.getLoc(),
      RankedTensorType::get(shape, weights.getElementType()), scaled->vector);
  Value product =
      nn::MulOp::create(rewriter, op.getLoc(), weights, conv.getW(), factors);
  // Where its weights are.
  auto folded = cast<nn::ConvOp>(rewriter.clone(*conv));
  folded.getWMutable().assign(product);
  rewriter.replaceOp(op, folded);
  return success();
}

LogicalResult Folder::scaleShift(nn::MulOp op,
                                 PatternRewriter &rewriter) const {
  std::optional<Vectored> scaled = match(op);
  auto add = scaled ? scaled->source.getDefiningOp<nn::AddOp>() : nullptr;
  std::optional<Vectored> shifted = add ? match(add) : std::nullopt;
  if (!shifted || !shifted->source.getDefiningOp<nn::ConvOp>()) {
    return rewriter.notifyMatchFailure(op, "scales no shifted convolution");
  }
  Value product = nn::MulOp::create(rewriter, op.getLoc(), op.getType(),
                                    shifted->source, scaled->vector);
  Value shift =
      nn::MulOp::create(rewriter, op.getLoc(), shifted->vector, scaled->vector);
  rewriter.replaceOpWithNewOp<nn::AddOp>(op, op.getType(), product, shift);
  return success();
}

LogicalResult Folder::addShifts(nn::AddOp op, PatternRewriter &rewriter) const {
  std::optional<Vectored> second = match(op);
  auto add = second ? second->source.getDefiningOp<nn::AddOp>() : nullptr;
  std::optional<Vectored> first = add ? match(add) : std::nullopt;
  if (!first || !first->source.getDefiningOp<nn::ConvOp>()) {
    return rewriter.notifyMatchFailure(op, "shifts no shifted convolution");
  }
  Value shift =
      nn::AddOp::create(rewriter, op.getLoc(), first->vector, second->vector);
  rewriter.replaceOpWithNewOp<nn::AddOp>(op, op.getType(), first->source,
                                         shift);
  return success();
}

void FoldScalesPass::runOnOperation() {
  Folder folder(getOperation());
  for (auto function : getOperation().getOps<func::FuncOp>()) {
    if (!nn::isEntry(function)) {
      continue;
    }
    RewritePatternSet patterns(&getContext());
    patterns.add<Fold<nn::MulOp, &Folder::scaleWeights>,
                 Fold<nn::MulOp, &Folder::scaleShift>,
                 Fold<nn::AddOp, &Folder::addShifts>>(folder, &getContext());
    if (failed(applyPatternsGreedily(function, std::move(patterns)))) {
      return signalPassFailure();
    }
  }
}
