//===- VerifyLoops.cpp - Checks of loops and bodies -----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A body is verified as a program of its own, in which inputs are always there
// and nobody writes them: the loop reads and writes two places by turns. What
// is left is that the loop gives it what it expects, and bytes that nobody else
// has.
//
//===----------------------------------------------------------------------===//

#include "runtime/verify/VerifyProgram.h"

using namespace divisi;
using namespace divisi::rt;
namespace pb = divisi::artifact;

template <typename... Parts> static Status invalid(const Parts &...parts) {
  return makeError(ExitCode::Invalid, parts...);
}

/// The body of `loop`, if it takes and gives as many values.
Expected<const ResolvedEntry *>
ProgramVerifier::bodyOf(const pb::Loop &loop) const {
  const ResolvedEntry &body = resolved_.entries[loop.body()];
  auto carried = static_cast<size_t>(loop.carried_size());
  if (body.inputs.size() != 1 + carried + loop.given_size() ||
      body.outputs.size() != carried || loop.results_size() != int(carried) ||
      loop.spares_size() != int(carried) || loop.most() < 0) {
    return invalid(
        "it carries ", carried, " values and gives ", loop.given_size(),
        ", for ", loop.results_size(), " results, ", loop.spares_size(),
        " spares and at most ", loop.most(), " iterations of a body with ",
        body.inputs.size(), " inputs and ", body.outputs.size(), " outputs");
  }
  return &body;
}

/// Of all that the loop reads and writes: it lies as the body has it.
Status ProgramVerifier::checkLoopPlaces(const pb::Loop &loop,
                                        const ResolvedEntry &body) const {
  auto check = [&](uint32_t buffer, const Placement *expected, uint32_t space) {
    if (buffer >= program_.buffers.size()) {
      return invalid("buffer ", buffer, " of ", program_.buffers.size());
    }
    bool isPlain = program_.space(buffer) == space &&
                   program_.root(buffer).format().empty();
    return isPlain && placement(buffer) == *expected
               ? Status()
               : invalid("buffer ", buffer,
                         " does not have the layout of the body's");
  };
  const Placement &index = *body.inputs[0];
  if (index.type != DType::I64 || !index.dims.empty()) {
    return invalid("input 0 of the body is not an i64 that counts");
  }
  std::vector<uint32_t> spaces = spacesOf(loop, body);
  Status status = check(loop.count(), &index, hostSpaceNumber);
  for (int i = 0; status.isOk() && i < loop.carried_size(); ++i) {
    for (uint32_t buffer : {loop.carried(i), loop.results(i), loop.spares(i)}) {
      status = status.isOk() ? check(buffer, body.inputs[1 + i], spaces[1 + i])
                             : status;
    }
    if (status.isOk() && !(*body.outputs[i] == *body.inputs[1 + i])) {
      status =
          invalid("output ", i, " of the body differs in layout from input ",
                  i + 1, ", which it becomes");
    }
  }
  for (int i = 0; status.isOk() && i < loop.given_size(); ++i) {
    int input = 1 + loop.carried_size() + i;
    status = check(loop.given(i), body.inputs[input], spaces[input]);
  }
  return status;
}

namespace {

/// Which output an instruction gives out, and where that lies.
struct OutputSpace {
  uint32_t output, space;
};

} // namespace

/// Of a body that is verified later: nothing for what is wrong.
static std::optional<OutputSpace>
outputSpaceOf(const ResolvedProgram &body, const pb::Instruction &instruction) {
  const pb::Output &output = instruction.output();
  return instruction.has_output() && output.source() < body.buffers.size()
             ? std::optional(
                   OutputSpace{output.output(), body.space(output.source())})
             : std::nullopt;
}

