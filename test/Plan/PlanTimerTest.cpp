//===- PlanTimerTest.cpp --------------------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Plan/PlanTimer.h"

#include "Programs.h"

#include "dialects/NN/NN.h"
#include "dialects/SPMD/SPMD.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

using namespace divisi;
using namespace divisi::plan;

/// As many products as `layers`, each of its own weight.
static std::string chainOf(int layers) {
  std::string globals, body;
  for (int i = 0; i != layers; ++i) {
    std::string n = std::to_string(i), last = i == 0 ? "x" : "h" + n;
    globals += "nn.global @w" + n + " parameter : tensor<64x64xf32>\n";
    body += "%w" + n + " = nn.read @w" + n + " : tensor<64x64xf32>\n%h" +
            std::to_string(i + 1) + " = nn.matmul %" + last + ", %w" + n +
            " {labels = \"mk,kn->mn\"} : (tensor<32x64xf32>, "
            "tensor<64x64xf32>) -> tensor<32x64xf32>\n";
  }
  return globals + "func.func @forward(%x: tensor<32x64xf32>) -> " +
         "tensor<32x64xf32> {\n" + body + "return %h" + std::to_string(layers) +
         " : tensor<32x64xf32>\n}\n";
}

/// The program of `text` on four processors, and its problem on the first of
/// the grids.
static std::shared_ptr<PlanningProblem> problemOf(mlir::ModuleOp module,
                                                  PlanningInputs &inputs) {
  inputs.cluster = *presetCluster("cpu", 4);
  inputs.setDataflow(*readDataflow(module, 0));
  GridRequest request;
  request.devices = 4;
  request.maxAxes = 2;
  inputs.devices =
      candidateGrids(inputs.cluster, request, Precision::F32)->front();
  inputs.fixed = Fixed::nothingOf(inputs.dataflow());
  return std::make_shared<PlanningProblem>(
      *makeProblem(inputs, PlanOptions(), {}));
}

/// Any changes of any plan, accepted or not, are as if the plan were simulated
/// anew: no less than its operators, and no more than all one after the other.
TEST(PlanTimer, ChangesAreAsIfAllWereSimulated) {
  mlir::MLIRContext context;
  context
      .loadDialect<mlir::func::FuncDialect, nn::NNDialect, spmd::SPMDDialect>();
  int hidden = 0;
  for (const std::string &text : {kMlp.str(), chainOf(8)}) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    ASSERT_TRUE(module);
    PlanningInputs inputs;
    auto planning = problemOf(*module, inputs);
    const search::Problem &problem = planning->problem;
    std::mt19937 draw(3);
    std::vector<uint32_t> plan(problem.nodes.size(), 0);
    auto timer = makePlanTimer(planning, inputs);
    timer->begin(plan);
    for (int i = 0; i != 400; ++i) {
      std::vector<uint32_t> other = plan;
      std::vector<search::Change> changes;
      std::set<uint32_t> nodes;
      for (size_t j = 1 + draw() % 3; j-- > 0;) {
        nodes.insert(uint32_t(draw() % problem.nodes.size()));
      }
      for (uint32_t node : nodes) {
        auto count = uint32_t(problem.nodes[node].costs.size());
        other[node] = uint32_t(draw() % count);
        changes.push_back({node, other[node]});
      }
      search::Wide time = makePlanTimer(planning, inputs)->begin(other);
      ASSERT_TRUE(timer->propose(changes) == time) << i;
      int64_t nanoseconds = nanosecondsOf(time);
      PlanParts parts = partsOf(*planning, other);
      EXPECT_GE(nanoseconds, parts.operators);
      EXPECT_LE(nanoseconds, parts.operators + parts.ways);
      hidden += nanoseconds < parts.operators + parts.ways;
      if (draw() % 2 == 0) {
        timer->accept();
        plan = other;
      }
    }
  }
  EXPECT_GT(hidden, 100);
}
