//===- RecomputeProblem.cpp - What to keep and what to compute again ------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RecomputeProblem.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <map>

namespace divisi::plan {
namespace {

/// What a node of a value may be.
enum State : uint32_t { Dead, Kept, Again };

/// Makes it value by value.
class RecomputeBuilder {
public:
  explicit RecomputeBuilder(const RecomputeInput &input) : input_(input) {}

  RecomputeProblem build();

private:
  /// A stage in positions.
  struct StageTimes {
    int64_t begin = 0, end = 0;
    std::vector<unsigned> values; ///< That may be computed again, ascending.
    std::vector<unsigned> steps;  ///< Per value: those that use it, by `first`.
    /// When a value has its turn.
    int64_t turnOf(unsigned value) const {
      return begin + (llvm::lower_bound(values, value) - values.begin());
    }
    int64_t stepAt(size_t step) const {
      return begin + int64_t(values.size()) + int64_t(step);
    }
  };
  /// A use of a value in a stage: when, and whether the backward pass has it.
  struct Use {
    int64_t time = 0;
    bool isNeeded = false;
  };

  void layTime();
  void findUses();
  void addBases();
  void addValue(unsigned value);
  void addStage(unsigned value, unsigned stage);
  void addPart(unsigned value, search::Lifetime live, bool isNeeded,
               bool isTurn);
  void addNeeds();
  uint32_t matrix(uint32_t rows, uint32_t columns,
                  bool (*isLegal)(State, State));

