//===- RegionShapes.cpp - The same region on other shapes -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Codegen/RegionShapes.h"

#include <algorithm>

using namespace divisi;
using namespace divisi::test;

RegionShapes::RegionShapes(const RegionCall &call) : call_(call) {
  auto numOperands = static_cast<int>(call.operands.size());
  auto numParts = static_cast<int>(call.region.parts.size());
  for (int value = 0; value < numOperands + numParts; ++value) {
    begins_.push_back(static_cast<int>(extents_.size()));
    for (int64_t global : infoOf(value).global) {
      extents_.push_back({.isOne = global == 1});
    }
  }
  for (int part = 0; part < numParts; ++part) {
    addPart(numOperands + part, call.region.parts[part]);
  }
}

const rt::TensorInfo &RegionShapes::infoOf(int value) const {
  size_t number = value, operands = call_.operands.size();
  return number < operands ? call_.operands[number]
                           : call_.region.parts[number - operands].results[0];
}

int RegionShapes::extentOf(int value, size_t dim) const {
  int extent = begins_[value] + static_cast<int>(dim);
  while (extents_[extent].equal >= 0) {
    extent = extents_[extent].equal;
  }
  return extent;
}

/// Says that two dimensions are equal; what is known of one holds of both.
void RegionShapes::join(int a, int b) {
  if (a == b) {
    return;
  }
  auto [first, second] = std::minmax(a, b);
  Extent &kept = extents_[first], &other = extents_[second];
  kept.isWhole |= other.isWhole;
  kept.joined.insert(kept.joined.end(), other.joined.begin(),
                     other.joined.end());
  other.equal = first;
}

void RegionShapes::addPart(int value, const rt::RegionPart &part) {
  const rt::TensorInfo &made = infoOf(value);
  bool joins = part.op == "nn.concat";
  int64_t axis = part.attributes.getInt("axis", -1);
  std::vector<int> joined;
  for (int operand : part.operands) {
    const rt::TensorInfo &read = infoOf(operand);
    size_t missing = made.rank() - read.rank();
    for (size_t d = 0; d < read.rank(); ++d) {
      int from = extentOf(operand, d), to = extentOf(value, missing + d);
      if (joins && static_cast<int64_t>(d) == axis) {
        extents_[from].isWhole = true;
        joined.push_back(from);
      } else if (read.global[d] != 1) {
        join(from, to);
      }
    }
  }
  rt::Dims whole = part.attributes.getInts("axes");
  if (joins || part.op == "nn.softmax") {
    whole = {axis};
  }
  for (int64_t d : whole) {
    extents_[extentOf(value, d)].isWhole = true;
  }
  if (joins) {
    extents_[extentOf(value, axis)].joined = std::move(joined);
  }
}

static int64_t below(std::mt19937 &random, int64_t end) {
  return std::uniform_int_distribution<int64_t>(0, end - 1)(random);
}

/// Per dimension; those that are equal to an earlier one have none.
std::vector<RegionShapes::Interval>
RegionShapes::drawExtents(std::mt19937 &random, int64_t most, Box box) const {
  static constexpr int64_t odd[] = {2,  3,  5,  7,   13,  16,  17,  31,  32, 33,
                                    47, 49, 64, 65,  77,  96,  97,  128, 129,
                                    197, 255, 257, 513, 768, 1000, 3001};
  std::vector<Interval> drawn(extents_.size());
  std::vector<int> open;
  for (size_t e = 0; e < extents_.size(); ++e) {
    const Extent &extent = extents_[e];
    if (extent.isOne) {
      drawn[e] = {1, 0, 1};
    } else if (extent.equal < 0 && extent.joined.empty()) {
      open.push_back(static_cast<int>(e));
    }
  }
  std::shuffle(open.begin(), open.end(), random);
  bool isEmpty = false;
  for (int e : open) {
    const auto *end = std::upper_bound(std::begin(odd), std::end(odd), most);
    int64_t choices = std::max<int64_t>(end - std::begin(odd), 1);
    int64_t global = odd[below(random, choices)];
    // Neighbours have two elements at least.
    most = std::max<int64_t>(most / global, 2);
    Interval &interval = drawn[e] = {global, 0, global};
    if (!extents_[e].isWhole && box != Box::Whole) {
      bool takesNone = box == Box::Empty && !isEmpty;
      isEmpty |= takesNone;
      interval.extent = takesNone ? 0 : 1 + below(random, global);
      interval.offset = below(random, global - interval.extent + 1);
    }
  }
  for (size_t e = 0; e < extents_.size(); ++e) {
    for (int part : extents_[e].joined) {
      int root = part;
      while (extents_[root].equal >= 0) {
        root = extents_[root].equal;
      }
      drawn[e].extent += drawn[root].extent;
      drawn[e].global += drawn[root].global;
    }
  }
  return drawn;
}

RegionCall RegionShapes::draw(std::mt19937 &random, int64_t mostElements,
                              Box box) const {
  std::vector<Interval> extents = drawExtents(random, mostElements, box);
  RegionCall call = call_;
  auto set = [&](rt::TensorInfo &info, int value) {
    for (size_t d = 0; d < info.rank(); ++d) {
      const Interval &interval = extents[extentOf(value, d)];
      info.extents[d] = interval.extent;
      info.offset[d] = interval.offset;
      info.global[d] = interval.global;
    }
  };
  auto operands = static_cast<int>(call.operands.size());
  for (int value = 0; value < operands; ++value) {
    set(call.operands[value], value);
  }
  for (size_t p = 0; p < call.region.parts.size(); ++p) {
    set(call.region.parts[p].results[0], operands + static_cast<int>(p));
  }
  for (size_t r = 0; r < call.results.size(); ++r) {
    set(call.results[r], call.region.results[r]);
  }
  return call;
}
