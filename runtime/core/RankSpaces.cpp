//===- RankSpaces.cpp - What a rank has in each memory space --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/RankSpaces.h"
#include "runtime/core/GlobalCopier.h"

#include <algorithm>

using namespace divisi;
using namespace divisi::rt;
namespace pb = divisi::artifact;

Status RankSpace::allocate(int64_t bytes, std::unique_ptr<DeviceMemory> &place,
                           const StepMemory &allocate) const {
  if (bytes == 0) {
    return {};
  }
  auto made = allocate ? allocate(*device, bytes) : device->allocate(bytes);
  if (made) {
    place = std::move(*made);
  }
  return made.status();
}

int64_t SpacePlan::deviceBytes() const {
  int64_t bytes = 0;
  for (uint32_t space = 1; space < arenas.size(); ++space) {
    bytes += stepBytes(space);
    for (const auto &[global, copied] : globals[space]) {
      bytes += sent.contains(global) ? 0 : copied;
    }
  }
  return bytes;
}

/// Where parts of one piece begin: as memory of devices does.
static constexpr int64_t partAlignment = 256;

static int64_t alignPart(int64_t bytes) {
  return (bytes + partAlignment - 1) / partAlignment * partAlignment;
}

int64_t SpacePlan::stepBytes(uint32_t space) const {
  int64_t bytes = arenas[space];
  for (const auto &[global, copied] : globals[space]) {
    bytes = sent.contains(global) ? alignPart(bytes) + copied : bytes;
  }
  return bytes;
}

int64_t SpacePlan::stagingBytes() const {
  int64_t piece = 0;
  for (size_t space = 1; space < globals.size(); ++space) {
    for (const auto &[global, copied] : globals[space]) {
      piece = std::max(piece, std::min(copied, mostGlobalPiece));
    }
  }
  return 2 * piece;
}

/// Adds the globals that devices read when they meet, in this instruction or in
/// the body that it runs.
static void addSent(const ResolvedProgram &program,
                    const pb::Instruction &instruction,
                    std::set<uint32_t> &sent) {
  std::vector<uint32_t> buffers;
  if (isQueued(program, instruction)) {
    buffers = movedBuffers(instruction);
  } else if (instruction.has_loop()) {
    buffers.assign(instruction.loop().given().begin(),
                   instruction.loop().given().end());
  }
  for (uint32_t buffer : buffers) {
    if (std::optional<uint32_t> global = globalOf(program.root(buffer))) {
      sent.insert(*global);
    }
  }
}

/// The rank's programs, by entry.
static std::vector<const ResolvedProgram *>
programsOf(const ResolvedManifest &resolved, uint32_t rank) {
  std::vector<const ResolvedProgram *> programs;
  for (const ResolvedEntry &entry : resolved.entries) {
    auto found = entry.programOfRank.find(rank);
    if (found != entry.programOfRank.end()) {
      programs.push_back(&entry.programs[found->second]);
    }
  }
  return programs;
}

SpacePlanner::Common
SpacePlanner::commonOf(std::span<const ResolvedProgram *const> programs) const {
  auto spaces = static_cast<uint32_t>(resolved_.manifest->spaces_size()) + 1;
  Common common{std::vector<int64_t>(spaces), {}, {}};
  std::set<InSpace> globals;
  for (const ResolvedProgram *resolvedProgram : programs) {
    const pb::Program &program = *resolvedProgram->message;
    for (const pb::Instruction &instruction : program.instructions()) {
      addSent(*resolvedProgram, instruction, common.sent);
    }
    for (uint32_t space = 0; space < spaces; ++space) {
      common.arenas[space] =
          std::max(common.arenas[space], arenaBytes(program, space));
    }
    for (const pb::Buffer &buffer : program.buffers()) {
      if (std::optional<uint32_t> global = globalOf(buffer)) {
        globals.emplace(buffer.space(), *global);
      }
    }
  }
  // Of what some program updates a rank has its box, whether the program is one
  // of its own or not: it is state.
  for (uint32_t global = 0; global < resolved_.globals.size(); ++global) {
    if (resolved_.isUpdated[global] && !resolved_.isHostState(global)) {
      globals.emplace(resolved_.stateSpaces[global], global);
    }
  }
  common.globals.assign(globals.begin(), globals.end());
  return common;
}

