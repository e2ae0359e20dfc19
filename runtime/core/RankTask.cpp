//===- RankTask.cpp - What a rank does, task by task ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/core/Session.h"
#include "runtime/core/RankLoop.h"

using namespace divisi;
using namespace divisi::rt;

RankTask::RankTask() = default;
RankTask::RankTask(RankTask &&) noexcept = default;
RankTask::~RankTask() = default;

RankTasks::RankTasks(const RankContext &context)
    : resolved(context.resolved), entry(resolved.entries[context.entryIndex]),
      entryIndex(static_cast<uint32_t>(context.entryIndex)),
      programIndex(entry.programOfRank.at(context.rank)), rank(context.rank),
      communicator(context.communicator), state(context.state),
      lastSteps(context.lastSteps), threads(context.threads) {}

std::string RankTasks::locationAt(size_t instruction) const {
  return describeInstruction(entry, programIndex, instruction) + ", rank " +
         std::to_string(rank);
}

std::string RankTasks::whereIs(const RankTask &task) const {
  std::string where = locationAt(task.instruction);
  if (!task.queue) {
    return where;
  }
  switch (task.kind) {
  case RankTask::Kind::Comm:
    return where + ", a step";
  case RankTask::Kind::Copy:
    return where + ", a copy";
  case RankTask::Kind::Fill:
    return where + ", a fill";
  default: // a device does nothing else
    break;
  }
  const artifact::Program &program = *entry.programs[programIndex].message;
  return where + ", " +
         resolved.nameOf(program.instructions(int(task.instruction)).call());
}

Status divisi::rt::cancelledRun() {
  return Status(cancelledCode, "the run was cancelled");
}

Status RankTasks::whyEnds() const {
  return state->isGivenUp ? kernelFailure() : cancelledRun();
}

std::string RankTasks::nodeAt(size_t instruction) const {
  const artifact::Instruction &message =
      entry.programs[programIndex].message->instructions(
          static_cast<int>(instruction));
  const std::string &node = message.location();
  std::string_view op = message.has_loop()
                            ? "nn.loop"
                            : std::string_view(resolved.nameOf(message.call()));
  std::ostringstream os;
  os << (node.empty() ? "instruction " + std::to_string(instruction)
                      : "node '" + node + "'")
     << " (" << op << ")";
  return os.str();
}
