//===- Slices.h - Planning problems of parts of a program -------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whoever looks for stages asks for the problem of many runs of operators, on
// many grids, with one layout or another at the border. Most are alike, since a
// model repeats its blocks: their problem is made once.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PLAN_SLICES_H
#define DIVISI_LIB_PLAN_SLICES_H

#include "ProblemBuilder.h"

#include <future>
#include <mutex>

namespace divisi::plan {

/// The sites [begin, end) of `dataflow` as a program of its own: what comes
/// from before is an argument, what is used afterwards a result, both in the
/// order in which `dataflow` first mentions them. Sites keep their kinds, and
/// begin at time 0.
Dataflow sliceOf(const Dataflow &dataflow, size_t begin, size_t end);

/// How the arguments and results of a slice lie at its border: one entry each,
/// or none at all where all are open.
struct SliceBorder {
  /// In the order of the slice's; empty: open.
  std::vector<std::optional<Layout>> arguments;
  std::vector<std::optional<Layout>> results;
};

/// Makes problems of slices of one program for one kind of device; for any
/// number of threads at once.
class SliceProblems {
public:
  /// `dataflow` must outlive it. Slices without limit have no memory in their
  /// problems.
  SliceProblems(const Dataflow &dataflow, DeviceKind device,
                std::optional<int64_t> memoryLimit = std::nullopt,
                size_t maxStrategies = 1024)
      : dataflow_(dataflow), device_(std::move(device)),
        memoryLimit_(memoryLimit), maxStrategies_(maxStrategies) {}

  /// The problem of the sites [begin, end) on a grid: the same object for all
  /// slices, grids and borders that are alike. `begin` < `end`, and both within
  /// the program; the border fits the slice.
  std::shared_ptr<const PlanningProblem> of(size_t begin, size_t end,
                                            const DeviceGrid &grid,
                                            const SliceBorder &border);

private:
  std::shared_ptr<const PlanningProblem> make(const Dataflow &slice,
                                              const DeviceGrid &grid,
                                              const SliceBorder &border) const;

  const Dataflow &dataflow_;
  DeviceKind device_;
  std::optional<int64_t> memoryLimit_;
  size_t maxStrategies_;
  std::mutex mutex_; ///< Of `known_`, not while a problem is made.
  std::map<std::string,
           std::shared_future<std::shared_ptr<const PlanningProblem>>>
      known_;
};

} // namespace divisi::plan

#endif // DIVISI_LIB_PLAN_SLICES_H
