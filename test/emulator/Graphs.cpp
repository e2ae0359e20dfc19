//===- Graphs.cpp - Work that is recorded and done again ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/emulator/Graphs.h"

#include <algorithm>
#include <utility>

using namespace divisi::emulator;

static uint64_t nextCapture() {
  static uint64_t last = 0;
  return ++last;
}

Capture::Capture(Stream &origin)
    : number(nextCapture()), lanes_{&origin}, known_(1) {
  graph_.device = origin.device;
  origin.capture = this;
}

size_t Capture::laneOf(const Stream &stream) const {
  return size_t(std::ranges::find(lanes_, &stream) - lanes_.begin());
}

size_t &Capture::knows(size_t lane, size_t other) {
  known_[lane].resize(std::max(known_[lane].size(), other + 1));
  return known_[lane][other];
}

void Capture::put(const Stream &stream, Stream::Work work) {
  size_t lane = laneOf(stream);
  graph_.steps.push_back({lane, std::move(work)});
  ++knows(lane, lane);
}

void Capture::record(const Stream &stream, Event &event) {
  size_t lane = laneOf(stream), point = graph_.events++;
  graph_.steps.push_back({lane, {}, point});
  events_[&event] = {point, known_[lane]};
  event.capture = number;
}

void Capture::join(size_t lane, const Known &known) {
  for (size_t other = 0; other < known.size(); ++other) {
    size_t &own = knows(lane, other);
    own = std::max(own, known[other]);
  }
}

void Capture::wait(Stream &stream, const Event &event) {
  size_t lane = laneOf(stream);
  if (lane == lanes_.size()) {
    lanes_.push_back(&stream);
    known_.emplace_back();
    stream.capture = this;
  }
  const auto &[point, known] = events_.at(&event);
  graph_.steps.push_back({lane, {}, Graph::none, point});
  join(lane, Known(known));
}

bool Capture::isJoined() const {
  for (size_t lane = 1; lane < lanes_.size(); ++lane) {
    auto of = [&](size_t who) {
      return lane < known_[who].size() ? known_[who][lane] : 0;
    };
    if (of(0) < of(lane)) {
      return false;
    }
  }
  return true;
}

Graph Capture::finish() {
  for (Stream *stream : lanes_) {
    stream->capture = nullptr;
  }
  graph_.lanes = lanes_.size();
  return std::move(graph_);
}

GraphExec::GraphExec(Graph graph) : graph_(std::move(graph)) {
  for (size_t lane = 0; lane < graph_.lanes; ++lane) {
    lanes_.push_back(gpus().makeStream(graph_.device));
  }
}

/// A run of it that has not ended goes on.
GraphExec::~GraphExec() {
  for (Stream *lane : lanes_) {
    Gpus::abandon(*lane);
  }
}

void GraphExec::launch(Stream &stream) {
  auto begin = std::make_shared<Event>();
  gpus().record(stream, begin);
  for (Stream *lane : lanes_) {
    gpus().wait(*lane, begin);
  }
  std::vector<std::shared_ptr<Event>> events(graph_.events);
  for (const Graph::Step &step : graph_.steps) {
    Stream &lane = *lanes_[step.lane];
    if (step.records != Graph::none) {
      events[step.records] = std::make_shared<Event>();
      gpus().record(lane, events[step.records]);
    } else if (step.waitsFor != Graph::none) {
      gpus().wait(lane, events[step.waitsFor]);
    } else {
      Stream::Work work = step.work;
      if (auto meets = std::exchange(work.meets, nullptr)) {
        work.joint = meets();
      }
      gpus().put(lane, std::move(work));
    }
  }
  for (Stream *lane : lanes_) {
    auto end = std::make_shared<Event>();
    gpus().record(*lane, end);
    gpus().wait(stream, end);
  }
}
