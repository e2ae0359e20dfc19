//===- BoundIndices.h - Names of bound indices ------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PROVE_ELEMENTS_BOUNDINDICES_H
#define DIVISI_LIB_PROVE_ELEMENTS_BOUNDINDICES_H

#include "lib/Prove/Elements/Terms.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace divisi::rewrite {

/// More indices than these are not named.
inline constexpr size_t kMostBinders = 6;

/// How many indices are bound inside of each other.
int heightOf(const Sum &sum);
int heightOf(const Polynomial &integer);
/// An index that stands nowhere else.
AtomRef freshIndex();
/// An index by its height: what it names inside has lower ones.
AtomRef boundIndex(size_t height);
/// Equal binders have equal keys.
std::string keyOf(const std::vector<Binder> &binders);
/// A factor with other polynomials for atoms.
FactorRef factorWith(const Factor &factor, const Values &values);
/// The names by the indices that they stand for.
Values namesOf(const std::vector<Binder> &binders,
               const std::vector<AtomRef> &names);
/// The binders with those names, in that order.
std::vector<Binder> withNames(const std::vector<Binder> &binders,
                              const std::vector<AtomRef> &names,
                              const std::vector<size_t> &order);
/// Ascending by their keys.
void sortFactors(std::vector<FactorRef> &factors);
/// With fresh names for its indices.
Monomial apart(const Monomial &monomial);
/// Joins factors and indices that are one, and gives indices their own names.
/// False if it is 0. Where an index goes that no factor has, `times` is what is
/// left to multiply by, and the rest is not named yet.
bool simplify(Monomial &monomial, std::optional<Polynomial> &times);

/// For each binder a number that tells how its index is used in `factors` or
/// `operands`, whatever the binders are called: those of which it differs are
/// told apart by it. None where there are no two.
std::vector<uint64_t> usesOf(const std::vector<Binder> &binders,
                             const std::vector<FactorRef> &factors,
                             const std::vector<Sum> &operands);
/// The next order of places that have equal `uses`, from which all orders are
/// reached; false behind the last.
bool nextOrder(std::vector<size_t> &order, const std::vector<uint64_t> &uses);

/// Names for binders, in ascending order of their uses; of all orders of those
/// with equal uses the one with the least key is kept. `make` says what there
/// is with some names. No uses: in the order in which they are.
template <typename Make>
auto leastNamed(size_t count, int height, const std::vector<uint64_t> &uses,
                Make make) {
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  if (!uses.empty()) {
    std::stable_sort(order.begin(), order.end(), [&](size_t one, size_t other) {
      return uses[one] < uses[other];
    });
  }
  auto named = [&] {
    std::vector<AtomRef> names(count);
    for (size_t i = 0; i != count; ++i) {
      names[order[i]] = boundIndex(size_t(height) + i + 1);
    }
    return make(names, order);
  };
  auto best = named();
  while (!uses.empty() && nextOrder(order, uses)) {
    auto other = named();
    if (other.second < best.second) {
      best = std::move(other);
    }
  }
  return best.first;
}

} // namespace divisi::rewrite

#endif // DIVISI_LIB_PROVE_ELEMENTS_BOUNDINDICES_H
