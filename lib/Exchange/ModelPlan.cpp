//===- ModelPlan.cpp - A plan in the model's own names --------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Exchange/ModelPlan.h"

#include "FactorDims.h"
#include "ParameterPlaces.h"
#include "dialects/NN/Locations.h"
#include "dialects/SPMD/LayoutSyntax.h"
#include "dialects/SPMD/Strategy.h"
#include "divisi/Plan/ModelValues.h"

#include "llvm/ADT/StringSet.h"

#include <set>

using namespace mlir;
using namespace divisi;

std::vector<int64_t> TensorLayout::shape() const {
  std::vector<int64_t> extents;
  for (const DimFactorLayouts &dim : dims) {
    int64_t extent = 1;
    for (const FactorLayout &factor : dim) {
      extent *= factor.extent;
    }
    extents.push_back(extent);
  }
  return extents;
}

namespace {

/// Reads a plan. One use.
class PlanReader {
public:
  PlanReader(ModuleOp planned, func::FuncOp entry, const ModelOutline &outline)
      : planned_(planned), entry_(entry), outline_(outline), values_(entry) {}

  ModelPlan run();

private:
  void readGrids();
  size_t gridNumber(StringRef symbol) const;
  void indexNodes();
  std::optional<std::string> nameOf(const ModelValue &value) const;
  void add(const spmd::Strategy &strategy, Value value, const Layout &layout,
           const std::vector<std::string> &among,
           std::vector<TensorLayout> &list);
  void read(nn::LoopInterface op, const spmd::Strategy &strategy);
  void readInputs();

  ModuleOp planned_;
  func::FuncOp entry_;
  const ModelOutline &outline_;
  ModelValues values_;
  ModelPlan plan_;
  llvm::StringMap<size_t> nodes_;         ///< By name, in the outline.
  std::map<size_t, NodeLayouts> layouts_; ///< By the number of the node.
  std::set<std::string> used_;            ///< Tensors that someone reads.
};

} // namespace

void PlanReader::readGrids() {
  for (auto grid : planned_.getOps<spmd::GridOp>()) {
    SmallVector<int64_t> devices = grid.getDeviceIds();
    plan_.grids.push_back({grid.getSymName().str(),
                           grid.getValue(),
                           {devices.begin(), devices.end()}});
  }
}

size_t PlanReader::gridNumber(StringRef symbol) const {
  for (auto [number, grid] : llvm::enumerate(plan_.grids)) {
    if (grid.name == symbol) {
      return number;
    }
  }
  return 0;
}

void PlanReader::indexNodes() {
  for (auto [number, node] : llvm::enumerate(outline_.nodes)) {
    nodes_[node.name] = number;
    used_.insert(node.inputs.begin(), node.inputs.end());
  }
  used_.insert(outline_.outputs.begin(), outline_.outputs.end());
}

/// What the model calls it.
std::optional<std::string> PlanReader::nameOf(const ModelValue &value) const {
  if (value.kind != ModelValue::Kind::Output) {
    return value.name;
  }
  auto node = nodes_.find(value.name);
  if (node == nodes_.end()) {
    return std::nullopt;
  }
  std::vector<std::string> outputs;
  for (const std::string &output : outline_.nodes[node->second].outputs) {
    if (used_.count(output)) {
      outputs.push_back(output);
    }
  }
  return outputs.size() == value.count ? std::optional(outputs[value.number])
                                       : std::nullopt;
}

/// Adds the layout of a tensor that is among those of a node, once.
void PlanReader::add(const spmd::Strategy &strategy, Value value,
                     const Layout &layout,
                     const std::vector<std::string> &among,
                     std::vector<TensorLayout> &list) {
  std::optional<ModelValue> known = values_.find(value);
  std::optional<std::string> name = known ? nameOf(*known) : std::nullopt;
  if (!name || !llvm::is_contained(among, *name) ||
      llvm::any_of(list,
                   [&](auto &tensor) { return tensor.tensor == *name; })) {
    return;
  }
  auto shape = outline_.shapes.find(*name);
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (shape == outline_.shapes.end() || !type) {
    return;
  }
  auto dims = factorDims(type.getShape(), layout, shape->second);
  if (!dims) {
    return;
  }
  spmd::GridOp gridOp = strategy.grid;
  list.push_back(
      {*name, gridNumber(gridOp.getSymName()), std::move(*dims),
       layout.partialAxes, layout.partialKind,
       llvm::any_of(layout.dims,
                    [](const DimLayout &dim) { return !dim.bounds.empty(); }),
       layout.str(gridOp.getValue())});
}

