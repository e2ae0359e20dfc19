//===- Operators.cpp - Whether positions do an operator's work ------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Operators.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cstdint>

using namespace divisi;
using namespace divisi::verify;

namespace {

/// Verifies one operator.
class OperatorVerifier {
public:
  OperatorVerifier(const LoopNest &nest, const Grid &grid, const Work &work)
      : nest_(nest), grid_(grid), work_(work) {}

  Complaint verifyWork() const;
  Complaint verifyOperand(size_t index, const Layout &layout) const;
  Complaint verifyResult(size_t index, const Layout &layout) const;

private:
  const Loop &loop(LoopId id) const { return nest_.loops[id.index]; }
  Interval iterations(LoopId id, const Coordinates &at) const {
    return partOf(grid_, loop(id).extent, work_.loopAxes[id.index], at);
  }
  bool isSplit(size_t loop) const {
    return !relevant(grid_, work_.loopAxes[loop]).empty();
  }
  bool isSummedLoop(size_t loop) const {
    LoopKind kind = nest_.loops[loop].kind;
    return kind == LoopKind::Reduction || kind == LoopKind::Indexed;
  }

  /// What the iterations of `at` touch of a dimension, or nothing if that is
  /// not one interval.
  std::optional<Interval> touched(const DimMap &map, int64_t extent,
                                  const Coordinates &at) const;
  std::optional<Interval> touchedProduct(const DimMap &map,
                                         const Coordinates &at) const;
  /// Whether a kernel would do other iterations if a position held more of a
  /// dimension of an operand.
  bool needsJustThat(const DimMap &map) const;
  /// Each position holds in each dimension what it touches.
  Complaint verifyBoxes(const TensorMap &map, const Layout &layout,
                        bool isResult) const;
  Complaint verifyPartial(const Layout &layout) const;

  const LoopNest &nest_;
  const Grid &grid_;
  const Work &work_;
};

} // namespace

static bool mentions(const TensorMap &map, size_t loop) {
  return llvm::any_of(map.dims, [&](const DimMap &dim) {
    return llvm::is_contained(dim.loops, LoopId{uint32_t(loop)});
  });
}

static bool mentions(llvm::ArrayRef<TensorMap> maps, size_t loop) {
  return llvm::any_of(
      maps, [&](const TensorMap &map) { return mentions(map, loop); });
}

// An axis does one thing, only loops that may be split are, and a kernel can
// see in its boxes how: nobody tells it otherwise.
Complaint OperatorVerifier::verifyWork() const {
  Axes used;
  auto use = [&](llvm::ArrayRef<AxisId> axes) -> Complaint {
    for (AxisId axis : axes) {
      if (llvm::is_contained(used, axis)) {
        return "its split uses the axis " + grid_.axes()[axis.index].name +
               " twice";
      }
      used.push_back(axis);
    }
    return std::nullopt;
  };
  for (size_t i = 0; i < nest_.loops.size(); ++i) {
    if (Complaint complaint = use(work_.loopAxes[i])) {
      return complaint;
    }
    if (!isSplit(i)) {
      continue;
    }
    LoopKind kind = nest_.loops[i].kind;
    bool isParallel = kind == LoopKind::Parallel;
    if (!isParallel && !isSummedLoop(i)) {
      return "its loop " + nest_.loops[i].name + " cannot be split";
    }
    bool everyResult = llvm::all_of(
        nest_.results, [&](const TensorMap &map) { return mentions(map, i); });
    bool anyResult = mentions(nest_.results, i);
    if (isParallel ? !everyResult : anyResult || !mentions(nest_.operands, i)) {
      return "no box says how its loop " + nest_.loops[i].name + " is split";
    }
  }
  if (!work_.carryAxes.empty() && work_.carrySet >= nest_.linear.size()) {
    return "it carries a sum through operands in which it is not linear";
  }
  return use(work_.carryAxes);
}

// Digits of a number: an interval of iterations of each loop is an interval of
// indices only if all loops below the first that has several are whole.
std::optional<Interval>
OperatorVerifier::touchedProduct(const DimMap &map,
                                 const Coordinates &at) const {
  int64_t stride = 1, first = 0, last = 0, count = 1;
  for (LoopId id : llvm::reverse(map.loops)) {
    Interval part = iterations(id, at);
    if (part.begin >= part.end) {
      return Interval{0, 0};
    }
    first += part.begin * stride;
    last += (part.end - 1) * stride;
    count *= part.end - part.begin;
    stride *= loop(id).extent;
  }
  return last - first + 1 == count ? std::optional(Interval{first, last + 1})
                                   : std::nullopt;
}

std::optional<Interval> OperatorVerifier::touched(const DimMap &map,
                                                  int64_t extent,
                                                  const Coordinates &at) const {
  if (map.loops.empty()) {
    return Interval{0, extent};
  }
  if (map.kind == DimMap::Kind::Product) {
    return touchedProduct(map, at);
  }
  Interval part = iterations(map.loops.front(), at);
  if (part.begin >= part.end) {
    return Interval{0, 0};
  }
  // Attributes come from files: 128 bits hold every product of two of them.
  __int128 begin = INT64_MAX, end = 0;
  auto touch = [&](__int128 from, __int128 to) {
    if (from < to) {
      begin = std::min(begin, from);
      end = std::max(end, to);
    }
  };
  if (map.kind == DimMap::Kind::Table) {
    for (int64_t i = part.begin; i < part.end; ++i) {
      touch(map.table[i].begin, map.table[i].end);
    }
  } else {
    // A window moves one way, so its outermost indices are touched at an end.
    for (int64_t i : {part.begin, part.end - 1}) {
      __int128 first = __int128(i) * map.stride - map.lo;
      touch(first, first + map.reach + 1);
    }
  }
  begin = std::max<__int128>(begin, 0);
  end = std::min<__int128>(end, extent);
  return begin < end ? Interval{int64_t(begin), int64_t(end)} : Interval{0, 0};
}

