//===- ResolveProgram.cpp - A program, all numbers resolved ---------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/artifact/ResolveProgram.h"
#include "divisi/Support/CheckedMath.h"
#include "runtime/artifact/Collectives.h"

#include <algorithm>

using namespace divisi;
using namespace divisi::rt;
namespace pb = divisi::artifact;

template <typename... Parts> static Status invalid(const Parts &...parts) {
  return makeError(ExitCode::Invalid, parts...);
}

std::optional<ResolvedProgram::Range>
ResolvedProgram::range(uint32_t buffer) const {
  const pb::Buffer &where = root(buffer);
  auto shown = [&](Range whole) {
    if (buffers[buffer].isWhole) {
      return whole;
    }
    int64_t begin = whole.begin + buffers[buffer].offset;
    return Range{begin, begin + buffers[buffer].bytes};
  };
  if (where.where_case() == pb::Buffer::kArenaOffset) {
    int64_t begin = arenas[where.space()] + where.arena_offset();
    return shown({begin, begin + where.bytes()});
  }
  auto written = [&](const std::map<uint32_t, Range> &ranges, uint32_t number) {
    auto it = ranges.find(number);
    return it == ranges.end() ? std::nullopt : std::optional(shown(it->second));
  };
  switch (where.where_case()) {
  case pb::Buffer::kGlobal:
    return written(writtenGlobals, where.global());
  case pb::Buffer::kNewGlobal:
    return written(writtenGlobals, where.new_global());
  case pb::Buffer::kInput:
    return written(writtenInputs, where.input());
  case pb::Buffer::kNewInput:
    return written(writtenInputs, where.new_input());
  default:
    return std::nullopt;
  }
}

std::string ResolvedProgram::describe(Range range,
                                      const pb::Manifest &manifest) const {
  if (range.begin == bytes) {
    return "the order of loops";
  }
  auto space = static_cast<uint32_t>(
      std::upper_bound(arenas.begin(), arenas.end() - 1, range.begin) -
      arenas.begin() - 1);
  int64_t base = arenas[space];
  std::string where = "the arena";
  if (space != hostSpaceNumber) {
    where +=
        " in memory space '" + std::string(nameOfSpace(manifest, space)) + "'";
  }
  for (auto [global, own] : writtenGlobals) {
    if (own.begin <= range.begin) {
      base = own.begin;
      where =
          "global '" + manifest.globals(static_cast<int>(global)).name() + "'";
    }
  }
  for (auto [input, own] : writtenInputs) {
    if (own.begin <= range.begin) {
      base = own.begin;
      where = "input " + std::to_string(input);
    }
  }
  return "bytes " + std::to_string(range.begin - base) + " to " +
         std::to_string(range.end - base) + " of " + where;
}

/// Order points backwards in the list: no program waits for itself.
static Status checkOrder(const pb::Manifest &manifest,
                         const pb::Program &program) {
  uint32_t queues = firstCommunicator + manifest.communicators_size();
  for (int i = 0; i < program.instructions_size(); ++i) {
    const pb::Instruction &instruction = program.instructions(i);
    std::string where = "instruction " + std::to_string(i);
    if (instruction.queue() >= queues) {
      return invalid(where, ": queue ", instruction.queue(), " of ", queues);
    }
    for (uint32_t other : instruction.after()) {
      if (other >= static_cast<uint32_t>(i)) {
        return invalid(where, ": it comes after instruction ", other,
                       ", which does not come before it in the list");
      }
    }
  }
  return {};
}

static Status readTransfers(ResolvedManifest &resolved,
                            ResolvedProgram &program) {
  for (int i = 0; i < program.message->instructions_size(); ++i) {
    const pb::Instruction &instruction = program.message->instructions(i);
    if (!instruction.has_transfer()) {
      continue;
    }
    Expected<const Placement *> from =
        resolved.place(instruction.transfer().from());
    Expected<const Placement *> to =
        resolved.place(instruction.transfer().to());
    if (!from || !to) {
      return (!from ? from.status() : to.status())
          .in("instruction " + std::to_string(i));
    }
    program.transfers[i] = {*from, *to};
  }
  return {};
}

/// Calls have as many operands and results as what they compute, and ranks a
/// part of all that lies between its parts.
static Status checkCall(const pb::Call &call, const ResolvedManifest &resolved,
                        const pb::Program &program) {
  if (call.op() >= resolved.operators.size()) {
    return invalid("operator ", call.op(), " of ", resolved.operators.size());
  }
  const ResolvedOperator &what = resolved.operatorOf(call);
  if (what.parts.empty()) {
    return {};
  }
  if (uint32_t(call.operands_size()) != what.message->num_operands() ||
      call.results_size() != what.message->results_size()) {
    return invalid("got ", call.operands_size(), " operands and ",
                   call.results_size(), " results, its parts are of ",
                   what.message->num_operands(), " and ",
                   what.message->results_size());
  }
  for (const auto &part : what.parts) {
    for (const Placement *result : part) {
      const GridInfo &grid = resolved.grids[result->grid];
      for (uint32_t rank : program.ranks()) {
        if (!grid.positionOf(rank)) {
          return invalid("one of its parts is on grid '", grid.name,
                         "', which does not have rank ", rank,
                         " of the program");
        }
      }
    }
  }
  return {};
}

static Status checkCalls(const pb::Program &program,
                         const ResolvedManifest &resolved) {
  for (int i = 0; i < program.instructions_size(); ++i) {
    if (!program.instructions(i).has_call()) {
      continue;
    }
    Status status =
        checkCall(program.instructions(i).call(), resolved, program);
    if (!status.isOk()) {
      return status.in("instruction " + std::to_string(i));
    }
  }
  return {};
}

