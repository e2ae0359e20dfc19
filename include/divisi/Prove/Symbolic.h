//===- Symbolic.h - A rule with symbolic sizes ------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The statement that is proved: a rule at given ranks and element types, whose
// sizes and integers are symbols. Shapes are expanded, so all lists are lists
// of integers of known lengths. An operator is a function of its operands and
// of the integers and reals in its attributes; everything else about it is part
// of the function's name.
//
// Result shapes are inferred by the operators, not tabulated: operators are
// asked at many assignments, and an extent is the linear form of the symbols
// that fits all of them, or, if none fits, a function of its own.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_PROVE_SYMBOLIC_H
#define DIVISI_PROVE_SYMBOLIC_H

#include "divisi/Rules/Instance.h"

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace divisi::rewrite {

/// An extent that is no linear form, is nothing.
using SymbolicDims = std::vector<std::optional<Expr>>;

/// An attribute: its numbers in terms of sizes, all else as it is.
using SymbolicValue = std::variant<Expr, bool, std::string, std::vector<Expr>>;

/// An operator on values, which are numbered: the variables, then the calls.
struct SymbolicCall {
  std::string op; ///< `matmul`; empty for equal elements.
  /// By name; that of equal elements is `element`.
  std::map<std::string, SymbolicValue> attributes;
  std::string element;        ///< The element type of the result.
  bool isElementwise = false; ///< As Call says, at all sizes.
  bool isTyped = false;       ///< The rule says the type of the result.
  /// The operator, with all about it that is no number: texts, element types
  /// and ranks.
  std::string function;
  std::vector<size_t> operands; ///< Numbers of values.
  std::vector<Expr> integers;   ///< Of attributes, by their names.
  std::vector<Expr> reals;      ///< The same of reals.
  SymbolicDims dims;            ///< Of the result.
  /// Of each dim of the result that is no expression: of which extents of the
  /// operands, counted through, it is a function.
  std::vector<std::vector<bool>> depends;
};

/// One side.
struct SymbolicGraph {
  std::vector<SymbolicCall> calls; ///< Operands before those that read them.
  std::vector<size_t> results;     ///< Numbers of values.
};

/// A rule at ranks and types.
struct SymbolicRule {
  std::string name;               ///< Of the rule.
  std::string place;              ///< At which ranks and types, for a reader.
  Ranks ranks;                    ///< Of the shapes, which are written out.
  std::vector<std::string> sizes; ///< From 1 on; `p.0` is an extent of p.
  std::vector<std::string> ints;  ///< Integers of attributes.
  std::vector<std::string> reals; ///< Floats of attributes.
  std::vector<SymbolicDims> variables; ///< The shape of each.
  std::vector<std::string> elements;   ///< The element type of each.
  std::vector<Condition> conditions;   ///< Under which it holds.
  SymbolicGraph source, target;        ///< Both sides, of these variables.
  /// What is claimed of floats; nothing by an axiom.
  std::optional<NumericClass> numericClass;
  bool isForward = false;    ///< Of an axiom: the source alone is looked for.
  bool isDefinition = false; ///< Of an axiom: its last call says what one is.
};

/// The type of each element word of a rule: `float`, `int`, `bool`, or a type
/// of Divisi.
using TypeBinding = std::map<std::string, std::string>;

/// All bindings of the element words of `rule`. A family of several types is
/// bound to each of them; in an axiom, `float` and `int` also to each of
/// `types` that belongs to them.
std::vector<TypeBinding> allTypeBindings(const Rule &rule,
                                         const std::vector<std::string> &types);

/// The rule, which has no choice of operators, at those. Nothing where no
/// assignment was found that is legal: there is nothing to prove then.
std::optional<SymbolicRule> makeSymbolic(const Rule &rule, const Ranks &ranks,
                                         const TypeBinding &binding,
                                         Instantiator &instantiator);

} // namespace divisi::rewrite

#endif // DIVISI_PROVE_SYMBOLIC_H
