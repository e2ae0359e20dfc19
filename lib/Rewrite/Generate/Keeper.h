//===- Keeper.h - The rules that are kept -----------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_REWRITE_GENERATE_KEEPER_H
#define DIVISI_LIB_REWRITE_GENERATE_KEEPER_H

#include "divisi/Rewrite/Check.h"
#include "divisi/Rewrite/Generate.h"
#include "lib/Rewrite/Generate/Orient.h"

#include <vector>

namespace divisi::rewrite {

/// A rule that is kept.
struct Kept {
  Rule rule; ///< As it goes into the file.
  Gain gain = Gain::None;
  bool isProved = false;
  size_t operators = 0; ///< Of the equation that it was made of.
  size_t counts = 0;    ///< In which counts it is.
  std::vector<SymbolicRule> says; ///< At all its ranks.
};

/// All that are kept. The caller has no other threads.
class Keeper {
public:
  /// Proves rules from `axioms`.
  Keeper(const std::vector<Rule> &axioms, Instantiator &instantiator);

  /// Those that are kept, in order.
  const std::vector<Kept> &kept() const { return kept_; }

  /// Which of `questions` follow from those that are kept.
  std::vector<bool> areDerived(const std::vector<Obligations> &questions) const;

  /// Keeps what `wide` says, or where that is not proved and `narrow` is, what
  /// this says; if all gates that try rules let it pass.
  bool keep(const Rule &narrow, const Rule &wide, size_t operators,
            size_t counts);

  /// Drops those from number `first` on that the others say, the ones of the
  /// fewest variables first, for the others are more general.
  void dropDerived(size_t first, std::vector<GenerateCounts> &counts);

private:
  std::vector<SymbolicRule> said(const std::vector<bool> &isDropped) const;
  std::optional<Kept> finish(const Rule &rule, const Way &way);

  Instantiator &instantiator_;
  std::vector<SymbolicRule> axioms_;
  std::vector<Kept> kept_;
};

} // namespace divisi::rewrite

#endif // DIVISI_LIB_REWRITE_GENERATE_KEEPER_H
