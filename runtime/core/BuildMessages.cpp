//===- BuildMessages.cpp - The memory of a rank's messages ----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Steps that may run at the same time have places of their own in the memory of
// a rank, others take turns:
//
//   queue 1   a ····  c ·····   c after a; b beside both
//   queue 2     b ······        | a, c | b |
//
// What a body's steps want, and the vote at the end, begins where these do:
// nothing is beside a loop.
//
//===----------------------------------------------------------------------===//

#include "runtime/artifact/QueueOrder.h"
#include "runtime/comm/Messages.h"
#include "runtime/comm/QueuedShape.h"
#include "runtime/core/RankProgramBuilder.h"

#include <algorithm>

using namespace divisi;
using namespace divisi::rt;
namespace pb = divisi::artifact;

OwnStep RankProgramBuilder::stepOf(const pb::Collective &collective) const {
  std::vector<uint32_t> axes(collective.axes().begin(),
                             collective.axes().end());
  const Placement &source = placement(collective.source());
  OwnStep own =
      describeCollective(context_.resolved.grids[source.grid],
                         *parseCollectiveKind(collective.kind()), axes, source,
                         placement(collective.result()), positionOf(source));
  storeIn(program_.root(collective.source()).format(), own);
  return own;
}

OwnStep RankProgramBuilder::stepOfTransfer(size_t instruction) const {
  auto [from, to] = program_.transfers.at(static_cast<int>(instruction));
  return describeTransfer(context_.resolved.grids[from->grid], *from,
                          context_.resolved.grids[to->grid], *to,
                          context_.rank);
}

/// Where the boxes of a step lie.
uint32_t
RankProgramBuilder::spaceOfStep(const pb::Instruction &instruction) const {
  std::vector<uint32_t> buffers = movedBuffers(instruction);
  return buffers.empty() ? hostSpaceNumber : program_.space(buffers.front());
}

/// What decides how many bytes the step of the instruction wants, if it is one
/// of several ranks.
std::optional<RankProgramBuilder::StepKey>
RankProgramBuilder::stepKeyOf(int index) const {
  const pb::Instruction &instruction = program_.message->instructions(index);
  if (instruction.has_transfer()) {
    auto [from, to] = program_.transfers.at(index);
    return StepKey{isQueued(program_, instruction), "transfer", {}, from, to};
  }
  const pb::Collective &collective = instruction.collective();
  if (!instruction.has_collective() ||
      isLocal(*parseCollectiveKind(collective.kind()))) {
    return std::nullopt;
  }
  return StepKey{isQueued(program_, instruction),
                 collective.kind() +
                     program_.root(collective.source()).format(),
                 {collective.axes().begin(), collective.axes().end()},
                 &placement(collective.source()),
                 &placement(collective.result())};
}

OwnStep RankProgramBuilder::stepAt(int index) const {
  const pb::Instruction &instruction = program_.message->instructions(index);
  return instruction.has_transfer() ? stepOfTransfer(index)
                                    : stepOf(instruction.collective());
}

/// What the step of the instruction wants, if it is one. A program that repeats
/// itself repeats kinds and tensors.
int64_t RankProgramBuilder::messagesOf(int index) {
  const pb::Instruction &instruction = program_.message->instructions(index);
  if (instruction.has_commit()) {
    return voteBytes();
  }
  std::optional<StepKey> key = stepKeyOf(index);
  if (!key) {
    return 0;
  }
  auto [known, isNew] = messagesOf_.try_emplace(std::move(*key), 0);
  if (isNew) {
    OwnStep own = stepAt(index);
    known->second = isQueued(program_, instruction)
                        ? queuedBytes(own.step, own.self)
                        : messageBytes(own.step, own.self);
  }
  return known->second;
}

int64_t RankProgramBuilder::voteBytes() const {
  OwnStep own = stepOfAll(context_.entryIndex, DType::Bool, ReduceKind::Or, 1);
  return messageBytes(own.step, own.self);
}

void RankProgramBuilder::countAgreement(const pb::Loop &loop) {
  OwnStep own = stepOfAll(loop.body(), DType::I64, ReduceKind::Max, 2);
  noteMessages(messageBytes(own.step, own.self));
}

/// Sessions of all ranks have none.
void RankProgramBuilder::countEnd() {
  if (!entry_.isBody()) {
    noteMessages(voteBytes());
  }
}

/// Of a step beside which nothing runs.
void RankProgramBuilder::noteMessages(int64_t bytes, uint32_t space) {
  std::vector<int64_t> most(space + 1);
  most[space] = alignedMessage(bytes);
  raiseEach(out_.memory_.messages, most);
}

void RankProgramBuilder::noteMessages(int index, int64_t bytes) {
  if (bytes != 0) {
    messages_.push_back({index, alignedMessage(bytes), 0,
                         spaceOfStep(program_.message->instructions(index))});
  }
}

/// The lowest place for `bytes` beside those that are taken.
static int64_t firstFree(std::vector<std::pair<int64_t, int64_t>> taken,
                         int64_t bytes) {
  std::sort(taken.begin(), taken.end());
  int64_t at = 0;
  for (auto [begin, end] : taken) {
    if (begin - at >= bytes) {
      break;
    }
    at = std::max(at, end);
  }
  return at;
}

Status RankProgramBuilder::placeMessages() {
  const pb::Program &program = *program_.message;
  QueueOrder order;
  if (Status status = order.begin(program); !status.isOk()) {
    return status;
  }
  std::map<uint32_t, std::vector<const Messages *>> earlier; // by queue
  for (Messages &own : messages_) {
    while (order.next() != own.instruction) {
      order.advance(order.clock());
    }
    QueueOrder::Clock clock = order.clock();
    std::vector<std::pair<int64_t, int64_t>> taken;
    for (const auto &[queue, others] : earlier) {
      for (size_t i = others.size(); i-- > 0;) {
        if (order.hasEnded(others[i]->instruction, clock)) {
          break; // and so have those before it
        }
        if (others[i]->space == own.space) {
          taken.emplace_back(others[i]->at, others[i]->end());
        }
      }
    }
    own.at = firstFree(std::move(taken), own.bytes);
    noteMessages(own.end(), own.space);
    earlier[program.instructions(own.instruction).queue()].push_back(&own);
  }
  for (Task &task : out_.list_.tasks) {
    if (task.messageBytes() != 0) {
      task.messagesAt = std::ranges::lower_bound(
                            messages_, static_cast<int>(task.instruction), {},
                            &Messages::instruction)
                            ->at;
    }
  }
  return {};
}
