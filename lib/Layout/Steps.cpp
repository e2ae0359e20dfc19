//===- Steps.cpp - The names of steps, and checking one -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Layout/StepRules.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"

using namespace llvm;

namespace divisi {

static constexpr StringLiteral kStepNames[] = {
    "slice",      "mask",           "all_gather", "all_to_all",
    "all_reduce", "reduce_scatter", "exchange"};

StringRef stringifyStepKind(StepKind kind) { return kStepNames[size_t(kind)]; }

std::optional<StepKind> parseStepKind(StringRef name) {
  const auto *found = llvm::find(kStepNames, name);
  if (found == std::end(kStepNames)) {
    return std::nullopt;
  }
  return StepKind(found - std::begin(kStepNames));
}

/// What a step of `kind` does, as the end of "expected ...".
static StringRef ruleOf(StepKind kind) {
  switch (kind) {
  case StepKind::Slice:
    return "every position to hold its part of the result already, and "
           "unchanged partial axes";
  case StepKind::Mask:
    return "replicated axes to become partial sum, and no other change";
  case StepKind::AllGather:
    return "one dimension to lose its innermost axes, whose shards are "
           "consecutive, and unchanged partial axes";
  case StepKind::AllToAll:
    return "the innermost axes of one dimension to become those of another, "
           "and unchanged partial axes";
  case StepKind::AllReduce:
    return "partial axes to become replicated, and no other change";
  case StepKind::ReduceScatter:
    return "partial axes to become the innermost ones of one dimension, and no "
           "other change";
  case StepKind::Exchange:
    return "the owners along the source's axes to hold together every "
           "position's part of the result, and unchanged partial axes";
  }
  return "";
}

static std::string axesText(const Grid &grid, ArrayRef<AxisId> axes) {
  SmallVector<std::string, 4> names;
  for (AxisId axis : axes) {
    names.push_back(axis.index < grid.numAxes()
                        ? grid.name(axis).str()
                        : "number " + std::to_string(axis.index));
  }
  return "{" + join(names, ", ") + "}";
}

/// Asks for all legal moves, to tell wrong axes from a step that cannot be.
std::optional<std::string> verifyStep(const Grid &grid, ArrayRef<int64_t> shape,
                                      StepKind kind, ArrayRef<AxisId> axes,
                                      const Layout &from, const Layout &to) {
  if (auto error = from.verify(grid, shape)) {
    return "in the source, " + *error;
  }
  if (auto error = to.verify(grid, shape)) {
    return "in the result, " + *error;
  }
  TransitionCache cache;
  for (const Move &move : legalMoves(cache.between(grid, shape, from, to))) {
    if (move.kind != kind) {
      continue;
    }
    if (ArrayRef(move.axes) == axes) {
      return std::nullopt;
    }
    return (stringifyStepKind(kind) + " from " + from.str(grid) + " to " +
            to.str(grid) + " is over the axes " + axesText(grid, move.axes) +
            ", got " + axesText(grid, axes))
        .str();
  }
  return (stringifyStepKind(kind) + " cannot go from " + from.str(grid) +
          " to " + to.str(grid) + ", expected " + ruleOf(kind))
      .str();
}

} // namespace divisi
