//===- EmitWindows.cpp - Windows in blocks of threads ---------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/ElementBuilder.h"
#include "lib/Codegen/EmitElements.h"
#include "lib/Codegen/TypedFunctions.h"

using namespace mlir;
using namespace divisi;

using rt::GridPool;
using rt::GridResample;

namespace {

/// Emits what one thread does.
class PoolEmitter : ElementBuilder {
public:
  PoolEmitter(ImplicitLocOpBuilder &builder, const GridPool &pool,
              ValueRange arguments)
      : ElementBuilder(builder, arguments), pool_(pool),
        type_(computedAs(pool.to)) {}
  void emit();

private:
  /// The numbers of one dimension (GridPool::numbersOfDim).
  struct Dim {
    Value first, stride, dilation, taps, global, offset, step;
  };

  Value tapsFrom(size_t d, Value place, Value sum);
  Value withTap(size_t d, Value tap, Value place, Value sum);

  const GridPool &pool_;
  rt::DType type_;
  Value from_;
  SmallVector<Dim> dims_;
  Values indices_; ///< Of the element, by dimension.
};

} // namespace

/// `sum` with all taps of the dimensions from `d` on; the others' are chosen.
Value PoolEmitter::tapsFrom(size_t d, Value place, Value sum) {
  if (d == dims_.size()) {
    Value element = loadAs(from_, pool_.from, type_, place);
    return call(pool_.isMax ? Function::Max : Function::Add, type_,
                {sum, element});
  }
  if (pool_.window[d].taps == 1) {
    return withTap(d, number(0), place, sum);
  }
  return loop(number(0), dims_[d].taps, number(1), sum,
              [&](Value tap, ValueRange last) -> Values {
                return {withTap(d, tap, place, last[0])};
              })[0];
}

/// The same with one tap, which may be padding.
Value PoolEmitter::withTap(size_t d, Value tap, Value place, Value sum) {
  const Dim &dim = dims_[d];
  Value at =
      add(add(dim.first, mul(indices_[d], dim.stride)), mul(tap, dim.dilation));
  return valueWhen(isInside(at, dim.global), sum, [&] {
    return tapsFrom(d + 1, add(place, mul(sub(at, dim.offset), dim.step)), sum);
  });
}

void PoolEmitter::emit() {
  Value to = take();
  from_ = take();
  Value count = take();
  ValueRange extents = take(pool_.order.size());
  for (size_t d = 0; d < pool_.order.size(); ++d) {
    ValueRange own = take(GridPool::numbersOfDim);
    dims_.push_back({own[0], own[1], own[2], own[3], own[4], own[5], own[6]});
  }
  Value neutral = pool_.isMax ? lowest(type_) : zero(type_);
  forOwn(count, [&](Value index) {
    Values stored = indicesOf(index, extents);
    indices_.resize(stored.size());
    for (auto [dim, own] : llvm::zip_equal(pool_.order, stored)) {
      indices_[size_t(dim)] = own;
    }
    storeElement(tapsFrom(0, number(0), neutral), pool_.to, to, index);
  });
}

void divisi::emitKernel(ModuleOp module, const GridPool &pool) {
  ImplicitLocOpBuilder b(UnknownLoc::get(module.getContext()),
                         module.getContext());
  auto kernel = beginKernel(b, module, pool.pointerCount(), pool.numberCount());
  PoolEmitter(b, pool, kernel.getArguments()).emit();
}

namespace {

/// The same.
class ResampleEmitter : ElementBuilder {
public:
  ResampleEmitter(ImplicitLocOpBuilder &builder, const GridResample &resample,
                  ValueRange arguments, Value rows, Value weights)
      : ElementBuilder(builder, arguments), resample_(resample), rows_(rows),
        weights_(weights) {}
  void emit();

private:
  Value weigh(Value tap, Value place);

  const GridResample &resample_;
  Value rows_, weights_;
  Value from_, operandFirst_, rowStride_;
};

} // namespace

/// The sum over all taps of the index whose first one is `tap`, in f64.
Value ResampleEmitter::weigh(Value tap, Value place) {
  auto element = [&](Value own) {
    Value row = sub(load(rows_, b_.getI64Type(), own), operandFirst_);
    return loadElement(from_, resample_.type, add(place, mul(row, rowStride_)));
  };
  if (resample_.moves()) {
    return element(tap);
  }
  Value sum =
      loop(number(0), number(resample_.taps), number(1), zero(rt::DType::F64),
           [&](Value t, ValueRange last) -> Values {
             Value own = add(tap, t);
             Value value = cast(element(own), resample_.type, rt::DType::F64);
             Value weight = load(weights_, b_.getF64Type(), own);
             return {make<arith::AddFOp>(last[0],
                                         make<arith::MulFOp>(weight, value))};
           })[0];
  return cast(sum, rt::DType::F64, resample_.type);
}

void ResampleEmitter::emit() {
  size_t rank = resample_.extents.size();
  Value to = take();
  from_ = take();
  Value count = take();
  ValueRange extents = take(rank), strides = take(rank);
  Value first = take();
  operandFirst_ = take();
  rowStride_ = take();
  auto axis = size_t(llvm::find(resample_.order, int64_t(resample_.axis)) -
                     resample_.order.begin());
  forOwn(count, [&](Value index) {
    Values indices = indicesOf(index, extents);
    Value place = number(0);
    for (size_t d = 0; d < rank; ++d) {
      place = add(place, mul(indices[d], strides[d]));
    }
    Value tap = mul(add(first, indices[axis]), number(resample_.taps));
    storeElement(weigh(tap, place), resample_.type, to, index);
  });
}

void divisi::emitKernel(ModuleOp module, const GridResample &resample) {
  ImplicitLocOpBuilder b(UnknownLoc::get(module.getContext()),
                         module.getContext());
  auto kernel =
      beginKernel(b, module, resample.pointerCount(), resample.numberCount());
  auto size = int64_t(resample.rows.size());
  auto tensor = [&](Type element) {
    return RankedTensorType::get({size}, element);
  };
  Value rows =
      constantMemory(b, module, "rows",
                     DenseElementsAttr::get(tensor(b.getI64Type()),
                                            ArrayRef<int64_t>(resample.rows)));
  Value weights = constantMemory(
      b, module, "weights",
      DenseElementsAttr::get(tensor(b.getF64Type()),
                             ArrayRef<double>(resample.weights)));
  ResampleEmitter(b, resample, kernel.getArguments(), rows, weights).emit();
}
