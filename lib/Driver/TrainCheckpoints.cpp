//===- TrainCheckpoints.cpp - Checkpoints of a run ------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TrainCheckpoints.h"

#include "Console.h"

#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace divisi;

std::string TrainCheckpoints::lastText() const {
  return last_.empty() ? "; there is no checkpoint"
                       : "; the last checkpoint is '" + last_ + "'";
}

/// As the first process sees them: another may do so a moment later.
divisi::Expected<std::vector<std::string>> TrainCheckpoints::find() const {
  auto own = rt::findCheckpoints(folder_);
  Status status = flags_.agree(own.status());
  if (!status.isOk()) {
    return status;
  }
  auto text = flags_.gather(flags_.isFirst() ? join(*own, "\n") : "");
  if (!text) {
    return text.status();
  }
  std::vector<std::string> paths;
  for (StringRef rest = *text; !rest.empty();) {
    auto [path, behind] = rest.split('\n');
    paths.push_back(path.str());
    rest = behind;
  }
  return paths;
}

Status TrainCheckpoints::refuseOthers() const {
  auto paths = find();
  if (!paths || paths->empty()) {
    return paths.status();
  }
  return makeError(ExitCode::Usage, "there is a checkpoint already, '",
                   paths->front(),
                   "'; --resume goes on from it, and --checkpoint names "
                   "another folder");
}

divisi::Expected<std::optional<rt::TrainingState>> TrainCheckpoints::resume() {
  auto paths = find();
  if (!paths) {
    return paths.status();
  }
  Status damage;
  for (const std::string &path : *paths) {
    auto checkpoint = rt::Checkpoint::open(path);
    Status status = flags_.agree(checkpoint.status());
    if (status.isOk()) {
      status = flags_.agree(checkpoint->checkProgram(session_));
    }
    if (status.isOk()) {
      status = flags_.agree(checkpoint->load(session_));
    }
    if (status.isOk()) {
      last_ = path;
      lastStep_ = checkpoint->training().step;
      return std::optional(checkpoint->training());
    }
    if (status.code() != ExitCode::Invalid && status.code() != ExitCode::File) {
      return status;
    }
    if (flags_.isFirst()) {
      sayWarning() << "the checkpoint '" << path
                   << "' is not used: " << status.message();
    }
    damage = status;
  }
  return damage.isOk() ? divisi::Expected(std::optional<rt::TrainingState>())
                       : makeError(ExitCode::Invalid, "no checkpoint in '",
                                   folder_, "' is good");
}

Status TrainCheckpoints::write(const std::string &path,
                               const rt::TrainingState &training) {
  Status status =
      flags_.agree(flags_.isFirst() ? rt::beginCheckpoint(path) : Status());
  if (!status.isOk()) {
    return status;
  }
  auto written = rt::writeStateFiles(path, session_);
  status = flags_.agree(written.status());
  if (!status.isOk()) {
    return status;
  }
  auto all = flags_.gather(*written);
  if (!all) {
    return all.status();
  }
  return flags_.agree(flags_.isFirst()
                          ? rt::endCheckpoint(path, session_, training, *all)
                          : Status());
}

/// What a killed run has left, too.
void TrainCheckpoints::removeOld() {
  if (!flags_.isFirst()) {
    return;
  }
  Status status = rt::removeOldCheckpoints(folder_, keep_);
  if (!status.isOk()) {
    sayWarning() << "old checkpoints stay: " << status.message();
  }
}

Status TrainCheckpoints::save(const rt::TrainingState &training) {
  if (lastStep_ == training.step) {
    removeOld();
    return {};
  }
  std::string path = rt::checkpointPath(folder_, training.step);
  Status status = write(path, training);
  if (!status.isOk()) {
    if (flags_.isFirst()) {
      (void)rt::removeCheckpoint(path); // what is left is no checkpoint
    }
    return status.message().empty()
               ? status
               : makeError(status.code(), "step ", training.step,
                           ": the checkpoint could not be saved: ",
                           status.message(), lastText());
  }
  last_ = path;
  lastStep_ = training.step;
  removeOld();
  return {};
}
