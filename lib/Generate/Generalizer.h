//===- Generalizer.h - Equations as rules -----------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An equation is found at the extents of a vocabulary, where many are equal.
// Which of them have to be equal follows from its operators (Extents.h). Where
// that guess fails, extents become names of their own, the fewest at once
// first, as long as both sides stay legal and equal at other values of the
// names. Then names become shapes, of any number of dims, as long as that holds
// at other ranks.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_GENERATE_GENERALIZER_H
#define DIVISI_LIB_GENERATE_GENERALIZER_H

#include "lib/Generate/Extents.h"

#include <optional>
#include <random>

namespace divisi::rewrite {

/// Makes rules of equations of one universe.
class Generalizer {
public:
  /// Of an equation with more leaves no rule is made.
  static constexpr size_t kMostLeaves = 7;

  /// Both outlive this.
  Generalizer(Universe &universe, Instantiator &instantiator)
      : universe_(universe), flows_(universe), instantiator_(instantiator) {}

  /// The equation with as many different leaves as it holds for.
  Equation separate(const Equation &equation);
  /// The equation with names for extents; nothing where it does not hold at
  /// the extents of the vocabulary, or has extents that rules cannot say.
  std::optional<Rule> run(const Equation &equation);
  /// The rule of the last run() with shapes for those names for which it can.
  Rule widen();

private:
  /// What the extents of the leaves are called: for each dim of each leaf the
  /// number of a name, or -1, which is the extent of the vocabulary.
  using Names = std::vector<std::vector<int>>;

  bool begin(const Equation &equation);
  bool guess(const Equation &equation);
  bool holdsInVocabulary(const Equation &equation);
  std::optional<rt::HostTensor>
  evaluateInVocabulary(const Sketch &side, std::vector<rt::HostTensor> values);
  void separateSome(const Equation &tree, std::vector<size_t> &names,
                    size_t leaf, size_t count);
  std::optional<Rule> build(const Names &names);
  std::optional<Rule> build(const Names &names, unsigned choice);
  void addVariables(const Names &names, Rule &rule) const;
  bool addSide(const Sketch &sketch, unsigned choice, const Names &names,
               Rule &rule, Graph &side);
  std::optional<Items> dimsOf(const Rule &rule, const Graph &side,
                              const std::string &value);
  std::optional<Expr> cutOf(const Expr &extent, bool isLast, Rule &rule) const;
  bool holds(const Rule &rule, const Ranks &ranks, bool isSmall);
  bool holdsAtRanks(const Rule &rule);
  void nameSome(Names &names, int64_t extent, size_t count);
  void mergeShapes();
  std::optional<Assignment> draw(const Rule &rule, const Ranks &ranks);
  Items itemsOf(const Names &names, size_t leaf) const;
  rt::Dims extentsOf(size_t leaf) const;
  std::string nameOf(int number) const;
  std::string valueName(const Sketch &sketch, size_t value) const;

  Universe &universe_;
  Flows flows_;
  Instantiator &instantiator_;
  Equation equation_;
  Names names_;
  int count_ = 0;             ///< Of names.
  std::vector<bool> isShape_; ///< Of names.
  std::optional<Rule> rule_;
  std::mt19937_64 random_;
};

} // namespace divisi::rewrite

#endif // DIVISI_LIB_GENERATE_GENERALIZER_H
