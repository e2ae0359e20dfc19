//===- ResolvedManifest.cpp - A manifest, all numbers resolved ------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/ResolvedManifest.h"
#include "divisi/runtime/HostTensor.h"

#include <algorithm>
#include <set>

using namespace divisi;
using namespace divisi::rt;
namespace pb = divisi::artifact;

static constexpr uint32_t maxRanks = 4096;
static constexpr int maxCommunicators = 1024;

template <typename... Parts> static Status invalid(const Parts &...parts) {
  return makeError(ExitCode::Invalid, parts...);
}

std::string divisi::rt::describeInstruction(const ResolvedEntry &entry,
                                            size_t program,
                                            size_t instruction) {
  std::ostringstream os;
  os << "entry '" << entry.message->name() << "', program " << program
     << ", instruction " << instruction;
  const std::string &location =
      entry.programs[program]
          .message->instructions(static_cast<int>(instruction))
          .location();
  if (!location.empty()) {
    os << " (" << location << ")";
  }
  return os.str();
}

std::string divisi::rt::nameOfQueue(const pb::Manifest &manifest,
                                    uint32_t queue) {
  if (queue < firstCommunicator) {
    return queue == computeQueue ? "compute" : "copy";
  }
  return manifest.communicators(static_cast<int>(queue - firstCommunicator))
      .name();
}

std::optional<ResolvedProgram::Range>
ResolvedProgram::arenaRange(uint32_t buffer) const {
  const pb::Buffer &bytes = root(buffer);
  if (bytes.where_case() != pb::Buffer::kArenaOffset) {
    return std::nullopt;
  }
  return Range{bytes.arena_offset(), bytes.arena_offset() + bytes.bytes()};
}

static Status readGrid(const pb::Grid &message, uint32_t numRanks,
                       GridInfo &grid) {
  grid.name = message.name();
  uint64_t positions = 1;
  for (const pb::Axis &axis : message.axes()) {
    if (axis.size() < 1 || axis.size() > numRanks) {
      return invalid("axis '", axis.name(), "' has size ", axis.size(),
                     ", expected 1 to ", numRanks);
    }
    positions *= static_cast<uint64_t>(axis.size());
    if (positions > numRanks) {
      return invalid("it has more positions than the ", numRanks, " ranks");
    }
    grid.sizes.push_back(axis.size());
  }
  if (static_cast<uint64_t>(message.devices_size()) != positions) {
    return invalid("got ", message.devices_size(), " devices for ", positions,
                   " positions");
  }
  std::set<uint32_t> seen;
  for (uint32_t rank : message.devices()) {
    if (rank >= numRanks || !seen.insert(rank).second) {
      return invalid("rank ", rank, " is out of range or stands twice");
    }
    grid.devices.push_back(rank);
  }
  return {};
}

