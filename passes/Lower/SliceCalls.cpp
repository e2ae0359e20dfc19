//===- SliceCalls.cpp - Views of some bytes as calls ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/Lower/SliceCalls.h"

#include "dialects/NN/NN.h"
#include "dialects/SPMD/Strategy.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace divisi;
using namespace divisi::exec;

/// Whether it is a slice of what may have a format. A reshape changes the rank,
/// or shows all bytes.
static bool isSlice(ViewOp view) {
  BufferType source = view.getSource().getType();
  BufferType result = view.getBuffer().getType();
  int64_t rank = source.getTensor().getRank();
  return isa<AllocOp, InputOp>(view.getSource().getDefiningOp()) &&
         source.isOnHost() && rank >= 3 &&
         rank == result.getTensor().getRank() &&
         source.byteSize() != result.byteSize();
}

/// The attributes of the nn.slice that `view` is: what is sliced is not split,
/// so that its indices are those of the global tensor.
static DictionaryAttr configOf(ViewOp view) {
  RankedTensorType from = view.getSource().getType().getTensor();
  RankedTensorType to = view.getBuffer().getType().getTensor();
  int64_t bits = nn::elementBits(from.getElementType());
  int64_t rest = int64_t(view.getOffset().value_or(0)) / ((bits + 7) / 8);
  int64_t stride = from.getNumElements();
  SmallVector<int64_t> starts, limits, steps(from.getRank(), 1);
  for (int64_t dim : llvm::seq(from.getRank())) {
    stride /= from.getDimSize(dim);
    int64_t start = rest / stride;
    rest %= stride;
    int64_t global = nn::globalShape(from)[dim];
    bool isWhole = global == nn::globalShape(to)[dim];
    starts.push_back(isWhole ? 0 : start);
    limits.push_back(isWhole ? global : start + to.getDimSize(dim));
  }
  Builder builder(view.getContext());
  auto list = [&](StringRef name, ArrayRef<int64_t> values) {
    return builder.getNamedAttr(name, builder.getDenseI64ArrayAttr(values));
  };
  return builder.getDictionaryAttr(
      {list("starts", starts), list("limits", limits), list("steps", steps)});
}

SliceCalls::SliceCalls(ProgramOp program) {
  for (auto view :
       llvm::make_early_inc_range(program.getBody().getOps<ViewOp>())) {
    if (!isSlice(view)) {
      continue;
    }
    OpBuilder builder(view);
    Location loc = view.getLoc();
    auto alloc = AllocOp::create(builder, loc, view.getBuffer().getType(),
                                 /*offset=*/IntegerAttr());
    auto call =
        CallOp::create(builder, loc, nn::SliceOp::getOperationName(),
                       view.getSource(), alloc.getBuffer(), configOf(view));
    calls_.emplace_back(call, view.getOffsetAttr());
    view.getBuffer().replaceAllUsesWith(alloc.getBuffer());
    view.erase();
  }
}

void SliceCalls::restore() {
  for (auto [call, offset] : calls_) {
    Value source = call.getInputs().front();
    auto alloc = call.getOutputs().front().getDefiningOp<AllocOp>();
    BufferType type = alloc.getBuffer().getType();
    if (!type.isPlain() || !cast<BufferType>(source.getType()).isPlain()) {
      continue;
    }
    OpBuilder builder(call);
    auto view = ViewOp::create(builder, call.getLoc(), type, source, offset);
    call.erase();
    alloc.getBuffer().replaceAllUsesWith(view.getBuffer());
    alloc.erase();
  }
}
