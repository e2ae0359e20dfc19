//===- StagePlanner.cpp - Layers and devices of stages --------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Stages/StagePlanner.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <map>

using namespace divisi;

static constexpr int64_t kNone = std::numeric_limits<int64_t>::max();

namespace {

/// The costs of all stages of a problem, and the dynamic program over them.
class StagePlanner {
public:
  explicit StagePlanner(const StageProblem &problem);

  std::optional<StagePlan> run();

private:
  /// A stage that there may be.
  struct Candidate {
    size_t end, subGrid;
    StageCost cost;
    int64_t sum;  ///< Its part of the sum: t and transfers.
    int64_t most; ///< u; of which the largest counts.
  };
  /// The least sum of stages from one layer on, and the first of them.
  struct Cell {
    int64_t sum = kNone;
    const Candidate *first = nullptr;
  };

  void readCosts();
  void makeStates();
  int64_t solve(size_t stages, int64_t most);
  Cell &cell(size_t position, size_t layer, size_t state);
  void relax(size_t position, size_t layer, size_t stages, int64_t most);
  StagePlan plan() const;
  void search(size_t stages);
  void between(size_t stages, size_t low, size_t high, int64_t lowSum,
               int64_t highSum);
  void offer(size_t stages, int64_t most, int64_t sum);
  bool isPromising(int64_t most, int64_t sum) const;

  const StageProblem &problem_;
  std::vector<std::vector<Candidate>> from_; ///< Per first layer.
  std::vector<int64_t> mosts_;               ///< Ascending, each once.
  /// Devices that are taken, of each kind, numbered in mixed radix; and what
  /// each sub-grid adds to the number.
  std::vector<std::vector<size_t>> states_;
  std::vector<size_t> step_;
  std::vector<Cell> cells_;
  size_t numStages_ = 0; ///< That the cells are of.
  std::optional<StagePlan> best_;
  int64_t bestMost_ = kNone, bestSum_ = kNone;
};

} // namespace

size_t divisi::inFlightOf1F1B(size_t position, size_t stages,
                              size_t microBatches) {
  return std::min(stages - position, microBatches);
}

StagePlanner::StagePlanner(const StageProblem &problem) : problem_(problem) {
  readCosts();
  makeStates();
}

void StagePlanner::readCosts() {
  auto more = int64_t(problem_.microBatches) - 1;
  from_.resize(problem_.layers);
  for (size_t begin = 0; begin < problem_.layers; ++begin) {
    for (size_t end = begin + 1; end <= problem_.layers; ++end) {
      for (size_t grid = 0; grid < problem_.subGrids.size(); ++grid) {
        const SubGrid &subGrid = problem_.subGrids[grid];
        std::optional<StageCost> cost = problem_.cost(begin, end, subGrid);
        if (!cost || subGrid.devices > problem_.devices[subGrid.kind]) {
          continue;
        }
        int64_t pace =
            std::max({cost->nanoseconds, cost->sends, cost->sendsBack});
        int64_t most = pace * more + cost->once;
        if (problem_.objective == StageObjective::Throughput) {
          most = pace;
        } else if (problem_.objective == StageObjective::Latency) {
          most = 0;
        }
        from_[begin].push_back(
            {end, grid, *cost,
             cost->nanoseconds + cost->sends + cost->sendsBack, most});
        mosts_.push_back(most);
      }
    }
  }
  std::ranges::sort(mosts_);
  mosts_.erase(std::ranges::unique(mosts_).begin(), mosts_.end());
}

void StagePlanner::makeStates() {
  std::vector<size_t> weights;
  size_t all = 1;
  for (size_t count : problem_.devices) {
    weights.push_back(all);
    all *= count + 1;
  }
  for (const SubGrid &subGrid : problem_.subGrids) {
    step_.push_back(weights[subGrid.kind] * subGrid.devices);
  }
  for (size_t state = 0; state < all; ++state) {
    std::vector<size_t> taken;
    for (size_t kind = 0; kind < weights.size(); ++kind) {
      taken.push_back(state / weights[kind] % (problem_.devices[kind] + 1));
    }
    states_.push_back(std::move(taken));
  }
}

StagePlanner::Cell &StagePlanner::cell(size_t position, size_t layer,
                                       size_t state) {
  return cells_[(position * (problem_.layers + 1) + layer) * states_.size() +
                state];
}