// A window or a table over a loop of the result is only looked into.
bool OperatorVerifier::needsJustThat(const DimMap &map) const {
  return map.kind == DimMap::Kind::Product ||
         llvm::any_of(map.loops, [&](LoopId id) {
           return isSummedLoop(id.index) && isSplit(id.index);
         });
}

Complaint OperatorVerifier::verifyBoxes(const TensorMap &map,
                                        const Layout &layout,
                                        bool isResult) const {
  if (layout.dims.size() != map.dims.size()) {
    return std::string("has the wrong number of dimensions");
  }
  for (size_t d = 0; d < map.dims.size(); ++d) {
    int64_t extent = map.shape[d];
    Axes axes(layout.dims[d].axes.begin(), layout.dims[d].axes.end());
    for (LoopId id : map.dims[d].loops) {
      unite(axes, work_.loopAxes[id.index]);
    }
    bool mayHoldMore = !isResult && !needsJustThat(map.dims[d]);
    std::optional<Interval> wanted;
    auto isWrong = [&](const Coordinates &at) {
      wanted = touched(map.dims[d], extent, at);
      Interval held = heldOf(grid_, extent, layout.dims[d], at);
      return !wanted ||
             !(mayHoldMore ? hold(held, *wanted) : same(held, *wanted));
    };
    std::optional<Coordinates> at = findCoordinates(grid_, axes, isWrong);
    if (!at) {
      continue;
    }
    std::string where =
        "dimension " + std::to_string(d) + " at " + describe(grid_, axes, *at);
    if (!wanted) {
      return where + ": the iterations there do not touch a single interval";
    }
    return where + " is " +
           describe(heldOf(grid_, extent, layout.dims[d], *at)) +
           ", but the iterations there " + (isResult ? "make " : "touch ") +
           describe(*wanted);
  }
  return std::nullopt;
}

static std::string listAxes(const Grid &grid, llvm::ArrayRef<AxisId> axes) {
  std::string list;
  for (AxisId axis : axes) {
    list += (list.empty() ? "" : ", ") + grid.axes()[axis.index].name;
  }
  return "{" + list + "}";
}

static Complaint expectPartial(const Grid &grid, const Layout &layout,
                               llvm::ArrayRef<AxisId> expected, ReduceKind kind,
                               const char *why) {
  Axes actual = relevant(grid, layout.partialAxes);
  Axes wanted = relevant(grid, expected);
  if (actual != wanted) {
    return "is partial over " + listAxes(grid, actual) + ", but " + why + " " +
           listAxes(grid, wanted);
  }
  if (!actual.empty() && layout.partialKind != kind) {
    return std::string("is partial by another kind of reduction than the one "
                       "that is split");
  }
  return std::nullopt;
}

Complaint OperatorVerifier::verifyOperand(size_t index,
                                          const Layout &layout) const {
  bool isCarried = !work_.carryAxes.empty() &&
                   llvm::is_contained(nest_.linear[work_.carrySet], index);
  Axes none;
  if (Complaint complaint = expectPartial(
          grid_, layout, isCarried ? work_.carryAxes : none, ReduceKind::Sum,
          "the split carries a sum through it over")) {
    return complaint;
  }
  return verifyBoxes(nest_.operands[index], layout, /*isResult=*/false);
}

// Point 2 of the file's head. That the parts of one loop are disjoint and
// together all of it holds for partOf by construction.
Complaint OperatorVerifier::verifyPartial(const Layout &layout) const {
  Axes axes = work_.carryAxes;
  ReduceKind kind = ReduceKind::Sum;
  for (size_t i = 0; i < nest_.loops.size(); ++i) {
    if (!isSummedLoop(i) || !isSplit(i)) {
      continue;
    }
    if (!axes.empty() && kind != nest_.loops[i].reduce) {
      return std::string("would be partial by two kinds of reduction");
    }
    kind = nest_.loops[i].reduce;
    unite(axes, work_.loopAxes[i]);
  }
  return expectPartial(grid_, layout, axes, kind,
                       "the split leaves summands over");
}

Complaint OperatorVerifier::verifyResult(size_t index,
                                         const Layout &layout) const {
  if (Complaint complaint = verifyPartial(layout)) {
    return complaint;
  }
  const TensorMap &map = nest_.results[index];
  if (Complaint complaint = verifyBoxes(map, layout, /*isResult=*/true)) {
    return complaint;
  }
  return verifyAllHeld(grid_, map.shape, layout);
}

Complaint verify::verifyOperator(const LoopNest &nest, const Grid &grid,
                                 const Work &work,
                                 llvm::ArrayRef<const Layout *> operands,
                                 llvm::ArrayRef<const Layout *> results) {
  OperatorVerifier verifier(nest, grid, work);
  if (Complaint complaint = verifier.verifyWork()) {
    return complaint;
  }
  for (auto [index, layout] : llvm::enumerate(operands)) {
    if (Complaint complaint = verifier.verifyOperand(index, *layout)) {
      return "operand " + std::to_string(index) + ": " + *complaint;
    }
  }
  for (auto [index, layout] : llvm::enumerate(results)) {
    if (Complaint complaint = verifier.verifyResult(index, *layout)) {
      return "result " + std::to_string(index) + ": " + *complaint;
    }
  }
  return std::nullopt;
}
