//===- Keeper.h - The rules that are kept -----------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_GENERATE_KEEPER_H
#define DIVISI_LIB_GENERATE_KEEPER_H

#include "divisi/Generate/Generate.h"
#include "divisi/Prove/Check.h"
#include "lib/Generate/Orient.h"

#include <memory>
#include <vector>

namespace divisi::rewrite {

/// A rule that is kept.
struct Kept {
  Rule rule;                      ///< As it goes into the file.
  Gain gain = Gain::None;         ///< What it is for.
  bool isProved = false;          ///< Else it is tested.
  size_t operators = 0;           ///< Of the equation that it was made of.
  size_t counts = 0;              ///< In which counts it is.
  std::vector<SymbolicRule> says; ///< At all its ranks.
};

/// A prover of what follows from those of `rules` that are about tensors of no
/// more than `mostDims` dims, ready for answerInChild.
std::unique_ptr<Prover> proverFrom(const std::vector<SymbolicRule> &rules,
                                   size_t mostDims, unsigned work);

/// All that are kept. The caller has no other threads.
class Keeper {
public:
  /// Proves rules from `axioms`.
  Keeper(const std::vector<Rule> &axioms, Instantiator &instantiator);

  /// Those that are kept, in order.
  const std::vector<Kept> &kept() const { return kept_; }

  /// From now on questions are about tensors of no more dims than that.
  void enter(size_t mostDims);
  /// Which of `questions` follow from those that are kept.
  std::vector<bool> areDerived(const std::vector<Obligations> &questions);

  /// Keeps what `wide` says, or where a gate that tries rules refuses that,
  /// what `narrow` says; if it passes.
  bool keep(const Rule &narrow, const Rule &wide, size_t operators,
            size_t counts);

  /// Keeps what was kept elsewhere, which says nothing yet.
  void add(Kept kept);

  /// Drops those from number `first` on that the others say, the ones of the
  /// fewest variables first, for the others are more general. By `jobs`
  /// processes.
  void dropDerived(size_t first, std::vector<GenerateCounts> &counts,
                   size_t jobs);

  /// Finds by `jobs` processes which are proved, by elements or by axioms; the
  /// others say that they are open.
  void prove(size_t jobs);

private:
  bool isFollowed(const Rule &rule);
  void removeDropped(const std::vector<bool> &isDropped,
                     std::vector<GenerateCounts> &counts);
  std::optional<Kept> finish(const Rule &rule, const Way &way);

  Instantiator &instantiator_;
  std::vector<Rule> axioms_;
  std::vector<SymbolicRule> definitions_; ///< What they say of operators.
  std::vector<Kept> kept_;
  size_t mostDims_ = kMostDims;
  std::unique_ptr<Prover> prover_; ///< Of those that are kept.
};

} // namespace divisi::rewrite

#endif // DIVISI_LIB_GENERATE_KEEPER_H
