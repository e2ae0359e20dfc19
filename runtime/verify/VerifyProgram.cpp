//===- VerifyProgram.cpp - Checks of one program --------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/verify/VerifyProgram.h"

#include <algorithm>

using namespace divisi;
using namespace divisi::rt;
namespace pb = divisi::artifact;

template <typename... Parts> static Status invalid(const Parts &...parts) {
  return makeError(ExitCode::Invalid, parts...);
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

Status ProgramVerifier::checkOperand(uint32_t buffer) const {
  if (buffer >= program_.buffers.size()) {
    return invalid("buffer ", buffer, " of ", program_.buffers.size());
  }
  if (!contents_.has(buffer)) {
    return invalid("it reads buffer ", buffer,
                   ", which has not been written, or has been overwritten");
  }
  return {};
}

void ProgramVerifier::overwrite(ResolvedProgram::Range range) {
  contents_.overwrite(range);
  if (range.begin != range.end) {
    accesses_.push_back({range, /*writes=*/true});
  }
}

Status ProgramVerifier::read(uint32_t buffer) {
  Status status = checkOperand(buffer);
  auto range = status.isOk() ? program_.range(buffer) : std::nullopt;
  if (range && range->begin != range->end) {
    accesses_.push_back({*range, /*writes=*/false});
  }
  return status;
}

void ProgramVerifier::write(uint32_t buffer) {
  overwrite(*program_.range(buffer));
  contents_.write(buffer);
}

/// Notes who writes the new value of a global, if it is one.
Status ProgramVerifier::checkResult(uint32_t buffer) {
  if (buffer >= program_.buffers.size()) {
    return invalid("buffer ", buffer, " of ", program_.buffers.size());
  }
  const pb::Buffer &message =
      program_.message->buffers(static_cast<int>(buffer));
  if (message.has_arena_offset()) {
    return {};
  }
  if (message.has_new_input()) {
    return {};
  }
  if (!message.has_new_global()) {
    return invalid("it writes buffer ", buffer,
                   ", which neither lies in the arena itself nor is the new "
                   "value of a global or of an input");
  }
  uint32_t global = message.new_global();
  if (!checks_.committing.contains(&program_)) {
    return invalid("it writes global '",
                   resolved_.manifest->globals(static_cast<int>(global)).name(),
                   "', which only what comes after a commit may do");
  }
  checks_.globals[global].insert(program_.message->ranks().begin(),
                                 program_.message->ranks().end());
  return {};
}

bool ProgramVerifier::overlap(uint32_t a, uint32_t b) const {
  auto x = program_.range(a), y = program_.range(b);
  return x && y && x->begin < y->end && y->begin < x->end;
}

bool ProgramVerifier::haveSamePlace(uint32_t a, uint32_t b) const {
  auto x = program_.range(a), y = program_.range(b);
  return x && y && x->begin == y->begin;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

Status ProgramVerifier::verifyCall(const pb::Call &call) {
  auto spaces = static_cast<uint32_t>(resolved_.manifest->spaces_size());
  if (call.space() > spaces) {
    return invalid("memory space ", call.space(), " of ", spaces + 1);
  }
  Status status = verifyOperator(call);
  if (status.isOk()) {
    status = verifyCode(call);
  }
  for (int o = 0; status.isOk() && o < call.operands_size(); ++o) {
    status = read(call.operands(o));
    if (status.isOk()) {
      status = checkInSpace(call, call.operands(o));
    }
  }
  if (!status.isOk()) {
    return status;
  }
  for (int r = 0; r < call.results_size(); ++r) {
    uint32_t result = call.results(r);
    status = checkResult(result);
    if (status.isOk()) {
      status = checkInSpace(call, result);
    }
    if (!status.isOk()) {
      return status;
    }
    for (int other = 0; other < r; ++other) {
      if (overlap(result, call.results(other))) {
        return invalid("two results share bytes");
      }
    }
    for (uint32_t operand : call.operands()) {
      // At the same place: the kernel is asked whether it may, at load.
      if (overlap(result, operand) && !haveSamePlace(result, operand)) {
        return invalid("result buffer ", result, " overlaps operand buffer ",
                       operand);
      }
    }
  }
  status = verifyParts(call);
  if (status.isOk()) {
    status = verifyInPlace(call);
  }
  if (status.isOk()) {
    status = verifyWorkspace(call);
  }
  if (!status.isOk()) {
    return status;
  }
  for (uint32_t result : call.results()) {
    write(result);
  }
  return {};
}

Status ProgramVerifier::verifyWorkspace(const pb::Call &call) {
  if (call.workspace_bytes() == 0) {
    return {};
  }
  int64_t begin = call.workspace_offset(), bytes = call.workspace_bytes();
  int64_t arena = arenaBytes(*program_.message, call.space());
  if (begin < 0 || begin % 64 != 0 || bytes < 0 || begin > arena ||
      bytes > arena - begin) {
    return invalid("its workspace is at bytes ", begin, " + ", bytes,
                   " of an arena of ", arena,
                   "; expected a multiple of 64 and inside of it");
  }
  begin += program_.arenas[call.space()];
  ResolvedProgram::Range range{begin, begin + bytes};
  std::vector<uint32_t> touched(call.operands().begin(), call.operands().end());
  touched.insert(touched.end(), call.results().begin(), call.results().end());
  for (uint32_t buffer : touched) {
    auto other = program_.range(buffer);
    if (other && other->begin < range.end && range.begin < other->end) {
      return invalid("its workspace overlaps buffer ", buffer);
    }
  }
  overwrite(range);
  return {};
}

//===----------------------------------------------------------------------===//
// Copies, outputs, commits
//===----------------------------------------------------------------------===//

Status ProgramVerifier::verifyCopy(const pb::Copy &copy) {
  Status status = read(copy.source());
  if (status.isOk()) {
    status = checkResult(copy.result());
  }
  if (!status.isOk()) {
    return status;
  }
  if (!(placement(copy.source()) == placement(copy.result()))) {
    return invalid("source and result of a copy differ in layout");
  }
  if (overlap(copy.source(), copy.result()) &&
      !haveSamePlace(copy.source(), copy.result())) {
    return invalid("the result of a copy overlaps its source");
  }
  write(copy.result());
  return {};
}

Status ProgramVerifier::claim(Writers &writers, uint32_t index) {
  for (uint32_t rank : program_.message->ranks()) {
    if (!writers[index].insert(rank).second) {
      return invalid("rank ", rank, " writes number ", index, " twice");
    }
  }
  return {};
}

Status ProgramVerifier::verifyOutput(const pb::Output &output) {
  if (output.output() >= entry_.outputs.size()) {
    return invalid("output ", output.output(), " of ", entry_.outputs.size());
  }
  if (Status status = read(output.source()); !status.isOk()) {
    return status;
  }
  return claim(checks_.outputs, output.output());
}

/// It reads what the program writes of globals: so whoever writes it has to
/// come after the commit, which needs to come after nobody.
Status ProgramVerifier::verifyCommit() {
  if (!checks_.committing.insert(&program_).second) {
    return invalid("a program commits once");
  }
  for (uint32_t b = 0; b < program_.buffers.size(); ++b) {
    auto range = program_.range(b);
    if (program_.root(b).has_new_global() && range->begin != range->end) {
      accesses_.push_back({*range, /*writes=*/false});
    }
  }
  return {};
}

/// What talks to nobody; verifyCommunicator() is for all else.
Status ProgramVerifier::verifyQueue(const pb::Instruction &instruction) const {
  bool isTalk = instruction.has_transfer();
  if (instruction.has_collective()) {
    auto kind = parseCollectiveKind(instruction.collective().kind());
    isTalk = !kind || !isLocal(*kind);
  }
  bool computes = instruction.has_call() || instruction.has_commit() ||
                  instruction.has_loop();
  uint32_t last = computes ? computeQueue : copyQueue;
  if (isTalk || instruction.queue() <= last) {
    return {};
  }
  return invalid(
      "it is on queue '", nameOfQueue(*resolved_.manifest, instruction.queue()),
      computes ? "', expected compute" : "', expected compute or copy");
}

Status ProgramVerifier::verify(int index, const std::string &where) {
  accesses_.clear();
  const pb::Instruction &instruction = program_.message->instructions(index);
  Status status = verifyQueue(instruction);
  if (status.isOk()) {
    status = verifyContents(index, where);
  }
  if (status.isOk()) {
    status = verifyMove(instruction);
  }
  if (hasLoops_) {
    // A loop comes after all before it and before all behind it: as if it wrote
    // a byte that all others read.
    bool isLoop = instruction.has_loop();
    accesses_.push_back({{program_.bytes, program_.bytes + 1}, isLoop});
  }
  return status.isOk() ? order_.add(accesses_) : status;
}

Status ProgramVerifier::verifyContents(int index, const std::string &where) {
  const pb::Instruction &instruction = program_.message->instructions(index);
  uint32_t queue = instruction.queue();
  switch (instruction.what_case()) {
  case pb::Instruction::kCall:
    return verifyCall(instruction.call());
  case pb::Instruction::kCollective:
    return verifyCollective(instruction.collective(), queue, where);
  case pb::Instruction::kTransfer:
    return verifyTransfer(instruction.transfer(), index, queue, where);
  case pb::Instruction::kCopy:
    return verifyCopy(instruction.copy());
  case pb::Instruction::kOutput:
    return verifyOutput(instruction.output());
  case pb::Instruction::kCommit:
    return verifyCommit();
  case pb::Instruction::kLoop:
    return verifyLoop(instruction.loop());
  default:
    return invalid("unknown instruction");
  }
}
