//===- ApplyRules.cpp - Substitution rules that are proved ----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/NN/Functions.h"
#include "dialects/NN/Known.h"
#include "dialects/NN/Locations.h"
#include "divisi/Rewrite/Apply.h"
#include "divisi/Rewrite/RuleRecord.h"
#include "passes/Rewrite/SearchedRules.h"
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
  ApplyRulesPass(const divisi::ApplyRulesOptions &options, SharedRules own)
      : ApplyRulesBase(options), own_(std::move(own)) {}
  void runOnOperation() override;

private:
  Expected<ChosenRules> choose();

  SharedRules own_;
};

/// What becomes of rules.
class Records {
public:
  /// Of `own`, a user's, also where they are not applied, with what is noted of
  /// rules already.
  Records(const std::vector<rewrite::ProvedRule> &own,
          std::vector<rewrite::RuleRecord> before);
  /// Notes the place; of other rules than `own` if `isChosen`, as nobody wants
  /// to read what every compilation does.
  void add(const rewrite::Place &place, bool isChosen);
  const std::vector<rewrite::RuleRecord> &all() const { return records_; }

private:
  std::vector<rewrite::RuleRecord> records_;
};

} // namespace

Records::Records(const std::vector<rewrite::ProvedRule> &own,
                 std::vector<rewrite::RuleRecord> before)
    : records_(std::move(before)) {
  for (const rewrite::ProvedRule &proved : own) {
    const rewrite::Rule &rule = proved.rule;
    if (llvm::none_of(records_, [&](const rewrite::RuleRecord &record) {
          return record.name == rule.name && record.file == proved.file;
        })) {
      const char *name = rule.numericClass ? spell(*rule.numericClass) : "";
      records_.push_back({rule.name, proved.file, name, 0, {}, ""});
    }
  }
}

void Records::add(const rewrite::Place &place, bool isChosen) {
  const rewrite::Rule &rule = place.proved.rule;
  std::string file = rewrite::fileOf(place.proved);
  auto record = llvm::find_if(records_, [&](const auto &each) {
    return each.name == rule.name && each.file == file;
  });
  if (record == records_.end()) {
    if (!isChosen || !place.declined.empty()) {
      return;
    }
    record = records_.insert(
        record,
        {rule.name, file, rewrite::spell(*rule.numericClass), 0, {}, ""});
  }
  if (!place.declined.empty()) {
    std::string node = nn::nodeName(place.location);
    if (record->declined.empty()) {
      record->declined =
          (node.empty() ? "" : "at " + node + ": ") + place.declined;
    }
    return;
  }
  ++record->times;
  for (Location result : place.results) {
    std::string node = nn::nodeName(result);
    if (!node.empty() && !llvm::is_contained(record->nodes, node)) {
      record->nodes.push_back(std::move(node));
    }
  }
}

static void remarkOn(const rewrite::Place &place) {
  auto options =
      remark::RemarkOpts::name(place.proved.rule.name).category("apply-rules");
  if (place.declined.empty()) {
    remark::passed(place.location, options) << "applied";
  } else {
    remark::missed(place.location, options) << place.declined;
  }
}

/// The rules that every compilation applies.
static Expected<ChosenRules> rulesForAll() {
  Expected<ChosenRules> chosen = provedRules();
  if (chosen) {
    chosen->rules = rewrite::rulesForAll(chosen->rules);
  }
  return chosen;
}

Expected<ChosenRules> ApplyRulesPass::choose() {
  if (always) {
    static const Expected<ChosenRules> once = rulesForAll();
    Expected<ChosenRules> chosen = once;
    if (chosen && own_) {
      chosen->rules.insert(chosen->rules.begin(), own_->begin(), own_->end());
    }
    return chosen;
  }
  Expected<ChosenRules> chosen = provedRules();
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
  Expected<ChosenRules> chosen = choose();
  if (!chosen) {
    emitStatus(getOperation().getLoc(), chosen.status());
    return signalPassFailure();
  }
  auto before = rewrite::getRuleRecords(getOperation());
  if (!before) {
    emitStatus(getOperation().getLoc(), before.status());
    return signalPassFailure();
  }
  Records records(own_ ? *own_ : std::vector<rewrite::ProvedRule>(),
                  std::move(*before));
  nn::KnownValues known(getOperation());
  rewrite::RuleApplier applier(chosen->rules, chosen->axioms, known);
  for (auto function : getOperation().getOps<func::FuncOp>()) {
    if (nn::isEntry(function)) {
      applied += applier.run(function, [&](const rewrite::Place &place) {
        remarkOn(place);
        records.add(place, /*isChosen=*/!always);
      });
    }
  }
  if (own_ || !records.all().empty()) {
    rewrite::setRuleRecords(getOperation(), records.all());
  }
}

std::unique_ptr<Pass> divisi::createApplyRulesForAll(SharedRules own) {
  ApplyRulesOptions options;
  options.always = true;
  return std::make_unique<ApplyRulesPass>(options, std::move(own));
}
