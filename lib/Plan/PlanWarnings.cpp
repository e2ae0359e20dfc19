//===- PlanWarnings.cpp - What a user may not have meant ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanWarnings.h"

#include "dialects/NN/Locations.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace divisi::plan {

/// Over how many devices axes of `role` go.
static int64_t degreeOf(const DeviceGrid &devices, AxisRole role) {
  int64_t degree = 1;
  for (auto [axis, other] :
       llvm::zip_equal(devices.grid.axes(), devices.roles)) {
    degree *= other == role ? axis.size : 1;
  }
  return degree;
}

static bool hasRoles(const DeviceGrid &devices) {
  return llvm::any_of(devices.roles,
                      [](AxisRole role) { return role != AxisRole::Any; });
}

/// The largest extent and rank of what is given to an entry.
static std::optional<int64_t> batchOf(const Dataflow &dataflow,
                                      int64_t batchDim) {
  std::optional<int64_t> batch;
  for (const DataflowValue &tensor : dataflow.values) {
    if (tensor.kind == DataflowValue::Kind::Argument &&
        int64_t(tensor.shape.size()) > batchDim) {
      batch = std::max(batch.value_or(0), tensor.shape[batchDim]);
    }
  }
  return batch;
}

static std::string warnOfBatch(const Dataflow &dataflow,
                               const DeviceGrid &devices, int64_t batchDim) {
  std::optional<int64_t> batch = batchOf(dataflow, batchDim);
  int64_t degree = degreeOf(devices, AxisRole::Data);
  if (!batch && (batchDim > 0 || degree > 1)) {
    return llvm::formatv("no input has a dimension {0} (--batch-dim), so there "
                         "is no batch to split",
                         batchDim);
  }
  if (batchDim > 0 && !hasRoles(devices)) {
    return "--batch-dim has no effect, since the grid has no data axes; "
           "--data-parallel-size makes them, or a mesh such as data=2,model=4";
  }
  if (batch && degree > *batch) {
    return llvm::formatv(
        "the data parallel size {0} is more than the batch of {1} (dimension "
        "{2} of the inputs): {3} of {0} devices get no part of it",
        degree, *batch, batchDim, degree - *batch);
  }
  return "";
}

static bool mentions(const TensorMap &tensor, size_t loop) {
  return llvm::any_of(tensor.dims, [&](const DimMap &dim) {
    return dim.mentions(LoopId{uint32_t(loop)});
  });
}

/// The operands that are multiplied with each other: they share a loop that no
/// result has.
static llvm::SmallVector<size_t> factorsOf(const LoopNest &nest) {
  for (auto [index, loop] : llvm::enumerate(nest.loops)) {
    llvm::SmallVector<size_t> factors;
    for (auto [i, operand] : llvm::enumerate(nest.operands)) {
      if (mentions(operand, index)) {
        factors.push_back(i);
      }
    }
    bool isSummed =
        loop.kind == LoopKind::Reduction || loop.kind == LoopKind::Whole;
    bool isKept = llvm::any_of(nest.results, [&](const TensorMap &result) {
      return mentions(result, index);
    });
    if (isSummed && !isKept && factors.size() > 1) {
      return factors;
    }
  }
  return {};
}

/// How many products of activations an operator holds side by side, beside the
/// batch: the heads of an attention. 1 if it is none.
static int64_t headsOf(const Site &site) {
  const LoopNest &nest = site.nest;
  llvm::SmallVector<size_t> factors = factorsOf(nest);
  auto isParameter = [&](size_t factor) { return site.parameters[factor]; };
  if (factors.empty() || llvm::any_of(factors, isParameter)) {
    return 1;
  }
  int64_t heads = 1;
  for (auto [index, loop] : llvm::enumerate(nest.loops)) {
    auto has = [&, index = index](const TensorMap &tensor) {
      return mentions(tensor, index);
    };
    auto isIn = [&](size_t factor) { return has(nest.operands[factor]); };
    if (!site.batch[index] && llvm::all_of(factors, isIn) &&
        llvm::all_of(nest.results, has)) {
      heads *= loop.extent;
    }
  }
  return heads;
}

static std::string warnOfHeads(const ModuleDataflow &dataflow,
                               const DeviceGrid &devices) {
  int64_t degree = degreeOf(devices, AxisRole::Model);
  for (auto [op, site] : llvm::zip_equal(dataflow.ops, dataflow.sites)) {
    int64_t heads = headsOf(site);
    if (heads > 1 && heads % degree != 0) {
      std::string text;
      llvm::raw_string_ostream os(text);
      os << "the tensor parallel size " << degree << " does not divide the "
         << heads << " heads of " << site.name << " at "
         << nn::describeLocation(op->getLoc())
         << ": devices get unequal parts, or the same ones";
      return text;
    }
  }
  return "";
}

std::vector<std::string> warnOfRequest(const ModuleDataflow &dataflow,
                                       const DeviceGrid &devices,
                                       int64_t batchDim) {
  std::vector<std::string> warnings;
  for (std::string text : {warnOfBatch(dataflow, devices, batchDim),
                           warnOfHeads(dataflow, devices)}) {
    if (!text.empty()) {
      warnings.push_back(std::move(text));
    }
  }
  return warnings;
}

// As the report counts it: an operator is replicated if its parts are fewer
// than the devices.
std::optional<std::string>
warnOfReplication(const Dataflow &dataflow, const PlanningProblem &planning,
                  const Grid &grid, const std::vector<uint32_t> &assignment) {
  double all = 0, replicated = 0;
  for (auto [index, site] : llvm::enumerate(dataflow.sites)) {
    const Split &split =
        planning.choices[index]->splits[assignment[planning.siteNodes[index]]];
    double flops = double(site.nest.flops());
    all += flops;
    if (grid.product(split.usedAxes()) < grid.numPositions()) {
      replicated += flops;
    }
  }
  constexpr double kMost = 0.5;
  if (!(replicated > kMost * all)) {
    return std::nullopt;
  }
  return llvm::formatv("the plan replicates {0:P0} of the arithmetic: several "
                       "of the {1} devices do the same; fewer devices may do "
                       "as well",
                       replicated / all, grid.numPositions())
      .str();
}

