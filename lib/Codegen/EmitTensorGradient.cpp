//===- EmitTensorGradient.cpp - Attention's gradients on tensor cores -----===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/code/GridCode.h"
#include "lib/Codegen/AttentionGradientBuilder.h"
#include "lib/Codegen/LowerGrid.h"
#include "lib/Codegen/StoredElements.h"
#include "lib/Codegen/TensorPairs.h"

using namespace mlir;
using namespace divisi;

using rt::GridAttentionGradient;

namespace {

/// Emits what one thread does: of 16 rows of its warp it has a part of what
/// TensorPairs multiplies. Weights of pairs lie among threads as a product's
/// result, and so do they as the left side of the next product.
class TensorGradientEmitter : AttentionGradientBuilder {
public:
  TensorGradientEmitter(ImplicitLocOpBuilder &builder,
                        const GridAttentionGradient &gradient,
                        ValueRange arguments, Value shared)
      : AttentionGradientBuilder(builder, gradient, arguments, shared),
        layout_(gradient), pairs_(builder, gradient.type, shared) {}
  void emit();

  /// What a block shares, in words of 32 bits.
  static int64_t sharedWords(const GridAttentionGradient &gradient) {
    return (gradient.comingElements() +
            gradient.warps() * gradient.ownElements()) /
           2;
  }

private:
  static constexpr int64_t tile = GridAttentionGradient::tile,
                           columns = WarpProduct::columns,
                           weightPitch = rt::GridAttention::valuePitch;

  /// Where the block has what it shares, in elements, beginning with what comes
  /// by for scores: that for slopes, columns of what is weighted, own rows for
  /// scores, and those for slopes.
  struct Layout {
    explicit Layout(const GridAttentionGradient &gradient)
        : depth(gradient.depthPitch()), features(gradient.featurePitch()),
          slopes(tile * depth),
          weighted(slopes + (gradient.isOfValues() ? 0 : tile * features)),
          own(gradient.comingElements()),
          ownSlopes(own + gradient.warps() * WarpProduct::rows * depth) {}
    int64_t depth, features, slopes, weighted, own, ownSlopes;
  };

  Value own(int64_t half) {
    return add(firstOwn_, add(pairs_.row(), number(8 * half)));
  }
  Value putRow(int64_t begin, Value row, int64_t pitch) {
    return add(mul(row, number(pitch)), number(begin));
  }
  void shareOwn();
  void shareComing(Value first, Value end);
  Values products();
  Values slopeProducts();
  Values weights(Value first);
  Values nextRows(Value first, Value end, ValueRange sums);
  void finish(ValueRange sums);

  const Layout layout_;
  TensorPairs pairs_;
};

} // namespace

/// Lets the warp share its rows, which it alone reads.
void TensorGradientEmitter::shareOwn() {
  loop(number(0), number(WarpProduct::rows), number(1), [&](Value r) {
    Value own = add(firstOwn_, r);
    Value row = add(mul(warp_, number(WarpProduct::rows)), r);
    Value isThere = both(hasHeads_, isLess(own, ownRows()));
    auto share = [&](const MatrixRows &rows, int64_t begin, int64_t pitch) {
      Value place = putRow(begin, row, pitch);
      pairs_.shareRow(rows, own, isThere, pitch - rt::GridAttention::padding,
                      [&](Value column, Value bits) {
                        store(bits, shared_, add(place, column));
                      });
    };
    share(ownFactors(), layout_.own, layout_.depth);
    if (!gradient_.isOfValues()) {
      share(ownSlopes(), layout_.ownSlopes, layout_.features);
    }
  });
}

