//===- Extents.h - Which extents have to be equal ---------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Trying all sets of extents takes hundreds of trials for each equation. Most
// constraints are known beforehand: which extents of its operands an operator
// requires to be equal, and on which the extents of its result depend, is asked
// of the operator once. The constraints of an equation follow by unification.
// That is a guess: where the operators of the equation do not accept it, or
// both sides are not equal, all sets are tried.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_GENERATE_EXTENTS_H
#define DIVISI_LIB_GENERATE_EXTENTS_H

#include "lib/Generate/Equation.h"

#include <map>
#include <optional>
#include <vector>

namespace divisi::rewrite {

/// What an operator says of extents.
struct Flow {
  /// The dims of its operands, counted through, by those that change together;
  /// others are as they are.
  std::vector<std::vector<size_t>> groups;
  /// Of each dim of the result: 1, and the extent of each group, so often.
  /// Nothing where it is no such sum.
  std::vector<std::optional<std::vector<int64_t>>> results;
};

/// Asks the operators of a vocabulary, each once.
class Flows {
public:
  /// Of `universe`, which outlives this.
  explicit Flows(Universe &universe) : universe_(universe) {}

  /// Of an operator on tensors of such forms, which takes them.
  const Flow &of(uint16_t op, const std::vector<TensorForm> &forms);

private:
  Flow ask(uint16_t op, const std::vector<TensorForm> &forms);

  Universe &universe_;
  std::map<std::pair<uint16_t, std::vector<rt::Dims>>, Flow> known_;
};

/// For each dim of each leaf the number of what has to be one extent, or -1
/// where it has to be what it is in the vocabulary. Nothing where no extent can
/// be any other.
std::optional<std::vector<std::vector<int>>>
guessExtents(Universe &universe, Flows &flows, const Equation &equation);

} // namespace divisi::rewrite

#endif // DIVISI_LIB_GENERATE_EXTENTS_H
