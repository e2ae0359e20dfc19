//===- EmitConvolution.cpp - Convolutions by threads ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/ElementBuilder.h"
#include "lib/Codegen/EmitElements.h"
#include "lib/Codegen/StoredElements.h"

using namespace mlir;
using namespace divisi;

using rt::GridConvolution;

namespace {

/// Emits what one thread does.
class ConvolutionEmitter : ElementBuilder {
public:
  ConvolutionEmitter(ImplicitLocOpBuilder &builder,
                     const GridConvolution &convolution, ValueRange arguments);
  void emit();

private:
  /// The numbers of a spatial dimension (GridConvolution::numbersOfDim).
  struct Dim {
    Value first, stride, dilation, taps, global, offset, step;
  };
  /// An element of the operand, and of the weights.
  struct Place {
    Value operand, weight;
  };

  Value numberOf(GridConvolution::Number which) { return numbers_[which]; }
  Value elementOf(size_t operand, Value place);
  Value sumsFrom(Value image, Value result, ValueRange indices);
  Value tapsFrom(size_t d, Place place, Value tap, ValueRange indices,
                 Value sum);
  Value withTap(size_t d, Value tap, Value index, Value sum,
                llvm::function_ref<Value(Value at)> body);

  const GridConvolution &convolution_;
  Value to_, pointers_[2], zeros_[2];
  ValueRange numbers_, extents_;
  SmallVector<Dim> dims_;
};

} // namespace

ConvolutionEmitter::ConvolutionEmitter(ImplicitLocOpBuilder &builder,
                                       const GridConvolution &convolution,
                                       ValueRange arguments)
    : ElementBuilder(builder, arguments), convolution_(convolution) {
  to_ = take();
  pointers_[0] = take();
  pointers_[1] = take();
  numbers_ = take(GridConvolution::numNumbers);
  Type computed = storedElement(b_, computedAs(convolution.to));
  for (size_t operand = 0; convolution.hasCodes && operand < 2; ++operand) {
    zeros_[operand] = make<arith::TruncIOp>(computed, take());
  }
  extents_ = take(convolution.extents.size());
  for (size_t d = 0; d < convolution.dims.size(); ++d) {
    ValueRange own = take(GridConvolution::numbersOfDim);
    dims_.push_back({own[0], own[1], own[2], own[3], own[4], own[5], own[6]});
  }
}

/// Less its zero point.
Value ConvolutionEmitter::elementOf(size_t operand, Value place) {
  return loadAs(pointers_[operand], convolution_.types[operand],
                convolution_.to, place, zeros_[operand]);
}

/// `sum`, or what `body` makes of it if the tap meets the operand, in whose box
/// it has the index `at`.
Value ConvolutionEmitter::withTap(size_t d, Value tap, Value index, Value sum,
                                  llvm::function_ref<Value(Value at)> body) {
  const Dim &dim = dims_[d];
  Value far = mul(tap, dim.dilation);
  if (!convolution_.isGradient) {
    Value at = add(add(dim.first, mul(index, dim.stride)), far);
    return valueWhen(isInside(at, dim.global), sum,
                     [&] { return body(sub(at, dim.offset)); });
  }
  Value scaled = sub(add(dim.first, index), far);
  Value at = make<arith::DivSIOp>(scaled, dim.stride);
  Value isThere =
      both(isInside(scaled, mul(dim.global, dim.stride)),
           isEqual(mul(at, dim.stride), scaled)); // the stride meets it
  return valueWhen(isThere, sum, [&] { return body(sub(at, dim.offset)); });
}

/// `sum` with all taps of the dimensions from `d` on; the others' are chosen,
/// and `tap` counts them.
Value ConvolutionEmitter::tapsFrom(size_t d, Place place, Value tap,
                                   ValueRange indices, Value sum) {
  rt::DType type = convolution_.to;
  if (d == dims_.size()) {
    Value product = call(
        Function::Mul, type,
        {elementOf(1, add(place.weight, tap)), elementOf(0, place.operand)});
    return call(Function::Add, type, {sum, product});
  }
  return loop(number(0), dims_[d].taps, number(1), sum,
              [&](Value own, ValueRange last) -> Values {
                Value next = add(mul(tap, dims_[d].taps), own);
                return {withTap(d, own, indices[d], last[0], [&](Value at) {
                  Place there{add(place.operand, mul(at, dims_[d].step)),
                              place.weight};
                  return tapsFrom(d + 1, there, next, indices, last[0]);
                })};
              })[0];
}

/// Of a feature or channel `result` of the whole result.
Value ConvolutionEmitter::sumsFrom(Value image, Value result,
                                   ValueRange indices) {
  using enum GridConvolution::Number;
  Value group = make<arith::DivUIOp>(result, numberOf(ResultPerGroup));
  Value ofGroup = mul(group, numberOf(SummedPerGroup));
  Value inGroup = make<arith::RemUIOp>(result, numberOf(ResultPerGroup));
  // Weights have features of all groups, and the channels of each.
  bool isGradient = convolution_.isGradient;
  Value begin = numberOf(SummedBegin), end = numberOf(SummedEnd);
  if (isGradient) {
    begin = make<arith::MaxSIOp>(begin, ofGroup);
    end = make<arith::MinSIOp>(end, add(ofGroup, numberOf(SummedPerGroup)));
  }
  Value own = sub(isGradient ? inGroup : result, numberOf(ResultBegin));
  Value ofResult = mul(own, numberOf(ResultWeightStride));
  Value ofImage = mul(image, numberOf(ImageStride));
  return loop(begin, end, number(1), zero(convolution_.to),
              [&](Value summed, ValueRange last) -> Values {
                Value channel = isGradient ? summed : add(ofGroup, summed);
                channel = sub(channel, numberOf(SummedOffset));
                Value inBox = sub(summed, numberOf(SummedBegin));
                Place place{
                    add(ofImage, mul(channel, numberOf(SummedStride))),
                    add(ofResult, mul(inBox, numberOf(SummedWeightStride)))};
                return {tapsFrom(0, place, number(0), indices, last[0])};
              })[0];
}

void ConvolutionEmitter::emit() {
  using enum GridConvolution::Number;
  forOwn(numberOf(Count), [&](Value index) {
    Values indices = indicesOf(index, extents_);
    Value result = add(indices[1], numberOf(FirstResult));
    Value sum = sumsFrom(indices[0], result, ValueRange(indices).drop_front(2));
    storeElement(sum, convolution_.to, to_, index);
  });
}

void divisi::emitKernel(ModuleOp module, const GridConvolution &convolution) {
  ImplicitLocOpBuilder b(UnknownLoc::get(module.getContext()),
                         module.getContext());
  auto kernel = beginKernel(b, module, convolution.pointerCount(),
                            convolution.numberCount());
  ConvolutionEmitter(b, convolution, kernel.getArguments()).emit();
}
