//===- Slices.cpp - Planning problems of parts of a program ---------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Slices.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace divisi::plan {

//===----------------------------------------------------------------------===//
// Cutting
//===----------------------------------------------------------------------===//

namespace {
/// See sliceOf. One use.
class Slicer {
public:
  Slicer(const Dataflow &whole, size_t begin, size_t end)
      : whole_(whole), begin_(begin), end_(end),
        first_(whole.sites[begin].time), stops_(whole.stops.size()) {}

  Dataflow run();

private:
  bool isInside(size_t site) const { return begin_ <= site && site < end_; }
  bool isInside(const Consumer &consumer) const {
    return consumer.kind == Consumer::Kind::Operand && isInside(consumer.index);
  }
  void cutFusions(const DataflowValue &tensor);
  void addValue(const DataflowValue &tensor);
  void addConsumers(const DataflowValue &tensor, unsigned index,
                    DataflowValue &part);
  void dropLonelyStops();

  const Dataflow &whole_;
  size_t begin_, end_;
  int64_t first_; ///< The time that becomes 0.
  Dataflow slice_;
  unsigned numGlobals_ = 0, numArguments_ = 0;
  std::vector<std::optional<unsigned>> stops_; ///< Per stop of the whole.
};
} // namespace

/// A kernel does not go on beyond the border.
void Slicer::cutFusions(const DataflowValue &tensor) {
  bool isResult = tensor.kind == DataflowValue::Kind::Result;
  for (const Consumer &consumer : tensor.consumers) {
    if (isInside(consumer) && !(isResult && isInside(tensor.index))) {
      llvm::erase(slice_.sites[consumer.index - begin_].fusible.operands,
                  consumer.operand);
    } else if (isResult && isInside(tensor.index) && !isInside(consumer)) {
      llvm::erase(slice_.sites[tensor.index - begin_].fusible.results,
                  tensor.number);
    }
  }
}

void Slicer::addConsumers(const DataflowValue &tensor, unsigned index,
                          DataflowValue &part) {
  for (Consumer consumer : tensor.consumers) {
    if (!isInside(consumer)) {
      continue;
    }
    consumer.index -= unsigned(begin_);
    consumer.time -= first_;
    if (consumer.stop) {
      std::optional<unsigned> &stop = stops_[*consumer.stop];
      if (!stop) {
        stop = unsigned(slice_.stops.size());
        slice_.stops.push_back({index, consumer.time, 0});
      }
      slice_.stops[*stop].end = consumer.time + 1;
      consumer.stop = stop;
    }
    part.end = std::max(part.end, consumer.time + 1);
    part.consumers.push_back(consumer);
  }
}

void Slicer::addValue(const DataflowValue &tensor) {
  bool isMade =
      tensor.kind == DataflowValue::Kind::Result && isInside(tensor.index);
  bool isUsed = llvm::any_of(
      tensor.consumers, [&](const Consumer &user) { return isInside(user); });
  if (!isMade && !isUsed) {
    return;
  }
  unsigned index = unsigned(slice_.values.size());
  DataflowValue part = tensor;
  part.consumers.clear();
  part.begin = 0;
  part.end = slice_.time;
  if (isMade) {
    part.index -= unsigned(begin_);
    part.begin = slice_.sites[part.index].time;
    part.end = part.begin + 1;
  } else if (tensor.kind == DataflowValue::Kind::Global) {
    part.index = numGlobals_++;
  } else {
    part.kind = DataflowValue::Kind::Argument;
    part.index = 0;
    part.number = numArguments_++;
  }
  addConsumers(tensor, index, part);
  bool leaves = isMade && part.consumers.size() != tensor.consumers.size();
  if (leaves || (isMade && tensor.consumers.empty())) {
    unsigned number = unsigned(slice_.outputs.size());
    part.consumers.push_back({.kind = Consumer::Kind::Output,
                              .index = number,
                              .time = slice_.time - 1});
    part.end = slice_.time;
    slice_.outputs.push_back({0, number, index, slice_.time - 1});
  }
  slice_.values.push_back(std::move(part));
}

