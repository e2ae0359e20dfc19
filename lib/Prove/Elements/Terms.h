//===- Terms.h - Elements of tensors as terms -------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An element of a result as a term over elements of variables: a sum of
// products, each summed over some indices, of elements and of uninterpreted
// functions. Equal terms have equal keys: sums and products are sorted, bound
// indices are named in the order that gives the least key, and what does not
// depend on an index stands outside of the fold over it.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PROVE_ELEMENTS_TERMS_H
#define DIVISI_LIB_PROVE_ELEMENTS_TERMS_H

#include "lib/Prove/Elements/Polynomial.h"

namespace divisi::rewrite {

struct Factor;
/// Factors are shared, and never change.
using FactorRef = std::shared_ptr<const Factor>;
using Values = std::map<std::string, Polynomial>;

/// A fraction in lowest terms. Throws GivenUp where it does not fit.
struct Fraction {
  int64_t above = 0, below = 1; ///< `below` is positive.

  /// Of any two, the second not 0.
  static Fraction of(int64_t above, int64_t below);
  /// As they are in lowest terms.
  bool operator==(const Fraction &) const = default;
};
Fraction operator+(Fraction left, Fraction right);
Fraction operator*(Fraction left, Fraction right);

/// An index that runs from 0 to below an extent.
struct Binder {
  AtomRef index;     ///< By which the body mentions it.
  Polynomial extent; ///< How many values it takes.
};

/// Factors, multiplied, and summed over indices.
struct Monomial {
  std::vector<Binder> binders;    ///< What is summed over.
  std::vector<FactorRef> factors; ///< Ascending by their keys.

  /// Equal monomials have equal keys.
  std::string key() const;
  /// Whether an atom stands in a factor.
  bool mentions(const Atom &atom) const;
};

/// Monomials with their coefficients.
struct Sum {
  std::map<std::string, std::pair<Monomial, Fraction>> terms; ///< By keys.

  Sum() = default;
  /// A number.
  explicit Sum(Fraction number);
  /// A factor alone.
  explicit Sum(FactorRef factor);
  /// A term alone.
  Sum(Monomial monomial, Fraction coefficient);

  /// Adds a term; terms that are equal become one.
  void add(Monomial monomial, Fraction coefficient);
  /// Equal sums have equal keys.
  std::string key() const;
  /// The factor that it is, or null.
  FactorRef factor() const;
  /// The number that it is, if it is one.
  std::optional<Fraction> number() const;
  /// Whether the atom stands in it.
  bool mentions(const Atom &atom) const;
  /// With other polynomials for atoms.
  Sum with(const Values &values) const;
};

Sum operator+(const Sum &left, const Sum &right);
Sum operator-(const Sum &left, const Sum &right);
Sum operator*(const Sum &left, const Sum &right);

/// What is multiplied.
struct Factor {
  /// What it is.
  enum class Kind : uint8_t {
    Element,  ///< Of variable `name`, at `integers`.
    Integer,  ///< The atom that `integers[0]` is, as a number.
    Holds,    ///< 1 where integers[0] >= 0, else 0.
    Function, ///< `name` of `operands` and `integers`.
    Fold, ///< operands[0], folded by `name` over `binders`, or as a function
          ///< of these that is one operand of a larger one.
  };
  Kind kind = Kind::Function;
  std::string name;
  std::vector<Polynomial> integers;
  std::vector<Sum> operands;
  std::vector<Binder> binders; ///< Of a Fold.
  bool isCommutative = false;  ///< Of a Function.
  bool isPositive = false;     ///< Of a Function: above 0 everywhere.
  bool isBoolean = false;      ///< 0 or 1, as Holds is.
  int height = 0;  ///< How many indices are bound inside of each other.
  std::string key; ///< Equal factors have equal keys.

  /// Whether the atom stands in it.
  bool mentions(const Atom &atom) const;
  /// Whether it is the function of that name.
  bool isFunction(const std::string &function) const {
    return kind == Kind::Function && name == function;
  }
};

/// Whether it depends on an index over which the monomial is summed.
bool isBoundIn(const Factor &factor, const Monomial &monomial);
/// A boolean that stands in a sum outside of any fold, and does not depend on
/// `index` if there is one; or null.
FactorRef booleanIn(const Sum &sum, const Atom *index = nullptr);
/// The sum where a boolean is 1, or 0.
Sum where(const Sum &sum, const Factor &boolean, bool holds);

/// Counts from 0 how many factors this thread makes.
void beginFactors();
/// Completes a factor by its height and key, and gives it a name for each
/// binder of a Fold. Throws GivenUp where too many were made since
/// beginFactors().
FactorRef makeFactor(Factor factor);

/// An integer that is an element of a tensor.
AtomRef elementAtom(Sum element);

/// A number, exactly.
Sum numberOf(double value);
Sum numberOf(const Polynomial &integer);
/// A real, by its name.
Sum realOf(const std::string &name, bool isPositive);
Sum elementOf(const std::string &variable, std::vector<Polynomial> index,
              bool isBoolean);
/// first where condition >= 0, else second.
Sum choose(const Polynomial &condition, const Sum &first, const Sum &second);
/// `name` of these, about which nothing is known.
Sum functionOf(const std::string &name, std::vector<Sum> operands,
               std::vector<Polynomial> integers = {});
/// The same of operands in any order; `isIdempotent` ones count once. Operands
/// that are this function of others are those.
Sum commutative(const std::string &name, std::vector<Sum> operands,
                bool isIdempotent);
/// The largest of numbers, of which the orders of sums are known.
Sum largest(std::vector<Sum> operands);
/// 1 / sum.
Sum inverse(const Sum &sum);
/// exp of a sum, simplified.
Sum exponential(const Sum &sum);
/// log of a sum, simplified.
Sum logarithm(const Sum &sum);

/// `body` summed over one index.
Sum sumOver(const Binder &binder, const Sum &body);
/// `body` folded by another operation, as its name says: `max` of floats knows
/// the order of sums. `isThere` says that the extent is not 0; it may show that
/// itself.
Sum foldOver(const std::string &name, const Binder &binder, const Sum &body,
             bool isThere = false);

/// Without numbers and factors above 0 that all its terms have.
Sum withoutPositive(const Sum &sum);
/// Whether it is above 0 wherever it has a value.
bool isPositive(const Sum &sum);
/// Whether the sums are equal, also where that shows only when what they are
/// divided by is multiplied out.
bool areEqual(const Sum &left, const Sum &right);

} // namespace divisi::rewrite

#endif // DIVISI_LIB_PROVE_ELEMENTS_TERMS_H
