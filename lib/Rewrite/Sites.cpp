//===- Sites.cpp - Where rules may be applied -----------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Rewrite/Sites.h"

#include "divisi/Rules/GraphBuilder.h"
#include "lib/Rewrite/Site.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace divisi;
using namespace divisi::rewrite;
using mlir::Operation;

struct SiteFinder::Impl {
  /// Gives `visit` each site of the rule from `root` until it returns true;
  /// whether it did.
  bool forSites(size_t rule, Operation *root, const nn::KnownValues &known,
                llvm::function_ref<bool(Site &)> visit);

  const std::vector<ProvedRule> &rules;
  std::set<std::string> commutative;
  llvm::StringMap<std::vector<size_t>> byRoot; ///< Rules, by nn.operator.
  Instantiator instantiator;
};

SiteFinder::SiteFinder(const std::vector<ProvedRule> &rules,
                       const std::vector<Rule> &axioms)
    : impl_(new Impl{rules, commutativeOperators(axioms), {}, {}}) {
  for (size_t i = 0; i != rules.size(); ++i) {
    impl_->byRoot["nn." + rootOperator(rules[i].rule)].push_back(i);
  }
}
SiteFinder::~SiteFinder() = default;

bool SiteFinder::Impl::forSites(size_t rule, Operation *root,
                                const nn::KnownValues &known,
                                llvm::function_ref<bool(Site &)> visit) {
  const ProvedRule &proved = rules[rule];
  return findSource(
      proved.rule, root, commutative, [&](const SourceMatch &match) {
        auto binding = bindNames(proved, match, instantiator);
        if (!binding) {
          return false;
        }
        Site site(proved.rule, match, *binding, known);
        return site.check(instantiator, /*mustTakeLess=*/false).isOk() &&
               visit(site);
      });
}

/// The operators of the function in order.
static std::vector<Operation *> operatorsOf(mlir::func::FuncOp function) {
  std::vector<Operation *> all;
  for (Operation &op : function.front()) {
    all.push_back(&op);
  }
  return all;
}

std::vector<RuleSite> SiteFinder::find(mlir::func::FuncOp function,
                                       const nn::KnownValues &known) {
  std::vector<RuleSite> sites;
  for (auto [root, op] : llvm::enumerate(operatorsOf(function))) {
    auto rules = impl_->byRoot.find(op->getName().getStringRef());
    if (rules == impl_->byRoot.end() ||
        (op->getNumResults() == 1 && known.isKnown(op->getResult(0)))) {
      continue;
    }
    for (size_t rule : rules->second) {
      size_t number = 0;
      impl_->forSites(rule, op, known, [&](Site &) {
        sites.push_back({rule, root, number++});
        return false;
      });
    }
  }
  return sites;
}

Expected<std::vector<mlir::Location>>
SiteFinder::apply(mlir::func::FuncOp function, const nn::KnownValues &known,
                  RuleSite wanted) {
  std::vector<Operation *> operators = operatorsOf(function);
  size_t left = wanted.number;
  std::vector<mlir::Location> results;
  Status status =
      makeError(ExitCode::Invalid, "the rule '",
                impl_->rules[wanted.rule].rule.name, "' has no such place");
  if (wanted.root < operators.size()) {
    impl_->forSites(wanted.rule, operators[wanted.root], known,
                    [&](Site &site) {
                      if (left-- != 0) {
                        return false;
                      }
                      results = site.locations();
                      status = site.apply(/*isNoted=*/true);
                      return true;
                    });
  }
  return status.isOk()
             ? Expected<std::vector<mlir::Location>>(std::move(results))
             : status;
}

std::optional<ClassSite> SiteFinder::at(const ProvedRule &rule,
                                        const nn::KnownValues &known,
                                        std::vector<Operation *> nodes,
                                        std::vector<mlir::Value> variables) {
  SourceMatch match{std::move(nodes), std::move(variables)};
  auto binding = bindNames(rule, match, impl_->instantiator);
  if (!binding ||
      !targetAt(rule.rule, match, *binding, known, impl_->instantiator)) {
    return std::nullopt;
  }
  std::vector<mlir::Value> results = sourceResults(match, binding->source);
  return ClassSite{std::move(match.nodes), std::move(match.variables),
                   std::move(results), std::move(binding->assignment),
                   std::move(binding->types)};
}

bool SiteFinder::findIn(const Definitions &definitions,
                        const nn::KnownValues &known, size_t rule,
                        Operation *root, Look isNew,
                        llvm::function_ref<bool(ClassSite)> visit) {
  const ProvedRule &proved = impl_->rules[rule];
  return findSource(proved.rule, root, definitions, impl_->commutative,
                    [&](const SourceMatch &match) {
                      if (!isNew(match.nodes, match.variables)) {
                        return false;
                      }
                      auto site =
                          at(proved, known, match.nodes, match.variables);
                      return site && visit(std::move(*site));
                    });
}

std::string SiteFinder::rootOf(size_t rule) const {
  return "nn." + rootOperator(impl_->rules[rule].rule);
}

const std::set<std::string> &SiteFinder::commutative() const {
  return impl_->commutative;
}

Expected<BuiltTarget> SiteFinder::build(mlir::OpBuilder &builder,
                                        mlir::Location location,
                                        const Rule &rule,
                                        const ClassSite &site) {
  GraphBuilder graph(builder, location, site.assignment, site.types);
  auto target = graph.run(rule, rule.target, site.variables);
  BuiltTarget built;
  llvm::append_range(built.operators, graph.operators());
  if (!target) {
    for (Operation *op : llvm::reverse(built.operators)) {
      op->erase();
    }
    return target.status();
  }
  for (size_t number : target->results) {
    built.results.push_back(graph.value(number));
  }
  return built;
}
