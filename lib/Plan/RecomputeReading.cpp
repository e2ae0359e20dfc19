//===- RecomputeReading.cpp - What a plan could compute again -------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RecomputeReading.h"

#include "ForwardParts.h"
#include "Lifetimes.h"
#include "UsageProfile.h"

#include "llvm/ADT/STLExtras.h"

#include <set>

namespace divisi::plan {

namespace {

constexpr unsigned kNone = ~0u;

/// Reads it.
class RecomputeReader {
public:
  explicit RecomputeReader(const PricedPlan &priced)
      : dataflow_(priced.plan.inputs.dataflow()), planning_(priced.planning),
        assignment_(priced.assignment) {}

  std::optional<RecomputeReading> read(bool byParts);

private:
  /// An operator behind the turn.
  struct Step {
    unsigned site = 0;
    BackwardStep step;
    int64_t before = 0; ///< Bytes that are taken as it begins.
  };

  void findEnds();
  std::vector<bool> fromGradients() const;
  bool findTurn();
  void findRoots();
  void findCosts();
  void findValues();
  void addUse(unsigned root, const Consumer &consumer);
  void findBases();
  std::vector<Step> steps() const;
  void addSteps();
  void openAll(const std::vector<bool> &isOpen);
  std::vector<unsigned> segments() const;
  std::vector<bool> openInside(const std::vector<unsigned> &part) const;
  bool isSmall() const;
  void openSegments(const std::vector<unsigned> &part);
  void cutStages(llvm::function_ref<bool(const Step &)> begins,
                 std::vector<Step> steps);
  int64_t usageOf(uint32_t node) const {
    return planning_.problem.nodes[node].usages[assignment_[node]];
  }
  uint32_t nodeOf(unsigned tensor) const {
    const DataflowValue &value = dataflow_.values[tensor];
    return hasPoint(dataflow_, value) ? planning_.valueNodes[tensor]
                                      : planning_.siteNodes[value.index];
  }
  bool mayRunAgain(unsigned site) const;

