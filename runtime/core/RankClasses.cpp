//===- RankClasses.cpp - Ranks that hold as much --------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/RankClasses.h"
#include "runtime/comm/Messages.h"
#include "runtime/comm/QueuedShape.h"

#include <algorithm>

using namespace divisi;
using namespace divisi::rt;
namespace pb = divisi::artifact;

const std::vector<uint32_t> &
RankClasses::boxNumbersOf(const Placement *placement) {
  auto [known, isNew] = boxNumbers_.try_emplace(placement);
  if (isNew) {
    std::map<std::pair<Dims, Dims>, uint32_t> numbers;
    for (const Box &box : placement->boxes) {
      auto number = static_cast<uint32_t>(numbers.size());
      known->second.push_back(
          numbers.try_emplace({box.begin, box.end}, number).first->second);
    }
  }
  return known->second;
}

RankClasses::Questions &RankClasses::questionsOf(size_t entry,
                                                 const Builder &builder) {
  const ResolvedProgram &program = builder.program_;
  auto [known, isNew] = questions_.try_emplace(&program);
  Questions &questions = known->second;
  if (!isNew) {
    return questions;
  }
  std::set<Builder::CallKey> calls;
  std::set<Builder::StepKey> steps;
  for (int i = 0; i < program.message->instructions_size(); ++i) {
    const pb::Instruction &instruction = program.message->instructions(i);
    if (instruction.has_loop()) {
      questions.loops.push_back(&instruction.loop());
    } else if (instruction.has_call()) {
      const pb::Call &call = instruction.call();
      if (calls.insert(builder.keyOf(call)).second) {
        questions.calls.push_back({&call, builder.tensorsOf(call), {}, {}});
      }
    } else if (auto key = builder.stepKeyOf(i)) {
      StepBytes &bytes = steps_.try_emplace(*key).first->second;
      if (steps.insert(std::move(*key)).second) {
        bytes.resize(resolved_.manifest->num_ranks(), unknown);
        questions.steps.push_back({i, &bytes});
      }
    }
  }
  std::set<uint32_t> inputs;
  const ResolvedEntry &own = resolved_.entries[entry];
  for (const pb::Buffer &buffer : program.message->buffers()) {
    if (!own.isBody() && buffer.has_input() &&
        inputs.insert(buffer.input()).second) {
      questions.inputs.push_back(own.inputs[buffer.input()]);
    }
  }
  return questions;
}

/// The number of what kernels say of such a call of the rank.
int64_t RankClasses::answerTo(CallQuestion &question, Builder &builder) {
  std::vector<uint32_t> boxes;
  for (const Placement *tensor : question.tensors) {
    boxes.push_back(boxNumbersOf(tensor)[builder.positionOf(*tensor)]);
  }
  auto [known, isNew] = question.known.try_emplace(std::move(boxes), unknown);
  const pb::Call &call = *question.call;
  if (!isNew || builder.isEmpty(call)) { // then no kernel is asked
    return known->second;
  }
  CallAnswer answer;
  answer.answers = builder.askAll(call);
  for (uint32_t operand : call.operands()) {
    answer.emptyOperands.push_back(builder.boxOf(operand).empty());
  }
  auto place = std::ranges::find(question.answers, answer);
  known->second = place - question.answers.begin();
  if (place == question.answers.end()) {
    question.answers.push_back(std::move(answer));
  }
  return known->second;
}

/// How many bytes the rank's step wants: all parties are told at once.
int64_t RankClasses::answerTo(StepQuestion &question, const Builder &builder) {
  int64_t &own = (*question.bytes)[builder.context_.rank];
  if (own == unknown) {
    const pb::Instruction &instruction =
        builder.program_.message->instructions(question.instruction);
    StepDesc step = builder.stepAt(question.instruction).step;
    std::vector<int64_t> bytes = isQueued(builder.program_, instruction)
                                     ? queuedBytes(step)
                                     : messageBytes(step);
    for (size_t i = 0; i < bytes.size(); ++i) {
      (*question.bytes)[step.parties[i].rank] = bytes[i];
    }
  }
  return own;
}

/// The same of a step of all ranks of `entry`, of which each has `count`
/// elements.
int64_t RankClasses::ballotOf(std::vector<StepBytes> &known, size_t entry,
                              DType type, ReduceKind reduce, int64_t count,
                              const Builder &builder) {
  StepBytes &bytes = known[entry];
  if (bytes.empty()) {
    bytes.resize(resolved_.manifest->num_ranks());
    StepDesc step = builder.stepOfAll(entry, type, reduce, count).step;
    std::vector<int64_t> all = messageBytes(step);
    for (size_t i = 0; i < all.size(); ++i) {
      bytes[step.parties[i].rank] = all[i];
    }
  }
  return bytes[builder.context_.rank];
}

/// The class of the rank's program of that entry, or body.
size_t RankClasses::classOf(size_t entry, uint32_t rank) {
  RankContext context = contextOf(entry, rank);
  RankProgram program(context);
  Builder builder(context, program);
  Questions &questions = questionsOf(entry, builder);
  std::vector<int64_t> answers;
  for (CallQuestion &question : questions.calls) {
    answers.push_back(answerTo(question, builder));
  }
  for (StepQuestion &question : questions.steps) {
    answers.push_back(answerTo(question, builder));
  }
  for (const Placement *input : questions.inputs) {
    answers.push_back(TensorBinder::stagedBytes(
        *input, input->boxes[builder.positionOf(*input)]));
  }
  for (const pb::Loop *loop : questions.loops) {
    answers.push_back(int64_t(classOf(loop->body(), rank)));
    answers.push_back(ballotOf(counts_, loop->body(), DType::I64,
                               ReduceKind::Max, 2, builder));
  }
  answers.push_back(
      ballotOf(ballots_, entry, DType::Bool, ReduceKind::Or, 1, builder));
  auto [known, isNew] = questions.classes.try_emplace(std::move(answers),
                                                      questions.memory.size());
  if (isNew) {
    questions.memory.emplace_back();
  }
  return known->second;
}

Expected<const ProgramMemory *> RankClasses::memoryOf(size_t entry,
                                                      uint32_t rank) {
  size_t number = classOf(entry, rank);
  const ResolvedEntry &own = resolved_.entries[entry];
  const ResolvedProgram &program = own.programs[own.programOfRank.at(rank)];
  std::optional<ProgramMemory> &memory = questions_.at(&program).memory[number];
  if (!memory) {
    Expected<ProgramMemory> counted =
        RankProgram::predict(contextOf(entry, rank));
    if (!counted) {
      return counted.status();
    }
    memory = std::move(*counted);
  }
  return static_cast<const ProgramMemory *>(&*memory);
}
