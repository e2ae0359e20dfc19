//===- RankMemory.cpp - What a rank holds while it runs -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/core/RankMemory.h"
#include "runtime/core/RankClasses.h"

#include <algorithm>

using namespace divisi;
using namespace divisi::rt;

/// Weights and arenas, as the manifest plans them.
static RankMemory plannedMemory(const ResolvedManifest &resolved, uint32_t rank,
                                const SpacePlan &plan, GpuUses &uses) {
  RankMemory planned;
  std::set<uint32_t> read;
  for (const auto &[global, bytes] : plan.globals[hostSpaceNumber]) {
    read.insert(global);
  }
  countWeights(resolved, rank, read, planned);
  planned.arena = plan.arenas[hostSpaceNumber];
  planned.device = plan.deviceBytes();
  planned.overhead = countOverhead(resolved, rank, plan, uses);
  return planned;
}

void divisi::rt::countWeights(const ResolvedManifest &resolved, uint32_t number,
                              const std::set<uint32_t> &globals,
                              RankMemory &rank) {
  rank.weights = 0;
  for (size_t i = 0; i < resolved.globals.size(); ++i) {
    const Placement &global = *resolved.globals[i];
    auto position = resolved.grids[global.grid].positionOf(number);
    if (position && (resolved.isHostState(i) || globals.contains(i))) {
      rank.weights += global.bytes(*position);
    }
  }
}

void divisi::rt::raiseEach(std::vector<int64_t> &most,
                           const std::vector<int64_t> &own) {
  most.resize(std::max(most.size(), own.size()));
  for (size_t space = 0; space < own.size(); ++space) {
    most[space] = std::max(most[space], own[space]);
  }
}

void SharedMemory::raise(const ProgramMemory &program) {
  raiseEach(workspaces, program.workspaces);
  raiseEach(messages, program.messages);
  packed.insert(program.packed.begin(), program.packed.end());
  packing = std::max(packing, program.packing);
}

void divisi::rt::addShared(RankMemory &rank, const SharedMemory &shared) {
  auto add = [&](const std::vector<int64_t> &bytes, int64_t &ofHost) {
    for (size_t space = 0; space < bytes.size(); ++space) {
      (space == hostSpaceNumber ? ofHost : rank.device) += bytes[space];
    }
  };
  add(shared.workspaces, rank.workspace);
  add(shared.messages, rank.messages);
  for (size_t space = 1; space < shared.messages.size(); ++space) {
    int64_t bytes = shared.messages[space];
    rank.overhead.nccl +=
        rank.overhead.nccl > 0 ? GpuOverhead::rounded(bytes) - bytes : 0;
  }
  // Constants are packed before the first run, which uses the rest.
  rank.workspace +=
      std::max<int64_t>(shared.packing - rank.arena - rank.workspace, 0);
  for (const auto &[form, bytes] : shared.packed) {
    rank.packed += bytes;
  }
}

void divisi::rt::addMemory(RankMemory &rank, const ProgramMemory &program) {
  rank.workspace += program.staging;
}

Expected<ProgramMemory> RankProgram::predict(const RankContext &context) {
  RankProgram program(context);
  Status status = RankProgramBuilder(context, program).countMemory();
  return status.isOk() ? Expected<ProgramMemory>(program.memory_) : status;
}

Expected<std::vector<RankMemory>>
divisi::rt::predictMemory(const artifact::Manifest &manifest,
                          std::span<const Backend *const> backends,
                          int threads) {
  Expected<std::unique_ptr<ResolvedManifest>> resolved =
      resolveManifest(manifest);
  if (!resolved) {
    return resolved.status();
  }
  std::vector<RankMemory> ranks;
  SpacePlanner planner(**resolved);
  GpuUses uses;
  RankClasses classes(**resolved, backends, threads);
  for (uint32_t rank = 0; rank < manifest.num_ranks(); ++rank) {
    SpacePlan plan = planner.of(rank);
    RankMemory &own =
        ranks.emplace_back(plannedMemory(**resolved, rank, plan, uses));
    if (backends.empty()) {
      continue;
    }
    SharedMemory shared; // programs never run at the same time
    shared.packing = plan.stagingBytes();
    std::set<uint32_t> globals;
    for (size_t e = 0; e < (*resolved)->entries.size(); ++e) {
      const ResolvedEntry &entry = (*resolved)->entries[e];
      if (entry.isBody() || !entry.programOfRank.contains(rank)) {
        continue;
      }
      Expected<const ProgramMemory *> program = classes.memoryOf(e, rank);
      if (!program) {
        return program.status();
      }
      addMemory(own, **program);
      shared.raise(**program);
      globals.insert((*program)->globals.begin(), (*program)->globals.end());
    }
    countWeights(**resolved, rank, globals, own);
    addShared(own, shared);
  }
  return ranks;
}
