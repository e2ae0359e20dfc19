//===- ProblemBuilder.cpp - From a dataflow to a planning problem ---------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProblemParts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <numeric>

namespace divisi::plan {

/// Whether nothing has cut the building short; tells how far it is.
bool ProblemBuilder::goesOn() {
  const PlanControl *control = options_.control;
  if (!control || cut_) {
    return !cut_;
  }
  cut_ = isStruck();
  if (control->onProgress) {
    search::Progress line;
    line.seconds = steadySeconds() - startedAt_;
    line.by = kBuildingProblem;
    control->onProgress(line);
  }
  return !cut_;
}

/// Memory is added with the edges: it is the value that lives, not the
/// operator.
void ProblemBuilder::addSite(unsigned index) {
  const Site &site = dataflow_.sites[index];
  const std::optional<Split> &fixed = fixed_.sites[index];
  auto choices = maker_.choicesOf(site, fixed ? &*fixed : nullptr);
  if (options_.present && options_.present->sites[index]) {
    choices =
        maker_.choicesWith(site, choices, *options_.present->sites[index]);
  }
  planning_.choices.push_back(choices);
  planning_.siteNodes.push_back(unsigned(planning_.problem.nodes.size()));
  search::Node &node = planning_.problem.nodes.emplace_back();
  order_.push_back(4 * site.time + 1);
  for (int64_t nanoseconds : choices->nanoseconds) {
    node.costs.push_back(costOf(nanoseconds, site.repeats));
  }
  node.usages.assign(node.costs.size(), 0);
  if (!options_.names) {
    return;
  }
  node.name = site.name + "#" + std::to_string(site.time);
  for (const Split &split : choices->splits) {
    llvm::raw_string_ostream os(node.strategies.emplace_back());
    split.print(os, grid_, site.nest);
  }
}

Port ProblemBuilder::source(unsigned index) {
  const DataflowValue &tensor = dataflow_.values[index];
  if (hasPoint(dataflow_, tensor)) {
    return {planning_.valueNodes[index], &valueIds_[index]};
  }
  return {planning_.siteNodes[tensor.index],
          &planning_.choices[tensor.index]->results[tensor.number]};
}

search::Edge &ProblemBuilder::addEdge(const Way &way) {
  search::Edge &edge = planning_.problem.edges.emplace_back();
  edge.from = way.from.node;
  edge.to = way.to.node;
  edge.costs = matrices_.prices(way.tensorClass, way.from, way.to, way.repeats);
  return edge;
}

/// Of a node: a list per kind of devices.
static void setUsages(search::Node &node,
                      std::vector<std::vector<int64_t>> usages) {
  node.usages = std::move(usages.front());
  node.moreUsages.assign(std::make_move_iterator(usages.begin() + 1),
                         std::make_move_iterator(usages.end()));
}

/// What a node keeps beside itself is none of its strategies' making.
void ProblemBuilder::addUsage(const Way &way, search::Edge &edge,
                              EdgeMatrices::Bytes bytes,
                              search::Lifetime live) {
  if (way.isCounted && way.from.node != way.to.node && live.begin < live.end) {
    auto usages = [&](unsigned kind) {
      return matrices_.usages(way.tensorClass, way.from, way.to, bytes, kind);
    };
    edge.usages = usages(0);
    for (unsigned kind = 1; kind != options_.memories.size(); ++kind) {
      edge.moreUsages.push_back(usages(kind));
    }
    edge.live = live;
  }
}

/// The same while nothing is on its way any more.
void ProblemBuilder::addHeld(const Way &way, EdgeMatrices::Bytes bytes,
                             search::Lifetime live) {
  if (way.isCounted && way.from.node != way.to.node && live.begin < live.end) {
    search::Edge &edge = planning_.problem.edges.emplace_back();
    edge.from = way.from.node;
    edge.to = way.to.node;
    edge.costs = matrices_.zeros(way.from, way.to);
    addUsage(way, edge, bytes, live);
  }
}

void ProblemBuilder::addUse(const Way &way, const UseTimes &times) {
  using Bytes = EdgeMatrices::Bytes;
  Bytes moving = times.isWritten ? Bytes::Landing
                 : times.isLast  ? Bytes::Ending
                                 : Bytes::Moving;
  addUsage(way, addEdge(way), moving, times.moving);
  addHeld(way, times.isLast ? Bytes::Target : Bytes::Copy, times.held);
}

/// A stop where the tensor rests is none, and takes no memory.
void ProblemBuilder::addStopEdge(unsigned index) {
  if (stops_[index].first != index) {
    return;
  }
  const Stop &stop = dataflow_.stops[index];
  addUse({classOf(dataflow_.values[stop.tensor]),
          source(stop.tensor),
          {planning_.stopNodes[index], &stopIds_[index]},
          countsCopies(dataflow_.values[stop.tensor]),
          stop.repeats},
         lifetimes_.stop(stop, stops_[index].end));
}

/// What it stands for takes memory elsewhere, or only for some users.
void ProblemBuilder::takeNothing(search::Node &node) {
  node.usages.assign(node.usages.size(), 0);
  node.moreUsages.clear();
}

/// How a result takes memory as it is made, and the way to where it rests.
void ProblemBuilder::addMaker(unsigned index) {
  using Bytes = EdgeMatrices::Bytes;
  const DataflowValue &tensor = dataflow_.values[index];
  unsigned site = tensor.index;
  const SiteChoices &choices = *planning_.choices[site];
  search::Node &node = planning_.problem.nodes[planning_.siteNodes[site]];
  setUsages(node, choices.resultBytes);
  bool isLeftOut = options_.memory == MemoryDetail::Globals;
  if (isLeftOut) {
    takeNothing(node);
  }
  if (!hasPoint(dataflow_, tensor)) {
    if (lifetimes_.isWrittenInPlace(index)) {
      takeNothing(node);
    }
    node.live = lifetimes_.value(index);
    return;
  }
  node.live = lifetimes_.made(site);
  Way way = {classOf(tensor),
             {planning_.siteNodes[site], &choices.results[tensor.number]},
             source(index),
             countsCopies(tensor),
             tensor.repeats};
  search::Edge &edge = addEdge(way);
  if (isAlias(dataflow_.sites[site])) {
    // It takes memory only where it is converted.
    takeNothing(planning_.problem.nodes[way.to.node]);
    addUsage(way, edge, Bytes::Copy, lifetimes_.value(index));
  } else {
    addUsage(way, edge, Bytes::Placing,
             lifetimes_.placing(site, tensor.number));
  }
  if (lifetimes_.isWrittenInPlace(index)) {
    takeNothing(planning_.problem.nodes[way.to.node]);
  }
}

/// As the ends that may be fused are of one tensor with one user, there is a
/// way from the one operator to the other.
void ProblemBuilder::addFusion(const Way &way, unsigned maker, unsigned user) {
  Port from = way.from, to = way.to;
  from.apart = &planning_.choices[maker]->resultApart;
  to.apart = &planning_.choices[user]->operandApart;
  if (from.apart->empty()) {
    return;
  }
  planning_.fusions.push_back({planning_.problem.edges.size(), maker, user});
  search::Edge &edge = planning_.problem.edges.emplace_back();
  edge.from = from.node;
  edge.to = to.node;
  edge.costs = matrices_.aparts(way.tensorClass, from, to, way.repeats);
}

Port ProblemBuilder::target(const Consumer &consumer) {
  switch (consumer.kind) {
  case Consumer::Kind::Operand:
    return {planning_.siteNodes[consumer.index],
            &planning_.choices[consumer.index]->operands[consumer.operand]};
  case Consumer::Kind::Output:
    return {planning_.outputNodes[consumer.index], &outputIds_[consumer.index]};
  case Consumer::Kind::Update:
  case Consumer::Kind::Argument:
    break;
  }
  return {planning_.valueNodes[consumer.index], &valueIds_[consumer.index]};
}

/// Notes what of a tensor, whose edges begin at `firstEdge`, a program may do
/// without.
void ProblemBuilder::noteElided(unsigned index, size_t firstEdge) {
  const DataflowValue &tensor = dataflow_.values[index];
  bool isOutput = llvm::any_of(tensor.consumers, [](const Consumer &consumer) {
    return consumer.kind == Consumer::Kind::Output;
  });
  if (tensor.kind != DataflowValue::Kind::Result ||
      !(isOutput || isFusible(tensor))) {
    return;
  }
  planning_.elidedNodes.push_back(planning_.siteNodes[tensor.index]);
  if (hasPoint(dataflow_, tensor)) {
    planning_.elidedNodes.push_back(planning_.valueNodes[index]);
  }
  for (size_t edge = firstEdge; edge != planning_.problem.edges.size();
       ++edge) {
    planning_.elidedEdges.push_back(unsigned(edge));
  }
}

void ProblemBuilder::addEdges(unsigned index) {
  const DataflowValue &tensor = dataflow_.values[index];
  size_t firstEdge = planning_.problem.edges.size();
  if (tensor.kind == DataflowValue::Kind::Result) {
    addMaker(index);
  }
  for (const Consumer &consumer : tensor.consumers) {
    Port from = consumer.stop ? Port{planning_.stopNodes[*consumer.stop],
                                     &stopIds_[*consumer.stop]}
                              : source(index);
    Way way = {classOf(tensor), from, target(consumer), countsCopies(tensor),
               consumer.repeats};
    addUse(way, lifetimes_.use(index, consumer));
    if (lifetimes_.isWrittenInPlace(index, consumer)) {
      // Where it rests as the global does, it lies there.
      addHeld(way, EdgeMatrices::Bytes::Source, lifetimes_.value(index));
    }
    if (isFusible(tensor)) {
      addFusion(way, tensor.index, consumer.index);
    }
  }
  noteElided(index, firstEdge);
}

/// Dataflow order: solvers walk nodes in the order in which they stand.
void ProblemBuilder::sortNodes() {
  std::vector<search::Node> &nodes = planning_.problem.nodes;
  std::vector<unsigned> sorted(nodes.size()), place(nodes.size());
  std::iota(sorted.begin(), sorted.end(), 0);
  llvm::stable_sort(
      sorted, [&](unsigned a, unsigned b) { return order_[a] < order_[b]; });
  std::vector<search::Node> moved;
  for (unsigned old : sorted) {
    place[old] = unsigned(moved.size());
    moved.push_back(std::move(nodes[old]));
  }
  nodes = std::move(moved);
  for (search::Edge &edge : planning_.problem.edges) {
    edge.from = place[edge.from];
    edge.to = place[edge.to];
  }
  for (std::vector<unsigned> *list :
       {&planning_.siteNodes, &planning_.valueNodes, &planning_.stopNodes,
        &planning_.outputNodes, &planning_.elidedNodes}) {
    for (unsigned &node : *list) {
      node = place[node];
    }
  }
}

std::optional<PlanningProblem> ProblemBuilder::build() {
  planning_.problem.name = "plan";
  const KindMemories &memories = options_.memories;
  planning_.problem.resource = memories.front().kind;
  planning_.problem.usageLimit = memories.front().limit;
  for (const KindMemory &more : llvm::drop_begin(memories)) {
    planning_.problem.moreResources.push_back({more.kind, more.limit});
  }
  planning_.memory = options_.memory;
  planning_.positions = lifetimes_.positions();
  planning_.valueNodes.resize(dataflow_.values.size());
  planning_.valuePlaces.resize(dataflow_.values.size());
  planning_.stopNodes.resize(dataflow_.stops.size());
  planning_.stopPlaces.resize(dataflow_.stops.size());
  planning_.outputNodes.resize(dataflow_.outputs.size());
  planning_.outputPlaces.resize(dataflow_.outputs.size());
  matchStops();
  double bytes = 1;
  for (const DataflowValue &tensor : dataflow_.values) {
    if (tensor.kind == DataflowValue::Kind::Global) {
      bytes += double(tensor.bytes());
    }
  }
  restPerByte_ = double(kNanosecond - 1) / bytes;
  valueIds_.resize(dataflow_.values.size());
  stopIds_.resize(dataflow_.stops.size());
  outputIds_.resize(dataflow_.outputs.size());
  auto each = [&](size_t count, void (ProblemBuilder::*add)(unsigned)) {
    for (unsigned i = 0; i != count && goesOn(); ++i) {
      (this->*add)(i);
    }
  };
  // Places ask all makers and users, so operators come first.
  each(dataflow_.sites.size(), &ProblemBuilder::addSite);
  each(dataflow_.values.size(), &ProblemBuilder::addPoint);
  each(dataflow_.stops.size(), &ProblemBuilder::addStop);
  each(dataflow_.outputs.size(), &ProblemBuilder::addOutput);
  each(dataflow_.values.size(), &ProblemBuilder::addEdges);
  each(dataflow_.stops.size(), &ProblemBuilder::addStopEdge);
  matrices_.fill();
  goesOn();
  if (cut_) {
    return std::nullopt;
  }
  sortNodes();
  return std::move(planning_);
}

const FusionEdge *PlanningProblem::fusionAt(size_t edge) const {
  auto it = llvm::lower_bound(fusions, edge, [](const auto &fusion, size_t at) {
    return fusion.edge < at;
  });
  return it != fusions.end() && it->edge == edge ? &*it : nullptr;
}

CappedChoices cappedOf(const PlanningProblem &planning) {
  CappedChoices capped;
  capped.operators =
      size_t(llvm::count_if(planning.choices, [](const auto &choices) {
        return choices->leftOut != 0;
      }));
  capped.tensors = planning.cappedTensors;
  return capped;
}

std::optional<PlanningProblem>
buildProblem(const Dataflow &dataflow, const Grid &grid, const GridPace &pace,
             const SplitRules &rules, const Fixed &fixed,
             const ProblemOptions &options) {
  return ProblemBuilder(dataflow, grid, pace, rules, fixed, options).build();
}

} // namespace divisi::plan
