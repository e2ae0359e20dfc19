//===- Grid.cpp - Named axes of devices -----------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Layout/Grid.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/raw_ostream.h"

#include <numeric>

using namespace llvm;

namespace divisi {

std::string GridAxis::sizeText() const {
  std::string text = std::to_string(size);
  if (!weights.empty()) {
    raw_string_ostream os(text);
    os << ":[";
    interleave(weights, os, ",");
    os << ']';
  }
  return text;
}

/// Equal ratios are equal weights. What is illegal is left for verify().
static void reduceWeights(GridAxis &axis) {
  if (int64_t(axis.weights.size()) != axis.size ||
      any_of(axis.weights, [](int64_t weight) { return weight < 1; })) {
    return;
  }
  int64_t common = 0;
  for (int64_t weight : axis.weights) {
    common = std::gcd(common, weight);
  }
  for (int64_t &weight : axis.weights) {
    weight /= common;
  }
  if (all_equal(axis.weights)) {
    axis.weights.clear();
  }
}

Grid::Grid(ArrayRef<GridAxis> axes) : axes_(axes) {
  for_each(axes_, reduceWeights);
}

static std::optional<std::string> verifyWeights(const GridAxis &axis) {
  if (axis.weights.empty()) {
    return std::nullopt;
  }
  if (int64_t(axis.weights.size()) != axis.size) {
    return ("axis '" + Twine(axis.name) + "' has " +
            Twine(axis.weights.size()) + " weights, expected " +
            Twine(axis.size) + ", one per position")
        .str();
  }
  for (int64_t weight : axis.weights) {
    if (weight < 1 || weight > Grid::maxWeight) {
      return ("axis '" + Twine(axis.name) + "' has the weight " +
              Twine(weight) + ", expected 1 to " + Twine(Grid::maxWeight))
          .str();
    }
  }
  return std::nullopt;
}

std::optional<std::string> Grid::verify() const {
  int64_t positions = 1;
  for (auto [index, axis] : enumerate(axes_)) {
    if (axis.name.empty()) {
      return ("axis " + Twine(index) + " of the grid has no name").str();
    }
    if (*find(axis.name) != AxisId{uint32_t(index)}) {
      return ("the grid has two axes '" + Twine(axis.name) + "'").str();
    }
    if (axis.size < 1) {
      return ("axis '" + Twine(axis.name) + "' has size " + Twine(axis.size) +
              ", expected at least 1")
          .str();
    }
    if (axis.size > maxPositions / positions) {
      return ("the grid has more than " + Twine(maxPositions) + " positions")
          .str();
    }
    positions *= axis.size;
    if (std::optional<std::string> error = verifyWeights(axis)) {
      return error;
    }
  }
  return std::nullopt;
}

int64_t Grid::numPositions() const {
  int64_t count = 1;
  for (const GridAxis &axis : axes_) {
    count *= axis.size;
  }
  return count;
}

int64_t Grid::product(ArrayRef<AxisId> axes) const {
  int64_t count = 1;
  for (AxisId axis : axes) {
    count *= size(axis);
  }
  return count;
}

bool Grid::isWeighted(ArrayRef<AxisId> axes) const {
  return any_of(
      axes, [&](AxisId axis) { return !axes_[axis.index].weights.empty(); });
}

std::optional<AxisId> Grid::find(StringRef name) const {
  for (auto [index, axis] : enumerate(axes_)) {
    if (axis.name == name) {
      return AxisId{uint32_t(index)};
    }
  }
  return std::nullopt;
}

SmallVector<int64_t, 4> Grid::coordinates(int64_t position) const {
  SmallVector<int64_t, 4> result(axes_.size());
  for (size_t index = axes_.size(); index-- > 0;) {
    result[index] = position % axes_[index].size;
    position /= axes_[index].size;
  }
  return result;
}

int64_t Grid::shardIndex(int64_t position, ArrayRef<AxisId> axes) const {
  if (axes.empty()) {
    return 0;
  }
  SmallVector<int64_t, 4> coordinate = coordinates(position);
  int64_t index = 0;
  for (AxisId axis : axes) {
    index = index * size(axis) + coordinate[axis.index];
  }
  return index;
}

SmallVector<int64_t, 8> Grid::group(int64_t position,
                                    ArrayRef<AxisId> axes) const {
  // How far apart two neighbours along each axis stand.
  SmallVector<int64_t, 4> stride(axes_.size(), 1);
  for (size_t index = axes_.size(); index-- > 1;) {
    stride[index - 1] = stride[index] * axes_[index].size;
  }
  SmallVector<int64_t, 4> coordinate = coordinates(position);
  int64_t first = position;
  for (AxisId axis : axes) {
    first -= coordinate[axis.index] * stride[axis.index];
  }
  SmallVector<int64_t, 8> members = {first};
  for (AxisId axis : axes) {
    SmallVector<int64_t, 8> finer;
    for (int64_t member : members) {
      for (int64_t step = 0; step < size(axis); ++step) {
        finer.push_back(member + step * stride[axis.index]);
      }
    }
    members = std::move(finer);
  }
  return members;
}

/// Counts like an odometer over `axes`.
void Grid::forCoordinates(ArrayRef<AxisId> axes,
                          function_ref<void(ArrayRef<int64_t>)> visit) const {
  SmallVector<int64_t, 8> coordinate(numAxes(), 0);
  while (true) {
    visit(coordinate);
    size_t place = axes.size();
    while (place > 0) {
      int64_t &digit = coordinate[axes[place - 1].index];
      if (++digit < size(axes[place - 1])) {
        break;
      }
      digit = 0;
      --place;
    }
    if (place == 0) {
      return;
    }
  }
}

void Grid::print(raw_ostream &os) const {
  os << '(';
  interleaveComma(axes_, os, [&](const GridAxis &axis) {
    os << axis.name << '=' << axis.sizeText();
  });
  os << ')';
}

} // namespace divisi