/// A stop for one user alone is none.
void Slicer::dropLonelyStops() {
  std::vector<unsigned> users(slice_.stops.size(), 0);
  for (const DataflowValue &tensor : slice_.values) {
    for (const Consumer &consumer : tensor.consumers) {
      if (consumer.stop) {
        ++users[*consumer.stop];
      }
    }
  }
  std::vector<std::optional<unsigned>> kept(slice_.stops.size());
  std::vector<Stop> stops;
  for (auto [index, stop] : llvm::enumerate(slice_.stops)) {
    if (users[index] > 1) {
      kept[index] = unsigned(stops.size());
      stops.push_back(stop);
    }
  }
  for (DataflowValue &tensor : slice_.values) {
    for (Consumer &consumer : tensor.consumers) {
      if (consumer.stop) {
        consumer.stop = kept[*consumer.stop];
      }
    }
  }
  slice_.stops = std::move(stops);
}

/// The last unit of time is the return.
Dataflow Slicer::run() {
  for (size_t site = begin_; site != end_; ++site) {
    slice_.sites.push_back(whole_.sites[site]);
    slice_.sites.back().time -= first_;
  }
  slice_.time = slice_.sites.back().time + 2;
  slice_.entryTimes.push_back({0, slice_.time});
  for (const DataflowValue &tensor : whole_.values) {
    cutFusions(tensor);
    addValue(tensor);
  }
  dropLonelyStops();
  return std::move(slice_);
}

Dataflow sliceOf(const Dataflow &dataflow, size_t begin, size_t end) {
  return Slicer(dataflow, begin, end).run();
}

//===----------------------------------------------------------------------===//
// Problems
//===----------------------------------------------------------------------===//

/// Everything that the problem of a slice follows from, beside the device.
static std::string describe(const Dataflow &slice, const DeviceGrid &grid,
                            const SliceBorder &border) {
  std::string text;
  llvm::raw_string_ostream os(text);
  grid.grid.print(os);
  llvm::interleave(
      grid.roles, os, [&](AxisRole role) { os << unsigned(role); }, ",");
  os << " on ";
  llvm::interleave(grid.devices, os, ",");
  for (const Site &site : slice.sites) {
    os << "; " << site.kind << "@" << site.time << "<";
    llvm::interleave(site.fusible.operands, os, ",");
    os << ">";
    llvm::interleave(site.fusible.results, os, ",");
  }
  for (const DataflowValue &tensor : slice.values) {
    os << "; " << unsigned(tensor.kind) << " " << tensor.index << " "
       << tensor.number << " " << tensor.bits << " [";
    llvm::interleave(tensor.shape, os, ",");
    os << "]";
    for (const Consumer &user : tensor.consumers) {
      os << " " << unsigned(user.kind) << "," << user.index << ","
         << user.operand << "," << user.time << ",";
      if (user.stop) {
        os << *user.stop;
      }
    }
  }
  for (const auto *list : {&border.arguments, &border.results}) {
    for (const std::optional<Layout> &layout : *list) {
      os << "; " << (layout ? layout->str(grid.grid) : "open");
    }
  }
  return text;
}

/// Nothing cuts it short.
std::shared_ptr<const PlanningProblem>
SliceProblems::make(const Dataflow &slice, const DeviceGrid &grid,
                    const SliceBorder &border) const {
  Fixed fixed = Fixed::nothingOf(slice);
  for (auto [index, tensor] : llvm::enumerate(slice.values)) {
    if (tensor.kind == DataflowValue::Kind::Argument &&
        !border.arguments.empty()) {
      fixed.values[index] = border.arguments[tensor.number];
    }
  }
  if (!border.results.empty()) {
    fixed.outputs = border.results;
  }
  ProblemOptions options;
  options.links = grid.links;
  options.memories.front().limit = memoryLimit_;
  options.memory = memoryLimit_ ? MemoryDetail::All : MemoryDetail::None;
  options.maxStrategies = maxStrategies_;
  return std::make_shared<PlanningProblem>(*buildProblem(
      slice, grid.grid, device_, {grid.roles, maxStrategies_}, fixed, options));
}

/// Who comes first makes it; others wait for that one alone.
std::shared_ptr<const PlanningProblem>
SliceProblems::of(size_t begin, size_t end, const DeviceGrid &grid,
                  const SliceBorder &border) {
  Dataflow slice = sliceOf(dataflow_, begin, end);
  std::string key = describe(slice, grid, border);
  std::promise<std::shared_ptr<const PlanningProblem>> promise;
  {
    std::unique_lock lock(mutex_);
    auto [known, isNew] = known_.try_emplace(std::move(key));
    if (!isNew) {
      auto future = known->second;
      lock.unlock();
      return future.get();
    }
    known->second = promise.get_future().share();
  }
  auto problem = make(slice, grid, border);
  promise.set_value(problem);
  return problem;
}

} // namespace divisi::plan