static Status checkCommunicators(const ResolvedManifest &resolved) {
  const pb::Manifest &manifest = *resolved.manifest;
  if (manifest.communicators_size() > maxCommunicators) {
    return invalid("got ", manifest.communicators_size(),
                   " communicators, expected at most ", maxCommunicators);
  }
  for (const pb::Communicator &message : manifest.communicators()) {
    size_t grids = resolved.grids.size();
    bool isRight = message.grid() < grids &&
                   (!message.has_target() || message.target() < grids);
    for (uint32_t axis : message.axes()) {
      isRight = isRight && axis < resolved.grids[message.grid()].sizes.size();
    }
    if (!isRight) {
      return invalid("communicator '", message.name(),
                     "' names a grid or an axis that is not there");
    }
  }
  return {};
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

static Status readGlobal(const pb::Global &message,
                         ResolvedManifest &resolved) {
  Expected<const Placement *> placement = resolved.place(message.tensor());
  if (!placement) {
    return placement.status();
  }
  resolved.globals.push_back(*placement);
  if ((*placement)->isPartial() || !(*placement)->coversAll) {
    return invalid(
        "a global cannot be partial, nor leave an element to nobody");
  }
  int64_t bytes = *checkedBytes((*placement)->type, (*placement)->dims);
  bool startsAsZeros = message.bytes() == 0 && message.kind() == "state";
  if (message.bytes() != bytes && !startsAsZeros) {
    return invalid("it has ", message.bytes(), " bytes of data, expected ",
                   bytes);
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
  Status checkSize(const pb::Buffer &message, const Placement &placement) const;

  ResolvedManifest &resolved_;
  const ResolvedEntry &entry_;
  ResolvedProgram &program_;
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
  const pb::Program &program = *program_.message;
  switch (message.where_case()) {
  case pb::Buffer::kArenaOffset: {
    int64_t offset = message.arena_offset();
    if (offset < 0 || offset % 64 != 0 || message.bytes() < 0 ||
        offset > program.arena_bytes() ||
        message.bytes() > program.arena_bytes() - offset) {
      return invalid("bytes ", offset, " + ", message.bytes(),
                     " of an arena of ", program.arena_bytes(),
                     "; expected a multiple of 64 and inside of it");
    }
    return {};
  }
  case pb::Buffer::kGlobal:
    if (message.global() >= resolved_.globals.size()) {
      return invalid("global ", message.global(), " of ",
                     resolved_.globals.size());
    }
    if (!(*resolved_.globals[message.global()] == placement)) {
      return invalid("it does not lie as its global does at rest");
    }
    return {};
  case pb::Buffer::kInput:
    if (message.input() >= entry_.inputs.size()) {
      return invalid("input ", message.input(), " of ", entry_.inputs.size());
    }
    if (!(*entry_.inputs[message.input()] == placement)) {
      return invalid("it does not lie as its input does");
    }
    return {};
  default:
    return invalid("it lies nowhere");
  }
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
  if (!placement) {
    return placement.status();
  }
  auto root = static_cast<uint32_t>(program_.buffers.size());
  Status status = message.where_case() == pb::Buffer::kView
                      ? checkView(message, **placement, root)
                      : checkWhere(message, **placement);
  if (status.isOk()) {
    status = checkSize(message, **placement);
  }
  program_.buffers.push_back({*placement, root});
  return status;
}

static Status
readValues(const google::protobuf::RepeatedPtrField<pb::Value> &messages,
           const char *what, bool mayHaveGaps, ResolvedManifest &resolved,
           std::vector<const Placement *> &values) {
  for (const pb::Value &message : messages) {
    std::string context = std::string(what) + " '" + message.name() + "'";
    Expected<const Placement *> placement = resolved.place(message.tensor());
    if (!placement) {
      return placement.status().in(context);
    }
    if ((*placement)->isPartial()) {
      return invalid(context, " cannot be partial");
    }
    if (!(*placement)->coversAll && !mayHaveGaps) {
      return invalid(context, " leaves an element to nobody");
    }
    values.push_back(*placement);
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

static Status readProgram(const pb::Program &message,
                          ResolvedManifest &resolved, ResolvedEntry &entry) {
  size_t index = entry.programs.size();
  ResolvedProgram &program = entry.programs.emplace_back();
  program.message = &message;
  if (message.arena_bytes() < 0 || message.ranks_size() == 0) {
    return invalid("it has an arena of ", message.arena_bytes(), " bytes and ",
                   message.ranks_size(), " ranks");
  }
  for (uint32_t rank : message.ranks()) {
    if (rank >= resolved.manifest->num_ranks() ||
        !entry.programOfRank.emplace(rank, index).second) {
      return invalid("rank ", rank, " is out of range or has two programs");
    }
  }
  if (Status status = checkOrder(*resolved.manifest, message); !status.isOk()) {
    return status;
  }
  BufferReader reader(resolved, entry, program);
  for (int i = 0; i < message.buffers_size(); ++i) {
    if (Status status = reader.read(message.buffers(i)); !status.isOk()) {
      return status.in("buffer " + std::to_string(i));
    }
  }
  return readTransfers(resolved, program);
}

static Status readEntry(const pb::Entry &message, ResolvedManifest &resolved) {
  ResolvedEntry &entry = resolved.entries.emplace_back();
  entry.message = &message;
  Status status = readValues(message.inputs(), "input", /*mayHaveGaps=*/true,
                             resolved, entry.inputs);
  if (status.isOk()) {
    status = readValues(message.outputs(), "output", /*mayHaveGaps=*/false,
                        resolved, entry.outputs);
  }
  for (int i = 0; status.isOk() && i < message.programs_size(); ++i) {
    status = readProgram(message.programs(i), resolved, entry)
                 .in("program " + std::to_string(i));
  }
  return status;
}

static void markUpdated(ResolvedManifest &resolved) {
  resolved.isUpdated.assign(resolved.globals.size(), false);
  for (const pb::Entry &entry : resolved.manifest->entries()) {
    for (const pb::Program &program : entry.programs()) {
      for (const pb::Instruction &instruction : program.instructions()) {
        if (instruction.has_update() &&
            instruction.update().global() < resolved.globals.size()) {
          resolved.isUpdated[instruction.update().global()] = true;
        }
      }
    }
  }
}

static Status readManifest(ResolvedManifest &resolved) {
  const pb::Manifest &manifest = *resolved.manifest;
  if (manifest.num_ranks() == 0 || manifest.num_ranks() > maxRanks) {
    return invalid("got ", manifest.num_ranks(), " ranks, expected 1 to ",
                   maxRanks);
  }
  for (const pb::Grid &message : manifest.grids()) {
    Status status =
        readGrid(message, manifest.num_ranks(), resolved.grids.emplace_back());
    if (!status.isOk()) {
      return status.in("grid '" + message.name() + "'");
    }
  }
  if (Status status = checkCommunicators(resolved); !status.isOk()) {
    return status;
  }
  for (const pb::Global &message : manifest.globals()) {
    if (Status status = readGlobal(message, resolved); !status.isOk()) {
      return status.in("global '" + message.name() + "'");
    }
  }
  std::set<std::string> names;
  for (const pb::Entry &message : manifest.entries()) {
    if (!names.insert(message.name()).second) {
      return invalid("two entries are named '", message.name(), "'");
    }
    if (Status status = readEntry(message, resolved); !status.isOk()) {
      return status.in("entry '" + message.name() + "'");
    }
  }
  markUpdated(resolved);
  return {};
}

Expected<std::unique_ptr<ResolvedManifest>>
divisi::rt::resolveManifest(const pb::Manifest &manifest) {
  auto resolved = std::make_unique<ResolvedManifest>();
  resolved->manifest = &manifest;
  if (Status status = readManifest(*resolved); !status.isOk()) {
    return status;
  }
  return resolved;
}

static bool isLessExact(DType type, DType than) {
  return byteWidth(type) < byteWidth(than) ||
         (type == DType::BF16 && than == DType::F16) ||
         (type == DType::F8E5M2 && than == DType::F8E4M3FN);
}

DType divisi::rt::leastExactType(const ResolvedEntry &entry) {
  DType least = DType::F64;
  for (const ResolvedProgram &program : entry.programs) {
    for (const pb::Instruction &instruction : program.message->instructions()) {
      for (uint32_t result : instruction.call().results()) {
        DType type = program.buffers[result].placement->type;
        least = isFloatType(type) && isLessExact(type, least) ? type : least;
      }
    }
  }
  return least;
}
