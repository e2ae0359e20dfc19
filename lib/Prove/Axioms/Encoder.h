//===- Encoder.h - Rules as formulas of Z3 ----------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PROVE_AXIOMS_ENCODER_H
#define DIVISI_LIB_PROVE_AXIOMS_ENCODER_H

#include "divisi/Prove/Symbolic.h"

#include "z3++.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace divisi::rewrite {

/// The functions of one context, and terms of rules in them.
class Encoder {
public:
  /// Makes functions of `context`, which outlives this.
  explicit Encoder(z3::context &context)
      : context_(context), tensor_(context.uninterpreted_sort("Tensor")),
        real_(context.uninterpreted_sort("Real")) {}

  /// `axiom` as formulas that hold everywhere: one for each of its sides that
  /// says, where it stands, all there is to know.
  z3::expr_vector axiom(const SymbolicRule &axiom);

  /// What is given of the symbols of `rule`, and that its sides differ.
  z3::expr_vector question(const SymbolicRule &rule);

  /// That some two tensors, of `rank` equal extents, differ, and what operators
  /// make of them.
  z3::expr_vector allEqual(size_t rank);

private:
  /// The terms of one rule.
  struct Terms {
    std::map<std::string, z3::expr> symbols; ///< By name.
    std::vector<z3::expr> source, target;    ///< Values by number.
    std::vector<z3::expr> facts;             ///< Shapes of all calls.
  };

  z3::func_decl function(const std::string &name, const z3::sort_vector &domain,
                         const z3::sort &range);
  z3::expr call(const std::string &name, const z3::expr_vector &arguments,
                const z3::sort &range);
  z3::expr integer(const Expr &expr, const Terms &terms);
  bool isReal(const Expr &expr, const Terms &terms) const;
  z3::expr real(const Expr &expr, const Terms &terms);
  z3::expr number(const Expr &expr, const Terms &terms);
  z3::expr condition(const Condition &condition, const Terms &terms,
                     bool isKnown);
  z3::expr extent(const z3::expr &tensor, size_t dim);
  z3::expr has(const z3::expr &tensor, const z3::expr_vector &dims);
  z3::expr argument(const Expr &expr, const Terms &terms);
  z3::expr unknown(const SymbolicCall &call, size_t dim,
                   const z3::expr_vector &about,
                   const std::vector<z3::expr> &extents);
  void addSymbols(const SymbolicRule &rule, Terms &terms);
  std::vector<z3::expr> given(const SymbolicRule &rule, const Terms &terms,
                              bool isKnown);
  void addSide(const SymbolicRule &rule, const SymbolicGraph &side,
               Terms &terms, std::vector<z3::expr> &values);
  std::optional<z3::expr> direction(const SymbolicRule &rule, bool isForward);
  void addTerms(size_t rank, const z3::expr &x, const z3::expr &y,
                z3::expr_vector &result);
  z3::expr forAll(const std::vector<z3::expr> &bound,
                  const std::vector<z3::expr> &seen, const z3::expr &body);

  z3::context &context_;
  z3::sort tensor_, real_;
  std::map<std::string, z3::func_decl> functions_;
  /// Arguments that are no symbols are symbols of their own, equal to what they
  /// are, so that patterns hold no arithmetic.
  bool isAbstracting_ = false;
  std::vector<std::pair<z3::expr, z3::expr>> abstracted_;
  size_t next_ = 0;
};

} // namespace divisi::rewrite

#endif // DIVISI_LIB_PROVE_AXIOMS_ENCODER_H
