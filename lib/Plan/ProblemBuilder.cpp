//===- ProblemBuilder.cpp - From a dataflow to a planning problem ---------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProblemBuilder.h"

#include "EdgeMatrices.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <numeric>

namespace divisi::plan {

namespace {
/// See ProblemBuilder.h. One use: build() gives away what it has made.
class ProblemBuilder {
public:
  ProblemBuilder(const Dataflow &dataflow, const Grid &grid,
                 const DeviceKind &device, const SplitRules &rules,
                 const Fixed &fixed, const ProblemOptions &options)
      : dataflow_(dataflow), grid_(grid), fixed_(fixed), options_(options),
        maker_(grid, device, rules, planning_.pool),
        matrices_(
            grid, options.links, planning_.pool, planning_.problem.matrices,
            [this] { return isStruck(); }, [this] { goesOn(); }) {}

  std::optional<PlanningProblem> build();

private:
  unsigned classOf(const DataflowValue &tensor) {
    return planning_.pool.classOf(
        tensor.type.getShape(), nn::elementBits(tensor.type.getElementType()));
  }
  bool hasPoint(const DataflowValue &tensor) const {
    return tensor.kind != DataflowValue::Kind::Result ||
           tensor.consumers.size() > 1;
  }
  bool isStruck() const {
    return options_.control &&
           options_.control->struck() != search::Stopped::Finished;
  }
  bool goesOn();
  void addSite(unsigned index);
  void addPoint(unsigned index);
  void addOutput(unsigned index);
  std::vector<unsigned> placesOf(unsigned tensor);
  unsigned addPointNode(const DataflowValue &tensor,
                        llvm::ArrayRef<unsigned> places, search::Lifetime live,
                        double restPerByte, const std::string &name);
  Port source(unsigned tensor);
  void addEdges(unsigned tensor);
  void addEdge(unsigned tensorClass, Port from, Port to,
               const Consumer *transient);
  std::string nameOf(const DataflowValue &tensor) const;
  void sortNodes();

  const Dataflow &dataflow_;
  Grid grid_;
  const Fixed &fixed_;
  const ProblemOptions &options_;
  PlanningProblem planning_;
  ChoiceMaker maker_;
  EdgeMatrices matrices_;
  double restPerByte_ = 0; ///< Of a global.
  std::vector<std::vector<unsigned>> valueIds_, outputIds_;
  std::vector<int64_t> order_; ///< Per node, by which they are sorted.
  double startedAt_ = steadySeconds();
  bool cut_ = false; ///< What is built is not used.
};
} // namespace

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
  node.name =
      site.op->getName().getStringRef().str() + "#" + std::to_string(site.time);
  for (const Split &split : choices->splits) {
    llvm::raw_string_ostream os(node.strategies.emplace_back());
    split.print(os, grid_, site.nest);
  }
}

