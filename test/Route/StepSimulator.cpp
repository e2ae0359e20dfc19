//===- StepSimulator.cpp - Steps carried out on real numbers --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepSimulator.h"

#include <algorithm>
#include <set>

using namespace divisi;
using namespace divisi::test;

std::vector<StepSimulator::Index>
StepSimulator::indices(llvm::ArrayRef<Interval> box) {
  std::vector<Index> result = {{}};
  for (Interval interval : box) {
    std::vector<Index> longer;
    for (const Index &index : result) {
      for (int64_t i = interval.begin; i < interval.end; ++i) {
        longer.push_back(index);
        longer.back().push_back(i);
      }
    }
    result = std::move(longer);
  }
  return result;
}

std::vector<StepSimulator::Index>
StepSimulator::boxIndices(const Layout &layout, int64_t position) const {
  return indices(layout.box(grid_, shape_, position));
}

int64_t StepSimulator::combine(ReduceKind kind, int64_t a, int64_t b) {
  return kind == ReduceKind::Sum ? a + b : std::max(a, b);
}

StepSimulator::StepSimulator(const Grid &grid, llvm::ArrayRef<int64_t> shape,
                             const Layout &layout, uint32_t seed)
    : grid_(grid), shape_(shape), layout_(layout) {
  std::mt19937 random(seed);
  llvm::SmallVector<Interval, 4> whole;
  for (int64_t extent : shape) {
    whole.push_back({0, extent});
  }
  // What each position along the partial axes has of each element.
  int64_t parts = grid.product(layout.partialAxes);
  std::map<Index, std::vector<int64_t>> values;
  for (const Index &index : indices(whole)) {
    auto &value = values[index];
    for (int64_t part = 0; part < parts; ++part) {
      value.push_back(int64_t(random() % 1000) - 500);
    }
    int64_t all = value[0];
    for (int64_t part = 1; part < parts; ++part) {
      all = combine(layout.partialKind, all, value[part]);
    }
    global_[index] = all;
  }
  for (int64_t position = 0; position < grid.numPositions(); ++position) {
    int64_t part = grid.shardIndex(position, layout.partialAxes);
    locals_.emplace_back();
    for (const Index &index : boxIndices(layout, position)) {
      locals_.back()[index] = values[index][part];
    }
  }
}

std::string StepSimulator::apply(const Step &step) {
  std::vector<Local> after;
  for (int64_t position = 0; position < grid_.numPositions(); ++position) {
    auto members = grid_.group(position, step.axes);
    bool isLocal = step.kind == StepKind::Slice || step.kind == StepKind::Mask;
    if (isLocal) {
      members = {position};
    }
    bool reduces = step.kind == StepKind::AllReduce ||
                   step.kind == StepKind::ReduceScatter;
    bool isZeroed = step.kind == StepKind::Mask &&
                    grid_.shardIndex(position, step.axes) != 0;
    Local local;
    for (const Index &index : boxIndices(step.result, position)) {
      std::vector<int64_t> found;
      for (int64_t member : members) {
        auto entry = locals_[member].find(index);
        if (entry != locals_[member].end()) {
          found.push_back(entry->second);
        }
      }
      if (found.empty()) {
        return "nobody in the group holds an element";
      }
      int64_t value = found[0];
      if (reduces) {
        if (found.size() != members.size()) {
          return "a member of the group lacks an element to reduce";
        }
        for (size_t i = 1; i < found.size(); ++i) {
          value = combine(layout_.partialKind, value, found[i]);
        }
      } else if (std::set<int64_t>(found.begin(), found.end()).size() != 1) {
        return "owners do not agree on an element";
      }
      if (step.kind == StepKind::AllGather && found.size() != 1) {
        return "two members bring the same element to an all-gather";
      }
      local[index] = isZeroed ? 0 : value;
    }
    after.push_back(std::move(local));
  }
  locals_ = std::move(after);
  layout_ = step.result;
  return "";
}

std::string StepSimulator::check() const {
  for (int64_t position = 0; position < grid_.numPositions(); ++position) {
    auto expected = boxIndices(layout_, position);
    if (locals_[position].size() != expected.size()) {
      return "a position holds more or less than its box";
    }
    for (const Index &index : expected) {
      if (!locals_[position].count(index)) {
        return "a position lacks an element of its box";
      }
      auto group = grid_.group(position, layout_.partialAxes);
      int64_t value = locals_[group[0]].at(index);
      for (size_t i = 1; i < group.size(); ++i) {
        value =
            combine(layout_.partialKind, value, locals_[group[i]].at(index));
      }
      if (value != global_.at(index)) {
        return "an element has the wrong value";
      }
    }
  }
  return "";
}
