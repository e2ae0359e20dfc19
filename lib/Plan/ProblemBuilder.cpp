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
    node.costs.push_back(costOf(nanoseconds));
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
  if (hasPoint(tensor)) {
    return {planning_.valueNodes[index], &valueIds_[index]};
  }
  return {planning_.siteNodes[tensor.index],
          &planning_.choices[tensor.index]->results[tensor.number]};
}

/// Its copy lives beside the tensor, unless it is none.
void ProblemBuilder::addStopEdge(unsigned index) {
  if (stops_[index].first != index) {
    return;
  }
  const Stop &stop = dataflow_.stops[index];
  addEdge(classOf(dataflow_.values[stop.tensor]), source(stop.tensor),
          {planning_.stopNodes[index], &stopIds_[index]},
          search::Lifetime{stop.begin, stops_[index].end});
}

void ProblemBuilder::addEdge(unsigned tensorClass, Port from, Port to,
                             std::optional<search::Lifetime> copied) {
  search::Edge edge;
  edge.from = from.node;
  edge.to = to.node;
  edge.costs = matrices_.prices(tensorClass, from, to);
  if (copied && options_.memoryLimit && from.node != to.node) {
    edge.usages = matrices_.usages(tensorClass, from, to);
    edge.live = *copied;
  }
  planning_.problem.edges.push_back(edge);
}

void ProblemBuilder::addEdges(unsigned index) {
  const DataflowValue &tensor = dataflow_.values[index];
  unsigned tensorClass = classOf(tensor);
  Port from = source(index);
  if (tensor.kind == DataflowValue::Kind::Result) {
    unsigned site = planning_.siteNodes[tensor.index];
    if (hasPoint(tensor)) {
      addEdge(tensorClass,
              {site, &planning_.choices[tensor.index]->results[tensor.number]},
              from, std::nullopt);
    } else {
      // The value lives as its maker leaves it.
      search::Node &node = planning_.problem.nodes[site];
      node.usages = planning_.choices[tensor.index]->resultBytes;
      node.live = {tensor.begin, tensor.end};
    }
  }
  for (const Consumer &consumer : tensor.consumers) {
    Port to;
    switch (consumer.kind) {
    case Consumer::Kind::Operand:
      to = {planning_.siteNodes[consumer.index],
            &planning_.choices[consumer.index]->operands[consumer.operand]};
      break;
    case Consumer::Kind::Output:
      to = {planning_.outputNodes[consumer.index], &outputIds_[consumer.index]};
      break;
    case Consumer::Kind::Update:
      to = {planning_.valueNodes[consumer.index], &valueIds_[consumer.index]};
      break;
    }
    std::optional<search::Lifetime> copied;
    if (tensor.kind == DataflowValue::Kind::Global &&
        consumer.kind == Consumer::Kind::Operand) {
      copied = {consumer.time, consumer.time + 1};
    }
    addEdge(tensorClass,
            consumer.stop ? Port{planning_.stopNodes[*consumer.stop],
                                 &stopIds_[*consumer.stop]}
                          : from,
            to, copied);
  }
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
        &planning_.outputNodes}) {
    for (unsigned &node : *list) {
      node = place[node];
    }
  }
}

std::optional<PlanningProblem> ProblemBuilder::build() {
  planning_.problem.name = "plan";
  planning_.problem.usageLimit = options_.memoryLimit;
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

std::optional<PlanningProblem>
buildProblem(const Dataflow &dataflow, const Grid &grid,
             const DeviceKind &device, const SplitRules &rules,
             const Fixed &fixed, const ProblemOptions &options) {
  return ProblemBuilder(dataflow, grid, device, rules, fixed, options).build();
}

} // namespace divisi::plan