SpacePlan SpacePlanner::of(uint32_t rank) {
  std::vector<const ResolvedProgram *> programs = programsOf(resolved_, rank);
  auto known = known_.find(programs);
  if (known == known_.end()) {
    Common common = commonOf(programs);
    known = known_.emplace(std::move(programs), std::move(common)).first;
  }
  const Common &common = known->second;
  SpacePlan plan{common.arenas,
                 std::vector<std::map<uint32_t, int64_t>>(common.arenas.size()),
                 common.sent};
  for (auto [space, global] : common.globals) {
    const Placement &at = *resolved_.globals[global];
    if (auto position = resolved_.grids[at.grid].positionOf(rank)) {
      plan.globals[space].emplace_hint(plan.globals[space].end(), global,
                                       at.bytes(*position));
    }
  }
  return plan;
}

SpacePlan divisi::rt::planSpaces(const ResolvedManifest &resolved,
                                 uint32_t rank) {
  return SpacePlanner(resolved).of(rank);
}

namespace {

/// What steps between devices may read or write of a rank's memory, in one
/// piece: whoever connects devices has to be told of each piece, and may round
/// it up to a large one. The arena comes first, so that it begins where those
/// of other ranks do.
class StepPiece {
public:
  explicit StepPiece(std::unique_ptr<DeviceMemory> whole)
      : whole_(std::move(whole)) {}
  /// The next bytes, which keep all of it.
  std::unique_ptr<DeviceMemory> take(int64_t bytes) {
    int64_t begin = alignPart(taken_);
    taken_ = begin + bytes;
    return std::make_unique<Part>(whole_, whole_->data() + begin, bytes);
  }

private:
  class Part final : public DeviceMemory {
  public:
    Part(std::shared_ptr<DeviceMemory> whole, std::byte *data, int64_t bytes)
        : DeviceMemory(data, bytes), whole_(std::move(whole)) {}

  private:
    std::shared_ptr<DeviceMemory> whole_;
  };

  std::shared_ptr<DeviceMemory> whole_;
  int64_t taken_ = 0;
};

/// Copies globals for one rank to one device.
struct GlobalsToDevice {
  const ResolvedManifest &resolved;
  uint32_t rank;
  const SpacePlan &plan;
  StepPiece &piece; ///< Its arena is taken.
  GlobalBoxes &globals;

  /// All that `plan` has for the space of that number.
  Status copyAll(uint32_t number, RankSpace &space) const;

private:
  bool isShared(uint32_t global, const Device &device) const {
    return device.memoryId() && !resolved.isUpdated[global] &&
           !plan.sent.contains(global);
  }
  Expected<std::shared_ptr<DeviceMemory>>
  makeMemory(uint32_t global, int64_t bytes, const RankSpace &space) const;
};

} // namespace

/// Where sessions share it, of the device alone, which it keeps.
Expected<std::shared_ptr<DeviceMemory>>
GlobalsToDevice::makeMemory(uint32_t global, int64_t bytes,
                            const RankSpace &space) const {
  if (plan.sent.contains(global)) {
    return std::shared_ptr<DeviceMemory>(piece.take(bytes));
  }
  bool shares = isShared(global, *space.device);
  auto made = space.device->allocate(bytes);
  if (!made || !shares) {
    return made ? Expected(std::shared_ptr<DeviceMemory>(std::move(*made)))
                : made.status();
  }
  auto free = [device = space.device](DeviceMemory *memory) { delete memory; };
  return std::shared_ptr<DeviceMemory>(made->release(), free);
}

