//===- RankMemory.cpp - What a rank holds while it runs -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/RankMemory.h"
#include "runtime/core/RankProgram.h"

#include <algorithm>

using namespace divisi;
using namespace divisi::rt;

std::vector<RankMemory>
divisi::rt::plannedMemory(const ResolvedManifest &resolved) {
  std::vector<RankMemory> ranks(resolved.manifest->num_ranks());
  for (const Placement *global : resolved.globals) {
    const GridInfo &grid = resolved.grids[global->grid];
    for (size_t p = 0; p < grid.numPositions(); ++p) {
      ranks[grid.devices[p]].weights += global->bytes(p);
    }
  }
  for (uint32_t rank = 0; rank < ranks.size(); ++rank) {
    SpacePlan plan = planSpaces(resolved, rank);
    ranks[rank].arena = plan.arenas[hostSpaceNumber];
    ranks[rank].device = plan.deviceBytes();
  }
  return ranks;
}

void divisi::rt::countWeights(const ResolvedManifest &resolved,
                              uint32_t number,
                              const std::set<uint32_t> &globals,
                              RankMemory &rank) {
  rank.weights = 0;
  for (size_t i = 0; i < resolved.globals.size(); ++i) {
    const Placement &global = *resolved.globals[i];
    auto position = resolved.grids[global.grid].positionOf(number);
    if (position && (resolved.isUpdated[i] || globals.contains(i))) {
      rank.weights += global.bytes(*position);
    }
  }
}

void divisi::rt::raiseWorkspaces(std::vector<int64_t> &workspaces,
                                 const ProgramMemory &program) {
  workspaces.resize(std::max(workspaces.size(), program.workspaces.size()));
  for (size_t space = 0; space < program.workspaces.size(); ++space) {
    workspaces[space] = std::max(workspaces[space], program.workspaces[space]);
  }
}

void divisi::rt::addWorkspaces(RankMemory &rank,
                               std::span<const int64_t> workspaces) {
  for (size_t space = 0; space < workspaces.size(); ++space) {
    (space == hostSpaceNumber ? rank.workspace : rank.device) +=
        workspaces[space];
  }
}

void divisi::rt::addMemory(RankMemory &rank, const ProgramMemory &program) {
  rank.workspace += program.staging;
  rank.packed += program.packed;
  // One serves all programs: they never run at the same time.
  rank.messages = std::max(rank.messages, program.messages);
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
  std::vector<RankMemory> ranks = plannedMemory(**resolved);
  for (uint32_t rank = 0; rank < ranks.size(); ++rank) {
    if (backends.empty()) {
      break;
    }
    std::vector<int64_t> workspaces;
    std::set<uint32_t> globals;
    for (size_t e = 0; e < (*resolved)->entries.size(); ++e) {
      const ResolvedEntry &entry = (*resolved)->entries[e];
      if (entry.isBody() || !entry.programOfRank.contains(rank)) {
        continue;
      }
      Expected<ProgramMemory> program = RankProgram::predict(
          {**resolved, e, rank, nullptr, nullptr, nullptr, backends, threads});
      if (!program) {
        return program.status();
      }
      addMemory(ranks[rank], *program);
      raiseWorkspaces(workspaces, *program);
      globals.insert(program->globals.begin(), program->globals.end());
    }
    countWeights(**resolved, rank, globals, ranks[rank]);
    addWorkspaces(ranks[rank], workspaces);
  }
  return ranks;
}
