//===- Mcmc.h - Metropolis-Hastings over assignments ------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The search of FlexFlow (Z. Jia, M. Zaharia, A. Aiken, "Beyond Data and
// CostGraph Parallelism for Deep Neural Networks", MLSys 2019, §6.2), the
// baseline of the other solvers. From some plan, again and again: a random
// operator gets a random other strategy; the new plan is taken with probability
//
//   min(1, exp(beta * (cost - new cost)))
//
// and the best one seen is the answer. Three things can be exchanged: which
// moves are proposed, who says what a plan costs (the problem's costs, or a
// timer that simulates it), and which are taken.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_SEARCH_MCMC_MCMC_H
#define DIVISI_LIB_SEARCH_MCMC_MCMC_H

#include "lib/Search/Problem/MaximalTimes.h"
#include "lib/Search/Run/Budget.h"
#include "lib/Search/Run/Random.h"

#include <span>

namespace divisi::search {

/// Says what the current plan costs and would cost. Works by differences if it
/// can; what it has looked at it takes from its budget.
class Judge {
public:
  virtual ~Judge() = default;
  /// The current plan: a strategy of each node.
  virtual const std::vector<uint32_t> &plan() const = 0;
  /// Of the current plan, penalties of what must not be included.
  virtual double cost() const = 0;
  /// Whether the current plan is an answer.
  virtual bool isFeasible() const = 0;
  /// Makes `move` if the cost is then at most `most`; says whether it did. A
  /// node occurs once at most.
  virtual bool tryMove(std::span<const Change> move, double most) = 0;
  /// Infeasible costs in the current plan, of nodes and of edges.
  virtual int64_t numForbidden() const = 0;
  /// How far the peak is above its limit; the furthest, of several resources.
  virtual Wide excess() const = 0;
};

/// Proposes moves.
class MoveSet {
public:
  virtual ~MoveSet() = default;
  /// Fills `move`; empty if there is nothing to propose.
  virtual void propose(const std::vector<uint32_t> &plan, Random &random,
                       std::vector<Change> &move) = 0;
};

/// Decides which moves are taken.
class Acceptance {
public:
  virtual ~Acceptance() = default;
  /// The highest cost that is taken this time. Drawing before the cost is known
  /// lets the judge stop as soon as it sees that a plan is too expensive.
  virtual double most(double cost, Random &random) = 0;
};

/// The rule above, with beta over the cost of the current plan: problems differ
/// by many orders of magnitude, and so do the first plan and the best.
class Metropolis : public Acceptance {
public:
  /// `beta` is above 0; the higher, the fewer plans that cost more are taken.
  explicit Metropolis(double beta) : beta_(beta) {}
  double most(double cost, Random &random) override;

private:
  double beta_;
};

/// A random node that has a choice gets a random other strategy.
class OneNode : public MoveSet {
public:
  /// Infeasible strategies are never proposed.
  explicit OneNode(const Problem &problem);
  void propose(const std::vector<uint32_t> &plan, Random &random,
               std::vector<Change> &move) override;

private:
  /// A node with more than one feasible strategy, and those.
  struct Choice {
    uint32_t node;
    std::vector<uint32_t> strategies;
  };
  std::vector<Choice> choices_;
};

/// The same, and each neighbour that doesn't go with the new strategy takes a
/// random one that does, then its neighbours, and so on: where most pairs of
/// strategies exclude each other, no node can move alone.
class WithFollowers : public MoveSet {
public:
  /// Both must outlive this.
  WithFollowers(const Problem &problem, Budget &budget);
  void propose(const std::vector<uint32_t> &plan, Random &random,
               std::vector<Change> &move) override;

private:
  uint32_t partner(const Edge &edge, Change change, uint32_t present,
                   Random &random);

