//===- FollowAnnotations.cpp - ONNX's annotations, planned ----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Exchange/FollowAnnotations.h"

#include "FindMesh.h"
#include "divisi/Cluster/Cluster.h"
#include "divisi/Cluster/DeviceGrid.h"
#include "divisi/Plan/ModelValues.h"
#include "divisi/Plan/WantedLayouts.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

using namespace mlir;
using namespace divisi;

namespace {

/// What a node says of one tensor.
struct NodeTensor {
  size_t node = 0;           ///< In the outline.
  const std::string *tensor; ///< By its name.
  ModelValue value;          ///< What the planner finds it by.
  ResolvedSharding sharding; ///< Checked.
};

/// Follows the annotations of one configuration. One use.
class AnnotationReader {
public:
  AnnotationReader(ModuleOp imported, const AnnotatedModel &model,
                   const DeviceAnnotations &annotations)
      : module_(imported), outline_(model.outline), given_(annotations) {}

  divisi::Expected<AnnotatedPlan> run(const std::string &mesh);

private:
  void indexTensors();
  void indexShapes();
  Status readStages();
  Status checkStages() const;
  Status readNodes();
  Status readTensor(const NodeDevices &node, const TensorSharding &sharding);
  divisi::Expected<Grid> chooseMesh(const std::string &mesh);
  void note(const Grid &grid, const AnnotatedPlan &plan);
  Attribute attributeOf(const NodeTensor &tensor, const Grid &grid);
  std::string where(size_t node) const {
    return "node '" + outline_.nodes[node].name + "': its annotation for '" +
           given_.configuration.name + "': ";
  }
  int64_t stageSize() const {
    return given_.configuration.numDevices / stages_;
  }

  ModuleOp module_;
  const ModelOutline &outline_;
  const DeviceAnnotations &given_;
  std::map<std::string, ModelValue> values_;           ///< Of tensors, by name.
  std::map<std::string, size_t> makers_;               ///< Of tensors, by name.
  std::map<std::string, std::vector<int64_t>> shapes_; ///< The same.
  std::map<size_t, int64_t> stageOf_; ///< By the number of the node.
  int64_t stages_ = 1;
  std::vector<NodeTensor> tensors_; ///< In the order of nodes.
};

} // namespace

/// What the planner finds tensors by: nodes number the outputs that are used.
void AnnotationReader::indexTensors() {
  std::set<std::string> used(outline_.outputs.begin(), outline_.outputs.end());
  for (const OutlineNode &node : outline_.nodes) {
    used.insert(node.inputs.begin(), node.inputs.end());
  }
  for (const auto &[name, shape] : outline_.initializers) {
    values_[name] = {ModelValue::Kind::Global, name};
    shapes_[name] = shape;
  }
  for (const std::string &name : outline_.inputs) {
    values_[name] = {ModelValue::Kind::Input, name};
  }
  for (auto [number, node] : llvm::enumerate(outline_.nodes)) {
    std::vector<std::string> outputs;
    llvm::copy_if(node.outputs, std::back_inserter(outputs),
                  [&](const std::string &name) { return used.count(name); });
    for (auto [at, name] : llvm::enumerate(outputs)) {
      values_[name] = {ModelValue::Kind::Output, node.name, unsigned(at),
                       unsigned(outputs.size())};
      makers_[name] = number;
    }
  }
}

/// As import has inferred them, before any operator takes another form.
void AnnotationReader::indexShapes() {
  auto entry = module_.lookupSymbol<func::FuncOp>("forward");
  ModelValues values(entry);
  using Key = std::tuple<ModelValue::Kind, std::string, unsigned>;
  std::map<Key, const std::string *> names;
  for (const auto &[name, value] : values_) {
    names[{value.kind, value.name, value.number}] = &name;
  }
  auto add = [&](Value value) {
    std::optional<ModelValue> known = values.find(value);
    auto type = dyn_cast<RankedTensorType>(value.getType());
    auto name = known ? names.find({known->kind, known->name, known->number})
                      : names.end();
    if (type && name != names.end() && values_[*name->second] == *known) {
      shapes_[*name->second] = {type.getShape().begin(), type.getShape().end()};
    }
  };
  for (Value argument : entry.getArguments()) {
    add(argument);
  }
  for (Operation &op : entry.getBody().front()) {
    for (Value result : op.getResults()) {
      add(result);
    }
  }
}

