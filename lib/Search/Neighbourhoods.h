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

#ifndef LIB_SEARCH_NEIGHBOURHOODS_H
#define LIB_SEARCH_NEIGHBOURHOODS_H

#include "Lagrangian.h"
#include "Random.h"
#include "SubModel.h"

#include <array>
#include <cmath>
#include <deque>
#include <functional>

namespace divisi::search {

/// An assignment and what it costs.
struct Incumbent {
  Assignment assignment;
  double cost = std::numeric_limits<double>::infinity();
  bool exists() const { return cost < std::numeric_limits<double>::infinity(); }
};

/// Bounds this near to `cost` close the gap: costs are integers, but floating
/// point sees only so many digits.
inline double toleranceOf(double cost) {
  double digits = 1e-9 * std::abs(cost);
  return std::max(1 - digits, digits);
}

class Neighbourhoods {
public:
  /// `model` must outlive this.
  Neighbourhoods(const Model &model, uint64_t seed);

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
    SubModel sub;
    std::unique_ptr<Lagrangian> lagrangian;
    double before = 0; ///< What the best cost at the start.
  };
  bool begin(const Incumbent &best, const DualPoint &dual, int64_t &done);
  bool step(Incumbent &best);
  void end(const Incumbent &best);

  const Model *model_;
  Random random_;
  std::deque<Assignment> roundings_;
  std::array<double, kNumKinds> reward_{}; ///< Of each kind, decaying.
  std::unique_ptr<Search> current_;
  int64_t failures_ = 0;
};

} // namespace divisi::search

#endif // LIB_SEARCH_NEIGHBOURHOODS_H
