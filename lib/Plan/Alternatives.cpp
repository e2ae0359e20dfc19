//===- Alternatives.cpp - What else a plan could have chosen --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Plan/Alternatives.h"

#include "Around.h"
#include "PresentPlan.h"

using namespace mlir;
using namespace divisi;
using namespace divisi::plan;

/// So many alternatives are tried with their neighbours chosen anew.
static constexpr size_t kAdapted = 8;

/// Per kind of devices, per time.
using UsageByTime = std::vector<std::vector<search::Wide>>;

struct PlanAlternatives::State {
  PlanningInputs inputs;
  PlanningProblem planning;
  search::Solution plan; ///< The module's, in the problem.
  std::vector<Decision> decisions;
  std::vector<unsigned> nodes; ///< Per decision.
  UsageByTime usage;           ///< Of the plan.

  std::vector<search::Wide> peaksWith(const Around &around, unsigned node,
                                      uint32_t choice) const;
  struct EdgeCosts;
  EdgeCosts edgeCosts(const Around &around, unsigned node,
                      uint32_t choice) const;
};

PlanAlternatives::PlanAlternatives(std::unique_ptr<State> state)
    : state_(std::move(state)) {}
PlanAlternatives::PlanAlternatives(PlanAlternatives &&) = default;
PlanAlternatives::~PlanAlternatives() = default;

//===----------------------------------------------------------------------===//
// The plan in its problem
//===----------------------------------------------------------------------===//

/// Everything that has a node of the problem.
static void listDecisions(const ModuleDataflow &dataflow,
                          const PlanningProblem &planning,
                          std::vector<Decision> &decisions,
                          std::vector<unsigned> &nodes) {
  auto add = [&](Decision decision, unsigned node) {
    decisions.push_back(decision);
    nodes.push_back(node);
  };
  for (auto [index, op] : llvm::enumerate(dataflow.ops)) {
    add({Decision::Kind::Operator, nn::LoopInterface(op), 0},
        planning.siteNodes[index]);
  }
  for (auto [index, tensor] : llvm::enumerate(dataflow.values)) {
    if (planning.valuePlaces[index].empty()) {
      continue;
    }
    Decision decision{Decision::Kind::Value, nullptr, tensor.number};
    switch (tensor.kind) {
    case DataflowValue::Kind::Global:
      decision.kind = Decision::Kind::Global;
      decision.op = nn::GlobalOp(dataflow.globals[tensor.index]);
      break;
    case DataflowValue::Kind::Argument:
      decision.kind = Decision::Kind::Input;
      decision.op = func::FuncOp(dataflow.entries[tensor.index]);
      break;
    case DataflowValue::Kind::Result:
      decision.op = nn::LoopInterface(dataflow.ops[tensor.index]);
      break;
    }
    add(decision, planning.valueNodes[index]);
  }
  for (auto [index, output] : llvm::enumerate(dataflow.outputs)) {
    add({Decision::Kind::Output, func::FuncOp(dataflow.entries[output.entry]),
         output.number},
        planning.outputNodes[index]);
  }
}

/// Adds `bytes` to the times in `live`.
static void addUsage(std::vector<search::Wide> &usage, search::Lifetime live,
                     int64_t bytes) {
  if (size_t(live.end) > usage.size()) {
    usage.resize(live.end, 0);
  }
  for (int64_t time = live.begin; time < live.end; ++time) {
    usage[time] += bytes;
  }
}

/// Adds, `sign` times, what `node` takes.
static void addNode(UsageByTime &usage, const search::Node &node,
                    uint32_t choice, int64_t sign) {
  search::forEachUsage(node, [&](uint32_t kind, const auto &usages) {
    search::forEachLife(node, [&](search::Lifetime live) {
      addUsage(usage[kind], live, sign * usages[choice]);
    });
  });
}

/// Adds, `sign` times, what walking `edge` takes.
static void addEdge(UsageByTime &usage, const search::Problem &problem,
                    const search::Edge &edge,
                    const std::vector<uint32_t> &assignment, int64_t sign) {
  search::forEachUsage(edge, [&](uint32_t kind, uint32_t matrix) {
    int64_t bytes =
        problem.matrices[matrix].at(assignment[edge.from], assignment[edge.to]);
    search::forEachLife(edge, [&](search::Lifetime live) {
      addUsage(usage[kind], live, sign * bytes);
    });
  });
}

static UsageByTime usageByTime(const search::Problem &problem,
                               const std::vector<uint32_t> &assignment) {
  UsageByTime usage(problem.numResources());
  for (auto [node, choice] : llvm::zip_equal(problem.nodes, assignment)) {
    addNode(usage, node, choice, 1);
  }
  for (const search::Edge &edge : problem.edges) {
    addEdge(usage, problem, edge, assignment, 1);
  }
  return usage;
}

divisi::Expected<PlanAlternatives>
PlanAlternatives::of(ModuleOp module, const Cluster &cluster) {
  Expected<PresentPlan> plan = readPlan(module, cluster);
  if (!plan) {
    return plan.status();
  }
  auto state = std::make_unique<State>();
  state->inputs = std::move(plan->inputs);
  // Nobody cuts these options short.
  state->planning = *makeProblem(state->inputs, plan->options,
                                 {.names = true, .present = &plan->present});
  auto assignment = assignmentOf(state->planning, plan->present);
  if (!assignment) {
    return incompletePlan();
  }
  state->plan =
      search::evaluate(state->planning.problem, std::move(*assignment));
  state->usage = usageByTime(state->planning.problem, state->plan.assignment);
  listDecisions(state->inputs.dataflow(), state->planning, state->decisions,
                state->nodes);
  return PlanAlternatives(std::move(state));
}

