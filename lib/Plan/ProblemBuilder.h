//===- ProblemBuilder.h - From a dataflow to a planning problem -*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operators are nodes, and so are identity points: globals, arguments, results,
// values with several users, and stops, from which some of these users take a
// value. Every edge is a tensor on its way, priced by the router:
//
//   x ---- matmul ---- [h] ---- gelu ---- matmul ---- y
//             |         |                   |         |
//            w1         +---- add ---- ... w2       output
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PLAN_PROBLEMBUILDER_H
#define DIVISI_LIB_PLAN_PROBLEMBUILDER_H

#include "Choices.h"
#include "EdgeMatrices.h"
#include "divisi/Plan/PlanControl.h"
#include "divisi/Plan/TrainingStates.h"
#include "divisi/Search/Problem.h"

namespace divisi::plan {

/// Strategies that the module has already.
struct Fixed {
  /// One each as Dataflow lists them; empty: the planner chooses.
  std::vector<std::optional<Split>> sites;
  std::vector<std::optional<Layout>> values;
  std::vector<std::optional<Layout>> stops;
  std::vector<std::optional<Layout>> outputs;

  /// Everything is open.
  static Fixed nothingOf(const Dataflow &dataflow) {
    return {std::vector<std::optional<Split>>(dataflow.sites.size()),
            std::vector<std::optional<Layout>>(dataflow.values.size()),
            std::vector<std::optional<Layout>>(dataflow.stops.size()),
            std::vector<std::optional<Layout>>(dataflow.outputs.size())};
  }
};

/// What of the memory that a plan takes a problem counts.
enum class MemoryDetail : uint8_t {
  None,    ///< Nothing.
  Globals, ///< Globals where they rest: less than any form of the program.
  Resting, ///< Tensors where they rest, and copies of globals: never too much.
  All      ///< Also what is converted, while it is and as long as it is used.
};

/// What the builder is told.
struct ProblemOptions {
  GridLinks links; ///< Between the grid's devices: what conversions cost.
  /// What each kind of devices has.
  KindMemories memories = KindMemories(1);
  MemoryDetail memory = MemoryDetail::All;
  size_t maxStrategies = 1024;
  /// Where the states of a training step rest; nothing: anywhere.
  std::optional<ZeroDegrees> zero;
  bool names = false; ///< For people who read the problem.
  /// Of earlier problems, if any.
  KeptRouters *routers = nullptr;
  /// May cut the building short; null: nothing does.
  const PlanControl *control = nullptr;
  /// Strategies and places that are among the choices, whatever the rules
  /// leave; may be null.
  const Fixed *present = nullptr;
};

/// An edge between two operators beside the one of the tensor: it costs what
/// they take more where they are not fused.
struct FusionEdge {
  size_t edge = 0;              ///< In Problem::edges.
  unsigned maker = 0, user = 0; ///< Sites: of its `from`, and of its `to`.
};

/// Of how many operators and tensors a problem has not all choices.
struct CappedChoices {
  size_t operators = 0; ///< That have more strategies.
  size_t tensors = 0;   ///< That could rest in more places.

  /// Makes it the most of both.
  void add(const CappedChoices &other) {
    operators = std::max(operators, other.operators);
    tensors = std::max(tensors, other.tensors);
  }
};

/// A planning problem, and what its nodes stand for.
struct PlanningProblem {
  search::Problem problem;                 ///< What solvers get.
  MemoryDetail memory = MemoryDetail::All; ///< What is counted.
  /// Of plans that take more nanoseconds, some are left out.
  std::optional<int64_t> below;
  LayoutPool pool; ///< The layouts that strategies and places speak of.
  std::vector<std::shared_ptr<const SiteChoices>> choices; ///< Per site.
  std::vector<unsigned> siteNodes;                         ///< Per site.
  /// Per tensor, stop and output: the layouts of its identity point and its
  /// node. A tensor without has no layouts.
  std::vector<std::vector<Layout>> valuePlaces, stopPlaces, outputPlaces;
  std::vector<unsigned> valueNodes, stopNodes, outputNodes;
  /// In the order of their edges.
  std::vector<FusionEdge> fusions;
  /// Times of the problem in one of the dataflow (Lifetimes.h).
  int64_t positions = 1;
  /// What programs may not hold: inputs, which are the caller's, and results of
  /// operators that are computed in one call with their users, or where the
  /// caller wants them. Nodes, and edges.
  std::vector<unsigned> elidedNodes, elidedEdges;
  size_t cappedTensors = 0; ///< Those that could rest in more places.

  /// The entry of `fusions` of this edge of the problem, or null.
  const FusionEdge *fusionAt(size_t edge) const;
};

/// Of the operators and tensors of `planning`.
CappedChoices cappedOf(const PlanningProblem &planning);

/// Nothing if `options.control` struck meanwhile.
std::optional<PlanningProblem>
buildProblem(const Dataflow &dataflow, const Grid &grid, const GridPace &pace,
             const SplitRules &rules, const Fixed &fixed,
             const ProblemOptions &options);

} // namespace divisi::plan

#endif // DIVISI_LIB_PLAN_PROBLEMBUILDER_H
