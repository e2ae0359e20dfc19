//===- GridConvolution.cpp - Convolutions by threads ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/code/GridConvolution.h"
#include "divisi/runtime/code/GridCode.h"
#include "divisi/runtime/kernels/Element.h"
#include "runtime/kernels/ConvBoxes.h"
#include "runtime/kernels/Formats.h"
#include "runtime/kernels/Integer.h"

using namespace divisi;
using namespace divisi::rt;

/// What channels and features are: dimension 1 and 0 of weights, or, of a
/// gradient, the other way round.
static void addChannels(const CallSite &site, GridConvolution &made) {
  using enum GridConvolution::Number;
  const TensorInfo &x = site.operands[0], &w = site.operands[1];
  const TensorInfo &y = site.results[0];
  Dims strides = rowMajorStrides(w.extents);
  size_t summed = made.isGradient ? 0 : 1, own = 1 - summed;
  int64_t groups = site.attributes.getInt("groups");
  auto &numbers = made.numbers;
  numbers[SummedStride] = rowMajorStrides(x.extents)[1];
  numbers[SummedOffset] = x.offset[1];
  numbers[SummedPerGroup] = x.global[1] / groups;
  numbers[SummedBegin] = w.offset[summed];
  numbers[SummedEnd] = w.offset[summed] + w.extents[summed];
  numbers[SummedWeightStride] = strides[summed];
  numbers[FirstResult] = y.offset[1];
  numbers[ResultPerGroup] = y.global[1] / groups;
  numbers[ResultBegin] = w.offset[own];
  numbers[ResultWeightStride] = strides[own];
}

/// The spatial dimensions, whose attributes the reference has checked.
static void addDims(const CallSite &site, GridConvolution &made) {
  const TensorInfo &x = site.operands[0], &w = site.operands[1];
  const TensorInfo &y = site.results[0];
  const Dims &steps = *site.attributes.find<Dims>("strides");
  const Dims &dilations = *site.attributes.find<Dims>("dilations");
  const Dims &low = *site.attributes.find<Dims>("pads_lo");
  Dims strides = rowMajorStrides(x.extents);
  int64_t taps = 1;
  for (size_t i = 0; i < w.rank() - 2; ++i) {
    size_t d = i + 2;
    int64_t first = made.isGradient ? y.offset[d] + low[i]
                                    : y.offset[d] * steps[i] - low[i];
    made.dims.push_back({first, steps[i], dilations[i], w.global[d],
                         x.global[d], x.offset[d], strides[d]});
    taps *= w.global[d];
  }
  made.numbers[GridConvolution::Taps] = taps;
}

std::optional<GridConvolution> GridConvolution::of(const CallSite &site) {
  GridConvolution made;
  made.isGradient = site.op == "nn.conv_dgrad";
  made.hasCodes = site.op == "nn.conv_integer";
  if ((!made.isGradient && !made.hasCodes && site.op != "nn.conv") ||
      site.region || site.operands.size() != 2 || site.results.size() != 1 ||
      hasFormats(site)) {
    return std::nullopt;
  }
  std::string ignored;
  if (made.hasCodes) {
    WideCall wide(site);
    if (!checkCodes(site, wide, Checks(site, ignored), made.zeros) ||
        !isConvolution(wide.site)) {
      return std::nullopt;
    }
  } else if (!isConvolution(site) ||
             (typeBit(site.operands[0].type) & (Floats | Ints)) == 0) {
    return std::nullopt;
  }
  const TensorInfo &x = site.operands[0], &y = site.results[0];
  made.types = {x.type, site.operands[1].type};
  made.to = y.type;
  made.extents = y.extents;
  made.numbers[Count] = y.count();
  made.numbers[ImageStride] = rowMajorStrides(x.extents)[0];
  made.base = (y.offset[0] - x.offset[0]) * made.numbers[ImageStride];
  addChannels(site, made);
  addDims(site, made);
  return made;
}

std::string GridConvolution::structure() const {
  return std::string(isGradient ? "spread " : "convolve ") +
         std::string(stringify(types[0])) + " by " +
         std::string(stringify(types[1])) + " to " +
         std::string(stringify(to)) + ", " + std::to_string(dims.size()) +
         " dims" + (hasCodes ? ", zero points" : "");
}

GridLaunch GridConvolution::launch() const {
  GridLaunch launch = launchElements(numbers[Count]);
  launch.pointers = {{2}, {0, base * byteWidth(types[0])}, {1}};
  launch.numbers.assign(numbers.begin(), numbers.end());
  if (hasCodes) {
    launch.addNumbers({zeros[0], zeros[1]});
  }
  launch.addNumbers(extents);
  for (const auto &dim : dims) {
    launch.addNumbers({dim.begin(), dim.end()});
  }
  return launch;
}
