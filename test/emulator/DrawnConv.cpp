//===- DrawnConv.cpp - Convolutions to be tried ---------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/emulator/DrawnConv.h"

#include "divisi/runtime/kernels/Nest.h"

#include <algorithm>

using namespace divisi;
using namespace divisi::rt;
using namespace divisi::test;

using Call = GpuCall;

namespace {

/// A part of a dimension.
struct Interval {
  int64_t begin = 0, end = 0, global = 0;

  static Interval whole(int64_t extent) { return {0, extent, extent}; }
  int64_t extent() const { return end - begin; }
};

/// One spatial dimension of a convolution, or of its gradient.
struct Slide {
  int64_t taps, stride, dilation, low, high;
  Interval data, image; ///< What the convolution reads, and makes.
};

} // namespace

static Interval drawPart(Random &random, int64_t extent) {
  Interval part = Interval::whole(extent);
  if (random() % 2 == 0) {
    part.begin = draw(random, 0, extent - 1);
    part.end = draw(random, part.begin + 1, extent);
  }
  return part;
}

/// `part`, of which no index lies outside, with some around it; one index if
/// that has none.
static Interval widen(Random &random, Interval part) {
  part.begin = std::clamp<int64_t>(part.begin, 0, part.global - 1);
  part.end = std::clamp<int64_t>(part.end, part.begin + 1, part.global);
  if (random() % 3 == 0) {
    part.begin = std::max<int64_t>(0, part.begin - draw(random, 0, 2));
    part.end = std::min(part.global, part.end + draw(random, 0, 2));
  }
  return part;
}

static Slide drawSlide(Random &random) {
  Slide slide;
  slide.taps = draw(random, 1, 3);
  slide.stride = draw(random, 1, 3);
  slide.dilation = draw(random, 1, 2);
  slide.low = draw(random, 0, 2);
  slide.high = random() % 2 == 0 ? slide.low : draw(random, 0, 2);
  int64_t reach = (slide.taps - 1) * slide.dilation + 1;
  int64_t least = std::max<int64_t>(1, reach - slide.low - slide.high);
  slide.data = Interval::whole(draw(random, least, least + 8));
  int64_t padded = slide.low + slide.data.global + slide.high;
  slide.image = Interval::whole((padded - reach) / slide.stride + 1);
  return slide;
}

/// Lets the image be a part, and the data what that reads.
static void drawImage(Random &random, Slide &slide) {
  slide.image = drawPart(random, slide.image.global);
  slide.data.begin = slide.image.begin * slide.stride - slide.low;
  slide.data.end = (slide.image.end - 1) * slide.stride - slide.low +
                   (slide.taps - 1) * slide.dilation + 1;
  slide.data = widen(random, slide.data);
}

/// The same of a gradient.
static void drawData(Random &random, Slide &slide) {
  slide.data = drawPart(random, slide.data.global);
  int64_t span = (slide.taps - 1) * slide.dilation;
  slide.image.begin =
      ceilDiv(slide.data.begin + slide.low - span, slide.stride);
  slide.image.end = (slide.data.end - 1 + slide.low) / slide.stride + 1;
  slide.image = widen(random, slide.image);
}

static void addDim(TensorInfo &info, const Interval &part) {
  info.extents.push_back(part.extent());
  info.offset.push_back(part.begin);
  info.global.push_back(part.global);
}

/// Channels of the data, features, and channels of the weights.
static void drawChannels(Random &random, bool isGradient, int64_t groups,
                         Interval &channels, Interval &features,
                         Interval &perGroup) {
  perGroup = Interval::whole(draw(random, 1, 4));
  int64_t ofGroup = draw(random, 1, 4);
  features = Interval::whole(groups * ofGroup);
  channels = Interval::whole(groups * perGroup.global);
  if (isGradient) {
    channels = drawPart(random, channels.global);
    if (groups == 1) { // the others' sums are elsewhere
      features = drawPart(random, features.global);
    }
    return;
  }
  features = drawPart(random, features.global);
  perGroup = drawPart(random, perGroup.global);
  if (groups == 1) {
    channels = widen(random, perGroup);
    channels.global = perGroup.global;
  }
}

/// A convolution, or a gradient of one, of up to three dimensions, on boxes
/// that may have more than is wanted.
Call divisi::test::drawConv(Random &random, bool isGradient) {
  static constexpr DType types[] = {DType::F32, DType::F16, DType::BF16};
  DType type = types[random() % 3];
  int64_t groups = random() % 2 == 0 ? 1 : draw(random, 2, 4);
  Interval channels, features, perGroup;
  drawChannels(random, isGradient, groups, channels, features, perGroup);
  Interval images = drawPart(random, 3);
  TensorInfo data{type}, weights{type}, image{type};
  addDim(data, images);
  addDim(image, images);
  addDim(data, channels);
  addDim(image, features);
  Interval held = isGradient ? features : widen(random, features);
  addDim(weights, held);
  addDim(weights, isGradient ? Interval::whole(perGroup.global) : perGroup);
  Dims strides, dilations, low, high, extents;
  for (int64_t d = draw(random, 1, 3); d > 0; --d) {
    Slide slide = drawSlide(random);
    extents.push_back(slide.data.global);
    isGradient ? drawData(random, slide) : drawImage(random, slide);
    addDim(data, slide.data);
    addDim(image, slide.image);
    addDim(weights, Interval::whole(slide.taps));
    strides.push_back(slide.stride);
    dilations.push_back(slide.dilation);
    low.push_back(slide.low);
    high.push_back(slide.high);
  }
  Call call{isGradient ? "nn.conv_dgrad" : "nn.conv", {}, {}, {}, {}};
  call.attributes.set("strides", strides);
  call.attributes.set("dilations", dilations);
  call.attributes.set("pads_lo", low);
  call.attributes.set("groups", groups);
  call.attributes.set(isGradient ? "extents" : "pads_hi",
                      isGradient ? extents : high);
  call.operands = {isGradient ? image : data, weights};
  call.results = {isGradient ? data : image};
  return call;
}

std::vector<Bytes> divisi::test::drawOperands(const Call &call,
                                              Random &random) {
  std::vector<Bytes> values;
  for (const TensorInfo &operand : call.operands) {
    values.push_back(drawValues(operand, random));
  }
  return values;
}

Call divisi::test::makeConv(DType type, Dims x, Dims w, Dims y, Dims stride,
                            Dims low, Dims high, int64_t groups) {
  Call call{"nn.conv", {}, {}, {}, {}};
  call.attributes.set("strides", std::move(stride));
  call.attributes.set("dilations", Dims(x.size() - 2, 1));
  call.attributes.set("pads_lo", std::move(low));
  call.attributes.set("pads_hi", std::move(high));
  call.attributes.set("groups", groups);
  call.operands = {TensorInfo::whole(type, std::move(x)),
                   TensorInfo::whole(type, std::move(w))};
  call.results = {TensorInfo::whole(type, std::move(y))};
  return call;
}
