//===- PlanTimer.cpp - What assignments take with overlap -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanTimer.h"

#include "divisi/Cost/Overlap.h"
#include "divisi/Simulate/DeltaSimulator.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

namespace divisi::plan {

using search::Change;
using search::Edge;
using search::Problem;
using search::Wide;

static constexpr size_t kNone = ~size_t(0);

/// As a time; what is infeasible takes none.
static int64_t timeOf(int64_t cost) {
  return cost >= search::kInfeasible ? 0 : nanosecondsOf(cost);
}

/// Which nodes are operators that take time.
static std::vector<bool> findOperators(const PlanningProblem &planning) {
  std::vector<bool> isOperator(planning.problem.nodes.size());
  for (unsigned node : planning.siteNodes) {
    isOperator[node] =
        llvm::any_of(planning.problem.nodes[node].costs,
                     [](int64_t cost) { return timeOf(cost) > 0; });
  }
  return isOperator;
}

namespace {
/// See makePlanTimer.
class PlanTimer : public search::AssignmentTimer {
public:
  PlanTimer(std::shared_ptr<const PlanningProblem> planning, double slowdown)
      : planning_(std::move(planning)), problem_(planning_->problem),
        slowdown_(slowdown), isOperator_(findOperators(*planning_)),
        taskOfNode_(problem_.nodes.size(), kNone),
        taskOfEdge_(problem_.edges.size(), kNone),
        edgesOf_(problem_.nodes.size()) {
    for (uint32_t e = 0; e != problem_.edges.size(); ++e) {
      const Edge &edge = problem_.edges[e];
      edgesOf_[edge.from].push_back(e);
      if (edge.from != edge.to) {
        edgesOf_[edge.to].push_back(e);
      }
    }
  }

  Wide begin(const std::vector<uint32_t> &assignment) override;
  Wide propose(llvm::ArrayRef<Change> changes);
  Wide propose(std::span<const Change> changes) override {
    return propose(llvm::ArrayRef(changes.data(), changes.size()));
  }
  void accept() override;
  int64_t work() const override { return work_; }

private:
  /// Of a task, in entries that a solver could look at in the same time.
  static constexpr int64_t kWorkByTask = 300;

  /// A way from one node to a later one; what goes back, as new values of
  /// globals do, is needed by nobody.
  static bool isForward(const Edge &edge) { return edge.from < edge.to; }
  bool isWay(uint32_t edge) const { return !planning_->fusionAt(edge); }
  std::vector<ScheduleTask> makeTasks();
  int64_t timeOfNode(uint32_t node) const;
  int64_t timeOfEdge(uint32_t edge) const;
  void touch(size_t task, int64_t nanoseconds);
  void exchange();

