//===- PortfolioRun.h - One run of the default solver -----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Portfolio.cpp has the rounds, PortfolioRun.cpp what comes before and after.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_SEARCH_PORTFOLIORUN_H
#define DIVISI_LIB_SEARCH_PORTFOLIORUN_H

#include "Portfolio.h"

#include "lib/Search/Branching/BranchAndBound.h"
#include "lib/Search/Feasibility/MemoryFirst.h"
#include "lib/Search/Fold/FoldedSearch.h"
#include "lib/Search/Neighbourhoods/Crossover.h"
#include "lib/Search/Neighbourhoods/Neighbourhoods.h"
#include "lib/Search/Run/Announcer.h"

namespace divisi::search {

/// One run of the ingredients on a problem.
class Portfolio {
public:
  /// All must outlive this.
  Portfolio(const Problem &problem, const Options &options,
            Ingredients ingredients)
      : problem_(problem), options_(options), ingredients_(ingredients),
        budget_(options), moreWork_(options.moreWork),
        announcer_(options, budget_) {}
  /// Reduces, searches in rounds, and certifies what was found.
  Outcome run();

private:
  bool stopped() const;
  void round();
  int64_t workOnDual(int64_t work);
  int64_t workOnAnswers(int64_t work);
  void workOnBoth(const std::function<int64_t()> &first,
                  const std::function<int64_t()> &second);
  void adopt(Assignment assignment, double cost, std::string_view by);
  void report();
  bool proved() const;
  bool goesOn();
  bool isExhausted() const;
  double bound() const;
  double searchedBound() const;
  void startFolded();
  void restartDual();
  void lookAtMemory();
  void searchRound();
  void branchRound();
  double certifyingTime() const;
  void certify(Outcome &outcome);
  Outcome finish();

  /// Rounds grow from here to kLastRound, in entries of tables: a fiftieth of a
  /// second or so, that the first answers are seen early.
  static constexpr int64_t kFirstRound = 1'000'000, kLastRound = 60'000'000;

  const Problem &problem_;
  const Options &options_;
  Ingredients ingredients_;
  Budget budget_;
  int64_t moreWork_; ///< Of Options::moreWork, what is left.
  Announcer announcer_;
  Reduction reduction_;
  ReducedGraph reduced_;
  FoldedStart folded_; ///< Without a bound if nothing was folded.
  std::optional<Lagrangian> dual_;
  std::optional<MemoryFirst> memory_;
  std::optional<Neighbourhoods> neighbourhoods_;
  std::optional<BranchAndBound> branching_;
  Incumbent best_;
  Solution solution_; ///< Of best_, exactly.
  std::optional<Crossover> crossover_;
  std::vector<Assignment> roundings_;
  Incumbent rounded_, improved_; ///< Of task one, and of task two.
  DualPoint start_;              ///< What task two sees of task one.
  int64_t roundWork_ = kFirstRound;
  double boundAtRestart_ = -std::numeric_limits<double>::infinity();
  int64_t wholeEntries_ = 0; ///< Of the tables that a certificate covers.
  double startedAt_ = 0;     ///< When the first round began, in seconds.
  double reserve_ = 0;       ///< Seconds kept for the certificate.
  int rounds_ = 0;
  bool infeasible_ = false, shortageTried_ = false;
};

} // namespace divisi::search

#endif // DIVISI_LIB_SEARCH_PORTFOLIORUN_H
