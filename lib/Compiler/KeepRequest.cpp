//===- KeepRequest.cpp - What a plan was asked for ------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Who plans again, for other devices, say, wants what was wanted before, but
// for what the options say now. The record of the plan tells: the roles of the
// axes, of which degrees follow, and options.
//
//   roles "data model model", (d0=2, m0=2, m1=2)  ->  --data-parallel-size 2
//                                                     --tensor-parallel-size 4
//
// On another number of devices the tensor degree stays, and the data degree
// takes the rest.
//
//===----------------------------------------------------------------------===//

#include "divisi/Compiler/Compilation.h"

#include "dialects/SPMD/SPMD.h"
#include "divisi/Plan/PlanRecord.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace divisi;

namespace {

/// What a grid was for.
struct AskedGrid {
  int64_t positions = 1;
  int64_t data = 1, model = 1; ///< Positions along axes of a role.
  bool isOpen = false;         ///< An axis has no role.
  std::string mesh;            ///< `data=2,model=4`
  bool isMesh = true;          ///< The names of axes say their roles.

  /// Whether anything was.
  bool hasRoles() const { return data > 1 || model > 1; }
};

} // namespace

static AskedGrid askedOf(const Grid &grid, StringRef roles) {
  AskedGrid asked;
  asked.mesh = meshText(grid);
  for (auto [axis, role] :
       llvm::zip_equal(grid.axes(), rolesFrom(roles, grid.numAxes()))) {
    int64_t size = axis.size;
    asked.positions *= size;
    asked.data *= role == AxisRole::Data ? size : 1;
    asked.model *= role == AxisRole::Model ? size : 1;
    asked.isOpen |= role == AxisRole::Any;
    asked.isMesh &= (axis.name == "data") == (role == AxisRole::Data) &&
                    (axis.name == "model") == (role == AxisRole::Model);
  }
  return asked;
}

/// Lets `request` ask for the roles of `asked` on `devices`, and adds to `kept`
/// what that is; `lost` is what cannot be.
static Status keepRoles(const AskedGrid &asked, int64_t devices,
                        GridRequest &request, std::vector<std::string> &kept,
                        std::string &lost) {
  bool isSame = devices == asked.positions;
  if (isSame && asked.isMesh) {
    request.mesh = asked.mesh;
    kept.push_back("--mesh " + asked.mesh);
    return Status();
  }
  if (asked.isOpen) {
    lost = "the mesh " + asked.mesh + " of the plan is for " +
           std::to_string(asked.positions) + " devices, and there are " +
           std::to_string(devices) +
           ": its axes may be used for anything now; "
           "give --mesh, or degrees";
    return Status();
  }
  if (devices % asked.model != 0) {
    return makeError(ExitCode::Usage, "--replan: the plan has ",
                     "--tensor-parallel-size ", asked.model, ", and there are ",
                     devices,
                     " devices, which it does not divide; give "
                     "--tensor-parallel-size or --data-parallel-size");
  }
  request.tensorParallel = asked.model;
  request.dataParallel = devices / asked.model;
  std::string before =
      isSame ? "" : " (" + std::to_string(asked.data) + " before)";
  kept.push_back("--data-parallel-size " +
                 std::to_string(*request.dataParallel) + before);
  kept.push_back("--tensor-parallel-size " + std::to_string(asked.model));
  return Status();
}

/// Whether any axis had one.
static bool hasRole(StringRef roles) {
  return llvm::any_of(llvm::split(roles, ' '), [](StringRef role) {
    return role == "data" || role == "model";
  });
}

/// The other options of `record` that `plan` leaves open.
static void keepOptions(const PlanRecord &record, bool givesBranches,
                        PlanOptions &plan, std::vector<std::string> &kept) {
  if (plan.batchDim == 0 && record.batchDim != 0) {
    plan.batchDim = record.batchDim;
    kept.push_back("--batch-dim " + std::to_string(record.batchDim));
  }
  if (record.dividesBranches && !givesBranches && plan.pipelineStages == 1) {
    plan.dividesBranches = true;
    kept.push_back("--branch-parallel auto");
  }
  if (!plan.memoryLimit && record.memoryLimit) {
    plan.memoryLimit = record.memoryLimit;
    kept.push_back("--memory-limit " + std::to_string(*record.memoryLimit));
  }
  if (plan.zero.empty() && record.zero) {
    plan.zero = *record.zero;
    kept.push_back("--zero " + plan.zero);
  }
  if (plan.recompute == "auto" && record.recompute &&
      *record.recompute != "auto") {
    plan.recompute = *record.recompute;
    kept.push_back("--recompute " + plan.recompute);
  }
}

/// Devices of stages of unequal sizes, unless there are others now.
static std::vector<int64_t> keptSizes(const PlanRecord &record,
                                      const PlanOptions &plan) {
  int64_t all = llvm::sum_of(record.stageDevices);
  return plan.grid.devices.value_or(all) == all ? record.stageDevices
                                                : std::vector<int64_t>();
}

Status
Compilation::keepRequest(bool keepsGrid,
                         const std::function<void(const std::string &)> &told) {
  Expected<std::optional<PlanRecord>> record = getPlanRecord(*module_);
  if (!record || !*record) {
    return record.status(); // by hand: nobody has asked for anything
  }
  PlanOptions &plan = options_.plan;
  std::vector<std::string> kept;
  int64_t stages = (*record)->stages.value_or(1);
  if (!options_.givesStages && !options_.searchesStages && stages > 1) {
    plan.pipelineStages = stages;
    plan.stageDevices = keptSizes(**record, plan);
    kept.push_back(plan.stageDevices.empty()
                       ? "--pipeline-parallel-size " + std::to_string(stages)
                       : "--stage-devices " +
                             stageDevicesText(plan.stageDevices));
  }
  keepOptions(**record, options_.givesBranches, plan, kept);
  if (!options_.objective && (*record)->throughputOf) {
    options_.objective = Objective::Throughput;
    kept.push_back("--objective throughput");
  }
  if ((*record)->throughputOf == "row") {
    options_.rows = (*record)->outputs;
  }
  std::string lost;
  auto grids = module_->getOps<spmd::GridOp>();
  bool saysGrid = keepsGrid || !plan.grid.mesh.empty() ||
                  plan.grid.dataParallel || plan.grid.tensorParallel ||
                  !plan.stageDevices.empty();
  bool isDivided = (*record)->dividesBranches && !llvm::hasSingleElement(grids);
  if (!saysGrid && isDivided && hasRole((*record)->roles)) {
    lost =
        "the degrees of parallelism that the plan was made with are those of "
        "all devices, which it divides among branches; give "
        "--tensor-parallel-size or --data-parallel-size again";
  } else if (!saysGrid && !grids.empty() && !isDivided) {
    AskedGrid asked = askedOf((*grids.begin()).getValue(), (*record)->roles);
    int64_t devices = asked.positions;
    if (plan.grid.devices) {
      devices = *plan.grid.devices / plan.pipelineStages;
    } else if (!plan.cluster.empty()) {
      Expected<Cluster> machine = cluster();
      if (!machine) {
        return machine.status();
      }
      devices = machine->numDevices() / plan.pipelineStages;
    }
    Status status = asked.hasRoles()
                        ? keepRoles(asked, devices, plan.grid, kept, lost)
                        : Status();
    if (!status.isOk()) {
      return status;
    }
  }
  if (!kept.empty()) {
    told("--replan keeps what the plan was made with: " +
         llvm::join(kept, ", "));
  }
  if (!lost.empty()) {
    told("--replan: " + lost);
  }
  return Status();
}