  const Dataflow &dataflow_;
  const PlanningProblem &planning_;
  const std::vector<uint32_t> &assignment_;
  RecomputeReading reading_;
  std::vector<llvm::SmallVector<unsigned, 3>> operands_; ///< Per site.
  std::vector<int64_t> costs_;                           ///< Per site.
  std::vector<unsigned> valueOf_; ///< Per tensor: its number, or kNone.
  /// Per tensor that is a root: its last use up to the turn, and whether
  /// somebody but operators needs it later.
  std::vector<int64_t> lastForward_;
  std::vector<bool> isFixed_;
  std::vector<Step> steps_;
};

} // namespace

void RecomputeReader::findEnds() {
  operands_.resize(dataflow_.sites.size());
  for (auto [index, site] : llvm::enumerate(dataflow_.sites)) {
    operands_[index].assign(site.nest.operands.size(), kNone);
  }
  for (auto [index, tensor] : llvm::enumerate(dataflow_.values)) {
    for (const Consumer &consumer : tensor.consumers) {
      if (consumer.kind == Consumer::Kind::Operand) {
        operands_[consumer.index][consumer.operand] = unsigned(index);
      }
    }
  }
}

/// Which tensors follow from gradients, as whether a step is skipped does.
std::vector<bool> RecomputeReader::fromGradients() const {
  std::vector<bool> found(dataflow_.values.size(), false);
  for (auto [index, tensor] : llvm::enumerate(dataflow_.values)) {
    found[index] =
        tensor.state == StateKind::Gradient ||
        (tensor.kind == DataflowValue::Kind::Result &&
         llvm::any_of(operands_[tensor.index],
                      [&](unsigned operand) { return found[operand]; }));
  }
  return found;
}

/// What results need without gradients is the forward pass; false if all is.
bool RecomputeReader::findTurn() {
  std::vector<bool> isBehind = fromGradients();
  std::vector<bool> isNeeded(dataflow_.values.size(), false);
  for (const Output &output : dataflow_.outputs) {
    isNeeded[output.tensor] = !isBehind[output.tensor];
  }
  for (size_t index = dataflow_.values.size(); index-- != 0;) {
    const DataflowValue &tensor = dataflow_.values[index];
    if (!isNeeded[index] || tensor.kind != DataflowValue::Kind::Result) {
      continue;
    }
    reading_.turn = std::max(reading_.turn, dataflow_.sites[tensor.index].time);
    for (unsigned operand : operands_[tensor.index]) {
      isNeeded[operand] = true;
    }
  }
  return !dataflow_.sites.empty() &&
         reading_.turn < dataflow_.sites.back().time;
}

void RecomputeReader::findRoots() {
  for (auto [index, tensor] : llvm::enumerate(dataflow_.values)) {
    unsigned root = unsigned(index);
    if (tensor.kind == DataflowValue::Kind::Result) {
      const Site &site = dataflow_.sites[tensor.index];
      const SiteChoices &choices = *planning_.choices[tensor.index];
      uint32_t split = assignment_[planning_.siteNodes[tensor.index]];
      if (site.buffers.viewed && choices.resultBytes[0][split] == 0) {
        root = reading_.roots[operands_[tensor.index][*site.buffers.viewed]];
      }
    }
    reading_.roots.push_back(root);
  }
}

/// What an operator takes, with what its operands and results take to be
/// brought.
void RecomputeReader::findCosts() {
  const search::Problem &problem = planning_.problem;
  std::vector<unsigned> siteOf(problem.nodes.size(), kNone);
  costs_.resize(dataflow_.sites.size());
  for (auto [site, node] : llvm::enumerate(planning_.siteNodes)) {
    siteOf[node] = unsigned(site);
    costs_[site] = problem.nodes[node].costs[assignment_[node]];
  }
  for (const search::Edge &edge : problem.edges) {
    int64_t cost = problem.matrices[edge.costs].at(assignment_[edge.from],
                                                   assignment_[edge.to]);
    unsigned site =
        siteOf[edge.to] != kNone ? siteOf[edge.to] : siteOf[edge.from];
    if (site != kNone) {
      costs_[site] += cost;
    }
  }
}

bool RecomputeReader::mayRunAgain(unsigned site) const {
  const Site &info = dataflow_.sites[site];
  return info.numResults == 1 && !info.isInBody && !isAlias(info) &&
         llvm::all_of(operands_[site], [&](unsigned operand) {
           const DataflowValue &tensor =
               dataflow_.values[reading_.roots[operand]];
           return tensor.kind != DataflowValue::Kind::Result ||
                  dataflow_.sites[tensor.index].buffers.isConstant ||
                  valueOf_[reading_.roots[operand]] != kNone;
         });
}

void RecomputeReader::addUse(unsigned root, const Consumer &consumer) {
  if (consumer.time <= reading_.turn) {
    lastForward_[root] = std::max(lastForward_[root], consumer.time);
  } else if (consumer.kind != Consumer::Kind::Operand) {
    isFixed_[root] = true;
  }
}

void RecomputeReader::findValues() {
  size_t count = dataflow_.values.size();
  lastForward_.assign(count, 0);
  isFixed_.assign(count, false);
  valueOf_.assign(count, kNone);
  for (auto [index, tensor] : llvm::enumerate(dataflow_.values)) {
    unsigned root = reading_.roots[index];
    if (tensor.begin <= reading_.turn) {
      lastForward_[root] = std::max(lastForward_[root], tensor.begin);
    }
    for (const Consumer &consumer : tensor.consumers) {
      addUse(root, consumer);
    }
  }
  RecomputeInput &input = reading_.input;
  for (auto [index, tensor] : llvm::enumerate(dataflow_.values)) {
    if (tensor.kind != DataflowValue::Kind::Result || isFixed_[index] ||
        reading_.roots[index] != index || tensor.begin > reading_.turn ||
        isAlias(dataflow_.sites[tensor.index]) ||
        usageOf(nodeOf(unsigned(index))) == 0) {
      continue;
    }
    valueOf_[index] = unsigned(input.values.size());
    ForwardValue &value = input.values.emplace_back();
    value.bytes = usageOf(nodeOf(unsigned(index)));
    value.cost = costs_[tensor.index];
    value.held = lastForward_[index] + 1;
    reading_.tensors.push_back(unsigned(index));
    for (unsigned operand : operands_[tensor.index]) {
      unsigned number = valueOf_[reading_.roots[operand]];
      if (number != kNone && !llvm::is_contained(value.operands, number)) {
        value.operands.push_back(number);
      }
    }
  }
}

/// What everything takes but the values after their last forward use.
void RecomputeReader::findBases() {
  const search::Problem &problem = planning_.problem;
  int64_t stride = planning_.positions;
  auto size = size_t((dataflow_.time + 2) * stride);
  UsageProfile during(size), before(size);
  auto add = [&](search::Lifetime live, int64_t bytes) {
    during.add(live.begin, live.end, bytes);
    before.add(live.begin + 1, live.end, bytes);
  };
  std::vector<int64_t> ends(problem.nodes.size(), INT64_MAX);
  for (auto [number, tensor] : llvm::enumerate(reading_.tensors)) {
    ends[nodeOf(tensor)] = reading_.input.values[number].held * stride;
  }
  for (auto [index, node] : llvm::enumerate(problem.nodes)) {
    forEachLife(node, [&, index = index](search::Lifetime live) {
      live.end = std::min(live.end, std::max(live.begin, ends[index]));
      add(live, usageOf(uint32_t(index)));
    });
  }
  for (const search::Edge &edge : problem.edges) {
    if (edge.usages) {
      int64_t bytes = problem.matrices[*edge.usages].at(assignment_[edge.from],
                                                        assignment_[edge.to]);
      // A last use holds the tensor itself, which its own node counts.
      bool isItself =
          ends[edge.from] <= edge.live.begin && bytes == usageOf(edge.from);
      if (isItself) {
        continue;
      }
      forEachLife(edge, [&](search::Lifetime live) { add(live, bytes); });
    }
  }
  std::vector<int64_t> all = during.sums(), old = before.sums();
  auto most = [&](int64_t time) {
    auto at = all.begin() + time * stride;
    return *std::max_element(at, at + stride);
  };
  for (int64_t time = 0; time <= reading_.turn; ++time) {
    reading_.input.forwardBases.push_back(most(time));
  }
  for (Step &step : steps_) {
    int64_t time = dataflow_.sites[step.site].time;
    step.step.base = most(time);
    step.before = old[size_t(time * stride)];
  }
}

/// Operators behind the turn. Those that use nothing are one where they follow
/// each other; in front of all that use something they belong to the forward
/// pass.
void RecomputeReader::addSteps() {
  for (auto [index, site] : llvm::enumerate(dataflow_.sites)) {
    if (site.time <= reading_.turn) {
      continue;
    }
    Step &step = steps_.emplace_back();
    step.site = unsigned(index);
    for (unsigned operand : operands_[index]) {
      unsigned value = valueOf_[reading_.roots[operand]];
      if (value != kNone && !llvm::is_contained(step.step.uses, value)) {
        step.step.uses.push_back(value);
      }
    }
  }
  findBases();
  std::vector<Step> merged;
  for (Step &step : steps_) {
    if (!step.step.uses.empty()) {
      merged.push_back(std::move(step));
    } else if (merged.empty()) {
      reading_.input.forwardBases.push_back(step.step.base);
    } else if (merged.back().step.uses.empty()) {
      int64_t &base = merged.back().step.base;
      base = std::max(base, step.step.base);
    } else {
      merged.push_back(std::move(step));
    }
  }
  steps_ = std::move(merged);
}

void RecomputeReader::cutStages(llvm::function_ref<bool(const Step &)> begins,
                                std::vector<Step> steps) {
  for (Step &step : steps) {
    bool isNew = begins(step) || reading_.input.stages.empty();
    if (isNew) {
      reading_.input.stages.push_back({step.before, {}});
      reading_.sites.push_back(step.site);
    }
    reading_.input.stages.back().steps.push_back(std::move(step.step));
  }
}

/// Each operator is a stage: backwards, a value may be computed again from the
/// first stage on in which it, or what is made of it, may be wanted.
void RecomputeReader::openAll(const std::vector<bool> &isOpen) {
  std::vector<ForwardValue> &values = reading_.input.values;
  std::vector<unsigned> first(values.size(), kNone), end(values.size(), 0);
  unsigned stage = 0;
  for (const Step &step : steps_) {
    for (unsigned value : step.step.uses) {
      first[value] = std::min(first[value], stage);
      end[value] = std::max(end[value], stage + 1);
    }
    stage += step.step.uses.empty() ? 0 : 1;
  }
  for (size_t value = values.size(); value-- != 0;) {
    unsigned site = dataflow_.values[reading_.tensors[value]].index;
    values[value].firstStage = values[value].endStage = 0;
    if (!isOpen[value] || !mayRunAgain(site) || first[value] == kNone) {
      continue;
    }
    values[value].firstStage = first[value];
    values[value].endStage = end[value];
    for (unsigned operand : values[value].operands) {
      first[operand] = std::min(first[operand], first[value]);
      end[operand] = std::max(end[operand], end[value]);
    }
  }
}

/// Per value: its part of the forward pass.
std::vector<unsigned> RecomputeReader::segments() const {
  std::vector<MadeValue> made;
  for (auto [number, value] : llvm::enumerate(reading_.input.values)) {
    const DataflowValue &tensor = dataflow_.values[reading_.tensors[number]];
    made.push_back(
        {tensor.begin, value.held - 1, value.bytes, mayRunAgain(tensor.index)});
  }
  return forwardParts(made);
}

/// What no other part uses.
std::vector<bool>
RecomputeReader::openInside(const std::vector<unsigned> &part) const {
  std::vector<bool> isOpen(part.size(), true);
  for (auto [number, value] : llvm::enumerate(reading_.input.values)) {
    unsigned site = dataflow_.values[reading_.tensors[number]].index;
    isOpen[number] = isOpen[number] && mayRunAgain(site);
    for (unsigned operand : value.operands) {
      isOpen[operand] = isOpen[operand] && part[operand] == part[number];
    }
  }
  return isOpen;
}

/// A stage for each part; values that other parts use are kept.
void RecomputeReader::openSegments(const std::vector<unsigned> &part) {
  std::vector<ForwardValue> &values = reading_.input.values;
  std::vector<bool> isOpen = openInside(part);
  std::vector<unsigned> stageOf(part.empty() ? 0 : part.back() + 1, kNone);
  unsigned stages = 0;
  cutStages(
      [&](const Step &step) {
        bool begins = false;
        for (unsigned value : step.step.uses) {
          if (isOpen[value] && stageOf[part[value]] == kNone) {
            begins = true;
          }
        }
        if (begins || stages == 0) {
          for (unsigned value : step.step.uses) {
            unsigned &stage = stageOf[part[value]];
            stage = isOpen[value] && stage == kNone ? stages : stage;
          }
          ++stages;
        }
        return begins;
      },
      steps_);
  for (auto [number, value] : llvm::enumerate(values)) {
    unsigned stage = stageOf[part[number]];
    if (isOpen[number] && stage != kNone) {
      value.firstStage = stage;
      value.endStage = stage + 1;
    }
  }
}

/// Whether each operator may be a stage.
bool RecomputeReader::isSmall() const {
  constexpr double kMostNodes = 40000, kPerStage = 4;
  double nodes = 0;
  for (const ForwardValue &value : reading_.input.values) {
    nodes += kPerStage * double(value.endStage - value.firstStage);
  }
  return nodes <= kMostNodes;
}

std::optional<RecomputeReading> RecomputeReader::read(bool byParts) {
  findEnds();
  if (dataflow_.entryTimes.size() != 1 ||
      !planning_.problem.moreResources.empty() || !findTurn()) {
    return std::nullopt;
  }
  findRoots();
  findCosts();
  findValues();
  addSteps();
  std::vector<unsigned> part = segments();
  openAll(std::vector<bool>(part.size(), true));
  if (!isSmall()) {
    openAll(openInside(part));
  }
  if (isSmall() && !byParts) {
    cutStages([](const Step &step) { return !step.step.uses.empty(); },
              std::move(steps_));
  } else {
    for (ForwardValue &value : reading_.input.values) {
      value.firstStage = value.endStage = 0;
    }
    openSegments(part);
    reading_.byParts = true;
  }
  return reading_.input.stages.empty() ? std::nullopt
                                       : std::optional(std::move(reading_));
}

std::optional<RecomputeReading> readRecompute(const PricedPlan &priced,
                                              bool byParts) {
  return RecomputeReader(priced).read(byParts);
}

} // namespace divisi::plan
