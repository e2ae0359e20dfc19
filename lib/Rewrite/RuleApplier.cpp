//===- RuleApplier.cpp - Matching and applying rules ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/NN/Known.h"
#include "dialects/NN/NN.h"
#include "divisi/Rewrite/Apply.h"
#include "lib/Rewrite/Site.h"

#include "llvm/ADT/STLExtras.h"

using namespace divisi;
using namespace divisi::rewrite;
using mlir::Operation;

//===----------------------------------------------------------------------===//
// All places
//===----------------------------------------------------------------------===//

struct RuleApplier::Impl {
  Impl(const std::vector<ProvedRule> &rules, const std::vector<Rule> &axioms,
       const nn::KnownValues &known)
      : rules(rules), commutative(commutativeOperators(axioms)), known(known) {}

  Status tryAt(const ProvedRule &proved, Operation *root, Place *applied);
  bool applyOnce(const ProvedRule &proved, llvm::StringRef root,
                 mlir::func::FuncOp function);
  void tellOfRest(const ProvedRule &proved, llvm::StringRef root,
                  mlir::func::FuncOp function);

  const std::vector<ProvedRule> &rules;
  std::set<std::string> commutative;
  const nn::KnownValues &known;
  Instantiator instantiator;
  const std::function<void(const Place &)> *tell = nullptr;
};

RuleApplier::RuleApplier(const std::vector<ProvedRule> &rules,
                         const std::vector<Rule> &axioms,
                         const nn::KnownValues &known)
    : impl_(std::make_unique<Impl>(rules, axioms, known)) {}
RuleApplier::~RuleApplier() = default;

/// Finds the first match from `root` where the rule may be applied; if
/// `applied` is there, that is done, and told it. Otherwise fails, with the
/// reason of the last match, or without if there is no match.
Status RuleApplier::Impl::tryAt(const ProvedRule &proved, Operation *root,
                                Place *applied) {
  Status status(ExitCode::Invalid, "");
  findSource(proved.rule, root, commutative, [&](const SourceMatch &match) {
    auto binding = bindNames(proved, match, instantiator);
    if (!binding) {
      status = binding.status();
      return false;
    }
    Site site(proved.rule, match, *binding, known);
    status = site.check(instantiator, /*mustTakeLess=*/true);
    if (status.isOk() && applied) {
      applied->results = site.locations();
      // Nobody asked for those that every compilation applies.
      status = site.apply(!proved.rule.isAlways || !proved.file.empty());
    }
    return status.isOk();
  });
  return status;
}

bool RuleApplier::Impl::applyOnce(const ProvedRule &proved,
                                  llvm::StringRef root,
                                  mlir::func::FuncOp function) {
  return function
      .walk([&](Operation *op) {
        if (op->getName().getStringRef() != root) {
          return mlir::WalkResult::advance();
        }
        Place place{proved, op->getLoc(), "", {}};
        if (!tryAt(proved, op, &place).isOk()) {
          return mlir::WalkResult::advance();
        }
        (*tell)(place);
        return mlir::WalkResult::interrupt();
      })
      .wasInterrupted();
}

void RuleApplier::Impl::tellOfRest(const ProvedRule &proved,
                                   llvm::StringRef root,
                                   mlir::func::FuncOp function) {
  function.walk([&](Operation *op) {
    if (op->getName().getStringRef() != root) {
      return;
    }
    Status status = tryAt(proved, op, nullptr);
    if (!status.message().empty()) {
      (*tell)({proved, op->getLoc(), status.message(), {}});
    }
  });
}

int64_t RuleApplier::run(mlir::func::FuncOp function,
                         const std::function<void(const Place &)> &tell) {
  impl_->tell = &tell;
  int64_t count = 0;
  std::vector<std::string> roots;
  for (const ProvedRule &proved : impl_->rules) {
    roots.push_back("nn." + rootOperator(proved.rule));
  }
  for (bool isChanged = true; isChanged;) {
    isChanged = false;
    for (auto [proved, root] : llvm::zip_equal(impl_->rules, roots)) {
      while (impl_->applyOnce(proved, root, function)) {
        isChanged = true;
        ++count;
      }
    }
  }
  for (auto [proved, root] : llvm::zip_equal(impl_->rules, roots)) {
    impl_->tellOfRest(proved, root, function);
  }
  return count;
}
