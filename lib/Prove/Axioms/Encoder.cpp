//===- Encoder.cpp - Rules as formulas of Z3 ------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Prove/Axioms/Encoder.h"

#include <algorithm>
#include <set>

using namespace divisi::rewrite;

//===----------------------------------------------------------------------===//
// Functions and arguments
//===----------------------------------------------------------------------===//

z3::func_decl Encoder::function(const std::string &name,
                                const z3::sort_vector &domain,
                                const z3::sort &range) {
  auto found = functions_.find(name);
  if (found == functions_.end()) {
    found =
        functions_.emplace(name, context_.function(name.c_str(), domain, range))
            .first;
  }
  return found->second;
}

z3::expr Encoder::call(const std::string &name,
                       const z3::expr_vector &arguments,
                       const z3::sort &range) {
  z3::sort_vector domain(context_);
  for (const z3::expr &each : arguments) {
    domain.push_back(each.get_sort());
  }
  return function(name, domain, range)(arguments);
}

/// An argument of an operator or an extent.
z3::expr Encoder::argument(const Expr &expr, const Terms &terms) {
  z3::expr value = integer(expr, terms);
  if (!isAbstracting_ || (value.is_const() && !value.is_numeral())) {
    return value;
  }
  for (const auto &[name, known] : abstracted_) {
    if (z3::eq(known, value)) {
      return name;
    }
  }
  z3::expr name =
      context_.int_const(("value." + std::to_string(next_++)).c_str());
  abstracted_.emplace_back(name, value);
  return name;
}

z3::expr Encoder::extent(const z3::expr &tensor, size_t dim) {
  z3::expr_vector arguments(context_);
  arguments.push_back(tensor);
  return call("extent/" + std::to_string(dim), arguments, context_.int_sort());
}

