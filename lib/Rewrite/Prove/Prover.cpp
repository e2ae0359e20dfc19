//===- Prover.cpp - Equations from axioms ---------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Rewrite/Prover.h"

#include "lib/Rewrite/Prove/Encoder.h"

#include <set>

using namespace divisi::rewrite;

/// The context, with all axioms asserted once; each question is pushed on top
/// of them and popped.
struct Prover::Impl {
  z3::context context;
  z3::solver solver{context, z3::solver::simple()};
  Encoder encoder{context};
  size_t count = 0;

  Proof ask(const z3::expr_vector &question);
};

Prover::Prover(unsigned work) : impl_(std::make_unique<Impl>()) {
  z3::params params(impl_->context);
  // Instances by patterns alone: what is not found so is not known, soon.
  params.set("auto_config", false);
  params.set("mbqi", false);
  params.set("unsat_core", true);
  params.set("rlimit", work);
  impl_->solver.set(params);
}
Prover::~Prover() = default;

void Prover::assume(const SymbolicRule &axiom) {
  // Of one axiom come many formulas, and a name may stand for one.
  for (const z3::expr &formula : impl_->encoder.axiom(axiom)) {
    std::string name = axiom.name + "#" + std::to_string(impl_->count++);
    impl_->solver.add(formula, name.c_str());
  }
}

Proof Prover::Impl::ask(const z3::expr_vector &question) {
  Proof proof;
  solver.push();
  for (const z3::expr &each : question) {
    solver.add(each);
  }
  z3::check_result result = solver.check();
  proof.isProved = result == z3::unsat;
  if (proof.isProved) {
    std::set<std::string> names;
    for (const z3::expr &each : solver.unsat_core()) {
      std::string name = each.decl().name().str();
      names.insert(name.substr(0, name.find('#')));
    }
    proof.axioms.assign(names.begin(), names.end());
  } else {
    std::string reason = solver.reason_unknown();
    bool isSpent = reason == "canceled" ||
                   reason.find("resource") != std::string::npos;
    proof.why = isSpent ? "the work that may be done for it was used up"
                        : "no axioms were found that say so";
  }
  solver.pop();
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
  for (const z3::expr &each : impl_->encoder.question(rule)) {
    impl_->solver.add(each);
  }
  std::string text = impl_->solver.to_smt2();
  impl_->solver.pop();
  return text;
}
