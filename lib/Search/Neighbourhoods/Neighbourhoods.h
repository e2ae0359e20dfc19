//===- Neighbourhoods.h - Large-neighbourhood search ------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Large-neighbourhood search (P. Shaw, "Using constraint programming and local
// search methods to solve vehicle routing problems", CP 1998): most of the best
// assignment is held, the rest is solved again by the joint Lagrangian, whose
// bound also tells when nothing better is in the neighbourhood. Neighbourhoods:
//
//   ball    variables near a random one
//   window  variables next to each other in the program's order
//   fusion  all variables, each with the states of the best assignment and of
//           a few recent roundings (fusion moves: V. Lempitsky et al., PAMI
//           32(8), 2010)
//   cheap   all variables, each with the states whose reduced cost in the dual
//           is small (as relaxation-induced neighbourhoods: E. Danna et al.,
//           Mathematical Programming 102, 2005)
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_SEARCH_NEIGHBOURHOODS_NEIGHBOURHOODS_H
#define DIVISI_LIB_SEARCH_NEIGHBOURHOODS_NEIGHBOURHOODS_H

#include "lib/Search/Dual/Lagrangian.h"
#include "lib/Search/Graph/Incumbent.h"
#include "lib/Search/Graph/SubGraph.h"
#include "lib/Search/Run/Random.h"

#include <array>
#include <cmath>
#include <deque>
#include <functional>

namespace divisi::search {

/// Chooses neighbourhoods of an answer and searches them: see above.
class Neighbourhoods {
public:
  /// `graph` must outlive this.
  Neighbourhoods(const CostGraph &graph, uint64_t seed);

  /// Remembers a rounding, for fusion. Those of the last calls are kept.
  void remember(const Assignment &rounding);

  /// Tries neighbourhoods of `best` until `work` entries have been looked at,
  /// or `stopped`. Prices of `dual` (maybe empty) are where sub-problems start.
  /// Returns the work that was done.
  int64_t improve(Incumbent &best, const DualPoint &dual, int64_t work,
                  const std::function<bool()> &stopped);

  /// Neighbourhoods since the last one with something better in it.
  int64_t failures() const { return failures_; }

private:
  enum Kind { Ball, Window, Fusion, Cheap, kNumKinds };
  Kind pickKind();
  Domains makeDomains(Kind kind, const Incumbent &best, const DualPoint &dual);
  void openBall(Domains &domains, const Incumbent &best);
  void openWindow(Domains &domains, const Incumbent &best);
  void openFusion(Domains &domains, const Incumbent &best);
  void openCheap(Domains &domains, const Incumbent &best,
                 const DualPoint &dual);
  void open(Domains &domains, uint32_t variable) const;
  /// A neighbourhood that is being searched, maybe for several calls.
  struct Search {
    Kind kind;
    SubGraph sub;
    std::unique_ptr<Lagrangian> lagrangian;
    double before = 0; ///< What the best cost at the start.
  };
  bool begin(const Incumbent &best, const DualPoint &dual, int64_t &done);
  bool step(Incumbent &best);
  void end(const Incumbent &best);

  const CostGraph *graph_;
  Random random_;
  std::deque<Assignment> roundings_;
  std::array<double, kNumKinds> reward_{}; ///< Of each kind, decaying.
  std::unique_ptr<Search> current_;
  int64_t failures_ = 0;
};

} // namespace divisi::search

#endif // DIVISI_LIB_SEARCH_NEIGHBOURHOODS_NEIGHBOURHOODS_H
