//===- Box.cpp - Boxes of tensors, and copies between them ----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/device/Box.h"

#include <algorithm>
#include <cstring>

using namespace divisi::rt;

int64_t Box::count() const {
  int64_t count = 1;
  for (size_t d = 0; d < rank(); ++d) {
    count *= end[d] - begin[d];
  }
  return count;
}

Dims Box::extents() const {
  Dims extents(rank());
  for (size_t d = 0; d < rank(); ++d) {
    extents[d] = end[d] - begin[d];
  }
  return extents;
}

Box Box::whole(const Dims &dims) { return {Dims(dims.size(), 0), dims}; }

Box divisi::rt::intersect(const Box &a, const Box &b) {
  Box common = a;
  for (size_t d = 0; d < a.rank(); ++d) {
    common.begin[d] = std::max(a.begin[d], b.begin[d]);
    common.end[d] = std::max(common.begin[d], std::min(a.end[d], b.end[d]));
  }
  return common;
}

bool divisi::rt::contains(const Box &outer, const Box &inner) {
  if (inner.empty()) {
    return true;
  }
  for (size_t d = 0; d < outer.rank(); ++d) {
    if (inner.begin[d] < outer.begin[d] || inner.end[d] > outer.end[d]) {
      return false;
    }
  }
  return true;
}

void divisi::rt::subtract(const Box &box, const Box &cut,
                          std::vector<Box> &rest) {
  Box common = intersect(box, cut);
  if (common.empty()) {
    if (!box.empty()) {
      rest.push_back(box);
    }
    return;
  }
  // Peel off the two sides of each dimension, the outermost first, so that the
  // pieces are as contiguous as can be.
  Box core = box;
  for (size_t d = 0; d < box.rank(); ++d) {
    if (core.begin[d] < common.begin[d]) {
      rest.push_back(core);
      rest.back().end[d] = common.begin[d];
    }
    if (common.end[d] < core.end[d]) {
      rest.push_back(core);
      rest.back().begin[d] = common.end[d];
    }
    core.begin[d] = common.begin[d];
    core.end[d] = common.end[d];
  }
}

Dims divisi::rt::denseStrides(int64_t width, const Dims &extents) {
  Dims strides(extents.size());
  for (size_t d = extents.size(); d-- > 0;) {
    strides[d] = width;
    width *= extents[d];
  }
  return strides;
}

BoxCopy::BoxCopy(int64_t width, const Box &piece, const Box &source,
                 const Box &result)
    : BoxCopy(width, piece, source, denseStrides(width, source.extents()),
              result, denseStrides(width, result.extents())) {}

BoxCopy::BoxCopy(int64_t width, const Box &piece, const Box &source,
                 const Dims &sourceStrides, const Box &result,
                 const Dims &resultStrides) {
  bytes_ = piece.count() * width;
  runBytes_ = width;
  if (bytes_ == 0) {
    return;
  }
  for (size_t d = piece.rank(); d-- > 0;) {
    sourceOffset_ += (piece.begin[d] - source.begin[d]) * sourceStrides[d];
    resultOffset_ += (piece.begin[d] - result.begin[d]) * resultStrides[d];
    addDim(piece.end[d] - piece.begin[d], sourceStrides[d], resultStrides[d]);
  }
  std::reverse(loops_.begin(), loops_.end());
}

/// Innermost first. A dimension joins the run or the loop inside of it where it
/// goes on exactly where that one ends, on both sides.
void BoxCopy::addDim(int64_t count, int64_t sourceStride,
                     int64_t resultStride) {
  if (count == 1) {
    return;
  }
  bool joinsRun =
      loops_.empty() && sourceStride == runBytes_ && resultStride == runBytes_;
  bool joinsLoop =
      !loops_.empty() &&
      sourceStride == loops_.back().count * loops_.back().sourceStride &&
      resultStride == loops_.back().count * loops_.back().resultStride;
  if (joinsRun) {
    runBytes_ *= count;
  } else if (joinsLoop) {
    loops_.back().count *= count;
  } else {
    loops_.push_back({count, sourceStride, resultStride});
  }
}

void BoxCopy::run(const std::byte *source, std::byte *result) const {
  // Fixed sizes let the compiler move single elements without a call.
  auto copyRuns = [&](auto copyOne) {
    forEachRun([&](int64_t from, int64_t to, int64_t bytes) {
      copyOne(result + to, source + from, bytes);
    });
  };
  switch (runBytes_) {
  case 4:
    return copyRuns([](std::byte *to, const std::byte *from, int64_t) {
      std::memcpy(to, from, 4);
    });
  case 8:
    return copyRuns([](std::byte *to, const std::byte *from, int64_t) {
      std::memcpy(to, from, 8);
    });
  default:
    return copyRuns([](std::byte *to, const std::byte *from, int64_t bytes) {
      std::memcpy(to, from, bytes);
    });
  }
}

bool divisi::rt::planFetches(int64_t width, const Box &result,
                             std::span<const Box> owners,
                             std::span<const size_t> order,
                             std::vector<Fetch> &fetches) {
  std::vector<Box> missing, rest;
  if (!result.empty()) {
    missing.push_back(result);
  }
  for (size_t owner : order) {
    if (missing.empty()) {
      break;
    }
    rest.clear();
    for (const Box &piece : missing) {
      Box common = intersect(piece, owners[owner]);
      if (!common.empty()) {
        fetches.push_back(
            {owner, BoxCopy(width, common, owners[owner], result)});
      }
      subtract(piece, common, rest);
    }
    std::swap(missing, rest);
  }
  return missing.empty();
}