/// Stages are numbered from 0, and tensors go to later ones.
Status AnnotationReader::readStages() {
  for (const NodeDevices &node : given_.nodes) {
    if (!node.stage) {
      continue;
    }
    if (*node.stage < 0 || *node.stage >= given_.configuration.numDevices) {
      return makeError(ExitCode::Invalid, where(node.node), "stage ",
                       *node.stage, " of a pipeline on ",
                       given_.configuration.numDevices, " devices");
    }
    stageOf_[node.node] = *node.stage;
    stages_ = std::max(stages_, *node.stage + 1);
  }
  if (given_.configuration.numDevices % stages_ != 0) {
    return makeError(ExitCode::Unsupported, "the annotations for '",
                     given_.configuration.name, "' have ", stages_,
                     " stages on ", given_.configuration.numDevices,
                     " devices; stages are planned on equal parts of them");
  }
  return checkStages();
}

Status AnnotationReader::checkStages() const {
  for (const auto &[number, stage] : stageOf_) {
    for (const std::string &input : outline_.nodes[number].inputs) {
      auto maker = makers_.find(input);
      auto before = maker == makers_.end() ? stageOf_.end()
                                           : stageOf_.find(maker->second);
      if (before != stageOf_.end() && before->second > stage) {
        return makeError(ExitCode::Invalid, where(number), "stage ", stage,
                         " reads '", input, "', which node '",
                         outline_.nodes[before->first].name,
                         "' makes on stage ", before->second);
      }
    }
  }
  return {};
}

Status AnnotationReader::readTensor(const NodeDevices &node,
                                    const TensorSharding &sharding) {
  const OutlineNode &outline = outline_.nodes[node.node];
  if (sharding.tensor.empty() ||
      (!llvm::is_contained(outline.inputs, sharding.tensor) &&
       !llvm::is_contained(outline.outputs, sharding.tensor))) {
    return makeError(ExitCode::Invalid, where(node.node), "'", sharding.tensor,
                     "' is neither an input nor an output of the node");
  }
  auto shape = shapes_.find(sharding.tensor);
  auto value = values_.find(sharding.tensor);
  if (shape == shapes_.end() || value == values_.end()) {
    return {}; // computed by import, or nobody's
  }
  int64_t stage = node.stage.value_or(0);
  bool isStaged = stages_ > 1;
  auto resolved = resolveSharding(
      sharding, shape->second, given_.configuration.numDevices,
      isStaged ? stage * stageSize() : 0, stageSize(), where(node.node));
  if (!resolved) {
    return resolved.status();
  }
  tensors_.push_back(
      {node.node, &value->first, value->second, std::move(*resolved)});
  return {};
}

Status AnnotationReader::readNodes() {
  std::set<size_t> seen;
  for (const NodeDevices &node : given_.nodes) {
    if (!seen.insert(node.node).second) {
      return makeError(ExitCode::Invalid, where(node.node),
                       "the node has it twice");
    }
    std::set<std::string> tensors;
    for (const TensorSharding &sharding : node.tensors) {
      Status status = readTensor(node, sharding);
      if (status.isOk() && !tensors.insert(sharding.tensor).second) {
        status = makeError(ExitCode::Invalid, where(node.node), "'",
                           sharding.tensor, "' is sharded twice");
      }
      if (!status.isOk()) {
        return status;
      }
    }
  }
  return {};
}

/// What a user names, else what the model's metadata do, else what is found.
divisi::Expected<Grid> AnnotationReader::chooseMesh(const std::string &mesh) {
  auto misfit = [&](const Grid &grid) {
    return llvm::find_if(tensors_, [&](const NodeTensor &each) {
      return !axesOf(each.sharding, grid);
    });
  };
  for (const std::string &text : {mesh, given_.configuration.mesh}) {
    std::optional<Grid> grid = meshGrid(text);
    bool isUsers = !mesh.empty() && text == mesh;
    if (!grid || grid->numPositions() != stageSize()) {
      if (isUsers) {
        return makeError(ExitCode::Usage, "the mesh '", mesh,
                         "' is not one of the ", stageSize(),
                         " devices that the model is annotated for");
      }
      continue;
    }
    auto wrong = misfit(*grid);
    if (wrong == tensors_.end()) {
      return *grid;
    }
    if (isUsers) {
      return makeError(ExitCode::Usage, where(wrong->node), "the mesh '", mesh,
                       "' has no axes for the shards of '", *wrong->tensor,
                       "'");
    }
  }
  std::vector<ResolvedSharding> shardings;
  for (const NodeTensor &tensor : tensors_) {
    shardings.push_back(tensor.sharding);
    if (!findMesh(stageSize(), shardings)) {
      return makeError(ExitCode::Invalid, where(tensor.node), "no mesh of ",
                       stageSize(), " devices has the shards of '",
                       *tensor.tensor, "' and those of the nodes before");
    }
  }
  return *findMesh(stageSize(), shardings);
}