/// In which memory spaces the body has its inputs, by the program of the first
/// rank: checkLoopRanks() compares the others. The host's where it has none.
std::vector<uint32_t>
ProgramVerifier::spacesOf(const pb::Loop &loop,
                          const ResolvedEntry &body) const {
  std::vector<uint32_t> spaces(body.inputs.size(), hostSpaceNumber);
  auto own = body.programOfRank.find(program_.message->ranks(0));
  if (own == body.programOfRank.end()) {
    return spaces; // which checkLoopRanks() refuses
  }
  const ResolvedProgram &program = body.programs[own->second];
  // What nobody reads lies where it is written.
  for (const pb::Instruction &instruction : program.message->instructions()) {
    auto found = outputSpaceOf(program, instruction);
    if (found && found->output < uint32_t(loop.carried_size())) {
      spaces[1 + found->output] = found->space;
    }
  }
  for (const pb::Buffer &buffer : program.message->buffers()) {
    if (buffer.where_case() == pb::Buffer::kInput) {
      spaces[buffer.input()] = buffer.space();
    }
  }
  return spaces;
}

/// Whether the program of the body has inputs and outputs in `spaces`.
Status ProgramVerifier::checkBodySpaces(std::span<const uint32_t> spaces,
                                        const ResolvedProgram &body) const {
  for (const pb::Buffer &buffer : body.message->buffers()) {
    if (buffer.where_case() == pb::Buffer::kInput &&
        buffer.space() != spaces[buffer.input()]) {
      return invalid("input ", buffer.input(),
                     " of the body lies in two memory spaces");
    }
  }
  for (const pb::Instruction &instruction : body.message->instructions()) {
    auto found = outputSpaceOf(body, instruction);
    if (found && found->output + 1 < spaces.size() &&
        found->space != spaces[1 + found->output]) {
      return invalid("output ", found->output,
                     " of the body lies in another memory space than the input "
                     "that it becomes");
    }
  }
  return spaces[0] == hostSpaceNumber
             ? Status()
             : invalid("the body has its iteration in the memory of a device");
}

/// Whether `body` gives output `output` where it has the input that it becomes.
static bool givesInPlace(const ResolvedProgram &body, uint32_t output) {
  for (const pb::Instruction &instruction : body.message->instructions()) {
    uint32_t source = instruction.output().source();
    if (!instruction.has_output() || instruction.output().output() != output ||
        source >= body.buffers.size()) {
      continue;
    }
    const pb::Buffer &buffer = body.message->buffers(int(source));
    return (buffer.has_new_input() && buffer.new_input() == output + 1) ||
           (buffer.has_input() && buffer.input() == output + 1);
  }
  return false;
}

/// All ranks have a program of the body, with room for its arenas.
Status ProgramVerifier::checkLoopRanks(const pb::Loop &loop,
                                       const ResolvedEntry &body) {
  std::vector<int64_t> room(resolved_.manifest->spaces_size() + 1);
  auto addRoom = [&](bool isThere, uint32_t buffer) {
    if (isThere && buffer < program_.buffers.size() &&
        program_.buffers[buffer].isWhole) {
      room[program_.space(buffer)] = program_.root(buffer).bytes();
    }
  };
  addRoom(loop.has_arena(), loop.arena());
  addRoom(loop.has_device_arena(), loop.device_arena());
  std::vector<uint32_t> spaces = spacesOf(loop, body);
  for (uint32_t rank : program_.message->ranks()) {
    auto program = body.programOfRank.find(rank);
    if (program == body.programOfRank.end()) {
      return invalid("rank ", rank, " has no program of the body");
    }
    const ResolvedProgram &own = body.programs[program->second];
    for (uint32_t space = 0; space < room.size(); ++space) {
      int64_t bytes = arenaBytes(*own.message, space);
      if (bytes > room[space]) {
        return invalid("the body needs an arena of ", bytes, " bytes in '",
                       nameOfSpace(*resolved_.manifest, space), "' on rank ",
                       rank, ", got ", room[space]);
      }
    }
    if (Status status = checkBodySpaces(spaces, own); !status.isOk()) {
      return status;
    }
    for (int i = 0; i < loop.carried_size(); ++i) {
      if (loop.results(i) == loop.spares(i) &&
          !givesInPlace(own, uint32_t(i))) {
        return invalid("value ", i, " has one place, and the body on rank ",
                       rank, " does not write it over the one before");
      }
    }
    if (!checks_.bodies[loop.body()].insert(rank).second) {
      return invalid("rank ", rank, " runs the body a second time");
    }
  }
  return {};
}

