//===- QueueOrder.cpp - Which instructions have ended ---------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/artifact/QueueOrder.h"

#include <algorithm>

using namespace divisi;
using namespace divisi::rt;
namespace pb = divisi::artifact;

/// Numbers in all clocks: 1 GiB of them.
static constexpr size_t maxClockNumbers = size_t(1) << 28;

Status QueueOrder::begin(const pb::Program &program) {
  program_ = &program;
  std::map<uint32_t, uint32_t> queues;
  for (const pb::Instruction &instruction : program_->instructions()) {
    auto number = static_cast<uint32_t>(queues.size());
    queueOf_.push_back(
        queues.try_emplace(instruction.queue(), number).first->second);
  }
  if (queueOf_.size() * queues.size() > maxClockNumbers) {
    return makeError(ExitCode::Invalid, queueOf_.size(), " instructions on ",
                     queues.size(), " queues are too many to be checked");
  }
  last_.assign(queues.size(), -1);
  return {};
}

QueueOrder::Clock QueueOrder::clock() const {
  Clock clock(last_.size());
  auto join = [&](int other) {
    for (size_t queue = 0; queue < clock.size(); ++queue) {
      clock[queue] = std::max(clock[queue], ended_[other][queue]);
    }
  };
  if (int last = last_[queueOf_[next()]]; last >= 0) {
    join(last);
  }
  for (uint32_t other : program_->instructions(next()).after()) {
    join(static_cast<int>(other));
  }
  return clock;
}

void QueueOrder::advance(Clock before) {
  uint32_t queue = queueOf_[next()];
  ++before[queue];
  last_[queue] = next();
  ended_.push_back(std::move(before));
}
