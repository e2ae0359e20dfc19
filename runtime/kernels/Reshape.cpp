//===- Reshape.cpp - Reshapes of boxes ------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/Reshape.h"
#include "divisi/runtime/kernels/Nest.h"

namespace divisi::rt {
namespace {

/// Dimensions [begin, end) of both sides.
struct Segment {
  size_t operandBegin = 0, operandEnd = 0;
  size_t resultBegin = 0, resultEnd = 0;
};

/// An interval of row-major indices.
struct Interval {
  int64_t begin = 0, end = 0;
  bool operator==(const Interval &) const = default;
};

} // namespace

/// The segments, or nothing if the products differ. Trailing ones of either
/// side join the last segment. Extents of 0 give one segment.
static std::optional<std::vector<Segment>> findSegments(const Dims &from,
                                                        const Dims &to) {
  std::vector<Segment> segments;
  if (numElements(from) != numElements(to)) {
    return std::nullopt;
  }
  if (numElements(from) == 0) {
    return std::vector<Segment>{{0, from.size(), 0, to.size()}};
  }
  Segment segment;
  int64_t left = 1, right = 1;
  size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    if (j == to.size() || (i < from.size() && left <= right)) {
      left *= from[i++];
    } else {
      right *= to[j++];
    }
    if (left == right && left != 1) {
      segment.operandEnd = i;
      segment.resultEnd = j;
      segments.push_back(segment);
      segment = {i, i, j, j};
      left = right = 1;
    }
  }
  if (segments.empty()) {
    segments.push_back({0, 0, 0, 0});
  }
  segments.back().operandEnd = from.size();
  segments.back().resultEnd = to.size();
  return segments;
}

/// The box of dimensions [begin, end) as an interval, if it is one: leading
/// extents of 1, then any range, then whole dimensions.
static std::optional<Interval> findInterval(const TensorInfo &info,
                                            size_t begin, size_t end) {
  int64_t first = 0, count = 1;
  bool single = true;
  for (size_t d = begin; d < end; ++d) {
    bool whole = info.extents[d] == info.global[d];
    if (!single && !whole) {
      return std::nullopt;
    }
    first = first * info.global[d] + info.offset[d];
    count *= info.extents[d];
    single &= info.extents[d] == 1;
  }
  return Interval{first, first + count};
}

bool reshapeKeepsBytes(const TensorInfo &operand, const TensorInfo &result) {
  auto segments = findSegments(operand.global, result.global);
  if (!segments || operand.type != result.type) {
    return false;
  }
  for (const Segment &segment : *segments) {
    auto from = findInterval(operand, segment.operandBegin, segment.operandEnd);
    auto to = findInterval(result, segment.resultBegin, segment.resultEnd);
    if (!from || !to || *from != *to) {
      return false;
    }
  }
  return true;
}

/// The table of one segment: the result's indices in the segment, row-major,
/// as elements of the operand.
static bool makeTable(const CallSite &site, const Checks &checks,
                      const Segment &segment, const Dims &strides,
                      Dims &table) {
  const TensorInfo &from = site.operands[0], &to = site.results[0];
  int64_t count = 1;
  for (size_t d = segment.resultBegin; d < segment.resultEnd; ++d) {
    count *= to.extents[d];
  }
  table.resize(count);
  for (int64_t i = 0; i < count; ++i) {
    // Local index → global position in the segment → operand's indices.
    int64_t rest = i, position = 0, weight = 1;
    for (size_t d = segment.resultEnd; d-- > segment.resultBegin;) {
      position += (rest % to.extents[d] + to.offset[d]) * weight;
      rest /= to.extents[d];
      weight *= to.global[d];
    }
    for (size_t d = segment.operandEnd; d-- > segment.operandBegin;) {
      int64_t index = position % from.global[d];
      position /= from.global[d];
      if (!checks.covers(0, d, index, index + 1)) {
        return false;
      }
      table[i] += (index - from.offset[d]) * strides[d];
    }
  }
  return true;
}

bool makeReshapeMap(const CallSite &site, const Checks &checks,
                    ReshapeMap &map) {
  const TensorInfo &from = site.operands[0], &to = site.results[0];
  auto segments = findSegments(from.global, to.global);
  if (!segments) {
    return checks.fail("cannot reshape " + stringify(from.global) + " to " +
                       stringify(to.global));
  }
  Dims strides = rowMajorStrides(from.extents);
  for (const Segment &segment : *segments) {
    Dims table;
    if (to.count() != 0 && !makeTable(site, checks, segment, strides, table)) {
      return false;
    }
    map.offsets.push_back(std::move(table));
  }
  return true;
}

template <typename T>
static void runMap(const std::vector<Dims> &offsets, size_t segment,
                   int64_t base, T *&to, const T *from) {
  if (segment + 1 == offsets.size()) {
    for (int64_t offset : offsets[segment]) {
      *to++ = from[base + offset];
    }
    return;
  }
  for (int64_t offset : offsets[segment]) {
    runMap(offsets, segment + 1, base + offset, to, from);
  }
}

template <typename T>
static void runMap(const std::vector<Dims> &offsets, void *to,
                   const void *from) {
  T *out = static_cast<T *>(to);
  runMap(offsets, 0, 0, out, static_cast<const T *>(from));
}

void ReshapeMap::run(int64_t width, void *to, const void *from) const {
  switch (width) {
  case 1:
    return runMap<uint8_t>(offsets, to, from);
  case 2:
    return runMap<uint16_t>(offsets, to, from);
  case 4:
    return runMap<uint32_t>(offsets, to, from);
  default:
    return runMap<uint64_t>(offsets, to, from);
  }
}

} // namespace divisi::rt
