//===- BuildLoops.cpp - A rank's loops ------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/RankLoop.h"
#include "runtime/core/RankProgramBuilder.h"

#include <algorithm>

using namespace divisi;
using namespace divisi::rt;
namespace pb = divisi::artifact;

/// The context of the body's program, whose arenas are buffers of this one.
RankContext RankProgramBuilder::contextOf(const pb::Loop &loop) const {
  RankContext context = context_;
  context.entryIndex = loop.body();
  context.bodyArenas.assign(context_.resolved.manifest->spaces_size() + 1,
                            nullptr);
  auto place = [&](bool isThere, uint32_t buffer) {
    if (isThere) {
      uint32_t space = program_.space(buffer);
      context.bodyArenas[space] =
          arena(space) + program_.root(buffer).arena_offset();
    }
  };
  place(loop.has_arena(), loop.arena());
  place(loop.has_device_arena(), loop.device_arena());
  context.trace = false;
  return context;
}

void RankProgramBuilder::addBodyMemory(const ProgramMemory &body) {
  ProgramMemory &memory = out_.memory_;
  raiseEach(memory.workspaces, body.workspaces);
  raiseEach(memory.messages, body.messages);
  memory.staging += body.staging;
  memory.packed.insert(body.packed.begin(), body.packed.end());
  memory.packing = std::max(memory.packing, body.packing);
  memory.globals.insert(body.globals.begin(), body.globals.end());
}

Status RankProgramBuilder::countLoop(const pb::Loop &loop) {
  Expected<ProgramMemory> body = RankProgram::predict(contextOf(loop));
  if (body) {
    addBodyMemory(*body);
    countAgreement(loop);
  }
  return body.status();
}

/// For what is copied before the first iteration.
Status RankProgramBuilder::addLoopQueue(RankLoop &loop) {
  auto own = std::ranges::find_if(
      loop.devices, [](Device *device) { return !device->isImmediate(); });
  if (own == loop.devices.end()) {
    return {};
  }
  loop.device = *own;
  auto queue = loop.device->makeQueue();
  if (!queue) {
    return queue.status();
  }
  auto event = loop.device->makeEvent();
  if (event) {
    loop.queue = std::move(*queue);
    loop.copied = std::move(*event);
  }
  return event.status();
}

/// What a body does, once, is done by the program with its loop.
void RankProgramBuilder::addBodyUses(const RankProgram &body) {
  addBodyMemory(body.memory());
  for (const auto &[kind, use] : body.collectives()) {
    CollectiveUse &all = out_.collectives_[kind];
    all.steps += use.steps;
    all.queued += use.queued;
    all.bytes += use.bytes;
  }
  for (const auto &[key, calls] : body.kernelCounts()) {
    out_.kernelCounts_[key] += calls;
  }
  out_.spaceCopies_.copies += body.spaceCopies().copies;
  out_.spaceCopies_.bytes += body.spaceCopies().bytes;
  if (!body.queuedRanks_.empty()) {
    out_.meetingBodies_.push_back(&body);
  }
  out_.meetingBodies_.insert(out_.meetingBodies_.end(),
                             body.meetingBodies_.begin(),
                             body.meetingBodies_.end());
}

Status RankProgramBuilder::addLoop(const pb::Loop &loop, size_t instruction) {
  auto ready = std::make_unique<RankLoop>();
  Expected<std::unique_ptr<RankProgram>> body =
      RankProgram::prepare(contextOf(loop));
  if (!body) {
    return body.status();
  }
  ready->body = std::move(*body);
  addBodyUses(*ready->body);
  ready->most = loop.most();
  const ResolvedEntry &entry = context_.resolved.entries[loop.body()];
  if (entry.programOfRank.size() > 1) {
    // Behind the entries' own numbers: a body has no tags there.
    Expected<std::unique_ptr<CommStep>> step = prepareForAll(
        loop.body(), 0, "the count", DType::I64, ReduceKind::Max, 2);
    if (!step) {
      return step.status();
    }
    ready->agreement = std::move(*step);
    noteMessages(ready->agreement->workspaceBytes());
  }
  for (uint32_t buffer : loop.spares()) {
    ready->spares.push_back(const_cast<void *>(addressOf(buffer)));
    ready->first.push_back(wholeCopy(buffer));
    ready->devices.push_back(
        (*context_.spaces)[program_.space(buffer)].device.get());
  }
  if (Status status = addLoopQueue(*ready); !status.isOk()) {
    return status;
  }
  ready->outputs.resize(ready->spares.size());
  newTask(Task::Kind::Loop, instruction).loop = std::move(ready);
  setOperand(loop.count());
  for (uint32_t buffer : loop.carried()) {
    setOperand(buffer);
  }
  for (uint32_t buffer : loop.given()) {
    setOperand(buffer);
  }
  for (uint32_t buffer : loop.results()) {
    setResult(buffer);
  }
  return {};
}

/// What a body makes goes where the next iteration reads it.
void RankProgramBuilder::addBodyOutput(const pb::Output &output,
                                       size_t instruction) {
  const Placement &at = placement(output.source());
  Task &task = newTask(Task::Kind::Copy, instruction);
  setSpace(task, program_.space(output.source()));
  task.copies.push_back(wholeCopy(output.source()));
  setOperand(output.source());
  out_.list_.tasks.back().results.push_back(nullptr); // iterate() knows
  out_.binder_.addOutput({out_.list_.tasks.size() - 1,
                          output.output(),
                          &at,
                          at.boxes[positionOf(at)],
                          {}});
}
