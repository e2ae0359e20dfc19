//===- RankProgram.cpp - Walking one rank's instructions ------------------===//
//
// Part of Divisi, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/RankProgram.h"

#include <chrono>

using namespace divisi;
using namespace divisi::rt;

static int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void RankProgram::setExtraWorkspace(void *workspace) {
  for (Step &step : steps_) {
    if (step.wantsExtraWorkspace) {
      step.workspace = workspace;
    }
  }
}

void RankProgram::bind(std::span<const HostTensor> inputs,
                       std::span<HostTensor> outputs) {
  std::map<uint32_t, const std::byte *> addresses;
  for (auto &[index, slice] : inputs_) {
    const std::byte *source = inputs[index].data();
    if (slice.staging.size() != 0) {
      slice.copy.run(source, slice.staging.data());
      addresses[index] = slice.staging.data();
    } else if (slice.copy.bytes() != 0) {
      addresses[index] = source + slice.copy.sourceOffset();
    } else {
      addresses[index] = nullptr;
    }
  }
  for (const Patch &patch : inputPatches_) {
    (this->*patch.list)[patch.step].operands[patch.operand] =
        addresses[patch.value];
  }
  for (const Patch &patch : outputPatches_) {
    steps_[patch.step].results[0] = outputs[patch.value].data();
  }
}

Status RankProgram::failed(size_t instruction) const {
  return makeError(ExitCode::Device,
                   describeInstruction(*entry_, programIndex_, instruction),
                   ", rank ", rank_,
                   ": the kernel failed; no result of this run is valid");
}

Status RankProgram::runStep(Step &step) {
  switch (step.kind) {
  case Step::Kind::Call:
    if (!step.kernel->launch(step.operands, step.results, step.workspace)) {
      return failed(step.instruction);
    }
    break;
  case Step::Kind::Comm:
    return step.comm->run(step.operands[0], step.results[0]);
  case Step::Kind::Copy:
    for (const BoxCopy &copy : step.copies) {
      copy.run(static_cast<const std::byte *>(step.operands[0]),
               static_cast<std::byte *>(step.results[0]));
    }
    break;
  case Step::Kind::Fill:
    fillNeutral(step.fillType, step.fillKind, step.results[0], step.fillCount);
    break;
  }
  return {};
}

Status RankProgram::run() {
  for (size_t i = 0; i < steps_.size(); ++i) {
    if (!events_.empty()) {
      events_[i].begin = now();
    }
    if (Status status = runStep(steps_[i]); !status.isOk()) {
      return status;
    }
    if (!events_.empty()) {
      events_[i].end = now();
    }
  }
  if (!endBarrier_) {
    return {};
  }
  // Before this, another rank may still read what is updated here.
  if (Status status = endBarrier_->run(nullptr, nullptr); !status.isOk()) {
    return status;
  }
  for (Step &update : updates_) {
    if (Status status = runStep(update); !status.isOk()) {
      return status;
    }
  }
  return {};
}
