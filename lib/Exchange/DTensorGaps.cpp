//===- DTensorGaps.cpp - What DTensor cannot say --------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DTensorGaps.h"

#include "dialects/NN/Locations.h"
#include "dialects/SPMD/LayoutSyntax.h"
#include "dialects/SPMD/Strategy.h"
#include "divisi/Plan/Alternatives.h"

#include "llvm/Support/FormatVariadic.h"

#include <map>

using namespace mlir;
using namespace divisi;

std::string divisi::whyNoPlacement(const Layout &layout) {
  for (const DimLayout &dim : layout.dims) {
    if (!dim.bounds.empty()) {
      return "its shards have bounds of their own (halos, or uneven parts)";
    }
    if (!llvm::is_sorted(dim.axes)) {
      return "its axes are in another order than the mesh has them";
    }
  }
  return "";
}

/// The first operand or result without placements: what it is, and why.
static std::string gapOf(const LoopNest &nest, const Grid &grid,
                         const Split &split) {
  for (unsigned i = 0; i < nest.operands.size(); ++i) {
    Layout layout = operandLayout(nest, grid, split, i);
    if (std::string why = whyNoPlacement(layout); !why.empty()) {
      return llvm::formatv("operand {0} is {1}: {2}", i, layout.str(grid), why);
    }
  }
  for (unsigned i = 0; i < nest.results.size(); ++i) {
    Layout layout = resultLayout(nest, grid, split, i);
    if (std::string why = whyNoPlacement(layout); !why.empty()) {
      return llvm::formatv("result {0} is {1}: {2}", i, layout.str(grid), why);
    }
  }
  return "";
}

/// The cheapest of `alternatives` that has placements.
static std::string nearest(const spmd::Strategy &strategy,
                           const std::vector<Alternative> &alternatives) {
  spmd::GridOp gridOp = strategy.grid;
  Grid grid = gridOp.getValue();
  const Alternative *best = nullptr;
  auto growthOf = [](const Alternative &each) {
    return each.adaptedGrowth ? each.adaptedGrowth : each.growth;
  };
  for (const Alternative &each : alternatives) {
    auto named = each.strategy.empty() ? spmd::NamedSplit()
                                       : spmd::readSplit(each.strategy);
    Split split;
    if (growthOf(each) && each.fits && named &&
        !named->resolve(strategy.nest, grid, split) &&
        gapOf(strategy.nest, grid, split).empty() &&
        (!best || *growthOf(each) < *growthOf(*best))) {
      best = &each;
    }
  }
  return best ? llvm::formatv("; the nearest that has placements, '{0}', takes "
                              "{1:f1} us more",
                              best->strategy, double(*growthOf(*best)) / 1000)
                    .str()
              : "; no strategy of it has placements";
}

Expected<std::vector<std::string>> divisi::dtensorGaps(ModuleOp planned,
                                                       const Cluster &machine) {
  std::vector<std::pair<nn::LoopInterface, std::string>> gaps;
  planned.walk([&](nn::LoopInterface op) {
    if (!spmd::getSplit(op)) {
      return;
    }
    FailureOr<spmd::Strategy> strategy = spmd::requireStrategy(op);
    if (failed(strategy)) {
      return;
    }
    std::string gap =
        gapOf(strategy->nest, strategy->grid.getValue(), strategy->split);
    if (!gap.empty()) {
      gaps.emplace_back(op, gap);
    }
  });
  std::vector<std::string> report;
  if (gaps.empty()) {
    return report;
  }
  Expected<PlanAlternatives> plan = PlanAlternatives::of(planned, machine);
  if (!plan) {
    return plan.status();
  }
  std::map<Operation *, size_t> decisions;
  for (auto [number, decision] : llvm::enumerate(plan->decisions())) {
    if (decision.kind == Decision::Kind::Operator) {
      decisions[decision.op] = number;
    }
  }
  for (auto &[op, gap] : gaps) {
    std::string line =
        llvm::formatv("node '{0}' ({1}): {2}", nn::nodeName(op.getLoc()),
                      op->getName().getStringRef(), gap);
    FailureOr<spmd::Strategy> strategy = spmd::requireStrategy(op);
    if (auto known = decisions.find(op); known != decisions.end()) {
      line += nearest(*strategy, plan->alternatives(known->second));
    }
    report.push_back(std::move(line));
  }
  return report;
}
