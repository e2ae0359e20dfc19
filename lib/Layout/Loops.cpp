//===- Loops.cpp - The loops of an operator, and their splits -------------===//
//
// Part of Divisi, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Layout/Loops.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace divisi {

StringRef stringifyLoopKind(LoopKind kind) {
  static constexpr StringLiteral names[] = {"parallel", "reduction", "indexed",
                                            "exchange", "whole"};
  return names[size_t(kind)];
}

//===----------------------------------------------------------------------===//
// DimMap, LoopNest
//===----------------------------------------------------------------------===//

DimMap DimMap::loop(LoopId loop) { return product(loop); }

DimMap DimMap::product(ArrayRef<LoopId> loops) {
  DimMap map;
  map.loops.assign(loops.begin(), loops.end());
  return map;
}

DimMap DimMap::window(LoopId loop, int64_t stride, int64_t lo, int64_t reach) {
  DimMap map = product(loop);
  map.kind = Kind::Window;
  map.stride = stride;
  map.lo = lo;
  map.reach = reach;
  return map;
}

DimMap DimMap::tabulated(LoopId loop, ArrayRef<Interval> table) {
  DimMap map = product(loop);
  map.kind = Kind::Table;
  map.table.assign(table.begin(), table.end());
  return map;
}

bool DimMap::mentions(LoopId loop) const { return is_contained(loops, loop); }

static bool mentions(const TensorMap &tensor, LoopId loop) {
  return any_of(tensor.dims,
                [&](const DimMap &dim) { return dim.mentions(loop); });
}

std::optional<LoopId> LoopNest::find(StringRef name) const {
  for (auto [index, loop] : enumerate(loops)) {
    if (loop.name == name) {
      return LoopId{uint32_t(index)};
    }
  }
  return std::nullopt;
}

LoopId LoopNest::add(StringRef name, int64_t extent, LoopKind kind,
                     ReduceKind reduce) {
  loops.push_back({name.str(), extent, kind, reduce});
  return {uint32_t(loops.size() - 1)};
}

double LoopNest::flops() const {
  double count = flopsPerPoint;
  for (const Loop &loop : loops) {
    count *= double(loop.extent);
  }
  return count;
}

//===----------------------------------------------------------------------===//
// verifyNest
//===----------------------------------------------------------------------===//

/// Whether the loops of `dim` make up its `extent`.
static std::optional<std::string> verifyDim(const LoopNest &nest,
                                            const DimMap &dim, int64_t extent) {
  for (LoopId loop : dim.loops) {
    if (loop.index >= nest.loops.size()) {
      return ("mentions loop number " + Twine(loop.index) + ", but there are " +
              Twine(nest.loops.size()))
          .str();
    }
  }
  if (dim.kind == DimMap::Kind::Product) {
    int64_t product = 1;
    for (LoopId loop : dim.loops) {
      if (__builtin_mul_overflow(product, nest.loop(loop).extent, &product)) {
        return std::string("has loops whose product overflows");
      }
    }
    if (!dim.loops.empty() && product != extent) {
      return ("has loops of " + Twine(product) + " iterations, expected its " +
              "extent " + Twine(extent))
          .str();
    }
    return std::nullopt;
  }
  if (dim.loops.size() != 1) {
    return ("is a window or table of " + Twine(dim.loops.size()) +
            " loops, expected 1")
        .str();
  }
  if (dim.kind == DimMap::Kind::Window && (dim.stride == 0 || dim.reach < 0)) {
    return std::string("is a window with stride 0 or a negative reach");
  }
  if (dim.kind == DimMap::Kind::Table &&
      int64_t(dim.table.size()) != nest.loop(dim.loops[0]).extent) {
    return ("has a table of " + Twine(dim.table.size()) + " rows, expected " +
            Twine(nest.loop(dim.loops[0]).extent) + " as its loop has")
        .str();
  }
  return std::nullopt;
}