std::string ProblemBuilder::nameOf(const DataflowValue &tensor) const {
  std::string number = std::to_string(tensor.number);
  switch (tensor.kind) {
  case DataflowValue::Kind::Global: {
    nn::GlobalOp global = dataflow_.globals[tensor.index];
    return "@" + global.getSymName().str();
  }
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
  auto add = [&](unsigned id) {
    seen.resize(std::max(seen.size(), size_t(id) + 1), false);
    if (!seen[id] && places.size() < options_.maxStrategies &&
        isRestful(grid_, tensor.type.getShape(),
                  pool.layout(tensorClass, id))) {
      places.push_back(id);
    }
    seen[id] = true;
  };
  std::vector<Layout> simple = simplePlaces(grid_, tensor.type.getShape());
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
  for (const Consumer &consumer : tensor.consumers) {
    if (tensor.kind == DataflowValue::Kind::Global &&
        consumer.kind == Consumer::Kind::Operand &&
        dataflow_.sites[consumer.index].parameters[consumer.operand]) {
      maker_.keepSharedPlaces(dataflow_.sites[consumer.index], tensorClass,
                              places);
    }
  }
  if (options_.present && options_.present->values[index]) {
    unsigned id = pool.intern(tensorClass, *options_.present->values[index]);
    if (!llvm::is_contained(places, id)) {
      places.push_back(id);
    }
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
  for (unsigned id : places) {
    const Layout &layout = planning_.pool.layout(tensorClass, id);
    int64_t bytes = localBytes(grid_, layout, tensor.type.getShape(),
                               nn::elementBits(tensor.type.getElementType()));
    node.costs.push_back(int64_t(restPerByte * double(bytes)));
    node.usages.push_back(bytes);
    if (options_.names) {
      node.strategies.push_back(layout.str(grid_));
    }
  }
  node.name = options_.names ? name : "";
  return unsigned(planning_.problem.nodes.size() - 1);
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
  if (!hasPoint(tensor)) {
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
      addPointNode(tensor, ids, {tensor.begin, tensor.end},
                   isGlobal ? restPerByte_ : 0, nameOf(tensor));
  planning_.valuePlaces[index] =
      layoutsOf(planning_.pool, classOf(tensor), ids);
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
  } else if (hasPoint(tensor) && !fixed_.values[output.tensor]) {
    ids = valueIds_[output.tensor];
  } else {
    ids = placesOf(output.tensor);
  }
  if (options_.present && options_.present->outputs[index]) {
    unsigned id =
        planning_.pool.intern(tensorClass, *options_.present->outputs[index]);
    if (!llvm::is_contained(ids, id)) {
      ids.push_back(id);
    }
  }
  planning_.outputNodes[index] =
      addPointNode(tensor, ids, {output.time, output.time + 1}, 0,
                   "output#" + std::to_string(output.number));
  planning_.outputPlaces[index] = layoutsOf(planning_.pool, tensorClass, ids);
}

Port ProblemBuilder::source(unsigned index) {
  const DataflowValue &tensor = dataflow_.values[index];
  if (hasPoint(tensor)) {
    return {planning_.valueNodes[index], &valueIds_[index]};
  }
  return {planning_.siteNodes[tensor.index],
          &planning_.choices[tensor.index]->results[tensor.number]};
}

void ProblemBuilder::addEdge(unsigned tensorClass, Port from, Port to,
                             const Consumer *transient) {
  search::Edge edge;
  edge.from = from.node;
  edge.to = to.node;
  edge.costs = matrices_.prices(tensorClass, from, to);
  if (transient && from.node != to.node) {
    edge.usages = matrices_.usages(tensorClass, from, to);
    edge.live = {transient->time, transient->time + 1};
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
              from, nullptr);
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
    bool isTransient = options_.memoryLimit &&
                       tensor.kind == DataflowValue::Kind::Global &&
                       consumer.kind == Consumer::Kind::Operand;
    addEdge(tensorClass, from, to, isTransient ? &consumer : nullptr);
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
       {&planning_.siteNodes, &planning_.valueNodes, &planning_.outputNodes}) {
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
  planning_.outputNodes.resize(dataflow_.outputs.size());
  planning_.outputPlaces.resize(dataflow_.outputs.size());
  double bytes = 1;
  for (const DataflowValue &tensor : dataflow_.values) {
    if (tensor.kind == DataflowValue::Kind::Global) {
      bytes += double(*nn::byteCount(tensor.type));
    }
  }
  restPerByte_ = double(kNanosecond - 1) / bytes;
  valueIds_.resize(dataflow_.values.size());
  outputIds_.resize(dataflow_.outputs.size());
  auto each = [&](size_t count, void (ProblemBuilder::*add)(unsigned)) {
    for (unsigned i = 0; i != count && goesOn(); ++i) {
      (this->*add)(i);
    }
  };
  // Places ask all makers and users, so operators come first.
  each(dataflow_.sites.size(), &ProblemBuilder::addSite);
  each(dataflow_.values.size(), &ProblemBuilder::addPoint);
  each(dataflow_.outputs.size(), &ProblemBuilder::addOutput);
  each(dataflow_.values.size(), &ProblemBuilder::addEdges);
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