/// The cells of stages that begin at `layer`, as the one at `position`.
void StagePlanner::relax(size_t position, size_t layer, size_t stages,
                         int64_t most) {
  auto held = int64_t(problem_.inFlight(position, stages));
  for (const Candidate &one : from_[layer]) {
    const auto &[kind, devices] = problem_.subGrids[one.subGrid];
    bool isSize = problem_.sizes.empty() || problem_.sizes[position] == devices;
    if (!isSize || one.most > most ||
        one.cost.bytes + one.cost.bytesKept * held > problem_.memory[kind]) {
      continue;
    }
    for (size_t state = 0; state < states_.size(); ++state) {
      if (states_[state][kind] + devices > problem_.devices[kind]) {
        continue;
      }
      const Cell &next =
          cell(position + 1, one.end, state + step_[one.subGrid]);
      Cell &own = cell(position, layer, state);
      if (next.sum != kNone && next.sum + one.sum < own.sum) {
        own = {next.sum + one.sum, &one};
      }
    }
  }
}

/// The least sum of `stages` stages, none of which has more than `most`.
int64_t StagePlanner::solve(size_t stages, int64_t most) {
  numStages_ = stages;
  cells_.assign((stages + 1) * (problem_.layers + 1) * states_.size(), Cell());
  for (size_t state = 0; state < states_.size(); ++state) {
    cell(stages, problem_.layers, state).sum = 0;
  }
  for (size_t position = stages; position-- > 0;) {
    for (size_t layer = 0; layer < problem_.layers; ++layer) {
      relax(position, layer, stages, most);
    }
  }
  return cell(0, 0, 0).sum;
}

/// What the cells say.
StagePlan StagePlanner::plan() const {
  auto *self = const_cast<StagePlanner *>(this);
  StagePlan plan;
  size_t layer = 0, state = 0;
  for (size_t position = 0; position < numStages_; ++position) {
    const Candidate *first = self->cell(position, layer, state).first;
    plan.stages.push_back(
        {layer, first->end, problem_.subGrids[first->subGrid]});
    layer = first->end;
    state += step_[first->subGrid];
  }
  return plan;
}

/// Whether it would be better than the best so far.
bool StagePlanner::isPromising(int64_t most, int64_t sum) const {
  if (sum == kNone) {
    return false;
  }
  if (!best_) {
    return true;
  }
  return problem_.objective == StageObjective::Throughput
             ? std::pair(most, sum) < std::pair(bestMost_, bestSum_)
             : most + sum < bestMost_ + bestSum_;
}

/// What the cells hold, of stages with at most `most`.
void StagePlanner::offer(size_t stages, int64_t most, int64_t sum) {
  assert(stages == numStages_);
  if (!isPromising(most, sum)) {
    return;
  }
  best_ = plan();
  bestMost_ = most;
  bestSum_ = sum;
  best_->nanoseconds =
      problem_.objective == StageObjective::Throughput ? most : most + sum;
}

/// Tries what lies between mosts_[low] and mosts_[high], whose sums are known.
/// Equal sums: nothing there is better than at `low`.
void StagePlanner::between(size_t stages, size_t low, size_t high,
                           int64_t lowSum, int64_t highSum) {
  if (high - low < 2 || lowSum == highSum ||
      !isPromising(mosts_[low + 1], highSum)) {
    return;
  }
  size_t middle = low + (high - low) / 2;
  int64_t sum = solve(stages, mosts_[middle]);
  offer(stages, mosts_[middle], sum);
  between(stages, low, middle, lowSum, sum);
  between(stages, middle, high, sum, highSum);
}

void StagePlanner::search(size_t stages) {
  size_t last = mosts_.size() - 1;
  int64_t high = solve(stages, mosts_[last]);
  offer(stages, mosts_[last], high);
  if (high == kNone || last == 0) {
    return;
  }
  int64_t low = solve(stages, mosts_[0]);
  offer(stages, mosts_[0], low);
  between(stages, 0, last, low, high);
}

std::optional<StagePlan> StagePlanner::run() {
  size_t said = problem_.sizes.size();
  size_t least = said > 0 ? said : std::max<size_t>(problem_.minStages, 1);
  size_t most = std::min(said > 0 ? said : problem_.maxStages, problem_.layers);
  for (size_t stages = least; stages <= most && !mosts_.empty(); ++stages) {
    if (std::ranges::find(problem_.leftOut, stages) == problem_.leftOut.end()) {
      search(stages);
    }
  }
  return std::move(best_);
}

std::optional<StagePlan> divisi::planStages(const StageProblem &problem) {
  assert(problem.devices.size() == problem.memory.size());
  return StagePlanner(problem).run();
}
