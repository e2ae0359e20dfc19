//===- DescribeTerms.cpp - Terms for a reader -----------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Prove/Elements/SymbolicEvaluator.h"

using namespace divisi::rewrite;

/// What is longer is cut.
static constexpr size_t kMostCharacters = 160;

static std::string cut(std::string text) {
  if (text.size() > kMostCharacters) {
    text.resize(kMostCharacters - 3);
    text += "...";
  }
  return text;
}

static std::string textOf(const AtomRef &atom);
static std::string textOf(const FactorRef &factor);
static std::string textOf(const Binder &binder);
static std::string textOf(const Sum &sum);
static std::string textOf(const Polynomial &integer);

template <typename List>
static std::string joined(const List &list, const char *between) {
  std::string text;
  for (const auto &each : list) {
    text += (text.empty() ? "" : between) + ::textOf(each);
  }
  return text;
}

static std::string textOf(const AtomRef &atom) {
  switch (atom->kind) {
  case Atom::Kind::Index:
    return atom->key.substr(1);
  case Atom::Kind::Quotient:
    return "(" + ::textOf(atom->operands[0]) + ")/(" +
           ::textOf(atom->operands[1]) + ")";
  case Atom::Kind::Remainder:
    return "(" + ::textOf(atom->operands[0]) + ")%(" +
           ::textOf(atom->operands[1]) + ")";
  case Atom::Kind::Element:
    return ::textOf(*atom->element);
  default:
    return atom->key;
  }
}

/// A term of a sum behind others.
static void addTerm(std::string &text, int64_t above, int64_t below,
                    const std::string &product) {
  text += above < 0 ? (text.empty() ? "-" : " - ") : text.empty() ? "" : " + ";
  uint64_t size = above < 0 ? -uint64_t(above) : uint64_t(above);
  bool isOne = size == 1 && below == 1;
  if (!isOne || product.empty()) {
    text += std::to_string(size) +
            (below == 1 ? "" : "/" + std::to_string(below)) +
            (product.empty() ? "" : "*");
  }
  text += product;
}

static std::string textOf(const Polynomial &integer) {
  std::string text;
  for (const auto &[product, coefficient] : integer.terms()) {
    addTerm(text, coefficient, 1, joined(product, "*"));
  }
  return text.empty() ? "0" : text;
}

static std::string textOf(const Binder &binder) {
  return ::textOf(binder.index) + " < " + ::textOf(binder.extent);
}

static std::string textOf(const FactorRef &factor) {
  bool isReal = factor->name.starts_with("real ");
  switch (factor->kind) {
  case Factor::Kind::Element:
    return factor->name + "[" + joined(factor->integers, ", ") + "]";
  case Factor::Kind::Integer:
    return ::textOf(factor->integers[0]);
  case Factor::Kind::Holds:
    return "(0 <= " + ::textOf(factor->integers[0]) + ")";
  case Factor::Kind::Fold:
    return factor->name + "(" + joined(factor->binders, ", ") + ": " +
           joined(factor->operands, "; ") + ")";
  case Factor::Kind::Function:
    break;
  }
  if (isReal) {
    return factor->name.substr(5);
  }
  std::string integers = joined(factor->integers, ", ");
  return factor->name + (integers.empty() ? "" : "[" + integers + "]") + "(" +
         joined(factor->operands, ", ") + ")";
}

static std::string textOf(const Sum &sum) {
  std::string text;
  for (const auto &[key, term] : sum.terms) {
    const auto &[monomial, coefficient] = term;
    std::string product = joined(monomial.factors, "*");
    if (!monomial.binders.empty()) {
      product = "sum(" + joined(monomial.binders, ", ") + ": " + product + ")";
    }
    addTerm(text, coefficient.above, coefficient.below, product);
    if (text.size() > kMostCharacters) {
      break;
    }
  }
  return text.empty() ? "0" : text;
}

std::string divisi::rewrite::describe(const Sum &sum) {
  return ::cut(::textOf(sum));
}

std::string divisi::rewrite::describe(const Polynomial &integer) {
  return ::cut(::textOf(integer));
}