//===----------------------------------------------------------------------===//
// Pricing
//===----------------------------------------------------------------------===//

const std::vector<Decision> &PlanAlternatives::decisions() const {
  return state_->decisions;
}

int64_t PlanAlternatives::nanoseconds() const {
  return nanosecondsOf(state_->plan.cost);
}

/// The peaks of the plan with `choice` for `node`.
std::vector<search::Wide>
PlanAlternatives::State::peaksWith(const Around &around, unsigned node,
                                   uint32_t choice) const {
  const search::Problem &problem = planning.problem;
  UsageByTime changed = usage;
  std::vector<uint32_t> assignment = plan.assignment;
  assignment[node] = choice;
  addNode(changed, problem.nodes[node], plan.assignment[node], -1);
  addNode(changed, problem.nodes[node], choice, 1);
  for (const search::Edge *edge : around.edgesOf(node)) {
    addEdge(changed, problem, *edge, plan.assignment, -1);
    addEdge(changed, problem, *edge, assignment, 1);
  }
  std::vector<search::Wide> peaks;
  for (const std::vector<search::Wide> &kind : changed) {
    peaks.push_back(kind.empty() ? 0 : *llvm::max_element(kind));
  }
  return peaks;
}

/// What all edges at `node` cost when it takes `choice`; of these `apart`, what
/// it takes itself more as it is not fused.
struct PlanAlternatives::State::EdgeCosts {
  search::Wide all = 0, apart = 0;
};

PlanAlternatives::State::EdgeCosts
PlanAlternatives::State::edgeCosts(const Around &around, unsigned node,
                                   uint32_t choice) const {
  EdgeCosts costs;
  for (const search::Edge *edge : around.edgesOf(node)) {
    bool isMaker = edge->from == node;
    uint32_t from = isMaker ? choice : plan.assignment[edge->from];
    uint32_t to = edge->to == node ? choice : plan.assignment[edge->to];
    int64_t cost = planning.problem.matrices[edge->costs].at(from, to);
    costs.all += cost;
    const FusionEdge *fusion =
        planning.fusionAt(size_t(edge - planning.problem.edges.data()));
    if (fusion && cost > 0) {
      const std::vector<ApartTime> &own =
          isMaker ? planning.choices[fusion->maker]->resultApart
                  : planning.choices[fusion->user]->operandApart;
      costs.apart += costOf(own[choice].value_or(0));
    }
  }
  return costs;
}

/// A nanosecond count, or nothing if a part of it cannot be.
static std::optional<int64_t> possible(search::Wide cost) {
  return cost < search::kInfeasible ? std::optional(nanosecondsOf(cost))
                                    : std::nullopt;
}

std::vector<Alternative> PlanAlternatives::alternatives(size_t decision) const {
  const search::Problem &problem = state_->planning.problem;
  const search::Solution &plan = state_->plan;
  unsigned node = state_->nodes[decision];
  const search::Node &info = problem.nodes[node];
  Around around(problem, node);
  int64_t before = nanosecondsOf(around.costNear(plan.assignment));
  auto growth = [&](const std::vector<uint32_t> &assignment) {
    std::optional<int64_t> after = possible(around.costNear(assignment));
    return after ? std::optional(*after - before) : std::nullopt;
  };
  std::vector<std::pair<Alternative, uint32_t>> found;
  for (uint32_t choice = 0; choice != info.costs.size(); ++choice) {
    Alternative other;
    other.strategy = info.strategies[choice];
    other.isChosen = choice == plan.assignment[node];
    State::EdgeCosts edges = state_->edgeCosts(around, node, choice);
    other.nanoseconds = nanosecondsOf(info.costs[choice] + edges.apart);
    other.conversionNanoseconds =
        possible(edges.all - edges.apart).value_or(search::kInfeasible);
    std::vector<uint32_t> assignment = plan.assignment;
    assignment[node] = choice;
    other.growth = growth(assignment);
    search::forEachUsage(info, [&](uint32_t, const auto &usages) {
      other.bytes = std::max(other.bytes, usages[choice]);
    });
    auto peaks = state_->peaksWith(around, node, choice);
    other.peakBytes = int64_t(*llvm::max_element(peaks));
    for (auto [kind, peak] : llvm::enumerate(peaks)) {
      std::optional<int64_t> limit = problem.limitOf(uint32_t(kind));
      other.fits &= !limit || peak <= *limit;
    }
    found.push_back({std::move(other), choice});
  }
  llvm::stable_sort(found, [](const auto &a, const auto &b) {
    auto key = [](const Alternative &other) {
      return std::tuple(!other.growth, other.growth.value_or(0),
                        !other.isChosen);
    };
    return key(a.first) < key(b.first);
  });
  std::vector<Alternative> sorted;
  for (auto &[other, choice] : found) {
    if (sorted.size() < kAdapted || other.isChosen) {
      other.adaptedGrowth = growth(around.adapt(plan.assignment, choice));
    }
    sorted.push_back(std::move(other));
  }
  return sorted;
}
