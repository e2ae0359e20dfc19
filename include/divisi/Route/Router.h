//===- Router.h - From one layout to another --------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Given two layouts of one tensor on one grid, the router returns the cheapest
// sequence of steps between them, a shortest path over layouts:
//
//   [*, *] partial sum {node, device}  ->  [*, *], slow links between nodes
//     reduce_scatter {device}   [device, *] partial sum {node}
//     all_reduce {node}         [device, *]
//     all_gather {device}       [*, *]
//
// The planner asks for the price, the partitioner for the steps: what was
// priced is what runs.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_ROUTE_ROUTER_H
#define DIVISI_ROUTE_ROUTER_H

#include "divisi/Route/StepPrices.h"

#include <memory>

namespace divisi {

/// Per axis of a grid, what it is called.
using AxisNames = llvm::SmallVector<uint32_t, 6>;
/// All ways to give those of `axes` that are alike (as in StepPrices) each
/// other's names, the first being to leave them. What a route costs depends on
/// none.
std::vector<AxisNames> waysToRename(llvm::ArrayRef<uint32_t> alike,
                                    llvm::ArrayRef<AxisId> axes);
/// `layout` with each axis called as `names` says by its number.
Layout renamed(const Layout &layout, llvm::ArrayRef<uint32_t> names);

/// One step of a route. The source is the previous step's `result`.
struct Step {
  StepKind kind = StepKind::Slice; ///< What is done.
  /// The axes along which positions talk; of a Slice, those that come into
  /// use (none when it only narrows bounds); of a Mask, those that become
  /// partial. In the order of the dimension for AllGather, AllToAll and
  /// ReduceScatter, else ascending.
  llvm::SmallVector<AxisId, 2> axes;
  Layout result;
  int64_t nanoseconds = 0;
  /// Bytes that the busiest position receives from others.
  int64_t bytes = 0;
  friend bool operator==(const Step &, const Step &) = default;
};

/// The steps from one layout to another, and what they take together.
struct Route {
  llvm::SmallVector<Step, 2> steps; ///< Empty when the layouts are equal.
  int64_t nanoseconds = 0;          ///< All steps, one after the other.
};

/// Routes on one grid. Remembers what it has computed, so that asking for all
/// pairs of layouts of equal shapes is cheap; not for use by two threads.
class Router {
public:
  /// `prices` says what a step on `grid` takes.
  Router(Grid grid, StepPrices prices);
  ~Router();

  /// The cheapest route from `from` to `to`, both canonical and legal for
  /// `shape`. Every pair has one, except where `to` is partial in a way that
  /// `from` is not and that a Mask cannot make (only sums can): then nothing.
  /// Ties are broken by a fixed order. The cheapest of all is meant among the
  /// layouts over axes that either end uses; where these are too many, of a few
  /// routes made by rule (docs/rationale-layout.md). `from` must hold all that
  /// `to` holds, else there is no route.
  std::optional<Route> route(llvm::ArrayRef<int64_t> shape, int64_t elementBits,
                             const Layout &from, const Layout &to);

  /// The price in nanoseconds of that route, without building it again.
  std::optional<int64_t> price(llvm::ArrayRef<int64_t> shape,
                               int64_t elementBits, const Layout &from,
                               const Layout &to);

  /// The grid whose layouts it leads between.
  const Grid &grid() const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace divisi

#endif // DIVISI_ROUTE_ROUTER_H
