//===- Polynomial.h - Integers of indices and sizes -------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The integers in a proof by elements: extents, attributes, and the places of
// elements. Two that are equal as polynomials are the same polynomial.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PROVE_ELEMENTS_POLYNOMIAL_H
#define DIVISI_LIB_PROVE_ELEMENTS_POLYNOMIAL_H

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace divisi::rewrite {

/// Thrown where a proof by elements ends without one: where numbers are too
/// large, terms too many, or an operator is not followed.
struct GivenUp {};

struct Atom;
struct Sum;
/// Atoms are equal if their keys are.
using AtomRef = std::shared_ptr<const Atom>;

/// Several atoms, multiplied; ascending by their keys, with repetitions.
using Product = std::vector<AtomRef>;

/// By the number of atoms, then by the first in which they differ: an order
/// that multiplication keeps, as division asks for.
struct ProductLess {
  /// Whether `left` comes first.
  bool operator()(const Product &left, const Product &right) const;
};

/// A sum of products of atoms, with integer coefficients. Throws GivenUp where
/// one does not fit into 64 bits.
class Polynomial {
public:
  Polynomial() = default;
  /// A number.
  Polynomial(int64_t number);
  /// An atom alone.
  explicit Polynomial(AtomRef atom);

  /// Each product, with its coefficient, which is not 0.
  const std::map<Product, int64_t, ProductLess> &terms() const {
    return terms_;
  }
  /// The number that it is, if it is one.
  std::optional<int64_t> number() const;
  /// The atom that it is, or null.
  AtomRef atom() const;
  /// Equal polynomials have equal keys.
  std::string key() const;
  /// Adds `coefficient` times a product.
  void add(Product product, int64_t coefficient);
  /// Whether an atom stands in it, also inside of another.
  bool mentions(const Atom &atom) const;
  /// What stands before `atom`, if it stands in no power and inside of no other
  /// atom.
  std::optional<Polynomial> coefficientOf(const Atom &atom) const;
  /// With another polynomial for each atom of those names.
  Polynomial with(const std::map<std::string, Polynomial> &values) const;

  /// By the products in them.
  bool operator==(const Polynomial &other) const {
    return key() == other.key();
  }

private:
  std::map<Product, int64_t, ProductLess> terms_;
};

Polynomial operator+(const Polynomial &left, const Polynomial &right);
Polynomial operator-(const Polynomial &left, const Polynomial &right);
Polynomial operator*(const Polynomial &left, const Polynomial &right);

/// left = quotient * right + remainder; how much of left the quotient takes is
/// what products divide, and nothing is said of how large the remainder is.
struct Division {
  Polynomial quotient, remainder; ///< As said above.
};
/// By what is not 0.
Division divide(const Polynomial &left, const Polynomial &right);
/// The quotient, if nothing remains.
std::optional<Polynomial> divideExactly(const Polynomial &left,
                                        const Polynomial &right);

/// An integer that has a name, or that no polynomial is.
struct Atom {
  /// What it is.
  enum class Kind : uint8_t {
    Size,      ///< A symbol of a rule, or an extent.
    Index,     ///< A place along a dim of a result, or of what is folded.
    Quotient,  ///< operands[0] / operands[1], towards minus infinity.
    Remainder, ///< Of that division.
    Element,   ///< An element of a tensor of integers.
  };
  Kind kind = Kind::Size;             ///< Which of the members below count.
  std::string key;                    ///< Its name, or what it is.
  bool isPositive = false;            ///< Of a Size: from 1 on.
  std::vector<Polynomial> operands;   ///< Of a Quotient or Remainder.
  std::shared_ptr<const Sum> element; ///< Of an Element.
};

/// An integer by its name.
AtomRef sizeAtom(const std::string &name, bool isPositive);
/// An index, whose key is no name that a rule may have.
AtomRef indexAtom(const std::string &name);

/// Adds to `atoms`, by their keys, all that stand in it.
void addAtoms(const Polynomial &polynomial,
              std::map<std::string, AtomRef> &atoms);

/// Floor of left/right: exact where it divides, else an atom.
Polynomial quotientOf(const Polynomial &left, const Polynomial &right);
/// The rest of that division.
Polynomial remainderOf(const Polynomial &left, const Polynomial &right);

} // namespace divisi::rewrite

#endif // DIVISI_LIB_PROVE_ELEMENTS_POLYNOMIAL_H
