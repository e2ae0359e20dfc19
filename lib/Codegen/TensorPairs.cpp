//===- TensorPairs.cpp - Pairs of rows on tensor cores --------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/TensorPairs.h"
#include "divisi/runtime/code/GridCode.h"

using namespace mlir;
using namespace divisi;

TensorPairs::TensorPairs(ImplicitLocOpBuilder &builder, rt::DType type,
                         Value shared)
    : ThreadBuilder(builder), product_(builder, type), shared_(shared),
      lane_(position<gpu::ThreadIdOp>(Dimension::x)) {
  group_ = make<arith::DivUIOp>(lane_, number(4));
  pair_ = mul(make<arith::RemUIOp>(lane_, number(4)), number(2));
}

Value TensorPairs::loadBits(Value pointer, Value index) {
  return load(pointer, b_.getI16Type(), index);
}

/// Two elements that lie side by side in what is shared.
Value TensorPairs::loadPair(Value place) {
  return load(shared_, b_.getI32Type(), make<arith::DivUIOp>(place, number(2)));
}

void TensorPairs::shareRow(
    const MatrixRows &rows, Value row, Value isThere, int64_t width,
    llvm::function_ref<void(Value column, Value bits)> put) {
  Value zero = arith::ConstantIntOp::create(b_, 0, 16);
  Value base = add(rows.base, mul(row, rows.stride));
  loop(lane_, number(width), number(rt::warpSize), [&](Value column) {
    Value inside = make<arith::AndIOp>(isThere, isLess(column, rows.columns));
    put(column, valueWhen(inside, zero, [&] {
          return loadBits(rows.pointer, add(base, column));
        }));
  });
}

SmallVector<Value> TensorPairs::products(Value own, Value coming, int64_t pitch,
                                         int64_t depthTiles) {
  Value zero = arith::ConstantOp::create(b_, b_.getF32FloatAttr(0));
  Values sums(size_t(4 * resultTiles), zero);
  Value first = add(mul(group_, number(pitch)), pair_);
  own = add(own, first);
  coming = add(coming, first);
  for (int64_t s = 0; s < depthTiles; ++s) {
    auto at = [&](Value from, int64_t rows, int64_t on) {
      return loadPair(
          add(from, number(rows * pitch + s * WarpProduct::depth + on)));
    };
    Values a = {at(own, 0, 0), at(own, 8, 0), at(own, 0, 8), at(own, 8, 8)};
    for (int64_t n = 0; n < resultTiles; ++n) {
      int64_t rows = n * WarpProduct::columns;
      Values b = {at(coming, rows, 0), at(coming, rows, 8)};
      Values next = product_.add(a, b, ArrayRef(sums).slice(size_t(4 * n), 4));
      llvm::copy(next, sums.begin() + 4 * n);
    }
  }
  return sums;
}

SmallVector<Value> TensorPairs::weigh(ValueRange weights, Value columns,
                                      int64_t pitch, ValueRange sums) {
  Values all(sums);
  Value first = add(columns, add(mul(group_, number(pitch)), pair_));
  for (int64_t s = 0; s < weightTiles; ++s) {
    Values a;
    for (int64_t on : {0, 1}) { // of two tiles of results
      for (int64_t half : {0, 1}) {
        size_t at = size_t(4 * (2 * s + on) + 2 * half);
        a.push_back(product_.pack(weights[at], weights[at + 1]));
      }
    }
    for (size_t n = 0; n < all.size() / 4; ++n) {
      auto at = [&](int64_t on) {
        return loadPair(
            add(first, number(int64_t(n) * WarpProduct::columns * pitch +
                              s * WarpProduct::depth + on)));
      };
      Values next =
          product_.add(a, Values{at(0), at(8)}, ArrayRef(all).slice(4 * n, 4));
      llvm::copy(next, all.begin() + long(4 * n));
    }
  }
  return all;
}
