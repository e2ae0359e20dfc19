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
#include "divisi/Rewrite/Shipped.h"
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

class ApplyRulesPass : public divisi::impl::ApplyRulesBase<ApplyRulesPass> {
public:
  using ApplyRulesBase::ApplyRulesBase;
  void runOnOperation() override;
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

void ApplyRulesPass::runOnOperation() {
  auto fail = [&](const Status &status) {
    emitStatus(getOperation().getLoc(), status);
    signalPassFailure();
  };
  auto proved = rewrite::provedRules();
  if (!proved) {
    return fail(proved.status());
  }
  auto rules = rewrite::chooseRules(*proved, {names.begin(), names.end()});
  if (!rules) {
    return fail(rules.status());
  }
  auto axioms = rewrite::shippedAxioms();
  if (!axioms) {
    return fail(axioms.status());
  }
  nn::KnownValues known(getOperation());
  rewrite::RuleApplier applier(*rules, *axioms, known);
  for (auto function : getOperation().getOps<func::FuncOp>()) {
    if (nn::isEntry(function)) {
      applied += applier.run(function, remarkOn);
    }
  }
}