z3::expr Encoder::has(const z3::expr &tensor, const z3::expr_vector &dims) {
  z3::expr_vector arguments(context_), all(context_);
  arguments.push_back(tensor);
  all.push_back(call("rank", arguments, context_.int_sort()) ==
                int(dims.size()));
  for (unsigned i = 0; i != dims.size(); ++i) {
    all.push_back(extent(tensor, i) == dims[i]);
  }
  return z3::mk_and(all);
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

void Encoder::addSymbols(const SymbolicRule &rule, Terms &terms) {
  for (size_t i = 0; i != rule.variables.size(); ++i) {
    std::string name = "variable." + std::to_string(i);
    z3::expr value = context_.constant(name.c_str(), tensor_);
    terms.source.push_back(value);
    terms.target.push_back(value);
    // A size is an extent of a tensor where it is one: then a pattern need not
    // look for it.
    for (size_t dim = 0; dim != rule.variables[i].size(); ++dim) {
      const Expr &size = *rule.variables[i][dim];
      if (size.kind == Expr::Kind::Name) {
        terms.symbols.emplace(size.name, extent(value, dim));
      }
    }
  }
  for (const auto *names : {&rule.sizes, &rule.ints}) {
    for (const std::string &name : *names) {
      terms.symbols.emplace(name, context_.int_const(name.c_str()));
    }
  }
  for (const std::string &name : rule.reals) {
    terms.symbols.emplace(name, context_.constant(name.c_str(), real_));
  }
}

/// An extent of a result that is no expression: a function of `about` and of
/// those extents of operands on which it depends.
z3::expr Encoder::unknown(const SymbolicCall &call, size_t dim,
                          const z3::expr_vector &about,
                          const std::vector<z3::expr> &extents) {
  std::string name = "extent " + std::to_string(dim) + " by ";
  z3::expr_vector arguments(context_);
  for (const z3::expr &each : about) {
    arguments.push_back(each);
  }
  for (size_t i = 0; i != extents.size(); ++i) {
    name += call.depends[dim][i] ? '1' : '0';
    if (call.depends[dim][i]) {
      arguments.push_back(extents[i]);
    }
  }
  return this->call(name + " of " + call.function, arguments,
                    context_.int_sort());
}

void Encoder::addSide(const SymbolicRule &rule, const SymbolicGraph &side,
                      Terms &terms, std::vector<z3::expr> &values) {
  std::vector<z3::expr_vector> shapes;
  for (const SymbolicDims &variable : rule.variables) {
    z3::expr_vector dims(context_);
    for (const std::optional<Expr> &extent : variable) {
      dims.push_back(integer(*extent, terms));
    }
    shapes.push_back(dims);
  }
  for (const SymbolicCall &each : side.calls) {
    z3::expr_vector arguments(context_), about(context_), dims(context_);
    for (const Expr &expr : each.integers) {
      about.push_back(argument(expr, terms));
    }
    for (const Expr &expr : each.reals) {
      about.push_back(real(expr, terms));
    }
    for (size_t operand : each.operands) {
      arguments.push_back(values[operand]);
    }
    for (const z3::expr &one : about) {
      arguments.push_back(one);
    }
    std::vector<z3::expr> extents;
    for (size_t operand : each.operands) {
      for (const z3::expr &extent : shapes[operand]) {
        extents.push_back(extent);
      }
    }
    for (size_t i = 0; i != each.dims.size(); ++i) {
      dims.push_back(each.dims[i] ? integer(*each.dims[i], terms)
                                  : unknown(each, i, about, extents));
    }
    z3::expr value = call(each.function, arguments, tensor_);
    terms.facts.push_back(has(value, dims));
    values.push_back(value);
    shapes.push_back(dims);
  }
}

/// What is given of the symbols: sizes, conditions, and last the shapes of the
/// variables. It is known of a question, and a premise of an axiom.
std::vector<z3::expr> Encoder::given(const SymbolicRule &rule,
                                     const Terms &terms, bool isKnown) {
  std::vector<z3::expr> result;
  for (const std::string &size : rule.sizes) {
    result.push_back(terms.symbols.at(size) >= 1);
  }
  for (const Condition &each : rule.conditions) {
    result.push_back(condition(each, terms, isKnown));
  }
  for (size_t i = 0; i != rule.variables.size(); ++i) {
    z3::expr_vector dims(context_);
    for (const std::optional<Expr> &extent : rule.variables[i]) {
      dims.push_back(integer(*extent, terms));
    }
    result.push_back(has(terms.source[i], dims));
  }
  return result;
}

static void addConstants(const z3::expr &term, std::set<std::string> &names) {
  if (term.is_const() && !term.is_numeral()) {
    names.insert(term.decl().name().str());
  }
  for (unsigned i = 0; i != term.num_args(); ++i) {
    addConstants(term.arg(i), names);
  }
}

static z3::expr all(z3::context &context, const std::vector<z3::expr> &terms) {
  z3::expr_vector list(context);
  for (const z3::expr &term : terms) {
    list.push_back(term);
  }
  return z3::mk_and(list);
}

/// The axiom where one of its sides stands. That side has to have every tensor
/// and every symbol that is no extent of one, and be no tensor itself; else
/// there is nothing to look for.
std::optional<z3::expr> Encoder::direction(const SymbolicRule &rule,
                                           bool isForward) {
  abstracted_.clear();
  next_ = 0;
  Terms terms;
  addSymbols(rule, terms);
  isAbstracting_ = isForward;
  addSide(rule, rule.source, terms, terms.source);
  isAbstracting_ = !isForward;
  addSide(rule, rule.target, terms, terms.target);
  isAbstracting_ = false;
  std::vector<z3::expr> premises = given(rule, terms, false), bound;
  const SymbolicGraph &side = isForward ? rule.source : rule.target;
  std::vector<z3::expr> parts;
  std::set<std::string> found;
  for (size_t number : side.results) {
    if (number < rule.variables.size()) {
      return std::nullopt;
    }
    parts.push_back((isForward ? terms.source : terms.target)[number]);
    addConstants(parts.back(), found);
  }
  for (const auto &[name, symbol] : terms.symbols) {
    if (symbol.is_const()) {
      bound.push_back(symbol);
    }
  }
  for (size_t i = 0; i != rule.variables.size(); ++i) {
    bound.push_back(terms.source[i]);
  }
  for (const auto &[name, value] : abstracted_) {
    bound.push_back(name);
    premises.push_back(name == value);
  }
  for (const z3::expr &name : bound) {
    if (!found.count(name.decl().name().str())) {
      return std::nullopt;
    }
  }
  std::vector<z3::expr> conclusions = terms.facts;
  for (size_t i = 0; i != rule.source.results.size(); ++i) {
    conclusions.push_back(terms.source[rule.source.results[i]] ==
                          terms.target[rule.target.results[i]]);
  }
  return forAll(
      bound, parts,
      z3::implies(all(context_, premises), all(context_, conclusions)));
}

z3::expr Encoder::forAll(const std::vector<z3::expr> &bound,
                         const std::vector<z3::expr> &seen,
                         const z3::expr &body) {
  // An axiom of numbers alone, without any dims, is a fact.
  if (bound.empty()) {
    return body;
  }
  std::vector<Z3_app> names;
  std::vector<Z3_ast> parts;
  for (const z3::expr &name : bound) {
    names.push_back(name);
  }
  for (const z3::expr &part : seen) {
    parts.push_back(part);
  }
  Z3_pattern pattern =
      Z3_mk_pattern(context_, unsigned(parts.size()), parts.data());
  context_.check_error();
  Z3_ast result =
      Z3_mk_quantifier_const(context_, true, 0, unsigned(names.size()),
                             names.data(), 1, &pattern, body);
  context_.check_error();
  return z3::expr(context_, result);
}

z3::expr_vector Encoder::axiom(const SymbolicRule &rule) {
  z3::expr_vector result(context_);
  for (bool isForward : {true, false}) {
    if (!isForward && rule.isForward) {
      continue;
    }
    if (std::optional<z3::expr> formula = direction(rule, isForward)) {
      result.push_back(*formula);
    }
  }
  return result;
}

z3::expr_vector Encoder::question(const SymbolicRule &rule) {
  Terms terms;
  addSymbols(rule, terms);
  addSide(rule, rule.source, terms, terms.source);
  addSide(rule, rule.target, terms, terms.target);
  z3::expr_vector result(context_), different(context_);
  for (const z3::expr &each : given(rule, terms, true)) {
    result.push_back(each);
  }
  for (const z3::expr &each : terms.facts) {
    result.push_back(each);
  }
  for (size_t i = 0; i != rule.source.results.size(); ++i) {
    different.push_back(terms.source[rule.source.results[i]] !=
                        terms.target[rule.target.results[i]]);
  }
  result.push_back(z3::mk_or(different));
  return result;
}

/// The operators of one or two tensors of this rank and at most one integer, on
/// x and y: what axioms could say of them.
void Encoder::addTerms(size_t rank, const z3::expr &x, const z3::expr &y,
                       z3::expr_vector &result) {
  z3::func_decl seen = context_.function("seen", tensor_, context_.bool_sort());
  std::string ofRank = "/" + std::to_string(rank) + " ";
  for (const auto &[name, function] : functions_) {
    unsigned tensors = 0, arity = function.arity();
    for (unsigned i = 0; i != arity; ++i) {
      tensors += z3::eq(function.domain(i), tensor_);
    }
    bool isOperator = z3::eq(function.range(), tensor_) &&
                      name.find(ofRank) != std::string::npos;
    if (!isOperator || tensors == 0 || tensors > 2 || arity > tensors + 1 ||
        (arity != tensors &&
         !z3::eq(function.domain(tensors), context_.int_sort()))) {
      continue;
    }
    for (unsigned choice = 0; choice != 1u << tensors; ++choice) {
      z3::expr_vector arguments(context_);
      for (unsigned i = 0; i != tensors; ++i) {
        arguments.push_back(choice >> i & 1 ? y : x);
      }
      if (arity != tensors) {
        arguments.push_back(context_.int_val(0));
      }
      result.push_back(seen(function(arguments)));
    }
  }
}

z3::expr_vector Encoder::allEqual(size_t rank) {
  z3::expr_vector result(context_), dims(context_);
  z3::expr extent = context_.int_const("d");
  for (size_t i = 0; i != rank; ++i) {
    dims.push_back(extent);
  }
  z3::expr x = context_.constant("x", tensor_);
  z3::expr y = context_.constant("y", tensor_);
  result.push_back(extent >= 1);
  result.push_back(has(x, dims));
  result.push_back(has(y, dims));
  result.push_back(x != y);
  addTerms(rank, x, y, result);
  return result;
}