  const Problem &problem_;
  OneNode leader_;
  std::vector<std::vector<uint32_t>> edgesOf_; ///< Those that exclude pairs.
  std::vector<bool> moved_;
  std::vector<uint32_t> partners_; ///< Of the edge being followed.
  Budget &budget_;
};

/// The costs of a problem. Each infeasible choice costs as much as the latest
/// feasible plan (the first plan until there is one), and so does each tenth of
/// the (least) limit that memory is above it.
class CostJudge : public Judge {
public:
  /// Starts with `plan`. `problem` and `budget` must outlive this.
  CostJudge(const Problem &problem, std::vector<uint32_t> plan, Budget &budget);
  const std::vector<uint32_t> &plan() const override { return plan_; }
  double cost() const override { return penalized(sums_, excess()); }
  /// What of it is for what must not be included.
  double penalty() const { return cost() - double(sums_.cost); }
  bool isFeasible() const override {
    return sums_.forbidden == 0 && excess() == 0;
  }
  bool tryMove(std::span<const Change> move, double most) override;

  int64_t numForbidden() const override { return sums_.forbidden; }
  Wide excess() const override;

private:
  /// Exact, so that long runs don't drift.
  struct Sums {
    Wide cost = 0;
    int64_t forbidden = 0;
    void add(int64_t cost, int sign);
  };
  void layOutTimes();
  double penalized(const Sums &sums, Wide excess) const;
  /// To the cost of the current plan.
  void scalePenalties();
  /// Adds what the nodes of `move` and their edges cost at present.
  void addAround(std::span<const Change> move, int sign, Sums &sums);
  void useAround(std::span<const Change> move, int sign);
  /// When a node or an edge uses memory, and which usages count then.
  template <typename Usages> struct Use {
    TimeRange times; ///< Positions of the segment tree.
    Usages usages;
  };
  void useEdge(uint32_t edge, int sign);
  void addUsage(TimeRange times, Wide bytes);
  /// Puts `move` into the plan and the old strategies into `move`.
  void exchange(std::vector<Change> &move);
  template <typename Callback>
  void forEachEdge(std::span<const Change> move, Callback callback);

  const Problem &problem_;
  std::vector<uint32_t> plan_;
  Budget &budget_;
  std::vector<std::vector<uint32_t>> edgesOf_;
  std::vector<std::vector<Use<const std::vector<int64_t> *>>> nodeUses_;
  std::vector<std::vector<Use<uint32_t>>> edgeUses_; ///< By matrix.
  std::vector<bool> done_; ///< Nodes of the move whose edges were visited.
  std::vector<Change> exchanged_;
  Sums sums_;
  double perForbidden_ = 0, perByte_ = 0;
  double leastLimit_ = 0;
  /// How far nothing at all is above the limits: usually far below.
  Wide idleExcess_ = 0;
  /// A segment tree over times: the largest excess at the leaves below a node,
  /// without what was added at nodes above it; and what was added here.
  std::vector<Wide> most_, added_;
  size_t leaves_ = 1;
};

/// What a timer says. Memory and what is infeasible costs as it does a
/// CostJudge.
class TimedJudge : public Judge {
public:
  /// As CostJudge has it; `timer` must outlive this.
  TimedJudge(const Problem &problem, std::vector<uint32_t> plan, Budget &budget,
             AssignmentTimer &timer);
  const std::vector<uint32_t> &plan() const override { return sums_.plan(); }
  double cost() const override { return double(time_) + sums_.penalty(); }
  bool isFeasible() const override { return sums_.isFeasible(); }
  bool tryMove(std::span<const Change> move, double most) override;

  /// What the current plan takes.
  Wide time() const { return time_; }
  int64_t numForbidden() const override { return sums_.numForbidden(); }
  Wide excess() const override { return sums_.excess(); }

private:
  CostJudge sums_;
  Budget &budget_;
  AssignmentTimer &timer_;
  Wide time_;
  std::vector<Change> back_; ///< What a move takes back.
};

/// A simple plan: each node in turn takes the strategy that goes with most of
/// its neighbours so far, uses least memory (if that is limited), and costs
/// least, in this order.
std::vector<uint32_t> simplePlan(const Problem &problem, Budget &budget);

/// Runs until the budget is over, or half of all its work found nothing better;
/// calls `onBest` at every better feasible plan. The best one, or nothing.
std::optional<std::vector<uint32_t>>
metropolisHastings(Judge &judge, MoveSet &moves, Acceptance &acceptance,
                   Random &random, Budget &budget,
                   const std::function<void()> &onBest);

} // namespace divisi::search

#endif // DIVISI_LIB_SEARCH_MCMC_MCMC_H
