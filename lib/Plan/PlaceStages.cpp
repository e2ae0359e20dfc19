//===- PlaceStages.cpp - Stages of a pipeline on sub-grids ----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Plan/PlaceStages.h"

#include "StageCut.h"
#include "dialects/NN/Bodies.h"
#include "dialects/NN/Functions.h"
#include "dialects/SPMD/Strategy.h"
#include "divisi/Cost/ModuleCluster.h"
#include "divisi/Plan/PlanRecord.h"

#include "mlir/IR/AttrTypeSubElements.h"

using namespace mlir;

namespace divisi {

namespace {

/// Places the stages of one module. One use.
class StagePlacer {
public:
  StagePlacer(ModuleOp module, const Cluster &cluster, int64_t stages)
      : module_(module), cluster_(cluster), stages_(stages) {}

  Status run();

private:
  void spread(func::FuncOp entry, const plan::StageCut &cut);
  int64_t stageOfValue(Value value) const;
  void makeGrids(spmd::GridOp grid);
  void move(func::FuncOp entry);
  void moveBodies(func::FuncOp entry);
  void moveGlobals(ArrayRef<func::FuncOp> entries);
  Attribute onStage(Attribute attribute, int64_t stage);

  ModuleOp module_;
  const Cluster &cluster_;
  int64_t stages_;
  FlatSymbolRefAttr from_;               ///< The grid of the plan.
  SmallVector<FlatSymbolRefAttr> grids_; ///< Per stage.
  llvm::DenseMap<Operation *, int64_t> stageOf_;
};

} // namespace

/// Where the operator is that makes `value`; -1 if that is not known.
int64_t StagePlacer::stageOfValue(Value value) const {
  Operation *maker = value.getDefiningOp();
  auto known = maker ? stageOf_.find(maker) : stageOf_.end();
  return known == stageOf_.end() ? -1 : known->second;
}

/// Gives all operators of `entry` a stage. Those of no node, which make new
/// values of globals, are where their first user is, or the last operand.
void StagePlacer::spread(func::FuncOp entry, const plan::StageCut &cut) {
  llvm::StringMap<int64_t> globals; // the first stage that reads one
  for (Operation &op : entry.front()) {
    if (std::optional<int64_t> stage = cut.stageOf(&op)) {
      stageOf_[&op] = *stage;
    }
  }
  for (auto read : entry.front().getOps<nn::ReadOp>()) {
    for (Operation *user : read.getValue().getUsers()) {
      if (auto known = stageOf_.find(user); known != stageOf_.end()) {
        auto [stage, isNew] =
            globals.try_emplace(read.getGlobal(), known->second);
        stage->second = std::min(stage->second, known->second);
      }
    }
  }
  for (Operation &op : llvm::reverse(entry.front())) {
    if (stageOf_.contains(&op)) {
      continue;
    }
    std::optional<int64_t> stage;
    if (auto update = dyn_cast<nn::UpdateOp>(op)) {
      if (auto known = globals.find(update.getGlobal());
          known != globals.end()) {
        stage = known->second;
      }
    }
    for (Operation *user : op.getUsers()) {
      if (auto known = stageOf_.find(user); known != stageOf_.end()) {
        stage = std::min(stage.value_or(known->second), known->second);
      }
    }
    if (stage) {
      stageOf_[&op] = *stage;
    }
  }
  for (Operation &op : entry.front()) {
    if (stageOf_.contains(&op)) {
      continue;
    }
    int64_t stage = 0;
    for (Value operand : op.getOperands()) {
      stage = std::max(stage, stageOfValue(operand));
    }
    stageOf_[&op] = stage;
  }
}

void StagePlacer::makeGrids(spmd::GridOp grid) {
  SmallVector<int64_t> devices = grid.getDeviceIds();
  OpBuilder builder(grid);
  SymbolTable symbols(module_);
  for (int64_t stage = 0; stage < stages_; ++stage) {
    SmallVector<int64_t> own;
    for (int64_t device : devices) {
      own.push_back(device + stage * int64_t(devices.size()));
    }
    auto clone = cast<spmd::GridOp>(builder.clone(*grid));
    clone.setDevicesAttr(builder.getDenseI64ArrayAttr(own));
    clone.setSymName((grid.getSymName() + Twine(stage)).str());
    symbols.insert(clone);
    grids_.push_back(FlatSymbolRefAttr::get(clone));
  }
  from_ = FlatSymbolRefAttr::get(grid);
}

/// The attribute with the grid of `stage` in place of the plan's.
Attribute StagePlacer::onStage(Attribute attribute, int64_t stage) {
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](FlatSymbolRefAttr symbol) {
    return symbol == from_ ? grids_[size_t(stage)] : symbol;
  });
  return replacer.replace(attribute);
}

