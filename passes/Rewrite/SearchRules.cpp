//===- SearchRules.cpp - The cheapest program that rules reach ------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/NN/Locations.h"
#include "divisi/Cluster/ClusterFile.h"
#include "divisi/Optimize/OptimizeModule.h"
#include "divisi/Rewrite/RuleRecord.h"
#include "passes/Rewrite/SearchedRules.h"
#include "passes/StatusDiagnostic.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace divisi {
#define GEN_PASS_DEF_SEARCHRULES
#include "passes/Rewrite/Passes.h.inc"
} // namespace divisi

using namespace divisi;
using namespace mlir;

/// Prices are estimates: what saves less may as well stay as its author wrote
/// it, and as it rounds.
static constexpr double kLeastSaving = 5e-3;

namespace {

class SearchRulesPass : public divisi::impl::SearchRulesBase<SearchRulesPass> {
public:
  using SearchRulesBase::SearchRulesBase;
  SearchRulesPass(const divisi::RewriteOptions &options, const DeviceKind &kind,
                  SharedRules own)
      : kind_(kind), own_(std::move(own)), isOver_(options.isOver) {
    programs = options.programs;
    numericClass = rewrite::spell(options.most);
  }
  void runOnOperation() override;

private:
  Expected<DeviceKind> device();
  Status search();
  void remarkOnOperators();
  Status note(const std::vector<rewrite::ProvedRule> &rules,
              const optimize::OptimizeReport &report);

  std::optional<DeviceKind> kind_; ///< Before `cluster`.
  SharedRules own_;
  std::function<bool()> isOver_;
};

} // namespace

Expected<DeviceKind> SearchRulesPass::device() {
  if (kind_) {
    return *kind_;
  }
  Expected<Cluster> machine = findCluster(cluster);
  return machine ? Expected<DeviceKind>(machine->pace()) : machine.status();
}

/// As of a user's rules, whose file those of Divisi lack.
Status SearchRulesPass::note(const std::vector<rewrite::ProvedRule> &rules,
                             const optimize::OptimizeReport &report) {
  auto records = rewrite::getRuleRecords(getOperation());
  if (!records) {
    return records.status();
  }
  for (const optimize::RuleUse &use : report.rules) {
    auto proved = llvm::find_if(rules, [&](const rewrite::ProvedRule &each) {
      return each.rule.name == use.rule;
    });
    records->push_back({use.rule, rewrite::fileOf(*proved),
                        rewrite::spell(*proved->rule.numericClass), use.times,
                        use.nodes, ""});
  }
  if (!report.rules.empty()) {
    rewrite::setRuleRecords(getOperation(), *records);
  }
  return Status();
}

Status SearchRulesPass::search() {
  Expected<ChosenRules> searched = searchedRules(numericClass, own_);
  if (!searched) {
    return searched.status();
  }
  Expected<DeviceKind> kind = device();
  if (!kind) {
    return kind.status();
  }
  optimize::OptimizeOptions options;
  options.kind = *kind;
  options.programs = programs;
  options.leastSaving = kLeastSaving;
  options.isOver = isOver_;
  auto report = optimize::optimizeModule(getOperation(), searched->rules,
                                         searched->axioms, options);
  if (!report) {
    return report.status();
  }
  made = uint64_t(report->programs);
  for (const optimize::RuleUse &use : report->rules) {
    applied += uint64_t(use.times);
    remark::passed(getOperation().getLoc(),
                   remark::RemarkOpts::name(use.rule).category("search-rules"))
        << "applied " + std::to_string(use.times) + "x";
  }
  remarkOnOperators();
  return note(searched->rules, *report);
}

/// Of each operator that rules have made, by which.
void SearchRulesPass::remarkOnOperators() {
  getOperation().walk([](Operation *op) {
    std::vector<std::string> rules = nn::rulesOf(op->getLoc());
    if (!rules.empty()) {
      remark::passed(
          op->getLoc(),
          remark::RemarkOpts::name(rules.back()).category("search-rules"))
          << "made by " + llvm::join(rules, ", then ");
    }
  });
}

void SearchRulesPass::runOnOperation() {
  if (Status status = search(); !status.isOk()) {
    emitStatus(getOperation().getLoc(), status);
    signalPassFailure();
  }
}

std::unique_ptr<Pass> divisi::createSearchRules(const RewriteOptions &options,
                                                const DeviceKind &kind,
                                                SharedRules own) {
  return std::make_unique<SearchRulesPass>(options, kind, std::move(own));
}
