//===- Prover.h - Equations from axioms -------------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tensors are an uninterpreted sort, operators are uninterpreted functions.
// Axioms say all that is known of them: for all tensors of the shapes of an
// axiom, and all integers under its conditions, both sides are equal.
//
//   for all x, y, a, b:  has(x, a, b) and has(y, a, b)  implies
//       add(x, y) = add(y, x)  and  has(add(x, y), a, b)  and ...
//
// Z3 instantiates an axiom only where a term matches one of its sides
// (patterns), so it soon answers "unknown" about a false equation.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_PROVE_PROVER_H
#define DIVISI_PROVE_PROVER_H

#include "divisi/Prove/Symbolic.h"

#include <memory>
#include <string>
#include <vector>

namespace divisi::rewrite {

/// What a prover says of an equation.
struct Proof {
  bool isProved = false; ///< False as well where the work was used up.
  std::vector<std::string> axioms; ///< Those that it used, in order.
  std::string why;                 ///< Why it is not proved.
};

/// Work for one equation, in Z3's units: about a second of a slow machine.
inline constexpr unsigned kDefaultWork = 4000000;
/// And for what is not proved by it, with Z3's own choice of tactics.
inline constexpr unsigned kSecondWork = 4 * kDefaultWork;

/// A context that holds axioms.
class Prover {
public:
  /// Which may spend `work` on each equation, and then, unless it is 0,
  /// `secondWork` in another way.
  explicit Prover(unsigned work = kDefaultWork, unsigned secondWork = 0);
  ~Prover();

  /// Believes a rule from now on.
  void assume(const SymbolicRule &axiom);
  /// Believes a rule for good: no proof names it, and questions take less, for
  /// what can be left out is looked at anew for each.
  void believe(const SymbolicRule &axiom);
  /// Prepares what was assumed for questions, so that those who begin with a
  /// copy of this process need not.
  void prepare();
  /// Whether the sides of `rule` are equal wherever its conditions hold.
  Proof prove(const SymbolicRule &rule);
  /// Whether any two tensors of `rank` equal extents are equal, which no good
  /// axioms say. It is asked in the sight of what each operator of an axiom
  /// makes of two such tensors.
  Proof proveAllEqual(size_t rank);
  /// What prove() asks, with all axioms, as a text that Z3 reads.
  std::string toSMTLIB(const SymbolicRule &rule);

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace divisi::rewrite

#endif // DIVISI_PROVE_PROVER_H