Attribute AnnotationReader::attributeOf(const NodeTensor &tensor,
                                        const Grid &grid) {
  WantedTensor wanted;
  wanted.value = tensor.value;
  wanted.tensor = *tensor.tensor;
  auto axes = *axesOf(tensor.sharding, grid);
  size_t number = 0;
  for (const auto &dim : tensor.sharding.dims) {
    auto &factors = wanted.dims.emplace_back();
    for (const FactorSharding &factor : dim) {
      std::vector<std::string> names;
      for (AxisId axis : axes[number++]) {
        names.push_back(grid.name(axis).str());
      }
      factors.push_back({factor.extent, std::move(names)});
    }
  }
  return wanted.attribute(module_.getContext());
}

void AnnotationReader::note(const Grid &grid, const AnnotatedPlan &plan) {
  Builder builder(module_.getContext());
  std::map<size_t, SmallVector<Attribute>> tensors;
  for (const NodeTensor &tensor : tensors_) {
    tensors[tensor.node].push_back(attributeOf(tensor, grid));
  }
  SmallVector<Attribute> nodes;
  for (const NodeDevices &node : given_.nodes) {
    NamedAttrList fields;
    fields.set("node", builder.getStringAttr(outline_.nodes[node.node].name));
    fields.set("tensors", builder.getArrayAttr(tensors[node.node]));
    if (node.stage && stages_ > 1) {
      fields.set("stage", builder.getI64IntegerAttr(*node.stage));
    }
    nodes.push_back(fields.getDictionary(module_.getContext()));
  }
  NamedAttrList all;
  all.set("configuration", builder.getStringAttr(given_.configuration.name));
  all.set("devices", builder.getI64IntegerAttr(plan.devices));
  all.set("stages", builder.getI64IntegerAttr(plan.stages));
  all.set("mesh", builder.getStringAttr(plan.mesh));
  all.set("nodes", builder.getArrayAttr(nodes));
  module_->setAttr(kShardingsAttr, all.getDictionary(module_.getContext()));
}

divisi::Expected<AnnotatedPlan> AnnotationReader::run(const std::string &mesh) {
  if (given_.configuration.numDevices < 1 ||
      given_.configuration.numDevices > Cluster::maxDevices) {
    return makeError(ExitCode::Invalid, "the device configuration '",
                     given_.configuration.name, "' has ",
                     given_.configuration.numDevices,
                     " devices, expected 1 to 4096");
  }
  indexTensors();
  indexShapes();
  Status status = readStages();
  status = status.isOk() ? readNodes() : status;
  if (!status.isOk()) {
    return status;
  }
  divisi::Expected<Grid> grid = chooseMesh(mesh);
  if (!grid) {
    return grid.status();
  }
  AnnotatedPlan plan;
  plan.devices = given_.configuration.numDevices;
  plan.stages = stages_;
  plan.mesh = meshText(*grid);
  note(*grid, plan);
  return plan;
}

std::optional<AnnotatedPlan> divisi::notedAnnotations(ModuleOp module) {
  auto all = module->getAttrOfType<DictionaryAttr>(kShardingsAttr);
  auto number = [&](StringRef name) {
    auto found = all ? all.getAs<IntegerAttr>(name) : IntegerAttr();
    return found ? found.getInt() : 0;
  };
  auto mesh = all ? all.getAs<StringAttr>("mesh") : StringAttr();
  AnnotatedPlan plan{number("devices"), mesh ? mesh.getValue().str() : "",
                     number("stages")};
  std::optional<int64_t> positions = meshPositions(plan.mesh);
  return positions && plan.stages > 0 &&
                 plan.devices == *positions * plan.stages
             ? std::optional(plan)
             : std::nullopt;
}

const DeviceAnnotations *
divisi::findConfiguration(const AnnotatedModel &model,
                          std::optional<int64_t> devices) {
  for (const DeviceAnnotations &each : model.configurations) {
    if (!devices || each.configuration.numDevices == *devices) {
      return &each;
    }
  }
  return nullptr;
}

Status divisi::checkConfigurations(const AnnotatedModel &model) {
  if (model.strays.empty()) {
    return {};
  }
  const NodeDevices &stray = model.strays.front();
  return makeError(ExitCode::Invalid, "node '",
                   model.outline.nodes[stray.node].name, "' is annotated for '",
                   stray.configuration,
                   "', which is no device configuration of the model");
}

divisi::Expected<AnnotatedPlan>
divisi::followAnnotations(ModuleOp imported, const AnnotatedModel &model,
                          const DeviceAnnotations &annotations,
                          const std::string &mesh) {
  return AnnotationReader(imported, model, annotations).run(mesh);
}
