//===- Router.h - From one layout to another --------------------*- C++ -*-===//
//
// Part of Divisi, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Given two layouts of one tensor on one grid, the router returns the cheapest
// sequence of steps between them (a shortest path over layouts), each one
// collective or one local move:
//
//   [x, *] partial sum {y}  ->  [x, y]       reduce_scatter y into dim 1
//   [*, x]                  ->  [x, *]       all_to_all x from dim 1 to dim 0
//   [x]                     ->  [x{0:5,3:8}] exchange x in dim 0 (a halo)
//
// The planner asks for the price, the partitioner for the steps: what was
// priced is what runs.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LAYOUT_ROUTER_H
#define DIVISI_LAYOUT_ROUTER_H

#include "divisi/Layout/Layout.h"

#include <memory>

namespace divisi {

enum class StepKind : uint8_t {
  Slice,         ///< Local: replicated axes come to split a dimension.
  Mask,          ///< Local: replicated axes become partial sum; all but the
                 ///< first position along them hold zeros.
  AllGather,     ///< Axes stop splitting a dimension.
  AllToAll,      ///< Axes move from one dimension to another.
  AllReduce,     ///< Partial axes become replicated.
  ReduceScatter, ///< Partial axes come to split a dimension.
  Exchange,      ///< Every position fetches its new box from the owners; any
                 ///< two layouts without (or with the same) partial axes.
};
/// `slice`, `mask`, `all_gather`, ...: the mnemonic of the op in `spmd`.
llvm::StringRef stringifyStepKind(StepKind kind);
std::optional<StepKind> parseStepKind(llvm::StringRef name);

/// One step of a route. The source is the previous step's `result`.
struct Step {
  StepKind kind = StepKind::Slice;
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

/// What a link along one axis costs.
struct AxisCost {
  int64_t latencyNanoseconds = 0;
  double bytesPerSecond = 1e9; ///< One direction, per device.
};

/// Plain numbers from the cost model.
struct LinkCosts {
  llvm::SmallVector<AxisCost, 4> axes; ///< One per axis of the grid.
  double memoryBytesPerSecond = 1e11;  ///< For local steps.
};

struct Route {
  llvm::SmallVector<Step, 2> steps; ///< Empty when the layouts are equal.
  int64_t nanoseconds = 0;
};

/// Routes on one grid. Remembers what it has computed, so that asking for all
/// pairs of layouts of equal shapes is cheap; not for use by two threads.
class Router {
public:
  Router(Grid grid, LinkCosts costs);
  ~Router();

  /// The cheapest route from `from` to `to`, both canonical and legal for
  /// `shape`. Every pair has one, except where `to` is partial in a way that
  /// `from` is not and that a Mask cannot make (only sums can): then nothing.
  /// Ties are broken by a fixed order. The cheapest of all is meant among the
  /// layouts over axes that either end uses; where these are too many, of a few
  /// routes made by rule (docs/rationale-layout.md). `from` must hold all that
  /// `to` holds, else there is no route.
  std::optional<Route> route(llvm::ArrayRef<int64_t> shape,
                             int64_t elementBytes, const Layout &from,
                             const Layout &to);

  /// The price in nanoseconds of that route, without building it again.
  std::optional<int64_t> price(llvm::ArrayRef<int64_t> shape,
                               int64_t elementBytes, const Layout &from,
                               const Layout &to);

  const Grid &grid() const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Whether `kind` can lead from layout `from` to layout `to` over `axes`: what
/// the verifiers of the collectives in `spmd` ask. Returns the reason if not.
std::optional<std::string>
verifyStep(const Grid &grid, llvm::ArrayRef<int64_t> shape, StepKind kind,
           llvm::ArrayRef<AxisId> axes, const Layout &from, const Layout &to);

/// The price of moving a tensor between two grids that may share no device:
/// every position of the target fetches its box (gathered from the owners).
int64_t transferNanoseconds(llvm::ArrayRef<int64_t> shape, int64_t elementBytes,
                            const Grid &fromGrid, const Layout &from,
                            const Grid &toGrid, const Layout &to,
                            AxisCost link);

} // namespace divisi

#endif // DIVISI_LAYOUT_ROUTER_H
