//===- Split.cpp - Which splits an operator has ---------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Layout/Loops.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace divisi {

Split Split::replicated(const LoopNest &nest) {
  Split split;
  split.loopAxes.resize(nest.loops.size());
  return split;
}

SmallVector<AxisId, 4> Split::usedAxes() const {
  SmallVector<AxisId, 4> used = llvm::to_vector<4>(carryAxes);
  for (const auto &axes : loopAxes) {
    append_range(used, axes);
  }
  llvm::sort(used);
  return used;
}

void Split::print(raw_ostream &os, const Grid &grid,
                  const LoopNest &nest) const {
  ListSeparator separator;
  auto printAxes = [&](ArrayRef<AxisId> axes) {
    os << '@';
    interleave(axes, os, [&](AxisId axis) { os << grid.name(axis); }, ".");
  };
  for (auto [loop, axes] : zip(nest.loops, loopAxes)) {
    if (!axes.empty()) {
      os << separator << loop.name;
      printAxes(axes);
    }
  }
  if (!carryAxes.empty()) {
    os << separator << "carry sum";
    printAxes(carryAxes);
    if (carrySet != 0) {
      os << " in " << carrySet;
    }
  }
}

int64_t largestShard(const LoopNest &nest, const Grid &grid, const Split &split,
                     LoopId loop, const GridPart &part) {
  return largestNested(grid, nest.loop(loop).extent, split.loopAxes[loop.index],
                       part);
}

bool Split::splits(const Grid &grid, LoopId loop) const {
  return grid.product(loopAxes[loop.index]) > 1;
}

static std::optional<std::string>
verifySplitAxes(const LoopNest &nest, const Grid &grid, const Split &split) {
  SmallVector<bool> used(grid.numAxes(), false);
  auto use = [&](ArrayRef<AxisId> axes) -> std::optional<std::string> {
    for (AxisId axis : axes) {
      if (axis.index >= grid.numAxes()) {
        return ("the split uses axis number " + Twine(axis.index) +
                " of a grid with " + Twine(grid.numAxes()) + " axes")
            .str();
      }
      if (used[axis.index]) {
        return ("the axis '" + grid.name(axis) +
                "' is used twice; it splits one loop or carries a partial sum")
            .str();
      }
      used[axis.index] = true;
    }
    return std::nullopt;
  };
  for (auto [loop, axes] : zip(nest.loops, split.loopAxes)) {
    if (!axes.empty() && !loop.isSplittable()) {
      return ("the loop '" + Twine(loop.name) + "' is of kind " +
              stringifyLoopKind(loop.kind) + " and is never split")
          .str();
    }
    if (auto error = use(axes)) {
      return error;
    }
  }
  return use(split.carryAxes);
}

/// A split minor factor needs all factors before it in single iterations.
static std::optional<std::string> verifyProducts(const LoopNest &nest,
                                                 const Grid &grid,
                                                 const Split &split,
                                                 const TensorMap &tensor) {
  for (const DimMap &dim : tensor.dims) {
    for (size_t minor = 1; minor < dim.loops.size(); ++minor) {
      if (!split.splits(grid, dim.loops[minor])) {
        continue;
      }
      for (LoopId major : ArrayRef(dim.loops).take_front(minor)) {
        int64_t size = largestShard(nest, grid, split, major);
        if (size > 1) {
          return ("the loop '" + Twine(nest.loop(dim.loops[minor]).name) +
                  "' is split, but '" + nest.loop(major).name +
                  "', a more major factor of the same dimension, has shards "
                  "of " +
                  Twine(size) + " iterations, expected 1; split that first")
              .str();
        }
      }
    }
  }
  return std::nullopt;
}

static std::optional<std::string>
verifyPartial(const LoopNest &nest, const Grid &grid, const Split &split) {
  std::optional<ReduceKind> kind;
  if (!split.carryAxes.empty()) {
    if (split.carrySet >= nest.linear.size()) {
      return ("a partial sum is carried in linear set " +
              Twine(split.carrySet) + ", but the operator has " +
              Twine(nest.linear.size()))
          .str();
    }
    if (is_contained(nest.barred, split.carrySet)) {
      return ("a partial sum is carried in linear set " +
              Twine(split.carrySet) +
              ", whose other factor may be infinite or the divisor 0, and "
              "parts of a sum times that are not the sum times that; leave out "
              "'carry sum', so that it is combined first")
          .str();
    }
    kind = ReduceKind::Sum;
  }
  for (auto [index, loop] : enumerate(nest.loops)) {
    if (!loop.leavesPartial() || !split.splits(grid, LoopId{uint32_t(index)})) {
      continue;
    }
    if (kind && *kind != loop.reduce) {
      return ("the results would be partial in two ways, " +
              stringifyReduceKind(*kind) + " and, by the loop '" + loop.name +
              "', " + stringifyReduceKind(loop.reduce))
          .str();
    }
    kind = loop.reduce;
  }
  return std::nullopt;
}

