//===- Choices.h - The strategies to choose from ----------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every operator may be split in the ways that its loops allow and the options
// leave; a value at rest may lie as its maker leaves it, as a user wants it, or
// in a few ways of its own.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PLAN_CHOICES_H
#define DIVISI_LIB_PLAN_CHOICES_H

#include "KindMemory.h"
#include "LayoutPool.h"

#include "divisi/Cluster/DeviceGrid.h"
#include "divisi/Plan/Dataflow.h"

#include <map>
#include <memory>

namespace divisi::plan {

/// What an operator takes more where an end of it is not fused; nothing where
/// it is a view and no end can be.
using ApartTime = std::optional<int64_t>;

/// The strategies of an operator and what follows from them.
struct SiteChoices {
  std::vector<Split> splits; ///< The strategies, by number.
  /// Legal splits that are not among them, as there are too many.
  size_t leftOut = 0;
  /// With every end fused that may be; see OpTime.
  std::vector<int64_t> nanoseconds;
  /// What it takes more where that end is not fused; empty without one.
  std::vector<ApartTime> operandApart, resultApart;
  /// Per kind of devices, per split: what the results take on the fullest of
  /// them; a view takes nothing.
  std::vector<std::vector<int64_t>> resultBytes;
  /// Per operand or result, per split: the layout's number in its class.
  std::vector<std::vector<unsigned>> operands, results;
};

/// Which splits the options leave.
struct SplitRules {
  llvm::SmallVector<AxisRole, 4> roles; ///< Per axis of the grid.
  size_t maxStrategies = 1024;          ///< As PlanOptions has it.
  /// By how many nanoseconds an operator may take more than at least, all its
  /// repeats together; any number if not said.
  std::optional<int64_t> slack;
};

/// Makes and remembers the choices of operators.
class ChoiceMaker {
public:
  /// For operators on `grid`. `grid`, `pace` and `pool` must outlive it; `pool`
  /// gets the layouts that it meets.
  ChoiceMaker(const Grid &grid, const GridPace &pace, SplitRules rules,
              LayoutPool &pool, KindMemories memories = KindMemories(1))
      : grid_(grid), pace_(pace), rules_(std::move(rules)), pool_(pool),
        memories_(std::move(memories)) {}

  /// The choices of `site`: those of its loops, or `fixed` alone.
  std::shared_ptr<const SiteChoices> choicesOf(const Site &site,
                                               const Split *fixed);

  /// `choices` of `site`, and `split` if it is none of them.
  std::shared_ptr<const SiteChoices>
  choicesWith(const Site &site, std::shared_ptr<const SiteChoices> choices,
              const Split &split);

  /// The legal splits that the rules leave, the cheapest `maxStrategies` of
  /// them, in the order of enumeration, and how many others there are. Never
  /// empty. SplitRules::slack is none of these rules.
  std::vector<Split> splitsOf(const Site &site,
                              size_t *leftOut = nullptr) const;

  /// The least that `site` takes once, of all splits that the rules leave.
  int64_t leastNanoseconds(const Site &site);

  /// Of `places`, those that are split over as many devices of data axes as
  /// possible, but no more than `most`.
  void keepZeroPlaces(unsigned tensorClass, int64_t most,
                      std::vector<unsigned> &places) const;

  /// Of the places of a parameter that `site` reads, those to leave where model
  /// axes are to share it.
  void keepSharedPlaces(const Site &site, unsigned tensorClass,
                        std::vector<unsigned> &places) const;

private:
  int64_t placeDegree(unsigned tensorClass, unsigned place,
                      AxisRole role) const;
  bool obeysRoles(const Site &site, const Split &split) const;
  int64_t degree(const Site &site, AxisRole role, const Split &split) const;
  void keepFullest(const Site &site, AxisRole role,
                   std::vector<Split> &splits) const;
  std::shared_ptr<const SiteChoices>
  evaluate(const Site &site, std::vector<Split> splits, size_t leftOut = 0);
  void keepWithinSlack(const Site &site, std::vector<Split> &splits);

  Grid grid_;
  GridPace pace_;
  SplitRules rules_;
  LayoutPool &pool_;
  KindMemories memories_;
  /// Kind, and the operands and results that may be fused.
  using KindKey = std::tuple<unsigned, llvm::SmallVector<unsigned, 1>,
                             llvm::SmallVector<unsigned, 1>>;
  KindKey keyOf(const Site &site) const;
  /// By kind, and by the repeats where these make a difference.
  std::map<std::pair<KindKey, int64_t>, std::shared_ptr<const SiteChoices>>
      known_;
  std::map<KindKey, int64_t> least_;
};

} // namespace divisi::plan

#endif // DIVISI_LIB_PLAN_CHOICES_H
