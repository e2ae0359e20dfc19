//===- ReachableTest.cpp - Searches beside all that rules reach -----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Graphs of all operators that rules are about are drawn at random and
// searched as `--rewrite search` does. What is found equals the source over the
// prime field, or, where the order of elements matters, which no field keeps,
// as their type rounds. Of graphs of six operators or fewer all programs that
// rules reach one by one are enumerated, without any of the searches: none is
// cheaper. Where there are too many, the graph is counted as left out.
//
//===----------------------------------------------------------------------===//

#include "DrawnGraphs.h"
#include "DrawnPrograms.h"

#include "test/Sample.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

#include <set>

using namespace divisi;
using namespace divisi::optimize;

namespace {

class ReachableTest : public OptimizeTest {
protected:
  ReachableTest() : tidy_(&context) {
    tidy_.addPass(mlir::createCanonicalizerPass());
    tidy_.addPass(mlir::createCSEPass());
  }

  /// All programs that rules reach from one.
  struct Reached {
    bool isComplete = false;
    Price least;
    mlir::OwningOpRef<mlir::ModuleOp> cheapest;
  };
  Reached reach(mlir::ModuleOp source, const DeviceKind &kind, size_t most);
  bool areEqual(mlir::ModuleOp a, mlir::ModuleOp b, rewrite::Tolerance by);
  mlir::OwningOpRef<mlir::ModuleOp> overField(mlir::ModuleOp module);

  mlir::PassManager tidy_;
};

} // namespace

/// Breadth first, at most so many.
ReachableTest::Reached ReachableTest::reach(mlir::ModuleOp source,
                                            const DeviceKind &kind,
                                            size_t most) {
  rewrite::SiteFinder sites(rules(), axioms());
  nn::KnownValues known(source);
  std::vector<mlir::OwningOpRef<mlir::ModuleOp>> all;
  llvm::DenseSet<uint64_t> seen;
  Reached reached;
  auto add = [&](mlir::OwningOpRef<mlir::ModuleOp> program) {
    EXPECT_TRUE(mlir::succeeded(tidy_.run(*program)));
    mlir::func::FuncOp function = functionOf(*program);
    if (seen.insert(fingerprint(function)).second) {
      Price price = priceOf(function.front(), known, kind);
      if (all.empty() || price < reached.least) {
        reached.least = price;
        reached.cheapest = program->clone();
      }
      all.push_back(std::move(program));
    }
  };
  add(source.clone());
  for (size_t i = 0; i != all.size(); ++i) {
    for (rewrite::RuleSite site : sites.find(functionOf(*all[i]), known)) {
      mlir::OwningOpRef<mlir::ModuleOp> next = all[i]->clone();
      if (sites.apply(functionOf(*next), known, site)) {
        add(std::move(next));
      }
      if (all.size() > most) {
        return reached;
      }
    }
  }
  reached.isComplete = true;
  return reached;
}

bool ReachableTest::areEqual(mlir::ModuleOp a, mlir::ModuleOp b,
                             rewrite::Tolerance by) {
  std::vector<HostTensor> before = evaluate(a), after = evaluate(b);
  return before.size() == after.size() &&
         llvm::all_of(llvm::zip(before, after), [&](auto pair) {
           return !rewrite::compare(std::get<0>(pair), std::get<1>(pair), by);
         });
}

/// The same program, with elements of the prime field instead of f64.
mlir::OwningOpRef<mlir::ModuleOp>
ReachableTest::overField(mlir::ModuleOp module) {
  mlir::OwningOpRef<mlir::ModuleOp> copy = module.clone();
  mlir::AttrTypeReplacer replacer;
  replacer.addReplacement(
      [](mlir::RankedTensorType type) -> std::optional<mlir::Type> {
        return type.getElementType().isF64()
                   ? type.clone(nn::FieldType::get(type.getContext()))
                   : std::optional<mlir::Type>();
      });
  replacer.recursivelyReplaceElementsIn(*copy, /*replaceAttrs=*/true,
                                        /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
  return copy;
}

/// Whether what the order of elements decides is computed.
static bool hasOrder(mlir::ModuleOp module) {
  bool found = false;
  module.walk([&](mlir::Operation *op) {
    auto kind = op->getAttrOfType<mlir::StringAttr>("kind");
    found |=
        isa<nn::ReluOp, nn::MaxOp, nn::MinOp, nn::PoolMaxOp, nn::SoftmaxOp>(
            op) ||
        (kind && kind.getValue() == "max");
  });
  return found;
}

TEST_F(ReachableTest, SearchesComputeTheSameAndNothingReachedIsCheaper) {
  constexpr int graphs = 2000, smallOnes = 6;
  int small = 0, enumerated = 0, cheaper = 0, overTheField = 0;
  std::set<std::string> used;
  int count = test::sampleSize(graphs);
  for (int round = 0; round != count; ++round) {
    SCOPED_TRACE(round);
    int operators = 1 + round % 10;
    std::string text = GraphDrawer(operators, uint64_t(round)).text();
    auto source = parse(text);
    ASSERT_TRUE(source && mlir::succeeded(mlir::verify(*source))) << text;
    ASSERT_TRUE(mlir::succeeded(tidy_.run(*source))); // as Import does
    mlir::OwningOpRef<mlir::ModuleOp> module = source->clone();
    static constexpr const char *machines[] = {"cpu", "dgx-h100", "dgx-v100"};
    OptimizeOptions as = options(machines[round % 3]);
    as.limits = {};
    auto report = optimizeModule(*module, rules(), axioms(), as);
    ASSERT_TRUE(report) << report.status().message();
    ASSERT_TRUE(mlir::succeeded(mlir::verify(*module))) << print(*module);
    cheaper += report->after < report->before;
    for (const RuleUse &use : report->rules) {
      used.insert(use.rule);
    }
    bool isEqual = areEqual(*overField(*source), *overField(*module),
                            rewrite::Tolerance::Exact);
    overTheField += isEqual;
    EXPECT_TRUE(isEqual ||
                (hasOrder(*source) &&
                 areEqual(*source, *module, rewrite::Tolerance::Rounding)))
        << text << print(*module);
    if (operators <= smallOnes) {
      ++small;
      Reached all = reach(*source, as.kind, 3000);
      enumerated += all.isComplete;
      if (all.isComplete) {
        EXPECT_LE(report->after.nanoseconds, all.least.nanoseconds)
            << text << print(*module) << print(*all.cheapest);
      }
    }
  }
  RecordProperty("enumerated", enumerated);
  std::printf(
      "%d graphs: %d equal over the field, %d cheaper by %zu rules; of "
      "%d small ones %d enumerated, %d left out, as rules reach too many "
      "programs\n",
      count, overTheField, cheaper, used.size(), small, enumerated,
      small - enumerated);
  EXPECT_GT(cheaper, 0);
  EXPECT_GE(enumerated * 10, small * 8);
}
