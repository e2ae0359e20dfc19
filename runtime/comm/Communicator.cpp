//===- Communicator.cpp - One step from beginning to end ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/Communicator.h"

using namespace divisi;
using namespace divisi::rt;

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
