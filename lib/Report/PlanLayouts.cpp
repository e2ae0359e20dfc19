//===- PlanLayouts.cpp - Strategies and layouts of a plan -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Report/PlanLayouts.h"

#include "Describe.h"
#include "dialects/SPMD/LayoutSyntax.h"
#include "dialects/SPMD/Strategy.h"
#include "divisi/Plan/ModuleDataflow.h"
#include "divisi/Plan/SetSplit.h"

#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace divisi;
namespace json = llvm::json;

/// The layouts of the results, or of the operands.
template <typename LayoutAt>
static json::Array layoutsBy(const Grid &grid, size_t count, LayoutAt at) {
  json::Array layouts;
  for (size_t i = 0; i < count; ++i) {
    layouts.push_back(at(unsigned(i)).str(grid));
  }
  return layouts;
}

/// The global shapes of operands or results.
static json::Array shapesOf(ArrayRef<TensorMap> tensors) {
  json::Array shapes;
  for (const TensorMap &tensor : tensors) {
    shapes.push_back(json::Array(tensor.shape));
  }
  return shapes;
}

static json::Object rowOf(nn::LoopInterface op, spmd::Strategy strategy,
                          const ReportRow &names) {
  auto &[gridOp, nest, split] = strategy;
  Grid grid = gridOp.getValue();
  std::string text;
  llvm::raw_string_ostream os(text);
  spmd::printSplit(os, spmd::NamedSplit::of(nest, grid, split));
  json::Object loops;
  for (const Loop &loop : nest.loops) {
    loops[loop.name] = loop.extent;
  }
  return json::Object{
      {"entry", entryOf(op)},
      {"layer", names.layer},
      {"node", names.node},
      {"op", names.op},
      {"grid", gridOp.getSymName()},
      {"split", text},
      {"loops", std::move(loops)},
      {"operands", layoutsBy(grid, nest.operands.size(),
                             [&](unsigned at) {
                               return operandLayout(nest, grid, split, at);
                             })},
      {"operand_shapes", shapesOf(nest.operands)},
      {"result_shapes", shapesOf(nest.results)},
      {"results", layoutsBy(grid, nest.results.size(), [&](unsigned at) {
         return resultLayout(nest, grid, split, at);
       })}};
}

namespace {

/// Adds tensors at rest.
class TensorLister {
public:
  explicit TensorLister(json::Array &list) : list_(list) {}

  /// One without a place rests nowhere.
  void add(Operation *where, spmd::PlaceAttr place, Type type,
           ReportTensor tensor) {
    auto ranked = dyn_cast<RankedTensorType>(type);
    if (!place || !ranked) {
      return;
    }
    FailureOr<spmd::ResolvedPlace> rest =
        spmd::requirePlace(where, place, type, tensor.name);
    if (failed(rest)) {
      return;
    }
    tensor.shape = std::vector<int64_t>(ranked.getShape());
    tensor.grid = rest->grid.getSymName().str();
    tensor.layout = {rest->grid.getValue(), rest->layout};
    list_.push_back(toJSON(tensor));
  }

private:
  json::Array &list_;
};

} // namespace

static json::Array tensorsOf(ModuleOp planned) {
  json::Array list;
  TensorLister tensors(list);
  for (auto global : planned.getOps<nn::GlobalOp>()) {
    tensors.add(global, spmd::getPlace(global), global.getTensorType(),
                {global.getSymName().str(),
                 nn::stringifyGlobalKind(global.getKind()).str(),
                 {},
                 "",
                 {},
                 ""});
  }
  for (auto entry : planned.getOps<func::FuncOp>()) {
    if (!spmd::isEntry(entry)) {
      continue;
    }
    std::string name = entry.getSymName().str();
    for (auto [i, type] : llvm::enumerate(entry.getArgumentTypes())) {
      tensors.add(
          entry, spmd::getArgPlace(entry, unsigned(i)), type,
          {argumentName(entry, unsigned(i)), "input", {}, "", {}, name});
    }
    for (auto [i, type] : llvm::enumerate(entry.getResultTypes())) {
      tensors.add(entry, spmd::getResultPlace(entry, unsigned(i)), type,
                  {resultName(entry, unsigned(i)), "output", {}, "", {}, name});
    }
  }
  return list;
}

Expected<json::Value> divisi::planLayouts(ModuleOp planned,
                                          llvm::StringRef operators) {
  Expected<std::vector<Operation *>> named = operatorsNamed(planned, operators);
  if (!named) {
    return named.status();
  }
  json::Array rows, grids;
  for (Operation *op : *named) {
    auto loops = cast<nn::LoopInterface>(op);
    FailureOr<spmd::Strategy> strategy = spmd::requireStrategy(loops);
    if (succeeded(strategy)) {
      rows.push_back(rowOf(loops, std::move(*strategy), describe(*op)));
    }
  }
  for (auto grid : planned.getOps<spmd::GridOp>()) {
    SmallVector<int64_t> devices = grid.getDeviceIds();
    grids.push_back(toJSON(ReportGrid{grid.getSymName().str(),
                                      grid.getValue(),
                                      {devices.begin(), devices.end()}}));
  }
  return json::Value(json::Object{{"schema_version", kReportSchemaVersion},
                                  {"grids", std::move(grids)},
                                  {"operators", std::move(rows)},
                                  {"tensors", tensorsOf(planned)}});
}
