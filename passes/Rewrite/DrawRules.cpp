//===- DrawRules.cpp - Programs that rules reach, at random ---------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/NN/Functions.h"
#include "dialects/NN/Known.h"
#include "divisi/Rewrite/Sites.h"
#include "passes/Rewrite/SearchedRules.h"
#include "passes/StatusDiagnostic.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <random>

namespace divisi {
#define GEN_PASS_DEF_DRAWRULES
#include "passes/Rewrite/Passes.h.inc"
} // namespace divisi

using namespace divisi;
using namespace mlir;

namespace {

class DrawRulesPass : public divisi::impl::DrawRulesBase<DrawRulesPass> {
public:
  using DrawRulesBase::DrawRulesBase;
  void runOnOperation() override;

private:
  Status draw();
};

} // namespace

/// Applies a rule at one of `places`; whether it could at any.
static bool applyAtOne(rewrite::SiteFinder &finder, func::FuncOp function,
                       const nn::KnownValues &known,
                       std::vector<rewrite::RuleSite> places,
                       std::mt19937_64 &random) {
  while (!places.empty()) {
    // The same on every machine, which a distribution of the library is not.
    size_t drawn = random() % places.size();
    if (finder.apply(function, known, places[drawn])) {
      return true;
    }
    places.erase(places.begin() + ptrdiff_t(drawn));
  }
  return false;
}

Status DrawRulesPass::draw() {
  Expected<ChosenRules> drawn = searchedRules(numericClass, nullptr);
  if (!drawn) {
    return drawn.status();
  }
  rewrite::SiteFinder finder(drawn->rules, drawn->axioms);
  nn::KnownValues known(getOperation());
  std::mt19937_64 random(seed);
  for (auto function : getOperation().getOps<func::FuncOp>()) {
    for (int64_t step = 0; step < steps && nn::isEntry(function); ++step) {
      if (!applyAtOne(finder, function, known, finder.find(function, known),
                      random)) {
        break;
      }
      ++applied;
    }
  }
  return Status();
}

void DrawRulesPass::runOnOperation() {
  if (Status status = draw(); !status.isOk()) {
    emitStatus(getOperation().getLoc(), status);
    signalPassFailure();
  }
}