/// Loops run what is behind them, so that nothing runs itself.
static Status checkLoops(const pb::Program &program,
                         ResolvedManifest &resolved) {
  constexpr uint32_t deepest = 64;
  const pb::Manifest &manifest = *resolved.manifest;
  auto own = static_cast<uint32_t>(resolved.entries.size() - 1);
  for (int i = 0; i < program.instructions_size(); ++i) {
    if (!program.instructions(i).has_loop()) {
      continue;
    }
    uint32_t body = program.instructions(i).loop().body();
    if (body <= own || body >= resolved.depths.size() ||
        !manifest.entries(static_cast<int>(body)).is_body()) {
      return invalid("instruction ", i, ": it runs entry ", body,
                     ", expected a body after its own entry");
    }
    resolved.depths[body] =
        std::max(resolved.depths[body], resolved.depths[own] + 1);
    if (resolved.depths[body] > deepest) {
      return invalid("loops are nested more than ", deepest, " deep");
    }
  }
  return {};
}

/// Counts the bytes of its arenas, one behind the other.
static Status countArenas(const pb::Manifest &manifest,
                          ResolvedProgram &program) {
  const pb::Program &message = *program.message;
  std::optional<int64_t> end = 0;
  if (message.arena_bytes() < 0 || message.ranks_size() == 0) {
    return invalid("it has an arena of ", message.arena_bytes(), " bytes and ",
                   message.ranks_size(), " ranks");
  }
  bool isRight = message.device_arena_bytes_size() <= manifest.spaces_size();
  for (int space = 0; isRight && space <= manifest.spaces_size(); ++space) {
    program.arenas.push_back(*end);
    int64_t bytes = arenaBytes(message, space);
    end = bytes < 0 ? std::nullopt : checkedAdd(*end, bytes);
    isRight = end.has_value();
  }
  if (!isRight) {
    return invalid("its arenas in memory spaces of devices are more than "
                   "there are of these, less than nothing, or too large");
  }
  program.arenas.push_back(*end);
  return {};
}

/// Counts the bytes of what the program writes behind its arena: the globals
/// and the inputs of which some buffer is the new value.
static Status countWritten(const ResolvedManifest &resolved,
                           const ResolvedEntry &entry,
                           ResolvedProgram &program) {
  for (const pb::Buffer &buffer : program.message->buffers()) {
    if (buffer.has_new_global()) {
      program.writtenGlobals[buffer.new_global()] = {};
    } else if (buffer.has_new_input()) {
      program.writtenInputs[buffer.new_input()] = {};
    }
  }
  program.bytes = program.arenas.back();
  auto count = [&](std::map<uint32_t, ResolvedProgram::Range> &ranges,
                   const std::vector<const Placement *> &placements) {
    for (auto &[number, range] : ranges) {
      const Placement &placement = *placements[number];
      const GridInfo &grid = resolved.grids[placement.grid];
      int64_t most = 0;
      for (uint32_t rank : program.message->ranks()) {
        most = std::max(most, placement.bytes(*grid.positionOf(rank)));
      }
      std::optional<int64_t> end = checkedAdd(program.bytes, most);
      if (!end) {
        return invalid("what it writes has more than 2^63 bytes");
      }
      range = {program.bytes, *end};
      program.bytes = *end;
    }
    return Status();
  };
  Status status = count(program.writtenGlobals, resolved.globals);
  if (status.isOk()) {
    status = count(program.writtenInputs, entry.inputs);
  }
  return !status.isOk() || checkedAdd(program.bytes, 1)
             ? status
             : invalid("it has more than 2^63 bytes");
}

std::vector<uint32_t>
divisi::rt::movedBuffers(const pb::Instruction &instruction) {
  std::vector<uint32_t> buffers;
  auto add = [&](const auto &move) {
    buffers = {move.source(), move.result()};
  };
  if (instruction.has_collective()) {
    add(instruction.collective());
  } else if (instruction.has_copy()) {
    add(instruction.copy());
  } else if (instruction.has_output()) {
    buffers = {instruction.output().source()};
  } else if (instruction.has_transfer()) {
    if (instruction.transfer().has_source()) {
      buffers.push_back(instruction.transfer().source());
    }
    if (instruction.transfer().has_result()) {
      buffers.push_back(instruction.transfer().result());
    }
  }
  return buffers;
}

bool divisi::rt::isQueued(const ResolvedProgram &program,
                          const pb::Instruction &instruction) {
  bool isStep =
      instruction.has_transfer() ||
      (instruction.has_collective() &&
       !isLocal(*parseCollectiveKind(instruction.collective().kind())));
  return isStep &&
         program.space(movedBuffers(instruction).front()) != hostSpaceNumber;
}

Status divisi::rt::resolveProgram(const pb::Program &message,
                                  ResolvedManifest &resolved,
                                  ResolvedEntry &entry) {
  size_t index = entry.programs.size();
  ResolvedProgram &program = entry.programs.emplace_back();
  program.message = &message;
  Status status = countArenas(*resolved.manifest, program);
  if (!status.isOk()) {
    return status;
  }
  for (uint32_t rank : message.ranks()) {
    if (rank >= resolved.manifest->num_ranks() ||
        !entry.programOfRank.emplace(rank, index).second) {
      return invalid("rank ", rank, " is out of range or has two programs");
    }
  }
  if (status = checkOrder(*resolved.manifest, message); !status.isOk()) {
    return status;
  }
  status = checkCalls(message, resolved);
  if (status.isOk()) {
    status = checkLoops(message, resolved);
  }
  if (!status.isOk()) {
    return status;
  }
  if (status = readBuffers(resolved, entry, program); !status.isOk()) {
    return status;
  }
  if (status = countWritten(resolved, entry, program); !status.isOk()) {
    return status;
  }
  return readTransfers(resolved, program);
}
