//===- RankPlaces.cpp - What a rank is at, for messages -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/RankLoop.h"

using namespace divisi;
using namespace divisi::rt;

std::string RankProgram::locationAt(size_t instruction) const {
  return describeInstruction(*entry_, programIndex_, instruction) + ", rank " +
         std::to_string(rank_);
}

std::string RankProgram::whereIs(const Task &task) const {
  std::string where = locationAt(task.instruction);
  if (!task.queue) {
    return where;
  }
  switch (task.kind) {
  case Task::Kind::Comm:
    return where + ", a step";
  case Task::Kind::Copy:
    return where + ", a copy";
  case Task::Kind::Fill:
    return where + ", a fill";
  default: // a device does nothing else
    break;
  }
  const artifact::Program &program = *entry_->programs[programIndex_].message;
  return where + ", " +
         resolved_->nameOf(program.instructions(int(task.instruction)).call());
}

std::string RankProgram::nodeAt(size_t instruction) const {
  const artifact::Instruction &message =
      entry_->programs[programIndex_].message->instructions(
          static_cast<int>(instruction));
  const std::string &node = message.location();
  std::string_view op =
      message.has_loop() ? "nn.loop"
                         : std::string_view(resolved_->nameOf(message.call()));
  std::ostringstream os;
  os << (node.empty() ? "instruction " + std::to_string(instruction)
                      : "node '" + node + "'")
     << " (" << op << ")";
  return os.str();
}

RankProgram::KernelCounts RankProgram::fallbacks() const {
  KernelCounts counts;
  for (const Task &task : tasks_) {
    if (auto part = task.kernel ? task.kernel->hasFallenBack() : std::nullopt) {
      ++counts[{std::string(part->op), std::string(part->library)}];
    }
    for (const auto &[key, calls] :
         task.loop ? task.loop->body->fallbacks() : KernelCounts()) {
      counts[key] += calls;
    }
  }
  return counts;
}

std::string RankProgram::locationOf(uint64_t progress) const {
  const RankProgram *inner = inner_.load(std::memory_order_relaxed);
  return inner ? inner->locationOf(progress)
               : whereIs(tasks_[progress / 2 % tasks_.size()]);
}
