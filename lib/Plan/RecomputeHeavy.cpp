//===- RecomputeHeavy.cpp - Large steps that compute again ----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Recomputer.h"

using namespace mlir;

namespace divisi::plan {

/// Whether it is so large beside that, that plans are made few times.
bool Recomputer::isHeavy() const {
  constexpr int64_t kMany = 2500;
  int64_t operators = 0;
  ModuleOp module = module_;
  module.walk([&](nn::LoopInterface) { ++operators; });
  return options_.pipelineStages == 1 && operators > kMany && isTight();
}

/// The plan of which globals alone keep to `limit`. At that of a device its
/// bound is one of all plans, whatever they compute again.
Expected<Candidate> Recomputer::planGlobals(int64_t limit) {
  PlanOptions options = options_;
  options.memoryLimit = limit;
  options.measure = nullptr;
  options.simulate = nullptr;
  options.countsGlobals = true;
  Candidate made;
  made.module = copyOf(module_);
  Expected<PlanReport> report = planOnce(*made.module, options);
  if (!report) {
    return report.status();
  }
  made.report = std::move(*report);
  return made;
}

/// Whether time is over, or a person ended it.
bool Recomputer::isOver() const {
  return options_.control.struck() != search::Stopped::Finished;
}

/// What to compute again at strategies that leave room for it: whose globals
/// take up to three quarters of `limit`, a half, and a quarter.
void Recomputer::decideBelow(const Candidate &least, int64_t limit) {
  constexpr double kNear = 0.02;
  int64_t bound = least.report.lowerBound, resident = INT64_MAX;
  for (int64_t most : {limit, limit / 2, limit / 4}) {
    if (most >= resident) {
      continue; // the plan before is that of this limit, too
    }
    std::optional<Candidate> made;
    if (most != limit) {
      Expected<Candidate> found = planGlobals(most);
      if (!found) {
        return;
      }
      made = std::move(*found);
      made->report.lowerBound = bound;
    }
    const Candidate &from = most == limit ? least : *made;
    resident = from.report.residentBytes;
    // Computing again only takes time.
    bool mayWin = !best_ || from.report.nanoseconds < best_->report.nanoseconds;
    if (mayWin && resident <= limit / 4 * 3) {
      decide(from, *from.module);
    }
    bool isNear = best_ && double(best_->report.nanoseconds) <=
                               (1 + kNear) * double(bound);
    if (isNear || isOver()) {
      return;
    }
  }
}

/// Without 1, which would be of three axes and far from any plan that fits: in
/// place of it plans of which only globals keep to a limit, the first of which
/// bounds all others better. 4 and 5 are only made where 3 finds nothing.
Expected<PlanReport> Recomputer::runHeavy() {
  isHeavy_ = true;
  Expected<Candidate> whole = plan(copyOf(module_), /*isLimited=*/true);
  if (whole) {
    offer(std::move(whole));
    return adopt();
  }
  first_ = whole.status();
  std::optional<int64_t> most = limit(module_);
  Expected<Candidate> least =
      most ? planGlobals(*most) : Expected<Candidate>(first_);
  if (!least) {
    return adopt();
  }
  estimate_ = least->report.nanoseconds;
  if (options_.control.wanted &&
      least->report.nanoseconds >= *options_.control.wanted) {
    return Status(ExitCode::NoPlan, "no plan takes as little as is wanted");
  }
  decideBelow(*least, *most);
  if (!best_) {
    decideAll(*least);
  }
  return adopt();
}

} // namespace divisi::plan