  const RecomputeInput &input_;
  RecomputeProblem made_;
  std::vector<StageTimes> stages_;
  /// By value and stage.
  std::map<std::pair<unsigned, unsigned>, llvm::SmallVector<Use, 4>> uses_;
  /// Of the value that is added: its last node; none yet: it is kept.
  std::optional<uint32_t> last_;
  /// By value and time: the node in which it is used then.
  std::map<std::pair<unsigned, int64_t>, uint32_t> usedAt_;
  std::map<std::tuple<uint32_t, uint32_t, const void *>, uint32_t> matrices_;
};

} // namespace

static bool canFollow(State before, State after) {
  switch (after) {
  case Dead:
    return true;
  case Kept:
    return before != Dead;
  case Again:
    return before == Dead;
  }
  return false;
}

static bool hasOperand(State user, State operand) {
  return user != Again || operand != Dead;
}

uint32_t RecomputeBuilder::matrix(uint32_t rows, uint32_t columns,
                                  bool (*isLegal)(State, State)) {
  auto [known, isNew] = matrices_.try_emplace(
      {rows, columns, reinterpret_cast<const void *>(isLegal)},
      uint32_t(made_.problem.matrices.size()));
  if (isNew) {
    search::Matrix &made = made_.problem.matrices.emplace_back();
    made.rows = rows;
    made.columns = columns;
    for (uint32_t row = 0; row != rows; ++row) {
      for (uint32_t column = 0; column != columns; ++column) {
        bool isGood = isLegal(State(row), State(column));
        made.entries.push_back(isGood ? 0 : search::kInfeasible);
      }
    }
  }
  return known->second;
}

void RecomputeBuilder::layTime() {
  auto time = int64_t(input_.forwardBases.size());
  for (auto [index, stage] : llvm::enumerate(input_.stages)) {
    StageTimes &times = stages_.emplace_back();
    times.begin = time;
    for (auto [value, info] : llvm::enumerate(input_.values)) {
      if (info.isIn(unsigned(index))) {
        times.values.push_back(unsigned(value));
      }
    }
    times.end = times.stepAt(stage.steps.size());
    time = times.end;
  }
}

void RecomputeBuilder::findUses() {
  for (unsigned stage = 0; stage != stages_.size(); ++stage) {
    for (unsigned value : stages_[stage].values) {
      for (unsigned operand : input_.values[value].operands) {
        llvm::SmallVector<Use, 4> &uses = uses_[{operand, stage}];
        int64_t time = stages_[stage].turnOf(value);
        if (uses.empty() || uses.back().time != time) {
          uses.push_back({time, false});
        }
      }
    }
    for (auto [step, info] : llvm::enumerate(input_.stages[stage].steps)) {
      for (unsigned value : info.uses) {
        uses_[{value, stage}].push_back({stages_[stage].stepAt(step), true});
      }
    }
  }
}

/// One state: whatever else there is.
void RecomputeBuilder::addBases() {
  auto add = [&](int64_t bytes, search::Lifetime live) {
    if (bytes > 0 && live.begin < live.end) {
      made_.problem.nodes.push_back(
          {.costs = {0}, .usages = {bytes}, .live = live});
    }
  };
  for (auto [time, bytes] : llvm::enumerate(input_.forwardBases)) {
    add(bytes, {int64_t(time), int64_t(time) + 1});
  }
  for (auto [index, stage] : llvm::enumerate(input_.stages)) {
    add(stage.base, {stages_[index].begin, stages_[index].stepAt(0)});
    for (auto [step, info] : llvm::enumerate(stage.steps)) {
      int64_t time = stages_[index].stepAt(step);
      add(info.base, {time, time + 1});
    }
  }
}

/// A part of a value's time.
void RecomputeBuilder::addPart(unsigned value, search::Lifetime live,
                               bool isNeeded, bool isTurn) {
  const ForwardValue &info = input_.values[value];
  search::Problem &problem = made_.problem;
  auto node = uint32_t(problem.nodes.size());
  search::Node &made = problem.nodes.emplace_back();
  made.costs = {isNeeded ? search::kInfeasible : 0, 0};
  made.usages = {0, info.bytes};
  if (isTurn) {
    made.costs.push_back(info.cost);
    made.usages.push_back(info.bytes);
  }
  made.live = live;
  bool isDropped = input_.dropsAll && info.firstStage < info.endStage;
  if (!last_ && isDropped) {
    made.costs[Kept] = search::kInfeasible;
  }
  if (last_) {
    auto before = uint32_t(problem.nodes[*last_].costs.size());
    problem.edges.push_back(
        {.from = *last_,
         .to = node,
         .costs = matrix(before, uint32_t(made.costs.size()), canFollow)});
  }
  last_ = node;
}

void RecomputeBuilder::addStage(unsigned value, unsigned stage) {
  const StageTimes &times = stages_[stage];
  int64_t begin = times.begin;
  bool isTurn = input_.values[value].isIn(stage);
  if (isTurn) {
    int64_t turn = times.turnOf(value);
    addPart(value, {begin, turn}, false, false);
    begin = turn;
  }
  auto add = [&](int64_t end, bool isNeeded) {
    addPart(value, {begin, end}, isNeeded, isTurn);
    if (isTurn) {
      made_.turns.push_back({value, stage, *last_});
      isTurn = false;
    }
    begin = end;
  };
  auto uses = uses_.find({value, stage});
  if (uses != uses_.end()) {
    for (const Use &use : uses->second) {
      add(use.time + 1, use.isNeeded);
      usedAt_[{value, use.time}] = *last_;
    }
  }
  if (begin < times.end || isTurn) {
    add(times.end, false);
  }
}

/// Stages in which it is of no use any more are left out.
void RecomputeBuilder::addValue(unsigned value) {
  last_ = std::nullopt;
  const ForwardValue &info = input_.values[value];
  auto used = uses_.lower_bound({value, 0});
  if (used == uses_.end() || used->first.first != value) {
    return;
  }
  unsigned first = used->first.second, end = first;
  for (; used != uses_.end() && used->first.first == value; ++used) {
    end = used->first.second + 1;
  }
  first = info.firstStage < info.endStage ? std::min(first, info.firstStage)
                                          : first;
  addPart(value, {info.held, stages_[first].begin}, false, false);
  for (unsigned stage = first; stage != end; ++stage) {
    addStage(value, stage);
  }
}

void RecomputeBuilder::addNeeds() {
  for (const RecomputeProblem::Turn &turn : made_.turns) {
    int64_t time = stages_[turn.stage].turnOf(turn.value);
    for (unsigned operand : input_.values[turn.value].operands) {
      uint32_t node = usedAt_.at({operand, time});
      auto states = uint32_t(made_.problem.nodes[node].costs.size());
      made_.problem.edges.push_back({.from = turn.node,
                                     .to = node,
                                     .costs = matrix(3, states, hasOperand)});
    }
  }
}

RecomputeProblem RecomputeBuilder::build() {
  made_.problem.name = "recompute";
  made_.problem.usageLimit = input_.limit;
  layTime();
  findUses();
  addBases();
  for (unsigned value = 0; value != input_.values.size(); ++value) {
    addValue(value);
  }
  addNeeds();
  llvm::stable_sort(made_.turns, [](const auto &a, const auto &b) {
    return std::pair(a.stage, a.value) < std::pair(b.stage, b.value);
  });
  return std::move(made_);
}

RecomputeProblem makeRecomputeProblem(const RecomputeInput &input) {
  return RecomputeBuilder(input).build();
}

std::vector<std::vector<unsigned>>
recomputedBy(const RecomputeProblem &problem, size_t numStages,
             const std::vector<uint32_t> &assignment) {
  std::vector<std::vector<unsigned>> values(numStages);
  for (const RecomputeProblem::Turn &turn : problem.turns) {
    if (assignment[turn.node] == Again) {
      values[turn.stage].push_back(turn.value);
    }
  }
  return values;
}

} // namespace divisi::plan
