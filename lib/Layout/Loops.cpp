//===- Loops.cpp - The loops of an operator -------------------------------===//
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

bool TensorMap::mentions(LoopId loop) const {
  return any_of(dims, [&](const DimMap &dim) { return dim.mentions(loop); });
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
          !result.mentions(LoopId{uint32_t(id)})) {
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

} // namespace divisi
