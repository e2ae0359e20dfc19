//===- ResolvedManifest.cpp - A manifest, all numbers resolved ------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/kernels/HostTensor.h"
#include "runtime/artifact/ResolveProgram.h"

#include <algorithm>
#include <array>
#include <set>

using namespace divisi;
using namespace divisi::rt;
namespace pb = divisi::artifact;

static constexpr uint32_t maxRanks = 4096;
static constexpr int maxCommunicators = 1024;
static constexpr int maxSpaces = 16;

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

std::string_view divisi::rt::nameOfSpace(const pb::Manifest &manifest,
                                         uint32_t space) {
  return space == hostSpaceNumber
             ? hostSpace
             : manifest.spaces(static_cast<int>(space - 1));
}

int64_t divisi::rt::arenaBytes(const pb::Program &program, uint32_t space) {
  if (space == hostSpaceNumber) {
    return program.arena_bytes();
  }
  auto index = static_cast<int>(space - 1);
  return index < program.device_arena_bytes_size()
             ? program.device_arena_bytes(index)
             : 0;
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
      return invalid("rank ", rank, " is out of range or occurs twice");
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
                     "' names an unknown grid or axis");
    }
  }
  return {};
}

static Status checkSpaces(const pb::Manifest &manifest) {
  std::set<std::string_view> names = {hostSpace};
  for (const std::string &name : manifest.spaces()) {
    names.insert(name);
  }
  if (manifest.spaces_size() > maxSpaces ||
      names.size() != static_cast<size_t>(manifest.spaces_size()) + 1) {
    return invalid("got ", manifest.spaces_size(),
                   " memory spaces beside the host's, expected at most ",
                   maxSpaces, ", of different names");
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
    return invalid("a global cannot be partial or leave an element unassigned");
  }
  int64_t bytes = *checkedBytes((*placement)->type, (*placement)->dims);
  bool startsAsZeros = message.bytes() == 0 && message.kind() == "state";
  if (message.bytes() != bytes && !startsAsZeros) {
    return invalid("it has ", message.bytes(), " bytes of data, expected ",
                   bytes);
  }
  return {};
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
      return invalid(context, " leaves an element unassigned");
    }
    values.push_back(*placement);
  }
  return {};
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
    status = resolveProgram(message.programs(i), resolved, entry)
                 .in("program " + std::to_string(i));
  }
  return status;
}

static void markUpdated(ResolvedManifest &resolved) {
  resolved.isUpdated.assign(resolved.globals.size(), false);
  for (const ResolvedEntry &entry : resolved.entries) {
    for (const ResolvedProgram &program : entry.programs) {
      for (const auto &[global, range] : program.writtenGlobals) {
        resolved.isUpdated[global] = true;
      }
    }
  }
}

std::optional<uint32_t> divisi::rt::globalOf(const pb::Buffer &buffer) {
  return buffer.has_global()       ? std::optional(buffer.global())
         : buffer.has_new_global() ? std::optional(buffer.new_global())
                                   : std::nullopt;
}

