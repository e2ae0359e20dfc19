//===- FewBatches.h - What few micro-batches tell of all --------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What devices hold under a pipeline, and what it takes, is known when all its
// micro-batches are written out and lowered. Once a pipeline is full it repeats
// itself, so that few of them, the first ones in the order that they have among
// all, tell the rest. Two numbers are written out, as many as fill the pipeline
// and one more, and twice as many, or, of orders in which each further one does
// the same, half as many as there are stages more:
//
//   memory   is that of the larger number. Where the schedule keeps more of
//            all than of these, as GPipe does, the rest grows in proportion
//   time     grows as that of the schedule's steps does, by the plan's prices.
//
// An order without a period, which a search has found, repeats nothing: it
// keeps other bytes of few micro-batches than of all, and a tenth of the time
// may be wrong. That is for programs that take minutes to schedule.
//
// On one stage micro-batches follow each other without a schedule: of many
// operators, two and four of them are written out.
//
// The scheduler takes any of the orders within 2 % of the fastest, which the
// difference of both would multiply. So both fetch weights equally far ahead.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_PLAN_FEWBATCHES_H
#define DIVISI_PLAN_FEWBATCHES_H

#include "divisi/Stages/PipelineSchedule.h"

#include "mlir/IR/BuiltinOps.h"

#include <cstdint>
#include <optional>

namespace divisi {

/// `schedule` with its first `count` micro-batches, at least 1, alone.
PipelineSchedule firstMicroBatches(const PipelineSchedule &schedule,
                                   size_t count);

/// See the file's head.
class FewBatches {
public:
  /// Of `module`, planned, whose micro-batches are not written out. Nothing if
  /// there are none, if several entries have some, if few are nearly all, or if
  /// all are soon lowered and the order has no period or is of one stage.
  static std::optional<FewBatches> of(mlir::ModuleOp module);

  /// Micro-batches to write out, the smaller number.
  int64_t fewer() const { return fewer_; }
  /// The larger one.
  int64_t more() const { return more_; }

  /// Whether these tell what devices hold of all.
  bool tellsMemory() const { return isPeriodic_; }
  /// Whether stages keep more of all than of more().
  bool growsMemory() const { return keptOfAll_ > keptOfMore_; }
  /// If growsMemory(): what a device holds of all, where it holds so many bytes
  /// of these.
  int64_t bytes(int64_t ofFewer, int64_t ofMore) const;
  /// What all take, where these take so long, in nanoseconds.
  int64_t nanoseconds(int64_t ofFewer, int64_t ofMore) const;

private:
  int64_t all_ = 0, fewer_ = 0, more_ = 0;
  bool isPeriodic_ = false;
  /// What stages keep of so many, in bytes.
  int64_t keptOfFewer_ = 0, keptOfMore_ = 0, keptOfAll_ = 0;
  /// What steps take of so many, by the plan's prices.
  int64_t stepsOfFewer_ = 0, stepsOfMore_ = 0, stepsOfAll_ = 0;
};

} // namespace divisi

#endif // DIVISI_PLAN_FEWBATCHES_H
