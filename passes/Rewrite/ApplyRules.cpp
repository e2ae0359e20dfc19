//===- ApplyRules.cpp - Substitution rules that are proved ----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/NN/Functions.h"
#include "dialects/NN/Known.h"
#include "divisi/Rewrite/Apply.h"
#include "divisi/Rules/Shipped.h"
#include "passes/Rewrite/Passes.h"
#include "passes/StatusDiagnostic.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"

namespace divisi {
#define GEN_PASS_DEF_APPLYRULES
#include "passes/Rewrite/Passes.h.inc"
} // namespace divisi

using namespace divisi;
using namespace mlir;

namespace {

/// What is applied, and the axioms that say what commutes.
struct Chosen {
  std::vector<rewrite::ProvedRule> rules;
  std::vector<rewrite::Rule> axioms;
};

class ApplyRulesPass : public divisi::impl::ApplyRulesBase<ApplyRulesPass> {
public:
  using ApplyRulesBase::ApplyRulesBase;
  void runOnOperation() override;

private:
  Expected<Chosen> choose();
};

} // namespace

static void remarkOn(const rewrite::Place &place) {
  auto options =
      remark::RemarkOpts::name(place.rule).category("apply-rules");
  if (place.declined.empty()) {
    remark::passed(place.location, options) << "applied";
  } else {
    remark::missed(place.location, options) << place.declined;
  }
}

/// The rules that are proved, or those of them that every compilation applies.
static Expected<Chosen> load(bool always) {
  auto axioms = rewrite::shippedAxioms();
  if (!axioms) {
    return axioms.status();
  }
  auto proved = rewrite::provedRules(*axioms);
  if (!proved) {
    return proved.status();
  }
  return Chosen{always ? rewrite::rulesForAll(*proved) : std::move(*proved),
                std::move(*axioms)};
}

Expected<Chosen> ApplyRulesPass::choose() {
  if (always) {
    static const Expected<Chosen> once = load(true);
    return once;
  }
  Expected<Chosen> chosen = load(false);
  if (chosen) {
    auto rules =
        rewrite::chooseRules(chosen->rules, {names.begin(), names.end()});
    if (!rules) {
      return rules.status();
    }
    chosen->rules = std::move(*rules);
  }
  return chosen;
}

void ApplyRulesPass::runOnOperation() {
  Expected<Chosen> chosen = choose();
  if (!chosen) {
    emitStatus(getOperation().getLoc(), chosen.status());
    return signalPassFailure();
  }
  nn::KnownValues known(getOperation());
  rewrite::RuleApplier applier(chosen->rules, chosen->axioms, known);
  for (auto function : getOperation().getOps<func::FuncOp>()) {
    if (nn::isEntry(function)) {
      applied += applier.run(function, remarkOn);
    }
  }
}