std::optional<std::string> noteLeftOut(const CappedChoices &capped,
                                       size_t maxStrategies) {
  if (capped.operators == 0 && capped.tensors == 0) {
    return std::nullopt;
  }
  std::string who;
  if (capped.operators > 0) {
    who = llvm::formatv("{0} operators have more than {1} strategies",
                        capped.operators, maxStrategies);
  }
  if (capped.tensors > 0) {
    who += (who.empty() ? "" : ", and ") +
           llvm::formatv("{0} tensors have more than {1} places to rest",
                         capped.tensors, maxStrategies)
               .str();
  }
  return who + ": only the individually cheapest were searched, and the bound "
               "is relative to these";
}

/// Per tensor: whether it is a gradient of which no other is made.
static std::vector<bool> lastGradients(const Dataflow &dataflow) {
  std::vector<bool> makes(dataflow.sites.size(), false), isLast;
  for (const DataflowValue &tensor : dataflow.values) {
    if (tensor.state == StateKind::Gradient) {
      makes[tensor.index] = true;
    }
  }
  for (const DataflowValue &tensor : dataflow.values) {
    isLast.push_back(
        tensor.state == StateKind::Gradient &&
        llvm::none_of(tensor.consumers, [&](const Consumer &consumer) {
          return consumer.kind == Consumer::Kind::Operand &&
                 makes[consumer.index];
        }));
  }
  return isLast;
}

std::optional<std::string> noteStates(const Dataflow &dataflow,
                                      const PlanningProblem &planning,
                                      const KindMemories &memories,
                                      const Grid &grid,
                                      const std::vector<uint32_t> &assignment) {
  if (!hasStates(dataflow)) {
    return std::nullopt;
  }
  std::vector<bool> isLast = lastGradients(dataflow);
  double elements = 0;
  double bytes[4] = {}; // by StateKind
  for (auto [index, tensor] : llvm::enumerate(dataflow.values)) {
    if (tensor.state == StateKind::None ||
        (tensor.state == StateKind::Gradient && !isLast[index])) {
      continue;
    }
    const std::vector<Layout> &places = planning.valuePlaces[index];
    Layout layout;
    if (places.empty()) {
      uint32_t split = assignment[planning.siteNodes[tensor.index]];
      layout = resultLayout(dataflow.sites[tensor.index].nest, grid,
                            planning.choices[tensor.index]->splits[split],
                            tensor.number);
    } else {
      layout = places[assignment[planning.valueNodes[index]]];
    }
    int64_t most = 0;
    for (const KindMemory &memory : memories) {
      most = std::max(
          most, memory.localBytes(grid, layout, tensor.shape, tensor.bits));
    }
    bytes[unsigned(tensor.state)] += double(most);
    if (tensor.state == StateKind::Parameter) {
      elements += double(tensor.bytes()) * 8 / double(tensor.bits);
    }
  }
  if (elements == 0) {
    return std::nullopt;
  }
  return llvm::formatv("a device keeps {0:F2} bytes of states a parameter: "
                       "parameters {1:F2}, gradients {2:F2}, states of the "
                       "optimizer {3:F2}",
                       (bytes[1] + bytes[2] + bytes[3]) / elements,
                       bytes[1] / elements, bytes[2] / elements,
                       bytes[3] / elements)
      .str();
}

std::vector<std::string> noteIdle(const Cluster &cluster,
                                  const DeviceGrid &devices,
                                  const PlanOptions &options) {
  std::vector<std::string> notes;
  int64_t used = devices.grid.numPositions();
  int64_t all = options.grid.devices.value_or(cluster.numDevices());
  bool isEqual = options.share.devices == 0;
  int64_t asked =
      isEqual ? all / options.pipelineStages : options.share.devices;
  if (int64_t left = all % options.pipelineStages; isEqual && left != 0) {
    notes.push_back(std::to_string(options.pipelineStages) + " stages have " +
                    std::to_string(asked) + " devices each: of the " +
                    std::to_string(all) + " that there are " +
                    std::to_string(left) +
                    " stay idle; --stage-devices auto gives stages unequal "
                    "numbers of devices");
  }
  if (options.grid.mesh.empty() && used < asked) {
    notes.push_back("the plan is for " + std::to_string(used) + " of " +
                    std::to_string(asked) +
                    " devices and leaves the others idle: no plan that was "
                    "found for all of them is faster");
  }
  return notes;
}

std::optional<std::string> noteAxisNames(const std::string &mesh,
                                         const DeviceGrid &devices) {
  if (!llvm::StringRef(mesh).contains('=')) {
    return std::nullopt;
  }
  std::vector<std::string> parts, free;
  for (auto [axis, role] :
       llvm::zip_equal(devices.grid.axes(), devices.roles)) {
    if (role == AxisRole::Any) {
      free.push_back(axis.name);
    } else {
      parts.push_back(axis.name + (role == AxisRole::Data
                                       ? " splits the batch where it is"
                                       : " splits all but the batch"));
    }
  }
  if (!free.empty()) {
    parts.push_back(llvm::join(free, ", ") +
                    (free.size() > 1 ? " split" : " splits") +
                    " anything, as only data and model constrain");
  }
  return "axes of --mesh: " + llvm::join(parts, ", ");
}

} // namespace divisi::plan
