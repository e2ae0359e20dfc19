//===- Prover.cpp - Equations from axioms ---------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Prove/Prover.h"

#include "lib/Prove/Axioms/Encoder.h"

#include <map>
#include <optional>
#include <set>

using namespace divisi::rewrite;

/// The context, with all axioms asserted once; each question is pushed on top
/// of them and popped.
struct Prover::Impl {
  Impl(unsigned work, unsigned secondWork);

  z3::context context;
  z3::solver solver{context, z3::solver::simple()};
  std::optional<z3::solver> second;
  Encoder encoder{context};
  /// By name, what stands for all formulas of one rule: they hold where it
  /// does.
  std::map<std::string, z3::expr> rules;

  Proof ask(const z3::expr_vector &question);
  Proof ask(z3::solver &by, const z3::expr_vector &question);
  z3::expr_vector used();
};

static z3::params paramsOf(z3::context &context, unsigned work, bool isAuto) {
  z3::params params(context);
  // Instances by patterns alone: what is not found so is not known, soon.
  params.set("auto_config", isAuto);
  params.set("mbqi", false);
  params.set("unsat_core", true);
  params.set("rlimit", work);
  return params;
}

Prover::Impl::Impl(unsigned work, unsigned secondWork) {
  solver.set(paramsOf(context, work, false));
  if (secondWork != 0) {
    second.emplace(context);
    second->set(paramsOf(context, secondWork, true));
  }
}

Prover::Prover(unsigned work, unsigned secondWork)
    : impl_(std::make_unique<Impl>(work, secondWork)) {}
Prover::~Prover() = default;

void Prover::assume(const SymbolicRule &axiom) {
  auto known = impl_->rules.find(axiom.name);
  if (known == impl_->rules.end()) {
    z3::expr isOn = impl_->context.bool_const(("rule " + axiom.name).c_str());
    known = impl_->rules.emplace(axiom.name, isOn).first;
  }
  for (const z3::expr &formula : impl_->encoder.axiom(axiom)) {
    z3::expr given = z3::implies(known->second, formula);
    impl_->solver.add(given);
    if (impl_->second) {
      impl_->second->add(given);
    }
  }
}

void Prover::believe(const SymbolicRule &axiom) {
  for (const z3::expr &formula : impl_->encoder.axiom(axiom)) {
    impl_->solver.add(formula);
    if (impl_->second) {
      impl_->second->add(formula);
    }
  }
}

void Prover::prepare() { impl_->solver.check(); }

z3::expr_vector Prover::Impl::used() {
  z3::expr_vector result(context);
  for (const auto &[name, isOn] : rules) {
    result.push_back(isOn);
  }
  return result;
}

Proof Prover::Impl::ask(z3::solver &by, const z3::expr_vector &question) {
  Proof proof;
  by.push();
  for (const z3::expr &each : question) {
    by.add(each);
  }
  z3::check_result result = by.check(used());
  proof.isProved = result == z3::unsat;
  if (proof.isProved) {
    std::set<std::string> names;
    for (const z3::expr &each : by.unsat_core()) {
      names.insert(each.decl().name().str().substr(sizeof("rule")));
    }
    proof.axioms.assign(names.begin(), names.end());
  } else {
    std::string reason = by.reason_unknown();
    bool isSpent =
        reason == "canceled" || reason.find("resource") != std::string::npos;
    proof.why = isSpent ? "the work that may be done for it was used up"
                        : "no axioms were found that say so";
  }
  by.pop();
  return proof;
}

Proof Prover::Impl::ask(const z3::expr_vector &question) {
  Proof proof = ask(solver, question);
  if (!proof.isProved && second) {
    Proof again = ask(*second, question);
    proof = again.isProved ? again : proof;
  }
  return proof;
}

Proof Prover::prove(const SymbolicRule &rule) {
  return impl_->ask(impl_->encoder.question(rule));
}

Proof Prover::proveAllEqual(size_t rank) {
  return impl_->ask(impl_->encoder.allEqual(rank));
}

std::string Prover::toSMTLIB(const SymbolicRule &rule) {
  impl_->solver.push();
  for (const z3::expr &each : impl_->used()) {
    impl_->solver.add(each);
  }
  for (const z3::expr &each : impl_->encoder.question(rule)) {
    impl_->solver.add(each);
  }
  std::string text = impl_->solver.to_smt2();
  impl_->solver.pop();
  return text;
}