/// Axes first: sizes of shards are asked for only of axes that exist.
std::optional<std::string> verifySplit(const LoopNest &nest, const Grid &grid,
                                       const Split &split) {
  if (split.loopAxes.size() != nest.loops.size()) {
    return ("the split has " + Twine(split.loopAxes.size()) +
            " loops, expected " + Twine(nest.loops.size()))
        .str();
  }
  if (auto error = verifySplitAxes(nest, grid, split)) {
    return error;
  }
  for (const TensorMap &tensor :
       concat<const TensorMap>(nest.operands, nest.results)) {
    if (auto error = verifyProducts(nest, grid, split, tensor)) {
      return error;
    }
  }
  return verifyPartial(nest, grid, split);
}

//===----------------------------------------------------------------------===//
// enumerateSplits
//===----------------------------------------------------------------------===//

namespace {
/// Gives the axes of a grid, one after another, to nobody, a loop or a carry.
class SplitEnumerator {
public:
  SplitEnumerator(const LoopNest &nest, const Grid &grid, size_t limit)
      : nest_(nest), grid_(grid), limit_(limit),
        split_(Split::replicated(nest)) {
    for (const TensorMap &tensor :
         concat<const TensorMap>(nest.operands, nest.results)) {
      collectFactors(tensor);
    }
  }

  SmallVector<Split, 0> run() {
    place(0);
    return std::move(found_);
  }

private:
  /// All pairs of a major and a minor factor of one dimension.
  void collectFactors(const TensorMap &tensor) {
    for (const DimMap &dim : tensor.dims) {
      for (size_t minor = 1; minor < dim.loops.size(); ++minor) {
        for (size_t major = 0; major < minor; ++major) {
          std::pair pair(dim.loops[major], dim.loops[minor]);
          if (!is_contained(factors_, pair)) {
            factors_.push_back(pair);
          }
        }
      }
    }
  }

  /// Whether the axes from `next` on could still bring every major factor of a
  /// split minor one to single iterations.
  bool isPromising(uint32_t next) const {
    int64_t rest = 1;
    for (uint32_t axis = next; axis < grid_.numAxes(); ++axis) {
      rest *= grid_.size(AxisId{axis});
    }
    return all_of(factors_, [&](auto pair) {
      auto [major, minor] = pair;
      return !split_.splits(grid_, minor) ||
             largestShard(nest_, grid_, split_, major) <= rest;
    });
  }

  /// Decides about axis `next` and all after it. Nobody comes first, so that
  /// the replicated split is the first that is found.
  void place(uint32_t next) {
    if (found_.size() >= limit_ || !isPromising(next)) {
      return;
    }
    if (next == grid_.numAxes()) {
      if (!verifySplit(nest_, grid_, split_)) {
        found_.push_back(split_);
      }
      return;
    }
    place(next + 1);
    AxisId axis{next};
    if (grid_.size(axis) == 1) {
      return;
    }
    for (uint32_t index = 0; index < nest_.loops.size(); ++index) {
      placeInLoop(axis, LoopId{index});
    }
    for (unsigned set = 0; set < nest_.linear.size(); ++set) {
      placeInCarry(axis, set);
    }
  }

  void placeInLoop(AxisId axis, LoopId loop) {
    if (!nest_.loop(loop).isSplittable() ||
        largestShard(nest_, grid_, split_, loop) <= 1) {
      return;
    }
    split_.loopAxes[loop.index].push_back(axis);
    if (!verifyPartial(nest_, grid_, split_)) {
      place(axis.index + 1);
    }
    split_.loopAxes[loop.index].pop_back();
  }

  void placeInCarry(AxisId axis, unsigned set) {
    if (!split_.carryAxes.empty() && split_.carrySet != set) {
      return;
    }
    split_.carrySet = set;
    split_.carryAxes.push_back(axis);
    if (!verifyPartial(nest_, grid_, split_)) {
      place(axis.index + 1);
    }
    split_.carryAxes.pop_back();
    if (split_.carryAxes.empty()) {
      split_.carrySet = 0;
    }
  }

  const LoopNest &nest_;
  const Grid &grid_;
  size_t limit_;
  Split split_;
  SmallVector<std::pair<LoopId, LoopId>, 4> factors_;
  SmallVector<Split, 0> found_;
};
} // namespace

SmallVector<Split, 0> enumerateSplits(const LoopNest &nest, const Grid &grid,
                                      size_t limit) {
  return SplitEnumerator(nest, grid, limit).run();
}

} // namespace divisi
