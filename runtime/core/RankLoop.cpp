//===- RankLoop.cpp - Running a loop --------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/RankLoop.h"

using namespace divisi;
using namespace divisi::rt;

/// How often the body runs: the same on all ranks, or an error on all of them.
Expected<int64_t> TaskRunner::agreeOnCount(const RankTask &task) {
  RankLoop &loop = *task.loop;
  int64_t count = *static_cast<const int64_t *>(task.operands[0]);
  if (loop.agreement) {
    loop.own[0] = count;
    loop.own[1] = ~count;
    Status status = runStep(*program_.communicator, *loop.agreement, loop.own,
                            loop.largest);
    if (!status.isOk()) {
      return status;
    }
    int64_t most = loop.largest[0], least = ~loop.largest[1];
    if (most != least) {
      return makeError(ExitCode::Invalid, program_.nodeAt(task.instruction),
                       " is to run ", least, " times on one rank and ", most,
                       " times on another");
    }
  }
  if (count < 0 || count > loop.most) {
    return makeError(ExitCode::Invalid, program_.nodeAt(task.instruction),
                     " is to run ", count, " times, expected 0 to ", loop.most);
  }
  return count;
}

/// Keeps the first fault of the body as one of this program.
void TaskRunner::adoptFault(const RankTask &task) {
  const RankLoop &loop = *task.loop;
  if (loop.body->indexFault() && !indexFault_) {
    indexFault_ = loop.body->indexFault();
    uint64_t at[] = {task.instruction, static_cast<uint64_t>(loop.index)};
    indexFault_->at.insert(indexFault_->at.begin(), std::begin(at),
                           std::end(at));
  }
}

/// Until the device has copied what the loop begins with.
Status TaskRunner::awaitFirst(const RankLoop &loop) {
  if (!loop.queue) {
    return {};
  }
  Status status = loop.device->record(*loop.queue, *loop.copied);
  auto check = [&] { return program_.checkGoesOn(); };
  return status.isOk() ? finish(*loop.device, *loop.copied, check) : status;
}

/// Brings the carried values to where the first iteration reads them.
Status TaskRunner::copyFirst(RankTask &task, std::span<void *const> to) {
  RankLoop &loop = *task.loop;
  uint64_t progress = progress_.load(std::memory_order_relaxed);
  progress_.store(progress + 1, std::memory_order_relaxed); // it works
  Status status;
  for (size_t i = 0; i < to.size() && status.isOk(); ++i) {
    if (loop.first[i].bytes() != 0) {
      status = loop.devices[i]->copyBox(loop.queue.get(), loop.first[i],
                                        task.operands[1 + i], to[i]);
    }
  }
  Status copied = awaitFirst(loop);
  progress_.store(progress, std::memory_order_relaxed);
  return (status.isOk() ? copied : status).in(program_.whereIs(task));
}

Status TaskRunner::runLoop(RankTask &task) {
  RankLoop &loop = *task.loop;
  Expected<int64_t> count = agreeOnCount(task);
  if (!count) {
    return count.status();
  }
  bool isInResults = *count % 2 == 0;
  auto place = [&](size_t value, bool inResults) {
    return inResults ? task.results[value] : loop.spares[value];
  };
  size_t carried = task.results.size();
  for (size_t i = 0; i < carried; ++i) {
    loop.outputs[i] = place(i, isInResults);
  }
  Status status = copyFirst(task, loop.outputs);
  if (!status.isOk()) {
    return status;
  }
  // The first is the iteration instead of the count.
  loop.inputs.assign(task.operands.begin(), task.operands.end());
  loop.inputs[0] = &loop.index;
  loop.body->beginLoop();
  inner_.store(loop.body.get(), std::memory_order_relaxed);
  for (loop.index = 0; status.isOk() && loop.index < *count; ++loop.index) {
    for (size_t i = 0; i < carried; ++i) {
      loop.inputs[1 + i] = place(i, isInResults);
      loop.outputs[i] = place(i, !isInResults);
    }
    isInResults = !isInResults;
    status = loop.body->iterate(loop.inputs, loop.outputs);
    adoptFault(task);
  }
  if (!status.isOk()) {
    loop.body->awaitDevices();
  }
  inner_.store(nullptr, std::memory_order_relaxed);
  waitingTime_ += loop.body->waitingTime();
  return status;
}
