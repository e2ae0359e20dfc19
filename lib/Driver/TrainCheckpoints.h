//===- TrainCheckpoints.h - Checkpoints of a run ----------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_DRIVER_TRAINCHECKPOINTS_H
#define DIVISI_LIB_DRIVER_TRAINCHECKPOINTS_H

#include "Sessions.h"
#include "divisi/runtime/training/Checkpoint.h"

namespace divisi {

/// The checkpoints of one training, which its processes write and read
/// together, in a folder that all of them see.
class TrainCheckpoints {
public:
  /// In `folder`, of which the newest `keep` stay. What it refers to outlives
  /// it.
  TrainCheckpoints(const SessionFlags &flags, rt::Session &session,
                   std::string folder, int64_t keep)
      : flags_(flags), session_(session), folder_(std::move(folder)),
        keep_(keep) {}

  /// Gives the session the values of the newest good checkpoint, and says of
  /// newer ones why they are none; nothing where there is no checkpoint.
  /// ExitCode::Invalid where none is good, Usage where they are of another
  /// program.
  Expected<std::optional<rt::TrainingState>> resume();
  /// ExitCode::Usage if there are some: nobody has asked to go on from them.
  Status refuseOthers() const;
  /// Writes one, and removes those that are too many.
  Status save(const rt::TrainingState &training);
  /// The step of the last that was written or read; nothing if none was.
  std::optional<int64_t> lastStep() const { return lastStep_; }
  /// `; the last checkpoint is 'c/step-0000000030'`, or that there is none.
  std::string lastText() const;

private:
  Expected<std::vector<std::string>> find() const;
  Status write(const std::string &path, const rt::TrainingState &training);
  void removeOld();

  const SessionFlags &flags_;
  rt::Session &session_;
  std::string folder_;
  int64_t keep_;
  std::string last_;
  std::optional<int64_t> lastStep_;
};

} // namespace divisi

#endif // DIVISI_LIB_DRIVER_TRAINCHECKPOINTS_H