static std::optional<std::string>
verifyTensor(const LoopNest &nest, const TensorMap &tensor, const Twine &name) {
  if (tensor.dims.size() != tensor.shape.size()) {
    return (name + " has " + Twine(tensor.dims.size()) +
            " dimensions mapped, expected " + Twine(tensor.shape.size()))
        .str();
  }
  SmallVector<bool> seen(nest.loops.size(), false);
  for (auto [index, dim] : enumerate(tensor.dims)) {
    if (auto error = verifyDim(nest, dim, tensor.shape[index])) {
      return ("dimension " + Twine(index) + " of " + name + " " + *error).str();
    }
    for (LoopId loop : dim.loops) {
      if (seen[loop.index]) {
        return (name + " mentions the loop '" + nest.loop(loop).name +
                "' twice")
            .str();
      }
      seen[loop.index] = true;
    }
  }
  return std::nullopt;
}

std::optional<std::string> verifyNest(const LoopNest &nest) {
  for (auto [index, loop] : enumerate(nest.loops)) {
    if (*nest.find(loop.name) != LoopId{uint32_t(index)}) {
      return "two loops are called '" + loop.name + "'";
    }
    if (loop.extent < 0) {
      return "the loop '" + loop.name + "' has a negative extent";
    }
  }
  for (auto [index, operand] : enumerate(nest.operands)) {
    if (auto error = verifyTensor(nest, operand, "operand " + Twine(index))) {
      return error;
    }
  }
  for (auto [index, result] : enumerate(nest.results)) {
    if (auto error = verifyTensor(nest, result, "result " + Twine(index))) {
      return error;
    }
    for (auto [id, loop] : enumerate(nest.loops)) {
      if (loop.kind == LoopKind::Parallel &&
          !mentions(result, LoopId{uint32_t(id)})) {
        return ("result " + Twine(index) + " lacks the parallel loop '" +
                loop.name + "'")
            .str();
      }
    }
  }
  for (const auto &set : nest.linear) {
    if (set.empty() || !llvm::is_sorted(set) ||
        set.back() >= nest.operands.size()) {
      return std::string("a linear set is empty, not ascending, or names an "
                         "operand that does not exist");
    }
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Split
//===----------------------------------------------------------------------===//

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

/// The size of the largest shard of `loop`, which is its first one.
static int64_t largestShard(const LoopNest &nest, const Grid &grid,
                            const Split &split, LoopId loop) {
  return llvm::divideCeil(nest.loop(loop).extent,
                          grid.product(split.loopAxes[loop.index]));
}

static bool isSplit(const Grid &grid, const Split &split, LoopId loop) {
  return grid.product(split.loopAxes[loop.index]) > 1;
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
      if (!isSplit(grid, split, dim.loops[minor])) {
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
    kind = ReduceKind::Sum;
  }
  for (auto [index, loop] : enumerate(nest.loops)) {
    if (!loop.leavesPartial() ||
        !isSplit(grid, split, LoopId{uint32_t(index)})) {
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
// Derivation
//===----------------------------------------------------------------------===//

SmallVector<Interval, 4> loopShards(const LoopNest &nest, const Grid &grid,
                                    const Split &split, LoopId loop) {
  return nestedShards(grid, nest.loop(loop).extent, split.loopAxes[loop.index]);
}

double localFlops(const LoopNest &nest, const Grid &grid, const Split &split) {
  // Every axis splits at most one loop, so one position, the first, has the
  // largest shard of all of them.
  double count = nest.flopsPerPoint;
  for (size_t index = 0; index < nest.loops.size(); ++index) {
    count *= double(largestShard(nest, grid, split, LoopId{uint32_t(index)}));
  }
  return count;
}

/// The indices of a product of loops: the major ones stand at single
/// iterations, so what a position holds is contiguous.
static SmallVector<Interval, 0> productBounds(const LoopNest &nest,
                                              const Grid &grid,
                                              const Split &split,
                                              ArrayRef<LoopId> loops) {
  // With no loop in it the dimension has one index, and it is held.
  SmallVector<Interval, 0> bounds = {{0, 1}};
  for (LoopId loop : loops) {
    int64_t extent = nest.loop(loop).extent;
    SmallVector<Interval, 4> shards = loopShards(nest, grid, split, loop);
    SmallVector<Interval, 0> finer;
    for (Interval major : bounds) {
      for (Interval shard : shards) {
        if (major.empty() || shard.empty()) {
          finer.push_back({});
        } else {
          finer.push_back({major.begin * extent + shard.begin,
                           (major.end - 1) * extent + shard.end});
        }
      }
    }
    bounds = std::move(finer);
  }
  return bounds;
}

/// `value` brought into [0, extent].
static int64_t clip(__int128 value, int64_t extent) {
  return value < 0 ? 0 : value > extent ? extent : int64_t(value);
}

static Interval windowBound(const DimMap &dim, int64_t extent, Interval shard) {
  // Attributes come from files; 128 bits hold every product of two of them.
  __int128 first = __int128(shard.begin) * dim.stride;
  __int128 last = __int128(shard.end - 1) * dim.stride;
  return {clip(std::min(first, last) - dim.lo, extent),
          clip(std::max(first, last) - dim.lo + dim.reach + 1, extent)};
}

static Interval tableBound(const DimMap &dim, Interval shard) {
  std::optional<Interval> hull;
  for (int64_t row = shard.begin; row < shard.end; ++row) {
    Interval reach = dim.table[row];
    if (reach.empty()) {
      continue;
    }
    hull = hull ? Interval{std::min(hull->begin, reach.begin),
                           std::max(hull->end, reach.end)}
                : reach;
  }
  return hull.value_or(Interval());
}

static DimLayout dimLayout(const LoopNest &nest, const Grid &grid,
                           const Split &split, const DimMap &dim,
                           int64_t extent) {
  DimLayout layout;
  for (LoopId loop : dim.loops) {
    append_range(layout.axes, split.loopAxes[loop.index]);
  }
  if (layout.axes.empty()) {
    return layout;
  }
  if (dim.kind == DimMap::Kind::Product) {
    layout.bounds = productBounds(nest, grid, split, dim.loops);
    return layout;
  }
  for (Interval shard : loopShards(nest, grid, split, dim.loops[0])) {
    Interval bound;
    if (!shard.empty()) {
      bound = dim.kind == DimMap::Kind::Window ? windowBound(dim, extent, shard)
                                               : tableBound(dim, shard);
    }
    layout.bounds.push_back(bound.empty() ? Interval() : bound);
  }
  return layout;
}

static Layout tensorLayout(const LoopNest &nest, const Grid &grid,
                           const Split &split, const TensorMap &tensor) {
  Layout layout;
  for (auto [dim, extent] : zip_equal(tensor.dims, tensor.shape)) {
    layout.dims.push_back(dimLayout(nest, grid, split, dim, extent));
  }
  return layout;
}

Layout operandLayout(const LoopNest &nest, const Grid &grid, const Split &split,
                     unsigned index) {
  const TensorMap &tensor = nest.operands[index];
  Layout layout = tensorLayout(nest, grid, split, tensor);
  if (!split.carryAxes.empty() &&
      is_contained(nest.linear[split.carrySet], index)) {
    layout.partialAxes = split.carryAxes;
  }
  layout.canonicalize(grid, tensor.shape);
  return layout;
}

Layout resultLayout(const LoopNest &nest, const Grid &grid, const Split &split,
                    unsigned index) {
  const TensorMap &tensor = nest.results[index];
  Layout layout = tensorLayout(nest, grid, split, tensor);
  layout.partialAxes = split.carryAxes;
  for (auto [id, loop] : enumerate(nest.loops)) {
    // A loop that this result has as a dimension splits it.
    LoopId loopId{uint32_t(id)};
    if (loop.leavesPartial() && isSplit(grid, split, loopId) &&
        !mentions(tensor, loopId)) {
      append_range(layout.partialAxes, split.loopAxes[id]);
      layout.partialKind = loop.reduce;
    }
  }
  layout.canonicalize(grid, tensor.shape);
  return layout;
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
      return !isSplit(grid_, split_, minor) ||
             largestShard(nest_, grid_, split_, major) <= rest;
    });
  }

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
