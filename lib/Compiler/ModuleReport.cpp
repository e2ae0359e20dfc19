//===- ModuleReport.cpp - A module's machine and report -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModuleReport.h"

#include "dialects/SPMD/SPMD.h"
#include "divisi/Cluster/ClusterFile.h"
#include "divisi/Cost/ModuleCluster.h"
#include "divisi/Plan/PlanRecord.h"
#include "passes/ModuleNotes.h"
#include "passes/StatusDiagnostic.h"

#include "mlir/Pass/Pass.h"

using namespace mlir;
using namespace divisi;

Expected<Cluster> divisi::clusterOf(ModuleOp module, const std::string &spec) {
  return spec.empty() ? getCluster(module) : findCluster(spec);
}

Expected<Report> divisi::reportOf(ModuleOp module, const Cluster &machine) {
  Expected<Report> report = makeReport(module, machine);
  if (auto model = module->getAttrOfType<StringAttr>(kModelAttr);
      report && model) {
    report->model = model.str();
  }
  return report;
}

void divisi::noteReport(ModuleOp module, const Report &report) {
  std::string text;
  llvm::raw_string_ostream(text) << toJSON(report);
  noteOnModule(module, kReportAttr, text);
}

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

namespace {

/// See the header.
class NotePlanEditsPass
    : public PassWrapper<NotePlanEditsPass, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(NotePlanEditsPass)

  StringRef getArgument() const final { return "note-plan-edits"; }
  void runOnOperation() override {
    Status status = notePlanEdits(getOperation());
    if (!status.isOk()) {
      emitStatus(getOperation().getLoc(), status);
      signalPassFailure();
    }
  }
};

/// See the header.
class NoteReportPass
    : public PassWrapper<NoteReportPass, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(NoteReportPass)

  StringRef getArgument() const final { return "note-report"; }
  void runOnOperation() override {
    Expected<Cluster> machine = clusterOf(getOperation(), "");
    Expected<Report> report = machine ? reportOf(getOperation(), *machine)
                                      : Expected<Report>(machine.status());
    if (!report) {
      emitStatus(getOperation().getLoc(), report.status());
      return signalPassFailure();
    }
    noteReport(getOperation(), *report);
  }
};

} // namespace

std::unique_ptr<Pass> divisi::createNotePlanEdits() {
  return std::make_unique<NotePlanEditsPass>();
}

std::unique_ptr<Pass> divisi::createNoteReport() {
  return std::make_unique<NoteReportPass>();
}