/// Lets the block share rows from `first` up to `end`; those that are weighted
/// as columns.
void TensorGradientEmitter::shareComing(Value first, Value end) {
  loop(warp_, number(tile), warps_, [&](Value row) {
    Value coming = add(first, row), isThere = isLess(coming, end);
    auto share = [&](const MatrixRows &rows, int64_t pitch,
                     std::optional<int64_t> begin, bool isWeighted) {
      pairs_.shareRow(
          rows, coming, isThere, pitch - rt::GridAttention::padding,
          [&](Value column, Value bits) {
            if (begin) {
              store(bits, shared_, add(putRow(*begin, row, pitch), column));
            }
            if (isWeighted) {
              store(bits, shared_,
                    add(putRow(layout_.weighted, column, weightPitch), row));
            }
          });
    };
    bool isOfValues = gradient_.isOfValues();
    share(factors(), layout_.depth, 0, !isOfValues);
    share(slopes(), layout_.features,
          isOfValues ? std::nullopt : std::optional(layout_.slopes),
          isOfValues);
  });
}

ThreadBuilder::Values TensorGradientEmitter::products() {
  Value ofWarp = mul(warp_, number(WarpProduct::rows));
  return pairs_.products(putRow(layout_.own, ofWarp, layout_.depth), number(0),
                         layout_.depth, gradient_.depthTiles);
}

ThreadBuilder::Values TensorGradientEmitter::slopeProducts() {
  Value ofWarp = mul(warp_, number(WarpProduct::rows));
  return pairs_.products(putRow(layout_.ownSlopes, ofWarp, layout_.features),
                         number(layout_.slopes), layout_.features,
                         gradient_.featureTiles);
}

/// Of the lane's pairs, as products lie.
ThreadBuilder::Values TensorGradientEmitter::weights(Value first) {
  Values all = products();
  Values slopes(all.size());
  if (!gradient_.isOfValues()) {
    slopes = slopeProducts();
  }
  SmallVector<QueryNumbers> numbers(2);
  if (isOfQueries()) {
    numbers = {numbersOf(own(0)), numbersOf(own(1))};
  }
  for (int64_t n = 0; n < TensorPairs::resultTiles; ++n) {
    for (int64_t i = 0; i < 2; ++i) {
      Value coming = add(first, add(pairs_.column(), number(n * columns + i)));
      if (!isOfQueries()) {
        numbers.assign(2, numbersOf(coming));
      }
      for (int64_t half = 0; half < 2; ++half) {
        auto at = size_t(4 * n + 2 * half + i);
        all[at] = weight(own(half), coming, all[at], slopes[at],
                         numbers[size_t(half)]);
      }
    }
  }
  return all;
}

ThreadBuilder::Values TensorGradientEmitter::nextRows(Value first, Value end,
                                                      ValueRange sums) {
  shareComing(first, end);
  barrier();
  Values next =
      pairs_.weigh(weights(first), number(layout_.weighted), weightPitch, sums);
  barrier(); // before anybody shares the next ones
  return next;
}

void TensorGradientEmitter::finish(ValueRange sums) {
  for (auto [i, sum] : llvm::enumerate(sums)) {
    auto at = int64_t(i);
    Value row = own(at % 4 / 2);
    Value column = add(pairs_.column(), number(at / 4 * columns + at % 2));
    when(both(isLess(row, ownRows()), isLess(column, weighted().columns)), [&] {
      store(toStored(b_, sum, gradient_.result), to_,
            add(resultRow(row), column));
    });
  }
}

void TensorGradientEmitter::emit() {
  Values zeros(size_t(4 * 2 * gradient_.columnTiles()), constant(0));
  forEachPart([&] { shareOwn(); }, zeros,
              [&](Value first, Value end, ValueRange sums) {
                return nextRows(first, end, sums);
              },
              [&](ValueRange sums) { finish(sums); });
}

void divisi::emitTensorGradient(ModuleOp module,
                                const GridAttentionGradient &gradient) {
  ImplicitLocOpBuilder b(UnknownLoc::get(module.getContext()),
                         module.getContext());
  auto kernel =
      beginKernel(b, module, gradient.pointerCount(), gradient.numberCount());
  // Sums are eight registers a tile: of many, fewer blocks have room beside.
  limitThreads(kernel, int(gradient.warps()),
               gradient.columnTiles() > 4 ? 2 : 3);
  Value shared = shareMemory(b, module, b.getI32Type(),
                             TensorGradientEmitter::sharedWords(gradient));
  TensorGradientEmitter(b, gradient, kernel.getArguments(), shared).emit();
}
