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
  if (where.where_case() == pb::Buffer::kArenaOffset) {
    int64_t begin = arenas[where.space()] + where.arena_offset();
    return Range{begin, begin + where.bytes()};
  }
  if (where.where_case() != pb::Buffer::kGlobal &&
      where.where_case() != pb::Buffer::kNewGlobal) {
    return std::nullopt;
  }
  auto it = writtenGlobals.find(where.has_global() ? where.global()
                                                   : where.new_global());
  if (it == writtenGlobals.end()) {
    return std::nullopt;
  }
  auto next = std::next(it);
  return Range{it->second, next == writtenGlobals.end() ? bytes : next->second};
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
  for (auto [global, begin] : writtenGlobals) {
    if (begin <= range.begin) {
      base = begin;
      where =
          "global '" + manifest.globals(static_cast<int>(global)).name() + "'";
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

namespace {

/// Reads the buffers of one program.
class BufferReader {
public:
  BufferReader(ResolvedManifest &resolved, const ResolvedEntry &entry,
               ResolvedProgram &program)
      : resolved_(resolved), entry_(entry), program_(program) {}

  Status read(const pb::Buffer &message);

private:
  Status checkView(const pb::Buffer &message, const Placement &placement,
                   uint32_t &root) const;
  Status checkWhere(const pb::Buffer &message,
                    const Placement &placement) const;
  Status checkSpace(const pb::Buffer &message) const;
  Status checkSize(const pb::Buffer &message, const Placement &placement) const;

  ResolvedManifest &resolved_;
  const ResolvedEntry &entry_;
  ResolvedProgram &program_;
  /// Per global and memory space, the first buffer.
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> oldValues_;
};

} // namespace

Status BufferReader::checkView(const pb::Buffer &message,
                               const Placement &placement,
                               uint32_t &root) const {
  if (message.view() >= program_.buffers.size()) {
    return invalid("a view of buffer ", message.view(),
                   ", which does not come before it");
  }
  const ResolvedBuffer &source = program_.buffers[message.view()];
  root = source.root;
  if (source.placement->grid != placement.grid) {
    return invalid("a view on another grid");
  }
  for (size_t p = 0; p < placement.boxes.size(); ++p) {
    if (source.placement->type != placement.type ||
        source.placement->bytes(p) != placement.bytes(p)) {
      return invalid("a view of ", placement.bytes(p), " bytes of a buffer of ",
                     source.placement->bytes(p), " at position ", p);
    }
  }
  return {};
}

Status BufferReader::checkWhere(const pb::Buffer &message,
                                const Placement &placement) const {
  switch (message.where_case()) {
  case pb::Buffer::kArenaOffset: {
    int64_t offset = message.arena_offset();
    int64_t arena = arenaBytes(*program_.message, message.space());
    if (offset < 0 || offset % 64 != 0 || message.bytes() < 0 ||
        offset > arena || message.bytes() > arena - offset) {
      return invalid("bytes ", offset, " + ", message.bytes(),
                     " of an arena of ", arena,
                     "; expected a multiple of 64 and inside of it");
    }
    return {};
  }
  case pb::Buffer::kGlobal:
  case pb::Buffer::kNewGlobal: {
    uint32_t global =
        message.has_global() ? message.global() : message.new_global();
    if (global >= resolved_.globals.size()) {
      return invalid("global ", global, " of ", resolved_.globals.size());
    }
    if (!(*resolved_.globals[global] == placement)) {
      return invalid("its layout differs from that of its global at rest");
    }
    return {};
  }
  case pb::Buffer::kInput:
    if (message.input() >= entry_.inputs.size()) {
      return invalid("input ", message.input(), " of ", entry_.inputs.size());
    }
    if (!(*entry_.inputs[message.input()] == placement)) {
      return invalid("its layout differs from that of its input");
    }
    return {};
  default:
    return invalid("it has no location");
  }
}

/// Which memory a buffer may lie in, and how.
Status BufferReader::checkSpace(const pb::Buffer &message) const {
  auto spaces = static_cast<uint32_t>(resolved_.manifest->spaces_size());
  if (message.space() > spaces) {
    return invalid("memory space ", message.space(), " of ", spaces + 1);
  }
  if (message.space() != hostSpaceNumber && !message.has_arena_offset() &&
      !message.has_global() && !(message.has_input() && entry_.isBody())) {
    return invalid("it is in memory space '",
                   nameOfSpace(*resolved_.manifest, message.space()),
                   "', where only arenas, globals and inputs of bodies are");
  }
  if (!message.format().empty() && !message.has_arena_offset()) {
    return invalid("it has the format '", message.format(),
                   "', which only a buffer in an arena may have");
  }
  return {};
}

Status BufferReader::checkSize(const pb::Buffer &message,
                               const Placement &placement) const {
  const GridInfo &grid = resolved_.grids[placement.grid];
  for (uint32_t rank : program_.message->ranks()) {
    std::optional<size_t> position = grid.positionOf(rank);
    if (!position) {
      return invalid("its grid '", grid.name, "' does not have rank ", rank,
                     " of the program");
    }
    if (message.where_case() == pb::Buffer::kArenaOffset &&
        placement.bytes(*position) > message.bytes()) {
      return invalid("rank ", rank, " needs ", placement.bytes(*position),
                     " bytes, got ", message.bytes());
    }
  }
  return {};
}

Status BufferReader::read(const pb::Buffer &message) {
  Expected<const Placement *> placement = resolved_.place(message.tensor());
  Status status = placement ? checkSpace(message) : placement.status();
  if (!status.isOk()) {
    return status;
  }
  auto root = static_cast<uint32_t>(program_.buffers.size());
  if (message.has_global()) {
    // All that show the old value of a global are one.
    root = oldValues_.try_emplace({message.global(), message.space()}, root)
               .first->second;
  }
  status = message.where_case() == pb::Buffer::kView
               ? checkView(message, **placement, root)
               : checkWhere(message, **placement);
  if (status.isOk()) {
    status = checkSize(message, **placement);
  }
  program_.buffers.push_back({*placement, root});
  return status;
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

/// Counts the bytes of the globals that the program writes behind its arena.
static Status countGlobals(const ResolvedManifest &resolved,
                           ResolvedProgram &program) {
  for (const pb::Buffer &buffer : program.message->buffers()) {
    if (buffer.has_new_global()) {
      program.writtenGlobals[buffer.new_global()] = 0;
    }
  }
  program.bytes = program.arenas.back();
  for (auto &[global, begin] : program.writtenGlobals) {
    begin = program.bytes;
    const Placement &placement = *resolved.globals[global];
    const GridInfo &grid = resolved.grids[placement.grid];
    int64_t most = 0;
    for (uint32_t rank : program.message->ranks()) {
      most = std::max(most, placement.bytes(*grid.positionOf(rank)));
    }
    std::optional<int64_t> end = checkedAdd(program.bytes, most);
    if (!end) {
      return invalid("its globals have more than 2^63 bytes");
    }
    program.bytes = *end;
  }
  return checkedAdd(program.bytes, 1) ? Status()
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
  BufferReader reader(resolved, entry, program);
  for (int i = 0; i < message.buffers_size(); ++i) {
    if (status = reader.read(message.buffers(i)); !status.isOk()) {
      return status.in("buffer " + std::to_string(i));
    }
  }
  if (status = countGlobals(resolved, program); !status.isOk()) {
    return status;
  }
  return readTransfers(resolved, program);
}