Status GlobalsToDevice::copyAll(uint32_t number, RankSpace &space) const {
  GlobalCopier copier(globals, rank, *space.device);
  auto &shared = globals.inDevices(space.device->memoryId());
  std::unique_lock lock(shared.mutex, std::defer_lock);
  if (space.device->memoryId()) {
    lock.lock();
  }
  std::vector<std::pair<std::weak_ptr<DeviceMemory> *, uint32_t>> brought;
  for (auto [global, bytes] : plan.globals[number]) {
    const Placement &at = *resolved.globals[global];
    const Box &box = at.boxes[*resolved.grids[at.grid].positionOf(rank)];
    std::weak_ptr<DeviceMemory> *slot =
        isShared(global, *space.device)
            ? &shared.boxes[{global, box.begin, box.end}]
            : nullptr;
    std::shared_ptr<DeviceMemory> &memory = space.globals[global];
    if (slot && (memory = slot->lock())) {
      continue;
    }
    auto made = makeMemory(global, bytes, space);
    Status status = made.status();
    if (made) {
      memory = std::move(*made); // to which it may be on its way
      status = bytes != 0 ? copier.copy(global, bytes, memory->data()) : status;
    }
    if (!status.isOk()) {
      (void)copier.finish();
      return status.in(
          "global '" +
          resolved.manifest->globals(static_cast<int>(global)).name() + "'");
    }
    if (slot) {
      brought.emplace_back(slot, global);
    }
  }
  Status status = copier.finish();
  for (auto [slot, global] : brought) {
    if (status.isOk()) {
      *slot = space.globals[global];
    }
  }
  return status;
}

Status divisi::rt::reloadStates(const ResolvedManifest &resolved, uint32_t rank,
                                GlobalBoxes &globals,
                                const RankSpaces &spaces) {
  for (size_t i = hostSpaceNumber + 1; i < spaces.size(); ++i) {
    if (!spaces[i].device) {
      continue;
    }
    GlobalCopier copier(globals, rank, *spaces[i].device);
    Status status;
    for (const auto &[global, memory] : spaces[i].globals) {
      if (status.isOk() && resolved.isUpdated[global] && memory->size() != 0) {
        status = copier.copy(global, memory->size(), memory->data());
      }
    }
    Status last = copier.finish();
    if (!status.isOk() || !last.isOk()) {
      return status.isOk() ? last : status;
    }
  }
  return {};
}

bool divisi::rt::hasQueuedSteps(const ResolvedManifest &resolved,
                                uint32_t rank) {
  return std::ranges::any_of(resolved.entries, [&](const ResolvedEntry &entry) {
    auto own = entry.programOfRank.find(rank);
    return own != entry.programOfRank.end() &&
           hasQueued(entry.programs[own->second]);
  });
}

static Expected<std::shared_ptr<Device>>
makeDevice(const DeviceFactory &devices, uint32_t rank, std::string_view name) {
  Expected<std::shared_ptr<Device>> device = std::shared_ptr<Device>();
  if (devices) {
    device = devices(rank, name);
  }
  if (device && !*device) {
    return makeError(ExitCode::Unsupported,
                     "the session has no device with memory space '", name,
                     "'");
  }
  return device;
}

Expected<RankSpaces>
divisi::rt::makeRankSpaces(const ResolvedManifest &resolved, uint32_t rank,
                           GlobalBoxes &globals, const DeviceFactory &devices,
                           const StepMemory &allocate) {
  SpacePlan plan = planSpaces(resolved, rank);
  RankSpaces spaces(plan.arenas.size());
  spaces[hostSpaceNumber].device = makeHostDevice();
  // Whose copies reach the host's arena.
  Device *copying = spaces[hostSpaceNumber].device.get();
  for (uint32_t i = static_cast<uint32_t>(spaces.size()); i-- > 0;) {
    if (!plan.uses(i)) {
      continue;
    }
    RankSpace &space = spaces[i];
    if (i == hostSpaceNumber) {
      auto arena = copying->allocateHost(plan.arenas[i]);
      if (!arena) {
        return arena.status().in("the arena of rank " + std::to_string(rank));
      }
      space.arena = std::move(*arena);
      continue;
    }
    auto device = makeDevice(devices, rank, nameOfSpace(*resolved.manifest, i));
    if (!device) {
      return device.status();
    }
    space.device = std::move(*device);
    copying = space.device.get();
    auto made = allocate(*space.device, plan.stepBytes(i));
    if (!made) {
      return made.status().in("the arena of rank " + std::to_string(rank));
    }
    StepPiece piece(std::move(*made));
    space.arena = piece.take(plan.arenas[i]);
    space.padding = plan.stepBytes(i) - plan.arenas[i];
    for (const auto &[global, bytes] : plan.globals[i]) {
      space.padding -= plan.sent.contains(global) ? bytes : 0;
    }
    Status status =
        GlobalsToDevice{resolved, rank, plan, piece, globals}.copyAll(i, space);
    if (!status.isOk()) {
      return status;
    }
  }
  return spaces;
}
