//===- DropPlan.cpp - Back to a module without a plan ---------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Plan/DropPlan.h"

#include "dialects/NN/Locations.h"
#include "dialects/NN/NN.h"
#include "dialects/Pipe/Pipe.h"
#include "dialects/SPMD/SPMD.h"
#include "dialects/SPMD/Strategy.h"
#include "divisi/Plan/WantedLayouts.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSet.h"

#include <functional>
#include <set>
#include <vector>

using namespace mlir;

namespace divisi {

namespace {

/// Takes a plan off a module. One use.
class PlanDropper {
public:
  PlanDropper(ModuleOp module, llvm::ArrayRef<std::string> keep)
      : module_(module), keep_(keep) {}

  Expected<int64_t> run();

private:
  void visitFunction(func::FuncOp function);
  void visitValues(func::FuncOp function, unsigned count, bool isArgument);
  bool isKept(llvm::function_ref<bool(llvm::StringRef name)> matches);
  /// Drops `attribute` of `op` later, unless it is kept; then it uses a grid.
  void visit(Operation *op, llvm::StringRef attribute, bool isKept);
  void use(Attribute attribute);

  ModuleOp module_;
  llvm::ArrayRef<std::string> keep_;
  std::set<std::string> found_;              ///< Of keep_.
  llvm::StringSet<> usedGrids_;              ///< By what is kept.
  std::vector<std::function<void()>> drops_; ///< Once all names are found.
};

} // namespace

/// Tells every name that matches, so that none counts as unknown because of
/// another.
bool PlanDropper::isKept(
    llvm::function_ref<bool(llvm::StringRef name)> matches) {
  bool kept = false;
  for (const std::string &name : keep_) {
    if (!name.empty() && matches(name)) {
      found_.insert(name);
      kept = true;
    }
  }
  return kept;
}

void PlanDropper::use(Attribute attribute) {
  attribute.walk(
      [&](FlatSymbolRefAttr symbol) { usedGrids_.insert(symbol.getValue()); });
}

void PlanDropper::visit(Operation *op, llvm::StringRef attribute, bool isKept) {
  Attribute value = op->getAttr(attribute);
  if (!value) {
    return;
  }
  if (isKept) {
    use(value);
  } else {
    drops_.push_back([=] { op->removeAttr(attribute); });
  }
}

/// The places of all arguments, or of all results.
void PlanDropper::visitValues(func::FuncOp function, unsigned count,
                              bool isArgument) {
  for (unsigned i = 0; i != count; ++i) {
    spmd::PlaceAttr place = isArgument ? spmd::getArgPlace(function, i)
                                       : spmd::getResultPlace(function, i);
    if (!place) {
      continue;
    }
    auto name = isArgument
                    ? function.getArgAttrOfType<StringAttr>(i, "nn.name")
                    : function.getResultAttrOfType<StringAttr>(i, "nn.name");
    if (isKept([&](llvm::StringRef given) {
          return name && nn::matchesName(given, name.getValue());
        })) {
      use(place);
    } else {
      drops_.push_back([=]() mutable {
        isArgument ? void(function.removeArgAttr(i, spmd::SPMDDialect::kPlace))
                   : void(function.removeResultAttr(
                         i, StringAttr::get(function.getContext(),
                                            spmd::SPMDDialect::kPlace)));
      });
    }
  }
}

void PlanDropper::visitFunction(func::FuncOp function) {
  visitValues(function, function.getNumArguments(), true);
  visitValues(function, function.getNumResults(), false);
  drops_.push_back([=]() mutable {
    // Operators stay where they are: any order of them is right.
    function->removeAttr(pipe::PipeDialect::kSchedule);
    function.getBody().walk(
        [](Operation *op) { op->removeAttr(pipe::PipeDialect::kStep); });
  });
  function.getBody().walk([&](Operation *op) {
    if (!op->hasAttr(spmd::SPMDDialect::kSplit) &&
        !op->hasAttr(spmd::SPMDDialect::kPlaces) &&
        !op->hasAttr(spmd::SPMDDialect::kStops)) {
      return;
    }
    bool kept =
        isKept([&](llvm::StringRef name) { return nn::isNamed(op, name); });
    visit(op, spmd::SPMDDialect::kSplit, kept);
    visit(op, spmd::SPMDDialect::kPlaces, kept);
    visit(op, spmd::SPMDDialect::kStops, kept);
  });
}

Expected<int64_t> PlanDropper::run() {
  for (auto function : module_.getOps<func::FuncOp>()) {
    visitFunction(function);
  }
  for (auto global : module_.getOps<nn::GlobalOp>()) {
    if (spmd::getPlace(global)) {
      visit(global, spmd::SPMDDialect::kPlace,
            isKept([&](llvm::StringRef name) {
              name.consume_front("@");
              return nn::matchesName(name, global.getSymName());
            }));
    }
  }
  for (const std::string &name : keep_) {
    if (!found_.contains(name)) {
      return Status(ExitCode::Usage,
                    "--keep names '" + name +
                        "', and nothing of that name has a strategy or a "
                        "place; expected a node, a scope, an operator such as "
                        "nn.matmul, or a global");
    }
  }
  for (const std::function<void()> &drop : drops_) {
    drop();
  }
  module_->removeAttr(kShardingsAttr);
  int64_t devices = 0;
  for (auto grid : llvm::make_early_inc_range(module_.getOps<spmd::GridOp>())) {
    for (int64_t device : grid.getDeviceIds()) {
      devices = std::max(devices, device + 1);
    }
    if (!usedGrids_.contains(grid.getSymName())) {
      grid.erase();
    }
  }
  return devices;
}

Expected<int64_t> dropPlan(ModuleOp module, llvm::ArrayRef<std::string> keep) {
  return PlanDropper(module, keep).run();
}

} // namespace divisi
