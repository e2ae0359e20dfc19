//===- Communicator.cpp - One step from beginning to end ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/comm/Communicator.h"
#include "divisi/runtime/device/Device.h"

using namespace divisi;
using namespace divisi::rt;

Expected<std::unique_ptr<DeviceMemory>>
Communicator::allocate(uint32_t, Device &device, int64_t bytes) {
  return device.allocate(bytes);
}

Expected<std::unique_ptr<QueuedStep>>
Communicator::prepareQueued(const StepDesc &step, size_t, Device &) {
  return makeError(ExitCode::Unsupported, step.location,
                   ": the communicator does not reach device memory");
}

Expected<LoneStep> LoneStep::prepare(Communicator &communicator,
                                     const StepDesc &step, size_t self) {
  LoneStep made;
  Expected<std::unique_ptr<CommStep>> share = communicator.prepare(step, self);
  if (!share) {
    return share.status();
  }
  made.step_ = std::move(*share);
  Expected<AlignedBytes> workspace =
      AlignedBytes::allocate(made.step_->workspaceBytes());
  if (!workspace) {
    return workspace.status().in(step.location);
  }
  made.workspace_ = std::move(*workspace);
  made.step_->setWorkspace(made.workspace_.data());
  return made;
}

Status divisi::rt::runStep(Communicator &communicator, CommStep &step,
                           const void *source, void *result) {
  if (Status status = step.start(source, result); !status.isOk()) {
    return status;
  }
  CommStep *const steps[] = {&step};
  while (true) {
    Expected<bool> isDone = step.poll();
    if (!isDone || *isDone) {
      return isDone ? Status() : isDone.status();
    }
    communicator.wait(steps);
  }
}
