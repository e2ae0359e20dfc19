//===- PipelineTrials.h - Pipelines that are compared -----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where nobody has said on how many stages micro-batches run, or of how many of
// them the batch is to be made, plans are made and scheduled for such numbers,
// and those of the one that takes least are taken, of equal ones the first:
//
//   micro-batches   the divisors of the batch up to 16, few first; of more, the
//                   first one that fits, where none of these does
//   stages          the divisors of the devices, of 2 to 16 micro-batches; of
//                   a prime number of devices also 2 and 3, of unequal sizes;
//                   where sizes are searched (--stage-devices auto), those that
//                   are best by what plans take, until two are not faster
//
// The model is imported again for each number of micro-batches: what its shapes
// then are, the model says. A number is discarded if operators alone take
// longer than the best time so far, though the devices shared them evenly: at
// the prices of plans, parts of an operator together take no less than it does.
// Programs are compared as they are, without rewriting.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_COMPILER_PIPELINETRIALS_H
#define DIVISI_LIB_COMPILER_PIPELINETRIALS_H

#include "divisi/Compiler/Compilation.h"
#include "divisi/Cost/TrialRecord.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace divisi {

/// Compares numbers of micro-batches and stages.
class Compilation::PipelineTrials {
public:
  /// For `source`, which the caller keeps, on `machine`.
  PipelineTrials(Compilation &source, const Cluster &machine)
      : source_(source), control_(source.options_.plan.control),
        kind_(fastestKind(machine)),
        devices_(
            source.options_.plan.grid.devices.value_or(machine.numDevices())) {}

  /// Compares the numbers of stages of the source, which has `batches`.
  Status tryStages(int64_t batches);
  /// Compares the numbers of micro-batches that `batch` rows can be.
  Status tryBatches(int64_t batch);
  /// The best number of stages; nothing if no plan fits.
  std::optional<int64_t> stages() const {
    return taken_ ? std::optional(records_[*taken_].stages) : std::nullopt;
  }
  /// The program with the best number of micro-batches, if there is one.
  std::unique_ptr<Compilation> takeProgram() { return std::move(best_); }
  /// Lets `plan` have so many.
  void setStages(int64_t stages, PlanOptions &plan) const;
  /// Notes what was compared on `module`.
  void note(mlir::ModuleOp module) const { setTrialRecords(module, records_); }

private:
  static std::unique_ptr<Compilation> withoutDumps(Compilation &program);
  bool isOver() const { return control_.struck() != search::Stopped::Finished; }
  bool mayBeUnequal() const;
  bool searchesSizes(int64_t batches) const;
  std::vector<int64_t> stagesOf(int64_t batches) const;
  Status tryOne(Compilation &program, int64_t batches, int64_t stages);
  Status tryCount(int64_t batches);
  Status tryOthers(Compilation &program, int64_t batches);
  bool isWorthwhile(Compilation &program, int64_t batches, int64_t stages);
  Expected<int64_t> boundOf(Compilation &program, int64_t batches);
  void leaveOut(int64_t batches, const std::string &why);

  Compilation &source_;
  const PlanControl &control_;
  DeviceKind kind_; ///< Of the fastest devices.
  int64_t devices_;
  std::vector<TrialRecord> records_;
  std::optional<size_t> taken_; ///< Of records_.
  std::unique_ptr<Compilation> best_;
};

} // namespace divisi

#endif // DIVISI_LIB_COMPILER_PIPELINETRIALS_H
