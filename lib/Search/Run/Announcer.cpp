//===- Announcer.cpp - Tells listeners of answers and bounds --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Announcer.h"

#include <cmath>

namespace divisi::search {

Progress Announcer::line(std::string_view by) const {
  Progress line;
  line.seconds = budget_.seconds();
  line.work = budget_.spent();
  line.by = by;
  return line;
}

void Announcer::answer(const Solution &solution, std::string_view by) {
  if (!options_.onProgress) {
    return;
  }
  Progress progress = line(by);
  progress.cost = solution.cost;
  progress.lowerBound = told_;
  progress.improved = &solution;
  options_.onProgress(progress);
}

/// Floating point may be a little above what a certificate will prove, so a
/// millionth less is told.
void Announcer::bound(double bound, const Solution *best, double cost,
                      std::string_view by) {
  if (!options_.onProgress || !(bound > highest_) ||
      (std::isinf(bound) && !best)) {
    return;
  }
  highest_ = bound;
  Progress progress = line(by);
  double safe = best ? std::min(bound, cost) : bound;
  safe -= 1e-6 * std::abs(safe);
  if (best) {
    progress.cost = best->cost;
  }
  constexpr double most = 1e36; // That 128 bits hold.
  if (std::abs(safe) < most) {
    progress.lowerBound = Wide(std::floor(safe));
    if (progress.cost) {
      progress.lowerBound = std::min(*progress.lowerBound, *progress.cost);
    }
    told_ = progress.lowerBound;
  }
  options_.onProgress(progress);
}

} // namespace divisi::search