void StagePlacer::move(func::FuncOp entry) {
  for (Operation &op : entry.front()) {
    int64_t stage = stageOf_.lookup(&op);
    for (StringRef name :
         {spmd::SPMDDialect::kSplit, spmd::SPMDDialect::kPlaces,
          spmd::SPMDDialect::kStops}) {
      if (Attribute attribute = op.getAttr(name)) {
        op.setAttr(name, onStage(attribute, stage));
      }
    }
  }
  for (unsigned i = 0; i != entry.getNumArguments(); ++i) {
    std::optional<int64_t> stage;
    for (Operation *user : entry.getArgument(i).getUsers()) {
      int64_t own = stageOf_.lookup(user);
      stage = std::min(stage.value_or(own), own);
    }
    if (spmd::PlaceAttr place = spmd::getArgPlace(entry, i)) {
      spmd::setArgPlace(
          entry, i, cast<spmd::PlaceAttr>(onStage(place, stage.value_or(0))));
    }
  }
  Operation *end = entry.front().getTerminator();
  for (unsigned i = 0; i != entry.getNumResults(); ++i) {
    if (spmd::PlaceAttr place = spmd::getResultPlace(entry, i)) {
      int64_t stage = std::max<int64_t>(stageOfValue(end->getOperand(i)), 0);
      spmd::setResultPlace(entry, i,
                           cast<spmd::PlaceAttr>(onStage(place, stage)));
    }
  }
}

/// A body runs where the loop stands that runs it.
void StagePlacer::moveBodies(func::FuncOp entry) {
  for (auto loop : entry.front().getOps<nn::LoopOp>()) {
    auto body = cast<func::FuncOp>(
        nn::lookupBody(loop, loop.getBodyAttr()).getOperation());
    for (Operation &inner : body.front()) {
      stageOf_[&inner] = stageOf_.lookup(loop);
    }
    moveBodies(body);
    move(body);
  }
}

/// A global rests on the first stage that reads it, or else that updates it.
void StagePlacer::moveGlobals(ArrayRef<func::FuncOp> entries) {
  llvm::StringMap<int64_t> stageOfGlobal;
  for (func::FuncOp entry : entries) {
    for (Operation &op : entry.front()) {
      StringRef global;
      if (auto read = dyn_cast<nn::ReadOp>(op)) {
        global = read.getGlobal();
      } else if (auto update = dyn_cast<nn::UpdateOp>(op)) {
        global = update.getGlobal();
      } else {
        continue;
      }
      int64_t stage = stageOf_.lookup(&op);
      auto [known, isNew] = stageOfGlobal.try_emplace(global, stage);
      known->second = std::min(known->second, stage);
    }
  }
  for (auto global : module_.getOps<nn::GlobalOp>()) {
    if (spmd::PlaceAttr place = spmd::getPlace(global)) {
      int64_t stage = stageOfGlobal.lookup(global.getSymName());
      spmd::setPlace(global, cast<spmd::PlaceAttr>(onStage(place, stage)));
    }
  }
}

Status StagePlacer::run() {
  if (cluster_.levels.empty()) {
    return makeError(ExitCode::Usage, "--pipeline-parallel-size is ", stages_,
                     ": the cluster has one device");
  }
  if (cluster_.hasKinds()) {
    return Status(ExitCode::Usage,
                  "--pipeline-parallel-size makes equal stages, and the "
                  "cluster has devices of several kinds");
  }
  SmallVector<spmd::GridOp> grids(module_.getOps<spmd::GridOp>());
  assert(grids.size() == 1 && "stages are made of a plan on one grid");
  SmallVector<func::FuncOp> entries;
  for (auto function : module_.getOps<func::FuncOp>()) {
    if (nn::isEntry(function) && !nn::isBody(function)) {
      entries.push_back(function);
    }
  }
  plan::StageCut cut(cluster_, stages_);
  if (Status status = cut.run(entries); !status.isOk()) {
    return status;
  }
  makeGrids(grids.front());
  for (func::FuncOp entry : entries) {
    spread(entry, cut);
    moveBodies(entry);
    move(entry);
  }
  moveGlobals(entries);
  grids.front().erase();
  return Status();
}

Status placeStages(ModuleOp module, int64_t stages) {
  Expected<Cluster> cluster = getCluster(module);
  if (!cluster) {
    return cluster.status();
  }
  Expected<std::optional<PlanRecord>> record = getPlanRecord(module);
  if (!record) {
    return record.status();
  }
  if (Status status = StagePlacer(module, *cluster, stages).run();
      !status.isOk()) {
    return status;
  }
  if (*record) {
    // The bound was of one grid.
    (*record)->lowerBound.reset();
    (*record)->stages = stages;
    setPlanRecord(module, **record);
  }
  return Status();
}

} // namespace divisi