  std::shared_ptr<const PlanningProblem> planning_;
  const Problem &problem_;
  double slowdown_;
  std::vector<bool> isOperator_;
  std::vector<size_t> taskOfNode_, taskOfEdge_;
  std::vector<std::vector<uint32_t>> edgesOf_;
  std::vector<uint32_t> assignment_;
  std::unique_ptr<DeltaSimulator> simulator_;
  int64_t beside_ = 0; ///< What nodes take that are no operators: copies.
  int64_t work_ = 0;
  // Of the proposal.
  std::vector<Change> changes_; ///< With the other strategies.
  bool isOpen_ = false;
  int64_t besideThen_ = 0;
  std::vector<TaskTime> times_;
};
} // namespace

/// With what it takes more as it is not fused with operators before it.
int64_t PlanTimer::timeOfNode(uint32_t node) const {
  int64_t time = timeOf(problem_.nodes[node].costs[assignment_[node]]);
  for (uint32_t e : edgesOf_[node]) {
    const Edge &edge = problem_.edges[e];
    if (edge.to == node && (!isWay(e) || edge.from == node)) {
      time += timeOfEdge(e);
    }
  }
  return time;
}

int64_t PlanTimer::timeOfEdge(uint32_t e) const {
  const Edge &edge = problem_.edges[e];
  return timeOf(problem_.matrices[edge.costs].at(assignment_[edge.from],
                                                 assignment_[edge.to]));
}

/// Points are there when what leads to them is. What rests at the begin, a
/// weight, goes its way while the operator before its user runs: not earlier,
/// as it would take memory.
std::vector<ScheduleTask> PlanTimer::makeTasks() {
  std::vector<ScheduleTask> tasks;
  std::vector<size_t> operators;
  auto add = [&](bool meets, int64_t time, std::vector<size_t> after) {
    llvm::sort(after);
    after.erase(llvm::unique(after), after.end());
    tasks.push_back({{0}, std::move(after), time, meets, slowdown_, 0});
    return tasks.size() - 1;
  };
  std::vector<bool> rests(problem_.nodes.size(), true);
  for (unsigned node : planning_->siteNodes) {
    rests[node] = false;
  }
  for (uint32_t e = 0; e != problem_.edges.size(); ++e) {
    if (isForward(problem_.edges[e]) && isWay(e)) {
      rests[problem_.edges[e].to] = false;
    }
  }
  for (uint32_t node = 0; node != problem_.nodes.size(); ++node) {
    std::vector<size_t> after;
    for (uint32_t e : edgesOf_[node]) {
      const Edge &edge = problem_.edges[e];
      if (edge.to != node || !isForward(edge) || !isWay(e)) {
        continue;
      }
      if (rests[edge.from]) {
        std::vector<size_t> free = {taskOfNode_[edge.from]};
        if (operators.size() >= 2) {
          free.push_back(operators[operators.size() - 2]);
        }
        taskOfEdge_[e] = add(true, timeOfEdge(e), std::move(free));
      }
      after.push_back(taskOfEdge_[e]);
    }
    bool isOperator = isOperator_[node];
    taskOfNode_[node] =
        add(!isOperator, isOperator ? timeOfNode(node) : 0, std::move(after));
    if (isOperator) {
      operators.push_back(taskOfNode_[node]);
    }
    for (uint32_t e : edgesOf_[node]) {
      const Edge &edge = problem_.edges[e];
      bool isLater = rests[node] && isForward(edge);
      if (edge.from == node && edge.to != node && isWay(e) && !isLater) {
        taskOfEdge_[e] = add(true, timeOfEdge(e), {taskOfNode_[node]});
      }
    }
  }
  return tasks;
}

Wide PlanTimer::begin(const std::vector<uint32_t> &assignment) {
  assignment_ = assignment;
  isOpen_ = false;
  beside_ = 0;
  for (uint32_t node = 0; node != problem_.nodes.size(); ++node) {
    beside_ += isOperator_[node] ? 0 : timeOfNode(node);
  }
  simulator_ = std::make_unique<DeltaSimulator>(makeTasks());
  work_ = kWorkByTask * int64_t(simulator_->numSimulated());
  return Wide(simulator_->nanoseconds() + beside_) * kNanosecond;
}

void PlanTimer::touch(size_t task, int64_t nanoseconds) {
  if (task != kNone && llvm::none_of(times_, [&](const TaskTime &time) {
        return time.task == task;
      })) {
    times_.push_back({task, nanoseconds});
  }
}

void PlanTimer::exchange() {
  for (Change &change : changes_) {
    std::swap(assignment_[change.node], change.strategy);
  }
}

Wide PlanTimer::propose(llvm::ArrayRef<Change> changes) {
  if (isOpen_) {
    exchange();
  }
  changes_.assign(changes.begin(), changes.end());
  besideThen_ = beside_;
  auto countBeside = [&](int64_t sign) {
    for (const Change &change : changes) {
      if (!isOperator_[change.node]) {
        besideThen_ += sign * timeOfNode(change.node);
      }
    }
  };
  countBeside(-1);
  exchange();
  countBeside(1);
  isOpen_ = true;
  times_.clear();
  auto touchOperator = [&](uint32_t node) {
    if (isOperator_[node]) {
      touch(taskOfNode_[node], timeOfNode(node));
    }
  };
  work_ = 0;
  for (const Change &change : changes) {
    touchOperator(change.node);
    work_ += int64_t(edgesOf_[change.node].size());
    for (uint32_t e : edgesOf_[change.node]) {
      if (isWay(e)) {
        touch(taskOfEdge_[e], timeOfEdge(e));
      } else {
        touchOperator(problem_.edges[e].to);
      }
    }
  }
  int64_t time = simulator_->propose(times_);
  work_ += kWorkByTask * int64_t(simulator_->numSimulated());
  return Wide(time + besideThen_) * kNanosecond;
}

void PlanTimer::accept() {
  isOpen_ = false;
  beside_ = besideThen_;
  simulator_->accept();
}

std::shared_ptr<search::AssignmentTimer>
makePlanTimer(std::shared_ptr<const PlanningProblem> planning,
              const PlanningInputs &inputs) {
  const GridLinks &links = inputs.devices.links;
  llvm::SmallVector<AxisId, 4> axes(inputs.devices.grid.numAxes());
  for (auto [index, axis] : llvm::enumerate(axes)) {
    axis = {uint32_t(index)};
  }
  return std::make_shared<PlanTimer>(
      std::move(planning), overlapSlowdown(links.reach(axes), links.levels()));
}

PlanParts partsOf(const PlanningProblem &planning,
                  const std::vector<uint32_t> &assignment) {
  const Problem &problem = planning.problem;
  PlanParts parts;
  for (auto [node, strategy] : llvm::zip_equal(problem.nodes, assignment)) {
    parts.operators += timeOf(node.costs[strategy]);
  }
  for (auto [index, edge] : llvm::enumerate(problem.edges)) {
    int64_t time = timeOf(problem.matrices[edge.costs].at(assignment[edge.from],
                                                          assignment[edge.to]));
    (planning.fusionAt(index) ? parts.operators : parts.ways) += time;
  }
  return parts;
}

} // namespace divisi::plan
