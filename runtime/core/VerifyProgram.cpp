//===- VerifyProgram.cpp - Checks of one program --------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/VerifyProgram.h"

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
                   ", which has not been written, or has been written over");
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
  auto range = status.isOk() ? program_.arenaRange(buffer) : std::nullopt;
  if (range && range->begin != range->end) {
    accesses_.push_back({*range, /*writes=*/false});
  }
  return status;
}

void ProgramVerifier::write(uint32_t buffer) {
  overwrite(*program_.arenaRange(buffer));
  contents_.write(buffer);
}

Status ProgramVerifier::checkResult(uint32_t buffer) const {
  if (buffer >= program_.buffers.size()) {
    return invalid("buffer ", buffer, " of ", program_.buffers.size());
  }
  if (program_.buffers[buffer].root != buffer || !program_.arenaRange(buffer)) {
    return invalid("it writes buffer ", buffer,
                   ", which does not lie in the arena itself");
  }
  return {};
}

bool ProgramVerifier::overlap(uint32_t a, uint32_t b) const {
  auto x = program_.arenaRange(a), y = program_.arenaRange(b);
  return x && y && x->begin < y->end && y->begin < x->end;
}

bool ProgramVerifier::haveSamePlace(uint32_t a, uint32_t b) const {
  auto x = program_.arenaRange(a), y = program_.arenaRange(b);
  return x && y && x->begin == y->begin;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

static Status findKernel(const pb::Call &call,
                         std::span<const Backend *const> backends) {
  std::ostringstream versions;
  for (const Backend *backend : backends) {
    for (const Kernel &kernel : backend->kernels()) {
      if (kernel.op != call.op()) {
        continue;
      }
      if (kernel.version == static_cast<int>(call.version())) {
        return {};
      }
      versions << " " << kernel.version;
    }
  }
  if (versions.str().empty()) {
    return makeError(ExitCode::Unsupported, "no backend in use has a kernel '",
                     call.op(), "'");
  }
  return makeError(ExitCode::Unsupported, "version ", call.version(),
                   " of kernel '", call.op(), "' is called, there is",
                   versions.str(), "; compile the model again");
}

Status ProgramVerifier::verifyCall(const pb::Call &call) {
  if (Status status = findKernel(call, backends_); !status.isOk()) {
    return status;
  }
  for (uint32_t operand : call.operands()) {
    if (Status status = read(operand); !status.isOk()) {
      return status;
    }
  }
  for (int r = 0; r < call.results_size(); ++r) {
    uint32_t result = call.results(r);
    if (Status status = checkResult(result); !status.isOk()) {
      return status;
    }
    for (int other = 0; other < r; ++other) {
      if (overlap(result, call.results(other))) {
        return invalid("two results lie at the same bytes");
      }
    }
    for (uint32_t operand : call.operands()) {
      // At the same place: the kernel is asked whether it may, at load.
      if (overlap(result, operand) && !haveSamePlace(result, operand)) {
        return invalid("result buffer ", result, " cuts into operand buffer ",
                       operand);
      }
    }
  }
  if (Status status = verifyWorkspace(call); !status.isOk()) {
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
  int64_t arena = program_.message->arena_bytes();
  if (begin < 0 || begin % 64 != 0 || bytes < 0 || begin > arena ||
      bytes > arena - begin) {
    return invalid("its workspace is at bytes ", begin, " + ", bytes,
                   " of an arena of ", arena,
                   "; expected a multiple of 64 and inside of it");
  }
  ResolvedProgram::Range range{begin, begin + bytes};
  std::vector<uint32_t> touched(call.operands().begin(), call.operands().end());
  touched.insert(touched.end(), call.results().begin(), call.results().end());
  for (uint32_t buffer : touched) {
    auto other = program_.arenaRange(buffer);
    if (other && other->begin < range.end && range.begin < other->end) {
      return invalid("its workspace cuts into buffer ", buffer);
    }
  }
  overwrite(range);
  return {};
}

//===----------------------------------------------------------------------===//
// Copies, outputs, updates
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
    return invalid("source and result of a copy lie differently");
  }
  if (overlap(copy.source(), copy.result()) &&
      !haveSamePlace(copy.source(), copy.result())) {
    return invalid("the result of a copy cuts into its source");
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
  if (output.output() >= numOutputs_) {
    return invalid("output ", output.output(), " of ", numOutputs_);
  }
  if (Status status = read(output.source()); !status.isOk()) {
    return status;
  }
  return claim(checks_.outputs, output.output());
}

Status ProgramVerifier::verifyUpdate(const pb::Update &update) {
  if (update.global() >= resolved_.globals.size()) {
    return invalid("global ", update.global(), " of ",
                   resolved_.globals.size());
  }
  // Read when the program has ended: no access that is to be ordered.
  if (Status status = checkOperand(update.source()); !status.isOk()) {
    return status;
  }
  if (!(placement(update.source()) == *resolved_.globals[update.global()])) {
    return invalid(
        "the new value of global '",
        resolved_.manifest->globals(static_cast<int>(update.global())).name(),
        "' does not lie as the global does at rest");
  }
  updateSources_.push_back(update.source());
  return claim(checks_.updates, update.global());
}

/// What talks to nobody; verifyCommunicator() is for all else.
Status ProgramVerifier::verifyQueue(const pb::Instruction &instruction) const {
  bool isTalk = instruction.has_transfer();
  if (instruction.has_collective()) {
    auto kind = parseCollectiveKind(instruction.collective().kind());
    isTalk = !kind || !isLocal(*kind);
  }
  uint32_t last = instruction.has_call() ? computeQueue : copyQueue;
  if (isTalk || instruction.queue() <= last) {
    return {};
  }
  return invalid("it is on queue '",
                 nameOfQueue(*resolved_.manifest, instruction.queue()),
                 instruction.has_call() ? "', expected compute"
                                        : "', expected compute or copy");
}

Status ProgramVerifier::verify(int index, const std::string &where) {
  accesses_.clear();
  Status status = verifyQueue(program_.message->instructions(index));
  if (status.isOk()) {
    status = verifyContents(index, where);
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
  case pb::Instruction::kUpdate:
    return verifyUpdate(instruction.update());
  default:
    return invalid("unknown instruction");
  }
}

Status ProgramVerifier::finish() {
  for (uint32_t source : updateSources_) {
    if (!contents_.has(source)) {
      return invalid("buffer ", source,
                     ", the new value of a global, is "
                     "written over before the program ends");
    }
  }
  return {};
}