/// Nothing that it writes may be what it reads, or be written twice.
Status ProgramVerifier::writeInLoop(const pb::Loop &loop) {
  std::vector<uint32_t> reads = {loop.count()}, writes;
  reads.insert(reads.end(), loop.carried().begin(), loop.carried().end());
  reads.insert(reads.end(), loop.given().begin(), loop.given().end());
  writes.assign(loop.results().begin(), loop.results().end());
  for (int i = 0; i < loop.spares_size(); ++i) {
    if (loop.spares(i) != loop.results(i)) { // else written in place
      writes.push_back(loop.spares(i));
    }
  }
  if (loop.has_arena()) {
    writes.push_back(loop.arena());
  }
  if (loop.has_device_arena()) {
    writes.push_back(loop.device_arena());
  }
  for (uint32_t buffer : reads) {
    if (Status status = read(buffer); !status.isOk()) {
      return status;
    }
  }
  for (size_t i = 0; i < writes.size(); ++i) {
    if (Status status = checkResult(writes[i]); !status.isOk()) {
      return status;
    }
    if (!program_.message->buffers(static_cast<int>(writes[i]))
             .has_arena_offset()) {
      return invalid("a loop writes in the arena alone, not buffer ",
                     writes[i]);
    }
    std::span<const uint32_t> others(writes.data(), i);
    for (std::span<const uint32_t> list :
         {others, std::span<const uint32_t>(reads)}) {
      for (uint32_t other : list) {
        if (overlap(writes[i], other)) {
          return invalid("it writes buffer ", writes[i],
                         ", which overlaps buffer ", other, " of its own");
        }
      }
    }
  }
  for (uint32_t buffer : writes) {
    overwrite(*program_.range(buffer));
  }
  for (uint32_t buffer : loop.results()) {
    contents_.write(buffer);
  }
  return {};
}

Status ProgramVerifier::verifyLoop(const pb::Loop &loop) {
  Expected<const ResolvedEntry *> body = bodyOf(loop);
  Status status = body.status();
  if (status.isOk()) {
    status = checkLoopPlaces(loop, **body);
  }
  if (status.isOk()) {
    status = checkLoopRanks(loop, **body);
  }
  return status.isOk() ? writeInLoop(loop) : status;
}

/// It works on one device beside the host.
static Status checkBodyDevice(const ResolvedManifest &resolved,
                              const ResolvedEntry &entry) {
  uint32_t device = hostSpaceNumber;
  for (const ResolvedProgram &program : entry.programs) {
    for (const pb::Buffer &buffer : program.message->buffers()) {
      if (buffer.space() == hostSpaceNumber) {
        continue;
      }
      if (device != hostSpaceNumber && buffer.space() != device) {
        return invalid("a body works in the memory of one device, not in '",
                       nameOfSpace(*resolved.manifest, device), "' and '",
                       nameOfSpace(*resolved.manifest, buffer.space()), "'");
      }
      device = buffer.space();
    }
  }
  return {};
}

Status divisi::rt::checkBody(const ResolvedManifest &resolved,
                             const ResolvedEntry &entry) {
  if (Status status = checkBodyDevice(resolved, entry); !status.isOk()) {
    return status;
  }
  for (const ResolvedProgram &program : entry.programs) {
    for (const pb::Buffer &buffer : program.message->buffers()) {
      if (buffer.has_new_global() ||
          (buffer.has_global() && resolved.isUpdated[buffer.global()])) {
        return invalid(
            "a body touches global '",
            resolved.manifest->globals(static_cast<int>(*globalOf(buffer)))
                .name(),
            "', which some entry writes");
      }
    }
    for (const pb::Instruction &instruction : program.message->instructions()) {
      if (instruction.has_commit()) {
        return invalid("a body cannot commit");
      }
    }
  }
  return {};
}

Status divisi::rt::checkBodyRanks(const ResolvedManifest &resolved,
                                  const Writers &bodies) {
  for (uint32_t e = 0; e < resolved.entries.size(); ++e) {
    const ResolvedEntry &entry = resolved.entries[e];
    if (!entry.isBody()) {
      continue;
    }
    auto runs = bodies.find(e);
    for (const auto &[rank, program] : entry.programOfRank) {
      if (runs == bodies.end() || !runs->second.contains(rank)) {
        return invalid("body '", entry.message->name(),
                       "': no loop runs it on rank ", rank);
      }
    }
  }
  return {};
}
