//===- ProblemPoints.cpp - Where tensors may rest -------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProblemParts.h"

#include "divisi/Cost/HostCopies.h"

#include "llvm/ADT/STLExtras.h"

namespace divisi::plan {

/// Adds those of `more` that are not in `ids`.
static void addOthers(llvm::ArrayRef<unsigned> more,
                      std::vector<unsigned> &ids) {
  for (unsigned id : more) {
    if (!llvm::is_contained(ids, id)) {
      ids.push_back(id);
    }
  }
}

std::string ProblemBuilder::nameOf(const DataflowValue &tensor) const {
  std::string number = std::to_string(tensor.number);
  switch (tensor.kind) {
  case DataflowValue::Kind::Global:
    return tensor.name;
  case DataflowValue::Kind::Argument:
    return "argument#" + number;
  case DataflowValue::Kind::Result:
    break;
  }
  return "value#" + std::to_string(dataflow_.sites[tensor.index].time);
}

/// Where a tensor may rest: fixed, or as made, as wanted, and simple places.
std::vector<unsigned> ProblemBuilder::placesOf(unsigned index) {
  const DataflowValue &tensor = dataflow_.values[index];
  LayoutPool &pool = planning_.pool;
  unsigned tensorClass = classOf(tensor);
  if (fixed_.values[index]) {
    return {pool.intern(tensorClass, *fixed_.values[index])};
  }
  std::vector<unsigned> places;
  std::vector<bool> seen;
  bool isCapped = false;
  auto add = [&](unsigned id) {
    seen.resize(std::max(seen.size(), size_t(id) + 1), false);
    if (!seen[id] &&
        isRestful(grid_, tensor.shape, pool.layout(tensorClass, id))) {
      if (places.size() < options_.maxStrategies) {
        places.push_back(id);
      } else {
        isCapped = true;
      }
    }
    seen[id] = true;
  };
  std::vector<Layout> simple = simplePlaces(grid_, tensor.shape);
  for (const Layout &layout : simple) {
    add(pool.intern(tensorClass, layout));
  }
  if (tensor.kind == DataflowValue::Kind::Result) {
    for (unsigned id :
         planning_.choices[tensor.index]->results[tensor.number]) {
      add(id);
    }
  }
  for (const Consumer &consumer : tensor.consumers) {
    if (consumer.kind == Consumer::Kind::Operand) {
      for (unsigned id :
           planning_.choices[consumer.index]->operands[consumer.operand]) {
        add(id);
      }
    }
  }
  planning_.cappedTensors += isCapped ? 1 : 0;
  for (const Consumer &consumer : tensor.consumers) {
    if (tensor.kind == DataflowValue::Kind::Global &&
        consumer.kind == Consumer::Kind::Operand &&
        dataflow_.sites[consumer.index].parameters[consumer.operand]) {
      maker_.keepSharedPlaces(dataflow_.sites[consumer.index], tensorClass,
                              places);
    }
  }
  if (options_.zero && tensor.state != StateKind::None) {
    maker_.keepZeroPlaces(tensorClass, options_.zero->of(tensor.state), places);
  }
  if (options_.present && options_.present->values[index]) {
    addOthers(pool.intern(tensorClass, *options_.present->values[index]),
              places);
  }
  return places;
}

unsigned ProblemBuilder::addPointNode(const DataflowValue &tensor,
                                      llvm::ArrayRef<unsigned> places,
                                      search::Lifetime live, double restPerByte,
                                      const std::string &name) {
  unsigned tensorClass = classOf(tensor);
  search::Node &node = planning_.problem.nodes.emplace_back();
  node.live = live;
  node.moreUsages.resize(options_.memories.size() - 1);
  for (unsigned id : places) {
    const Layout &layout = planning_.pool.layout(tensorClass, id);
    int64_t most = 0;
    for (auto [kind, memory] : llvm::enumerate(options_.memories)) {
      int64_t bytes =
          memory.localBytes(grid_, layout, tensor.shape, tensor.bits);
      (kind == 0 ? node.usages : node.moreUsages[kind - 1]).push_back(bytes);
      most = std::max(most, bytes);
    }
    node.costs.push_back(int64_t(restPerByte * double(most)));
    if (options_.names) {
      node.strategies.push_back(layout.str(grid_));
    }
  }
  node.name = options_.names ? name : "";
  return unsigned(planning_.problem.nodes.size() - 1);
}

/// Lets `node`, which is what the host has or wants of `tensor`, cost the copy.
void ProblemBuilder::addHostCopies(const DataflowValue &tensor,
                                   llvm::ArrayRef<unsigned> places,
                                   unsigned node) {
  unsigned tensorClass = classOf(tensor);
  std::vector<int64_t> &costs = planning_.problem.nodes[node].costs;
  for (auto [id, cost] : llvm::zip_equal(places, costs)) {
    cost += costOf(hostCopyNanoseconds(grid_,
                                       planning_.pool.layout(tensorClass, id),
                                       tensor.shape, tensor.bits, pace_));
  }
}

static std::vector<Layout> layoutsOf(const LayoutPool &pool, unsigned cls,
                                     llvm::ArrayRef<unsigned> ids) {
  std::vector<Layout> layouts;
  for (unsigned id : ids) {
    layouts.push_back(pool.layout(cls, id));
  }
  return layouts;
}

void ProblemBuilder::addPoint(unsigned index) {
  const DataflowValue &tensor = dataflow_.values[index];
  if (!hasPoint(dataflow_, tensor)) {
    return;
  }
  // After its maker; without one, before its first user.
  order_.push_back(
      tensor.kind == DataflowValue::Kind::Result ? 4 * tensor.begin + 2
      : tensor.consumers.empty()                 ? 0
                                 : 4 * tensor.consumers.front().time);
  std::vector<unsigned> &ids = valueIds_[index] = placesOf(index);
  bool isGlobal = tensor.kind == DataflowValue::Kind::Global;
  planning_.valueNodes[index] =
      addPointNode(tensor, ids, lifetimes_.value(index),
                   isGlobal ? restPerByte_ : 0, nameOf(tensor));
  planning_.valuePlaces[index] =
      layoutsOf(planning_.pool, classOf(tensor), ids);
  if (tensor.isInput) {
    addHostCopies(tensor, ids, planning_.valueNodes[index]);
    planning_.elidedNodes.push_back(planning_.valueNodes[index]);
  }
  bool isLeftOut = options_.memory == MemoryDetail::Globals && !isGlobal;
  if (tensor.isGiven || isLeftOut) {
    takeNothing(planning_.problem.nodes[planning_.valueNodes[index]]);
  }
}

/// Stops of one tensor that are fixed to one place are the same: the first of
/// them stands for all.
void ProblemBuilder::matchStops() {
  for (auto [index, stop] : llvm::enumerate(dataflow_.stops)) {
    stops_.push_back({unsigned(index), stop.end});
    for (unsigned other = 0; other != index && fixed_.stops[index]; ++other) {
      if (dataflow_.stops[other].tensor == stop.tensor &&
          fixed_.stops[other] == fixed_.stops[index]) {
        stops_[index].first = other;
        stops_[other].end = std::max(stops_[other].end, stop.end);
        break;
      }
    }
  }
}

/// Where the tensor rests, in which case it is not copied, or where its users
/// want it.
void ProblemBuilder::addStop(unsigned index) {
  if (unsigned first = stops_[index].first; first != index) {
    planning_.stopNodes[index] = planning_.stopNodes[first];
    planning_.stopPlaces[index] = planning_.stopPlaces[first];
    stopIds_[index] = stopIds_[first];
    return;
  }
  const Stop &stop = dataflow_.stops[index];
  const DataflowValue &tensor = dataflow_.values[stop.tensor];
  unsigned tensorClass = classOf(tensor);
  std::vector<unsigned> &ids = stopIds_[index];
  if (fixed_.stops[index]) {
    ids = {planning_.pool.intern(tensorClass, *fixed_.stops[index])};
  } else {
    ids = valueIds_[stop.tensor];
    auto user = llvm::find_if(tensor.consumers, [&](const Consumer &consumer) {
      return consumer.stop == index;
    });
    // An operator that takes rows of one micro-batch wants no others.
    std::vector<unsigned> whole;
    llvm::copy_if(planning_.choices[user->index]->operands[user->operand],
                  std::back_inserter(whole), [&](unsigned id) {
                    const Layout &layout =
                        planning_.pool.layout(tensorClass, id);
                    return !layout.verifyCoverage(grid_, tensor.shape);
                  });
    addOthers(whole, ids);
  }
  if (options_.present && options_.present->stops[index]) {
    addOthers(
        planning_.pool.intern(tensorClass, *options_.present->stops[index]),
        ids);
  }
  order_.push_back(4 * stop.begin);
  planning_.stopNodes[index] = addPointNode(
      tensor, ids, {}, 0, nameOf(tensor) + "@" + std::to_string(stop.begin));
  planning_.stopPlaces[index] = layoutsOf(planning_.pool, tensorClass, ids);
}

/// An output may rest wherever its value may; one edge pays for the way.
void ProblemBuilder::addOutput(unsigned index) {
  const Output &output = dataflow_.outputs[index];
  const DataflowValue &tensor = dataflow_.values[output.tensor];
  unsigned tensorClass = classOf(tensor);
  order_.push_back(4 * output.time + 3);
  std::vector<unsigned> &ids = outputIds_[index];
  if (fixed_.outputs[index]) {
    ids = {planning_.pool.intern(tensorClass, *fixed_.outputs[index])};
  } else if (hasPoint(dataflow_, tensor) && !fixed_.values[output.tensor]) {
    ids = valueIds_[output.tensor];
  } else {
    ids = placesOf(output.tensor);
  }
  if (options_.present && options_.present->outputs[index]) {
    addOthers(
        planning_.pool.intern(tensorClass, *options_.present->outputs[index]),
        ids);
  }
  planning_.outputNodes[index] = addPointNode(
      tensor, ids, {}, 0, "output#" + std::to_string(output.number));
  addHostCopies(tensor, ids, planning_.outputNodes[index]);
  planning_.outputPlaces[index] = layoutsOf(planning_.pool, tensorClass, ids);
}

} // namespace divisi::plan
