//===- EmitAttentionGradient.cpp - Attention's gradients in blocks --------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/code/GridCode.h"
#include "lib/Codegen/AttentionGradientBuilder.h"
#include "lib/Codegen/EmitAttention.h"
#include "lib/Codegen/StoredElements.h"

using namespace mlir;
using namespace divisi;

using rt::GridAttentionGradient;

namespace {

/// Emits what one thread does: RowPairs has the products, and sums of the
/// lane's columns, by row and tile.
class GradientEmitter : AttentionGradientBuilder {
public:
  GradientEmitter(ImplicitLocOpBuilder &builder,
                  const GridAttentionGradient &gradient, ValueRange arguments,
                  Value shared)
      : AttentionGradientBuilder(builder, gradient, arguments, shared),
        pairs_(builder, gradient.type, gradient.rows(), shared) {}
  void emit();

private:
  Value own(int64_t r) { return add(firstOwn_, number(r)); }
  Values nextRows(Value first, Value end, ValueRange sums);
  void finish(ValueRange sums);

  RowPairs pairs_;
};

} // namespace

ThreadBuilder::Values GradientEmitter::nextRows(Value first, Value end,
                                                ValueRange sums) {
  Values products = pairs_.products(ownFactors(), firstOwn_, ownRows(),
                                    factors(), first, end);
  Values slopeProducts(products.size());
  if (!gradient_.isOfValues()) {
    slopeProducts = pairs_.products(ownSlopes(), firstOwn_, ownRows(), slopes(),
                                    first, end);
  }
  Value coming = add(first, lane_);
  QueryNumbers numbers;
  for (int64_t r = 0; r < gradient_.rows(); ++r) {
    if (isOfQueries() || r == 0) {
      numbers = numbersOf(isOfQueries() ? own(r) : coming);
    }
    pairs_.keep(r, weight(own(r), coming, products[size_t(r)],
                          slopeProducts[size_t(r)], numbers));
  }
  Values next;
  auto rows = size_t(gradient_.rows());
  for (int64_t t = 0; t < gradient_.columnTiles(); ++t) {
    next.append(pairs_.weigh(weighted(), first, end, t,
                             sums.slice(size_t(t) * rows, rows),
                             /*skips=*/true));
  }
  return next;
}

void GradientEmitter::finish(ValueRange sums) {
  for (auto [i, sum] : llvm::enumerate(sums)) {
    Value row = own(int64_t(i) % gradient_.rows());
    Value column =
        add(number(int64_t(i) / gradient_.rows() * GridAttentionGradient::tile),
            lane_);
    when(both(isLess(row, ownRows()), isLess(column, weighted().columns)), [&] {
      store(toStored(b_, sum, gradient_.result), to_,
            add(resultRow(row), column));
    });
  }
}

void GradientEmitter::emit() {
  Values zeros(size_t(gradient_.columnTiles() * gradient_.rows()), constant(0));
  forEachPart([] {}, zeros,
              [&](Value first, Value end, ValueRange sums) {
                return nextRows(first, end, sums);
              },
              [&](ValueRange sums) { finish(sums); });
}

void divisi::emitKernel(ModuleOp module,
                        const GridAttentionGradient &gradient) {
  if (gradient.usesTensorCores) {
    return emitTensorGradient(module, gradient);
  }
  ImplicitLocOpBuilder b(UnknownLoc::get(module.getContext()),
                         module.getContext());
  auto kernel =
      beginKernel(b, module, gradient.pointerCount(), gradient.numberCount());
  Value shared = shareMemory(b, module, ScoreBuilder::realOf(b, gradient.type),
                             RowPairs::sharedElements(gradient.rows()));
  GradientEmitter(b, gradient, kernel.getArguments(), shared).emit();
}
