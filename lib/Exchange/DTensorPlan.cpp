//===- DTensorPlan.cpp - A plan as DTensor's placements -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Exchange/DTensorPlan.h"

#include "DTensorGaps.h"
#include "TorchNames.h"
#include "divisi/Report/PlanLayouts.h"

#include "llvm/Support/FormatVariadic.h"

#include <set>

using namespace mlir;
using namespace divisi;
namespace json = llvm::json;

namespace {

/// Says one plan. One use.
class PlanSpeaker {
public:
  PlanSpeaker(const ModelPlan &plan, const ModelOutline &outline,
              std::vector<std::string> report)
      : plan_(plan), grid_(plan.grids.front().grid), outline_(outline),
        names_(torchParameters(outline)), report_(std::move(report)) {}

  json::Object say(json::Object layouts);

private:
  std::string placement(const TensorLayout &tensor, AxisId axis) const;
  json::Array placements(const TensorLayout &tensor) const;
  json::Object byAxis(const TensorLayout &tensor) const;
  json::Value sayMesh() const;
  json::Value sayInputs() const;
  json::Object sayParameters();
  std::pair<std::string, TensorLayout>
  parameterOf(const TensorLayout &tensor) const;
  json::Object &module(llvm::StringRef scope);
  bool leavesModule(const std::string &tensor, llvm::StringRef scope) const;
  void sayNode(const NodeLayouts &node);
  void sayOperators(json::Array rows);
  json::Array nameTensors(json::Array rows) const;

  const ModelPlan &plan_;
  Grid grid_;
  const ModelOutline &outline_;
  std::map<std::string, TorchParameter> names_;
  std::vector<std::string> report_;
  std::set<size_t> planned_; ///< Nodes with operators.
  json::Object modules_;
};

} // namespace

namespace {
/// An axis that splits a dimension, and into how many parts that is divided
/// outside of the axis.
struct SplitAxis {
  AxisId axis;
  int64_t outside = 1;
};
} // namespace

static std::vector<SplitAxis> axesOf(const DimFactorLayouts &dim,
                                     const Grid &grid) {
  std::vector<SplitAxis> axes;
  int64_t before = 1;
  for (const FactorLayout &factor : dim) {
    int64_t outside = before;
    for (AxisId axis : factor.axes) {
      axes.push_back({axis, outside});
      outside *= grid.size(axis);
    }
    before *= factor.extent;
  }
  return axes;
}

/// Of the axis, by where it splits the tensor. A strided shard's factor is what
/// lies outside of it and is not divided by axes before it, for DTensor applies
/// placements one after the other.
std::string PlanSpeaker::placement(const TensorLayout &tensor,
                                   AxisId axis) const {
  if (llvm::is_contained(tensor.partialAxes, axis)) {
    return "Partial(" + stringifyReduceKind(tensor.partialKind).str() + ")";
  }
  for (auto [number, dim] : llvm::enumerate(tensor.dims)) {
    std::vector<SplitAxis> axes = axesOf(dim, grid_);
    auto mine = llvm::find_if(
        axes, [&](const SplitAxis &each) { return each.axis == axis; });
    if (mine == axes.end()) {
      continue;
    }
    int64_t factor = mine->outside;
    for (const SplitAxis &each : axes) {
      factor /= each.axis < axis && each.outside < mine->outside
                    ? grid_.size(each.axis)
                    : 1;
    }
    return factor == 1
               ? llvm::formatv("Shard(dim={0})", number).str()
               : llvm::formatv("_StridedShard(dim={0}, sf={1})", number, factor)
                     .str();
  }
  return "Replicate()";
}

json::Array PlanSpeaker::placements(const TensorLayout &tensor) const {
  json::Array all;
  for (uint32_t axis = 0; axis < grid_.numAxes(); ++axis) {
    all.push_back(tensor.hasBounds ? "Replicate()"
                                   : placement(tensor, AxisId{axis}));
  }
  return all;
}

