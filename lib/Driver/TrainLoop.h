//===- TrainLoop.h - Running training steps ---------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_DRIVER_TRAINLOOP_H
#define DIVISI_LIB_DRIVER_TRAINLOOP_H

#include "Sessions.h"
#include "TrainReport.h"
#include "divisi/runtime/training/BatchReader.h"
#include "divisi/runtime/training/StateCopy.h"

#include <functional>

namespace divisi {

/// Runs steps on batches, one after the other.
class TrainLoop {
public:
  /// What is done behind each step.
  using AfterStep = std::function<Status(const StepResult &)>;

  /// Steps of `loaded`, which reads `folder` for the inputs that are not
  /// `fixed`. What it refers to outlives it.
  TrainLoop(const SessionFlags &flags, const LoadedEntry &loaded,
            const rt::DataFolder &folder,
            const std::map<size_t, rt::HostTensor> &fixed)
      : flags_(flags), loaded_(loaded), folder_(folder), fixed_(fixed) {}

  /// Which output is the loss: the one of that name, or the only number of
  /// floats. ExitCode::Usage if nothing is trained, or no output is a loss.
  Status findLoss();

  /// From now on a step whose loss is not finite, or what it has made of the
  /// state, is undone, not an error. Costs a copy and a look at all of the
  /// state in each step.
  void skipNonfinite() { before_.emplace(*loaded_.session); }

  /// The state behind `step` is finite, as a checkpoint of it was written.
  void knowFinite(int64_t step) { finiteAt_ = step; }

  /// Runs the steps behind `done` up to `last`, from `position` on in the order
  /// of `seed`, or to the step in which an interrupt comes. Fails as
  /// rt::Session::run does, as `after` does, and with Invalid at the first loss
  /// that is not finite.
  Status run(int64_t done, int64_t last, uint64_t seed,
             rt::DataPosition position, const AfterStep &after);

private:
  Status runStep(const rt::Batch &batch, StepResult &result);
  Status checkLoss(StepResult &result);
  void readNumbers(const std::vector<rt::HostTensor> &parts,
                   StepResult &result) const;
  std::string blame(const std::string &message, const rt::Batch &batch) const;

  const SessionFlags &flags_;
  const LoadedEntry &loaded_;
  const rt::DataFolder &folder_;
  const std::map<size_t, rt::HostTensor> &fixed_;
  size_t loss_ = 0;
  int64_t finiteAt_ = 0; ///< Behind this step the state is known to be finite.
  std::vector<size_t> numbers_; ///< Outputs that are one number.
  bool isKnown_ = true;         ///< The loss, to each process by itself.
  /// Before the step, where steps are undone.
  std::optional<rt::StateCopy> before_;
};

} // namespace divisi

#endif // DIVISI_LIB_DRIVER_TRAINLOOP_H