void PlanReader::read(nn::LoopInterface op, const spmd::Strategy &strategy) {
  auto found = nodes_.find(nn::nodeName(op.getLoc()));
  if (found == nodes_.end()) {
    return;
  }
  spmd::GridOp gridOp = strategy.grid;
  Grid grid = gridOp.getValue();
  NodeLayouts &layouts = layouts_[found->second];
  const OutlineNode &node = outline_.nodes[found->second];
  layouts.node = found->second;
  layouts.grid = gridNumber(gridOp.getSymName());
  llvm::raw_string_ostream os(layouts.strategy);
  os << (layouts.strategy.empty() ? "" : "; ") << op->getName().getStringRef()
     << " ";
  spmd::printSplit(os,
                   spmd::NamedSplit::of(strategy.nest, grid, strategy.split));
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    add(strategy, op->getOperand(i),
        operandLayout(strategy.nest, grid, strategy.split, i), node.inputs,
        layouts.inputs);
  }
  for (unsigned i = 0; i < op->getNumResults(); ++i) {
    add(strategy, op->getResult(i),
        resultLayout(strategy.nest, grid, strategy.split, i), node.outputs,
        layouts.outputs);
  }
}

void PlanReader::readInputs() {
  for (BlockArgument argument : entry_.getArguments()) {
    std::optional<ModelValue> known = values_.find(argument);
    spmd::PlaceAttr place = spmd::getArgPlace(entry_, argument.getArgNumber());
    auto shape =
        known ? outline_.shapes.find(known->name) : outline_.shapes.end();
    if (!place || shape == outline_.shapes.end()) {
      continue;
    }
    FailureOr<spmd::ResolvedPlace> rest =
        spmd::requirePlace(entry_, place, argument.getType(), known->name);
    if (failed(rest)) {
      continue;
    }
    auto type = cast<RankedTensorType>(argument.getType());
    auto dims = factorDims(type.getShape(), rest->layout, shape->second);
    if (dims) {
      plan_.inputs.push_back({known->name, gridNumber(rest->grid.getSymName()),
                              std::move(*dims), rest->layout.partialAxes,
                              rest->layout.partialKind, false,
                              rest->layout.str(rest->grid.getValue())});
    }
  }
}

ModelPlan PlanReader::run() {
  readGrids();
  indexNodes();
  entry_.walk([&](nn::LoopInterface op) {
    if (isa<nn::ReadOp, nn::UpdateOp, nn::ConstantOp>(op.getOperation()) ||
        !spmd::getSplit(op)) {
      return;
    }
    FailureOr<spmd::Strategy> strategy = spmd::requireStrategy(op);
    if (succeeded(strategy)) {
      read(op, *strategy);
    }
  });
  for (auto [number, node] : llvm::enumerate(outline_.nodes)) {
    if (auto found = layouts_.find(number); found != layouts_.end()) {
      plan_.nodes.push_back(std::move(found->second));
    } else if (node.opType != "Constant") {
      plan_.withoutOperator.push_back(node.name);
    }
  }
  plan_.parameters = parameterPlaces(
      planned_, outline_, [&](StringRef symbol) { return gridNumber(symbol); });
  readInputs();
  return std::move(plan_);
}

static func::FuncOp forwardOf(ModuleOp planned) {
  return planned.lookupSymbol<func::FuncOp>("forward");
}

divisi::Expected<ModelPlan> divisi::modelPlan(ModuleOp planned,
                                              const ModelOutline &outline) {
  func::FuncOp entry = forwardOf(planned);
  if (!entry || planned.getOps<spmd::GridOp>().empty()) {
    return makeError(ExitCode::Usage,
                     "the plan lacks the entry @forward, on a grid: plans of "
                     "models are exported, and not those of training steps");
  }
  return PlanReader(planned, entry, outline).run();
}

std::map<std::string, ModelOutline::Shape>
divisi::inputShapes(ModuleOp planned) {
  std::map<std::string, ModelOutline::Shape> shapes;
  func::FuncOp entry = forwardOf(planned);
  for (unsigned i = 0; entry && i < entry.getNumArguments(); ++i) {
    auto name = entry.getArgAttrOfType<StringAttr>(i, "nn.name");
    auto type = dyn_cast<RankedTensorType>(entry.getArgumentTypes()[i]);
    if (name && type) {
      shapes[name.getValue().str()] = {type.getShape().begin(),
                                       type.getShape().end()};
    }
  }
  return shapes;
}
