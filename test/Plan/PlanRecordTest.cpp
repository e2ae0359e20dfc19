//===- PlanRecordTest.cpp -------------------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Plan/PlanRecord.h"

#include "dialects/NN/NN.h"
#include "dialects/SPMD/SPMD.h"
#include "divisi/Cost/ModuleCluster.h"
#include "divisi/Plan/PlanModule.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/Parser/Parser.h"

#include <gmock/gmock.h>

using namespace divisi;
using testing::HasSubstr;

static constexpr llvm::StringLiteral kModel = R"mlir(
  nn.global @w parameter : tensor<256x256xf32>
  func.func @forward(%x: tensor<512x256xf32>) -> tensor<512x256xf32> {
    %w = nn.read @w : tensor<256x256xf32>
    %0 = nn.matmul %x, %w {labels = "mk,kn->mn"}
      : (tensor<512x256xf32>, tensor<256x256xf32>) -> tensor<512x256xf32>
    %1 = nn.relu %0 : (tensor<512x256xf32>) -> tensor<512x256xf32>
    return %1 : tensor<512x256xf32>
  }
)mlir";

namespace {
class PlanRecordTest : public testing::Test {
protected:
  PlanRecordTest() {
    context_.loadDialect<mlir::func::FuncDialect, nn::NNDialect,
                         spmd::SPMDDialect>();
  }

  mlir::OwningOpRef<mlir::ModuleOp> parse(llvm::StringRef text) {
    return mlir::parseSourceString<mlir::ModuleOp>(text, &context_);
  }

  /// The module, printed and parsed.
  mlir::OwningOpRef<mlir::ModuleOp> copy(mlir::ModuleOp module) {
    std::string text;
    llvm::raw_string_ostream(text) << module;
    return parse(text);
  }

  static PlanRecord recordOf(mlir::ModuleOp module) {
    Expected<std::optional<PlanRecord>> record = getPlanRecord(module);
    EXPECT_TRUE(record && *record) << record.status().message();
    return record && *record ? **record : PlanRecord();
  }

  mlir::MLIRContext context_;
};
} // namespace

TEST_F(PlanRecordTest, ThePlannerWritesWhatItWasAskedAndWhatItFound) {
  auto module = parse(kModel);
  PlanOptions options;
  options.grid.devices = 4;
  options.grid.tensorParallel = 2;
  options.memoryLimit = 1 << 30;
  options.seed = 7;
  Expected<PlanReport> report = planModule(*module, options);
  ASSERT_TRUE(report) << report.status().message();
  PlanRecord record = recordOf(*copy(*module));
  EXPECT_EQ(record.cluster, "cpu:4");
  EXPECT_EQ(record.roles, "data model");
  EXPECT_EQ(record.memoryLimit, 1 << 30);
  EXPECT_EQ(record.solver, "auto");
  EXPECT_EQ(record.seed, 7);
  EXPECT_EQ(record.ended, "finished");
  EXPECT_EQ(record.nanoseconds, report->nanoseconds);
  EXPECT_EQ(record.lowerBound, report->lowerBound);
  EXPECT_GT(record.workDone, 0);
  EXPECT_LE(record.workDone, record.work);
  EXPECT_EQ(record, recordOf(*module));
}

TEST_F(PlanRecordTest, TheClusterGoesAlong) {
  auto module = parse(kModel);
  PlanOptions options;
  options.cluster = "dgx-v100:12";
  ASSERT_TRUE(planModule(*module, options));
  auto same = copy(*module);
  Expected<Cluster> cluster = getCluster(*same);
  ASSERT_TRUE(cluster) << cluster.status().message();
  EXPECT_TRUE(*cluster == *presetCluster("dgx-v100", 12));

  mlir::Builder builder(&context_);
  auto fields = (*same)->getAttrOfType<mlir::DictionaryAttr>(kClusterAttr);
  mlir::NamedAttrList less(fields);
  less.erase("devices");
  (*same)->setAttr(kClusterAttr, less.getDictionary(&context_));
  EXPECT_EQ(getCluster(*same).status().message(),
            "the module's attribute 'divisi.cluster' is not in the planner's "
            "format; remove it, or plan again");
  mlir::NamedAttrList nameless(fields);
  nameless.set("name", builder.getStringAttr(""));
  (*same)->setAttr(kClusterAttr, nameless.getDictionary(&context_));
  EXPECT_EQ(getCluster(*same).status().message(),
            "the module's attribute 'divisi.cluster': the cluster has no name");
  (*same)->removeAttr(kClusterAttr);
  EXPECT_EQ(getCluster(*same)->name, "cpu:12");
}

