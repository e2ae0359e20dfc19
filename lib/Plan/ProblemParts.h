//===- ProblemParts.h - How a planning problem is built ---------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PLAN_PROBLEMPARTS_H
#define DIVISI_LIB_PLAN_PROBLEMPARTS_H

#include "Lifetimes.h"
#include "ProblemBuilder.h"
#include "divisi/Support/Clock.h"

namespace divisi::plan {

/// See ProblemBuilder.h. One use: build() gives away what it has made.
class ProblemBuilder {
public:
  /// For `dataflow` on `grid`, of what `fixed` leaves open. All arguments but
  /// `options` must outlive it.
  ProblemBuilder(const Dataflow &dataflow, const Grid &grid,
                 const GridPace &pace, const SplitRules &rules,
                 const Fixed &fixed, const ProblemOptions &options)
      : dataflow_(dataflow), lifetimes_(dataflow), grid_(grid), pace_(pace),
        fixed_(fixed), options_(options),
        maker_(grid, pace, rules, planning_.pool, options.memories),
        matrices_(
            grid, options.links, options.routers, options.memories,
            planning_.pool, planning_.problem.matrices,
            [this] { return isStruck(); }, [this] { goesOn(); }) {}

  /// The problem; nothing if ProblemOptions::control cut the building short.
  std::optional<PlanningProblem> build();

private:
  unsigned classOf(const DataflowValue &tensor) {
    return planning_.pool.classOf(tensor.shape, tensor.bits);
  }
  bool isStruck() const {
    return options_.control &&
           options_.control->struck() != search::Stopped::Finished;
  }
  bool goesOn();
  static void takeNothing(search::Node &node);
  void addSite(unsigned index);
  void addPoint(unsigned index);
  void addStop(unsigned index);
  void addOutput(unsigned index);
  std::vector<unsigned> placesOf(unsigned tensor);
  unsigned addPointNode(const DataflowValue &tensor,
                        llvm::ArrayRef<unsigned> places, search::Lifetime live,
                        double restPerByte, const std::string &name);
  void addHostCopies(const DataflowValue &tensor,
                     llvm::ArrayRef<unsigned> places, unsigned node);
  Port source(unsigned tensor);
  void addEdges(unsigned tensor);
  void addStopEdge(unsigned stop);
  void matchStops();
  /// A tensor on its way, and the memory that it takes meanwhile.
  struct Way {
    unsigned tensorClass = 0;
    Port from, to;
    bool isCounted = false; ///< What it takes.
    int64_t repeats = 1;    ///< How often it goes.
  };
  bool countsCopies(const DataflowValue &tensor) const {
    return options_.memory == MemoryDetail::All ||
           (options_.memory == MemoryDetail::Resting &&
            tensor.kind == DataflowValue::Kind::Global);
  }
  bool isFusible(const DataflowValue &tensor) const {
    return tensor.kind == DataflowValue::Kind::Result &&
           llvm::is_contained(dataflow_.sites[tensor.index].fusible.results,
                              tensor.number);
  }
  void noteElided(unsigned tensor, size_t firstEdge);
  search::Edge &addEdge(const Way &way);
  void addUsage(const Way &way, search::Edge &edge, EdgeMatrices::Bytes bytes,
                search::Lifetime live);
  void addHeld(const Way &way, EdgeMatrices::Bytes bytes,
               search::Lifetime live);
  void addUse(const Way &way, const UseTimes &times);
  void addMaker(unsigned tensor);
  void addFusion(const Way &way, unsigned maker, unsigned user);
  Port target(const Consumer &consumer);
  std::string nameOf(const DataflowValue &tensor) const;
  void sortNodes();

  const Dataflow &dataflow_;
  Lifetimes lifetimes_;
  Grid grid_;
  const GridPace &pace_;
  const Fixed &fixed_;
  const ProblemOptions &options_;
  PlanningProblem planning_;
  ChoiceMaker maker_;
  EdgeMatrices matrices_;
  double restPerByte_ = 0; ///< Of a global.
  std::vector<std::vector<unsigned>> valueIds_, stopIds_, outputIds_;
  /// Of a stop: which one stands for it, and until when that one is needed.
  struct MatchedStop {
    unsigned first = 0;
    int64_t end = 0;
  };
  std::vector<MatchedStop> stops_;
  std::vector<int64_t> order_; ///< Per node, by which they are sorted.
  double startedAt_ = steadySeconds();
  bool cut_ = false; ///< What is built is not used.
};

} // namespace divisi::plan

#endif // DIVISI_LIB_PLAN_PROBLEMPARTS_H
