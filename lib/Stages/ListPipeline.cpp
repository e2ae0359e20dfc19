//===- ListPipeline.cpp - List scheduling of a pipeline -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Stages/PipelineSearch.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <map>
#include <queue>
#include <set>
#include <tuple>

using namespace divisi;

namespace {

/// Runs stages in simulated time, and writes down what they begin.
class ListPipeline {
public:
  ListPipeline(const std::vector<size_t> &stageOf, size_t microBatches,
               const std::vector<ChunkCost> &costs,
               const std::vector<int64_t> &memory, const ListPolicy &policy);

  std::optional<PipelineSchedule> run();

private:
  /// Preferred ones first.
  using Rank = std::array<size_t, 3>;
  /// What one stage is at.
  struct Stage {
    std::map<Rank, PipelineStep> ready;
    bool isBusy = false;
    int64_t kept = 0;
  };
  /// A step is over, or its result has come to who waits for it.
  struct Event {
    int64_t time;
    size_t number; ///< In which they were found: equal times keep their order.
    bool ends;
    PipelineStep step;
    bool operator>(const Event &other) const {
      return std::tie(time, number) > std::tie(other.time, other.number);
    }
  };

  Rank rankOf(const PipelineStep &step) const;
  void makeReady(const PipelineStep &step);
  void post(int64_t time, bool ends, const PipelineStep &step);
  void end(const PipelineStep &step);
  void send(const PipelineStep &step, const PipelineStep &next, int64_t time);
  bool fits(const PipelineStep &step) const;
  void beginOn(size_t stage);
  Phase backward() const {
    return policy_.splits ? Phase::InputGradient : Phase::Backward;
  }

  const std::vector<ChunkCost> &costs_;
  ListPolicy policy_;
  PipelineSchedule made_;
  std::vector<Stage> stages_;
  std::vector<int64_t> memory_;
  /// Per chunk, what later chunks of its stage keep of a micro-batch: one that
  /// has begun can always go on.
  std::vector<int64_t> reserve_;
  std::map<std::pair<size_t, size_t>, int64_t> links_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  size_t posted_ = 0, begun_ = 0;
  int64_t now_ = 0;
};

} // namespace

ListPipeline::ListPipeline(const std::vector<size_t> &stageOf,
                           size_t microBatches,
                           const std::vector<ChunkCost> &costs,
                           const std::vector<int64_t> &memory,
                           const ListPolicy &policy)
    : costs_(costs), policy_(policy), made_{"list", microBatches, stageOf, {}},
      stages_(memory.size()), reserve_(stageOf.size()) {
  made_.order.resize(memory.size());
  std::vector<int64_t> later(memory.size());
  for (size_t chunk = stageOf.size(); chunk-- > 0;) {
    reserve_[chunk] = later[stageOf[chunk]];
    later[stageOf[chunk]] += costs[chunk].kept;
  }
  for (size_t stage = 0; stage < memory.size(); ++stage) {
    auto share = int64_t(double(memory[stage]) * policy.fill);
    memory_.push_back(std::max(std::min(memory[stage], later[stage]), share));
  }
}

ListPipeline::Rank ListPipeline::rankOf(const PipelineStep &step) const {
  bool isForward = step.phase == Phase::Forward;
  size_t kind = step.phase == Phase::WeightGradient ? 2
                : isForward == policy_.forwardFirst ? 0
                                                    : 1;
  size_t chunk = isForward && policy_.deepFirst
                     ? made_.numChunks() - 1 - step.chunk
                     : step.chunk;
  return isForward ? Rank{kind, chunk, step.microBatch}
                   : Rank{kind, step.microBatch, chunk};
}

void ListPipeline::makeReady(const PipelineStep &step) {
  stages_[made_.stageOf[step.chunk]].ready.emplace(rankOf(step), step);
}

void ListPipeline::post(int64_t time, bool ends, const PipelineStep &step) {
  events_.push({time, posted_++, ends, step});
}

/// Makes `next` ready once the result of `step`, which ends now, is there.
void ListPipeline::send(const PipelineStep &step, const PipelineStep &next,
                        int64_t time) {
  size_t from = made_.stageOf[step.chunk], to = made_.stageOf[next.chunk];
  if (from == to) {
    makeReady(next);
    return;
  }
  int64_t &link = links_[{from, to}];
  link = std::max(link, now_) + time;
  post(link, false, next);
}

void ListPipeline::end(const PipelineStep &step) {
  const auto &[chunk, micro, phase] = step;
  Stage &stage = stages_[made_.stageOf[chunk]];
  stage.isBusy = false;
  if (phase == Phase::Forward) {
    if (chunk + 1 < made_.numChunks()) {
      send(step, {chunk + 1, micro, phase}, costs_[chunk].sends);
    } else {
      makeReady({chunk, micro, backward()});
    }
    return;
  }
  if (phase != Phase::WeightGradient && chunk > 0) {
    send(step, {chunk - 1, micro, backward()}, costs_[chunk].sendsBack);
  }
  if (phase == Phase::InputGradient) {
    makeReady({chunk, micro, Phase::WeightGradient});
  } else {
    stage.kept -= costs_[chunk].kept;
  }
}

bool ListPipeline::fits(const PipelineStep &step) const {
  size_t stage = made_.stageOf[step.chunk];
  return step.phase != Phase::Forward ||
         stages_[stage].kept + costs_[step.chunk].kept + reserve_[step.chunk] <=
             memory_[stage];
}

void ListPipeline::beginOn(size_t index) {
  Stage &stage = stages_[index];
  auto chosen = std::ranges::find_if(
      stage.ready, [&](const auto &entry) { return fits(entry.second); });
  if (stage.isBusy || chosen == stage.ready.end()) {
    return;
  }
  PipelineStep step = chosen->second;
  stage.ready.erase(chosen);
  stage.isBusy = true;
  if (step.phase == Phase::Forward) {
    stage.kept += costs_[step.chunk].kept;
  }
  made_.order[index].push_back(step);
  ++begun_;
  post(now_ + costs_[step.chunk].nanoseconds(step.phase), true, step);
}

std::optional<PipelineSchedule> ListPipeline::run() {
  for (size_t micro = 0; micro < made_.numMicroBatches; ++micro) {
    makeReady({0, micro, Phase::Forward});
  }
  beginOn(made_.stageOf[0]);
  while (!events_.empty()) {
    now_ = events_.top().time;
    while (!events_.empty() && events_.top().time == now_) {
      Event event = events_.top();
      events_.pop();
      event.ends ? end(event.step) : makeReady(event.step);
    }
    for (size_t stage = 0; stage < stages_.size(); ++stage) {
      beginOn(stage);
    }
  }
  size_t phases = policy_.splits ? 3 : 2;
  bool isWhole = begun_ == phases * made_.numChunks() * made_.numMicroBatches;
  return isWhole ? std::optional(std::move(made_)) : std::nullopt;
}

std::optional<PipelineSchedule>
divisi::listSchedule(const std::vector<size_t> &stageOf, size_t microBatches,
                     const std::vector<ChunkCost> &costs,
                     const std::vector<int64_t> &memory,
                     const ListPolicy &policy) {
  assert(costs.size() == stageOf.size());
  return ListPipeline(stageOf, microBatches, costs, memory, policy).run();
}