TEST_F(PlanRecordTest, ARandomPlanHasNoBound) {
  auto module = parse(kModel);
  PlanOptions options;
  options.grid.devices = 4;
  options.solver = "random";
  ASSERT_TRUE(planModule(*module, options));
  EXPECT_EQ(recordOf(*module).ended, "drawn");
  EXPECT_EQ(recordOf(*module).lowerBound, std::nullopt);
}

TEST_F(PlanRecordTest, EditsAreNoted) {
  auto module = parse(kModel);
  PlanOptions options;
  options.grid.devices = 4;
  ASSERT_TRUE(planModule(*module, options));
  auto same = copy(*module);
  ASSERT_TRUE(notePlanEdits(*same).isOk());
  EXPECT_EQ(recordOf(*same), recordOf(*module));

  auto strategy = copy(*module), place = copy(*module), grid = copy(*module);
  strategy->walk([](nn::ReluOp op) { op->removeAttr("spmd.split"); });
  place->walk([](mlir::func::FuncOp op) { op.removeArgAttr(0, "spmd.place"); });
  grid->walk([](spmd::GridOp op) { op.setSymName("other"); });
  for (auto *edited : {&strategy, &place, &grid}) {
    ASSERT_TRUE(notePlanEdits(**edited).isOk());
    EXPECT_TRUE(recordOf(**edited).edited);
    EXPECT_EQ(recordOf(**edited).nanoseconds, recordOf(*module).nanoseconds);
  }
}

TEST_F(PlanRecordTest, PlanningAroundStrategiesCountsThem) {
  auto module = parse(kModel);
  PlanOptions options;
  options.grid.devices = 4;
  ASSERT_TRUE(planModule(*module, options));
  PlanRecord first = recordOf(*module);
  EXPECT_EQ(first.pinned, 0);
  ASSERT_TRUE(planModule(*module, options));
  EXPECT_EQ(recordOf(*module), first);
  module->walk([](nn::ReluOp op) { op->removeAttr("spmd.split"); });
  ASSERT_TRUE(planModule(*module, options));
  EXPECT_EQ(recordOf(*module).pinned, 1);
}

TEST_F(PlanRecordTest, NoRecordIsNoError) {
  auto module = parse(kModel);
  Expected<std::optional<PlanRecord>> record = getPlanRecord(*module);
  ASSERT_TRUE(record);
  EXPECT_FALSE(record->has_value());
  EXPECT_TRUE(notePlanEdits(*module).isOk());
}

TEST_F(PlanRecordTest, ABrokenRecordIsAnError) {
  auto module = parse(kModel);
  PlanOptions options;
  options.grid.devices = 4;
  ASSERT_TRUE(planModule(*module, options));
  mlir::Builder builder(&context_);
  auto whole = (*module)->getAttrOfType<mlir::DictionaryAttr>("divisi.plan");
  for (mlir::NamedAttribute field : whole) {
    mlir::NamedAttrList list(whole);
    list.set(field.getName(), builder.getUnitAttr());
    (*module)->setAttr("divisi.plan", list.getDictionary(&context_));
    Status status = notePlanEdits(*module);
    EXPECT_EQ(status.code(), ExitCode::Invalid);
    EXPECT_THAT(
        status.message(),
        HasSubstr("divisi.plan has no '" + field.getName().str() +
                  "' of the planner's type; if the attribute is removed, "
                  "reports do not say how the plan was found"));
  }
  (*module)->setAttr("divisi.plan", builder.getUnitAttr());
  EXPECT_EQ(getPlanRecord(*module).status().code(), ExitCode::Invalid);
}

TEST_F(PlanRecordTest, SaysThatGridsWereNotListed) {
  auto leaves = [&](int64_t devices) {
    auto module = parse(kModel);
    PlanOptions options;
    options.grid.devices = devices;
    EXPECT_TRUE(planModule(*module, options));
    return recordOf(*copy(*module)).leavesUnlisted;
  };
  EXPECT_EQ(leaves(16), std::nullopt); // also the text is as it was
  EXPECT_EQ(leaves(66), true);
}

TEST(PlanRecord, NamesTheGridsOfItsBound) {
  PlanRecord record;
  record.grids = 1;
  EXPECT_EQ(describeGrids(record), "this grid");
  record.grids = 12;
  record.maxAxes = 4;
  record.leavesUnlisted = true;
  EXPECT_EQ(describeGrids(record),
            "12 grids of up to 4 axes, not on those in other orders, on other "
            "numbers of devices or with other weights,");
}
