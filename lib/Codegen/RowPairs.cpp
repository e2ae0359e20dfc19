//===- RowPairs.cpp - Products of pairs of rows ---------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/RowPairs.h"
#include "divisi/runtime/code/GridCode.h"
#include "lib/Codegen/ElementFunctions.h"
#include "lib/Codegen/ScoreBuilder.h"
#include "lib/Codegen/StoredElements.h"

using namespace mlir;
using namespace divisi;

RowPairs::RowPairs(ImplicitLocOpBuilder &builder, rt::DType type, int64_t rows,
                   Value shared)
    : ThreadBuilder(builder), type_(type), rows_(rows),
      real_(ScoreBuilder::realOf(builder, type)), shared_(shared),
      lane_(position<gpu::ThreadIdOp>(Dimension::x)),
      warp_(position<gpu::ThreadIdOp>(Dimension::y)),
      warps_(position<gpu::BlockDimOp>(Dimension::y)) {}

int64_t RowPairs::sharedElements(int64_t rows) {
  return tile * (tile + 1) + 2 * rows * rt::mostWarps * tile;
}

Value RowPairs::zero() { return emitConstant(b_, real_, 0); }

Value RowPairs::loadReal(const MatrixRows &rows, Value row, Value column,
                         Value isThere) {
  return valueWhen(isThere, zero(), [&] {
    Value place = add(add(rows.base, mul(row, rows.stride)), column);
    Value stored = load(rows.pointer, storedElement(b_, type_), place);
    return fromStored(b_, stored, type_);
  });
}

Value RowPairs::inTile(Value row, Value column) {
  return add(mul(row, number(tile + 1)), column);
}

/// Of the own row `r` of this warp: its weights, or else its elements.
Value RowPairs::inRow(int64_t r, bool isWeight, Value column) {
  int64_t all = rows_ * rt::mostWarps;
  Value row = add(mul(warp_, number(rows_)), number(r));
  return add(add(mul(row, number(tile)),
                 number(tile * (tile + 1) + (isWeight ? all * tile : 0))),
             column);
}

/// Lets the block share rows from `first` up to `end`; zeros where there are no
/// more.
void RowPairs::shareTile(const MatrixRows &rows, Value first, Value end,
                         Value column) {
  Value hasColumn = isLess(column, rows.columns);
  loop(warp_, number(tile), warps_, [&](Value row) {
    Value own = add(first, row);
    Value isThere = make<arith::AndIOp>(isLess(own, end), hasColumn);
    store(loadReal(rows, own, column, isThere), shared_, inTile(row, lane_));
  });
}

SmallVector<Value> RowPairs::products(const MatrixRows &own, Value firstOwn,
                                      Value endOwn, const MatrixRows &coming,
                                      Value first, Value end) {
  Values zeros(size_t(rows_), zero());
  return loop(
      number(0), coming.columns, number(tile), zeros,
      [&](Value begin, ValueRange last) -> Values {
        Value column = add(begin, lane_);
        barrier();
        shareTile(coming, first, end, column);
        for (int64_t r = 0; r < rows_; ++r) {
          Value row = add(firstOwn, number(r));
          Value isThere = make<arith::AndIOp>(isLess(row, endOwn),
                                              isLess(column, own.columns));
          store(loadReal(own, row, column, isThere), shared_,
                inRow(r, false, lane_));
        }
        barrier();
        Value left = make<arith::MinSIOp>(
            number(tile), make<arith::SubIOp>(coming.columns, begin));
        return loop(number(0), left, number(1), last,
                    [&](Value d, ValueRange sums) -> Values {
                      Value other = load(shared_, real_, inTile(lane_, d));
                      Values next;
                      for (int64_t r = 0; r < rows_; ++r) {
                        Value mine = load(shared_, real_, inRow(r, false, d));
                        next.push_back(make<arith::AddFOp>(
                            sums[size_t(r)], make<arith::MulFOp>(mine, other)));
                      }
                      return next;
                    });
      });
}

void RowPairs::keep(int64_t r, Value weight) {
  store(weight, shared_, inRow(r, true, lane_));
}

SmallVector<Value> RowPairs::weigh(const MatrixRows &coming, Value first,
                                   Value end, int64_t t, ValueRange sums,
                                   bool skips) {
  barrier();
  shareTile(coming, first, end, add(number(t * tile), lane_));
  barrier();
  Value left =
      make<arith::MinSIOp>(number(tile), make<arith::SubIOp>(end, first));
  return loop(number(0), left, number(1), sums,
              [&](Value row, ValueRange before) -> Values {
                Value value = load(shared_, real_, inTile(row, lane_));
                Values next;
                for (auto [r, sum] : llvm::enumerate(before)) {
                  Value p = load(shared_, real_, inRow(int64_t(r), true, row));
                  Value more =
                      make<arith::AddFOp>(sum, make<arith::MulFOp>(p, value));
                  if (skips) { // what it is then is no matter, also NaN
                    Value isNothing =
                        emitFunction(b_, Function::Eq, {p, zero()});
                    more = make<arith::SelectOp>(isNothing, sum, more);
                  }
                  next.push_back(more);
                }
                return next;
              });
}