json::Object PlanSpeaker::byAxis(const TensorLayout &tensor) const {
  json::Object object;
  for (uint32_t axis = 0; axis < grid_.numAxes(); ++axis) {
    object[grid_.name(AxisId{axis}).str()] =
        tensor.hasBounds ? "Replicate()" : placement(tensor, AxisId{axis});
  }
  return object;
}

json::Value PlanSpeaker::sayMesh() const {
  json::Array names, shape;
  for (const GridAxis &axis : grid_.axes()) {
    names.push_back(axis.name);
    shape.push_back(axis.size);
  }
  return json::Object{{"names", std::move(names)}, {"shape", std::move(shape)}};
}

json::Value PlanSpeaker::sayInputs() const {
  json::Array list;
  for (const std::string &name : outline_.inputs) {
    auto shape = outline_.shapes.find(name);
    json::Object input{{"name", name}, {"dtype", outline_.types.at(name)}};
    if (shape != outline_.shapes.end()) {
      input["shape"] = json::Array(shape->second);
    }
    auto layout = llvm::find_if(plan_.inputs, [&](const TensorLayout &each) {
      return each.tensor == name;
    });
    if (layout != plan_.inputs.end()) {
      input["placements"] = placements(*layout);
    }
    list.push_back(std::move(input));
  }
  return list;
}

/// A parameter as PyTorch has it.
std::pair<std::string, TensorLayout>
PlanSpeaker::parameterOf(const TensorLayout &tensor) const {
  auto renamed = names_.find(tensor.tensor);
  if (renamed == names_.end()) {
    return {tensor.tensor, tensor};
  }
  TensorLayout turned = tensor;
  if (renamed->second.isTransposed) {
    std::swap(turned.dims[0], turned.dims[1]);
  }
  return {renamed->second.name, turned};
}

json::Object &PlanSpeaker::module(llvm::StringRef scope) {
  json::Value &made =
      modules_.try_emplace(scope.str(), json::Object()).first->second;
  return *made.getAsObject();
}

static json::Object &within(json::Object &object, llvm::StringRef key) {
  return *object.try_emplace(key, json::Object()).first->second.getAsObject();
}

json::Object PlanSpeaker::sayParameters() {
  json::Object parameters;
  for (const TensorLayout &tensor : plan_.parameters) {
    auto renamed = names_.find(tensor.tensor);
    if (renamed != names_.end() && renamed->second.isCopy) {
      continue; // tied weights: the module has it once
    }
    auto [name, layout] = parameterOf(tensor);
    if (tensor.hasBounds) {
      report_.push_back("parameter '" + name + "' rests as " + tensor.text +
                        ", for which DTensor has no placement: every device "
                        "has all of it");
    }
    parameters[name] = json::Object{{"shape", json::Array(layout.shape())},
                                    {"placements", placements(layout)}};
    auto [owner, last] = llvm::StringRef(name).rsplit('.');
    if (last.empty()) {
      std::swap(owner, last);
    }
    within(module(owner), "state_shardings")[last.str()] = byAxis(layout);
  }
  return parameters;
}

/// Whether a node of `inner` is within the module `outer`.
static bool isWithin(llvm::StringRef inner, llvm::StringRef outer) {
  return outer.empty() || inner == outer ||
         (inner.starts_with(outer) && inner[outer.size()] == '.');
}

/// Whether a node outside of `scope` reads the tensor, or another form of it
/// that a node without operators makes, such as a reshape.
bool PlanSpeaker::leavesModule(const std::string &tensor,
                               llvm::StringRef scope) const {
  return llvm::is_contained(outline_.outputs, tensor) ||
         llvm::any_of(llvm::enumerate(outline_.nodes), [&](auto each) {
           const OutlineNode &node = each.value();
           if (!llvm::is_contained(node.inputs, tensor)) {
             return false;
           }
           return !isWithin(node.scope, scope) ||
                  (!planned_.count(each.index()) &&
                   llvm::any_of(node.outputs, [&](const std::string &output) {
                     return leavesModule(output, scope);
                   }));
         });
}