/// A global that is updated has one place on a rank: all programs find it in
/// one memory space.
static Status findStates(ResolvedManifest &resolved) {
  std::vector<bool> isFound(resolved.globals.size());
  resolved.stateSpaces.assign(resolved.globals.size(), hostSpaceNumber);
  for (const ResolvedEntry &entry : resolved.entries) {
    for (const ResolvedProgram &program : entry.programs) {
      for (const pb::Buffer &buffer : program.message->buffers()) {
        std::optional<uint32_t> global = globalOf(buffer);
        if (!global || !resolved.isUpdated[*global]) {
          continue;
        }
        uint32_t &space = resolved.stateSpaces[*global];
        if (isFound[*global] && space != buffer.space()) {
          const pb::Manifest &manifest = *resolved.manifest;
          return invalid("entry '", entry.message->name(), "' has global '",
                         manifest.globals(static_cast<int>(*global)).name(),
                         "', which is updated, in memory space '",
                         nameOfSpace(manifest, buffer.space()), "', expected '",
                         nameOfSpace(manifest, space), "', where it lies");
        }
        space = buffer.space();
        isFound[*global] = true;
      }
    }
  }
  return {};
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
  Status status = checkCommunicators(resolved);
  if (status.isOk()) {
    status = checkSpaces(manifest);
  }
  if (!status.isOk()) {
    return status;
  }
  for (const pb::Global &message : manifest.globals()) {
    if (Status status = readGlobal(message, resolved); !status.isOk()) {
      return status.in("global '" + message.name() + "'");
    }
  }
  for (int i = 0; i < manifest.operators_size(); ++i) {
    const pb::Operator &message = manifest.operators(i);
    status = resolveOperator(message, resolved);
    if (!status.isOk()) {
      return status.in("operator " + std::to_string(i) + " ('" + message.op() +
                       "')");
    }
  }
  resolved.depths.resize(manifest.entries_size());
  std::set<std::string> names;
  for (const pb::Entry &message : manifest.entries()) {
    bool isBehindBody =
        !resolved.entries.empty() && resolved.entries.back().isBody();
    if (isBehindBody && !message.is_body()) {
      return invalid("entry '", message.name(),
                     "' comes after a body, expected bodies last");
    }
    if (!names.insert(message.name()).second) {
      return invalid("two entries are named '", message.name(), "'");
    }
    if (Status status = readEntry(message, resolved); !status.isOk()) {
      return status.in("entry '" + message.name() + "'");
    }
  }
  markUpdated(resolved);
  return findStates(resolved);
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

/// Whether a float has fewer bits of mantissa.
static bool isLessExact(DType type, DType than) {
  static constexpr std::array<DType, 10> order = {
      DType::F8E8M0,   DType::F4E2M1,     DType::F8E5M2, DType::F8E5M2FNUZ,
      DType::F8E4M3FN, DType::F8E4M3FNUZ, DType::BF16,   DType::F16,
      DType::F32,      DType::F64};
  return std::ranges::find(order, type) < std::ranges::find(order, than);
}

DType divisi::rt::leastExactType(const ResolvedManifest &resolved,
                                 const ResolvedEntry &entry) {
  DType least = DType::F64;
  auto take = [&](DType type) {
    least = isFloatType(type) && isLessExact(type, least) ? type : least;
  };
  for (const ResolvedProgram &program : entry.programs) {
    for (const pb::Instruction &instruction : program.message->instructions()) {
      for (uint32_t result : instruction.call().results()) {
        take(program.buffers[result].placement->type);
      }
      if (instruction.has_loop()) {
        take(leastExactType(resolved,
                            resolved.entries[instruction.loop().body()]));
      }
    }
  }
  return least;
}

bool divisi::rt::quantizes(const ResolvedManifest &resolved,
                           const ResolvedEntry &entry) {
  auto doesCall = [&](const pb::Call &call) {
    const pb::Operator &op = *resolved.operatorOf(call).message;
    return op.op() == "nn.quantize" ||
           std::ranges::any_of(op.parts(), [&](const pb::Part &part) {
             return resolved.manifest->operators(int(part.op())).op() ==
                    "nn.quantize";
           });
  };
  auto does = [&](const pb::Instruction &instruction) {
    return (instruction.has_call() && doesCall(instruction.call())) ||
           (instruction.has_loop() &&
            quantizes(resolved, resolved.entries[instruction.loop().body()]));
  };
  return std::ranges::any_of(
      entry.programs, [&](const ResolvedProgram &program) {
        return std::ranges::any_of(program.message->instructions(), does);
      });
}

bool divisi::rt::hasQueued(const ResolvedProgram &program) {
  return std::ranges::any_of(program.message->instructions(),
                             [&](const pb::Instruction &instruction) {
                               return isQueued(program, instruction);
                             });
}