/// What enters and what leaves the node's module.
void PlanSpeaker::sayNode(const NodeLayouts &layouts) {
  const OutlineNode &node = outline_.nodes[layouts.node];
  auto isMade = [&](const std::string &tensor) {
    return llvm::any_of(outline_.nodes, [&](const OutlineNode &other) {
      return isWithin(other.scope, node.scope) &&
             llvm::is_contained(other.outputs, tensor);
    });
  };
  for (const TensorLayout &tensor : layouts.inputs) {
    if (!outline_.initializers.count(tensor.tensor) && !isMade(tensor.tensor)) {
      within(module(node.scope), "in_dst_shardings")
          .try_emplace(tensor.tensor, byAxis(tensor));
    }
  }
  for (const TensorLayout &tensor : layouts.outputs) {
    if (leavesModule(tensor.tensor, node.scope)) {
      within(module(node.scope), "out_src_shardings")
          .try_emplace(tensor.tensor, byAxis(tensor));
    }
  }
}

/// The plan's operators, each with the name that PyTorch has for its call.
void PlanSpeaker::sayOperators(json::Array rows) {
  std::map<std::string, std::string> calls;
  for (const OutlineNode &node : outline_.nodes) {
    calls[node.name] = torchNameOf(node);
  }
  for (json::Value &row : rows) {
    json::Object &object = *row.getAsObject();
    std::string layer = object.getString("layer").value_or("").str();
    object["torch"] = calls[object.getString("node").value_or("").str()];
    json::Value &list =
        module(layer).try_emplace("operators", json::Array()).first->second;
    list.getAsArray()->push_back(std::move(row));
  }
}

json::Array PlanSpeaker::nameTensors(json::Array rows) const {
  for (json::Value &row : rows) {
    json::Object &object = *row.getAsObject();
    auto [name, ending] =
        object.getString("name").value_or("").split(".derived");
    auto renamed = names_.find(name.str());
    if (renamed != names_.end()) {
      bool isDerived = renamed->second.isCopy ||
                       object.getString("name")->contains(".derived");
      object["name"] =
          renamed->second.name + (isDerived ? ".derived" : "") + ending.str();
    }
  }
  return rows;
}

json::Object PlanSpeaker::say(json::Object layouts) {
  json::Object parameters = sayParameters();
  for (const NodeLayouts &node : plan_.nodes) {
    planned_.insert(node.node);
  }
  for (const NodeLayouts &node : plan_.nodes) {
    sayNode(node);
  }
  sayOperators(std::move(*layouts.getArray("operators")));
  return json::Object{
      {"format", "dtensor"},
      {"version", 1},
      {"mesh", sayMesh()},
      {"inputs", sayInputs()},
      {"outputs", json::Array(outline_.outputs)},
      {"parameters", std::move(parameters)},
      {"modules", std::move(modules_)},
      {"tensors", nameTensors(std::move(*layouts.getArray("tensors")))},
      {"report", json::Array(report_)}};
}

Expected<json::Value> divisi::dtensorPlan(ModuleOp planned,
                                          const Cluster &machine,
                                          const ModelOutline &outline) {
  Expected<ModelPlan> plan = modelPlan(planned, outline);
  if (!plan) {
    return plan.status();
  }
  if (plan->grids.size() > 1) {
    return makeError(ExitCode::Usage, "the plan has ", plan->grids.size(),
                     " grids, and DTensor has one mesh: plan without stages");
  }
  Expected<std::vector<std::string>> gaps = dtensorGaps(planned, machine);
  if (!gaps) {
    return gaps.status();
  }
  Expected<json::Value> layouts = planLayouts(planned, "");
  if (!layouts) {
    return layouts.status();
  }
  PlanSpeaker speaker(*plan, outline, std::move(*gaps));
  return json::Value(speaker.say(std::move(*layouts->getAsObject())));
}
