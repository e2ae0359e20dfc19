//===- CountOverhead.cpp - What GPUs hold beside tensors ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/ProgramMemory.h"
#include "runtime/core/RankSpaces.h"

using namespace divisi;
using namespace divisi::rt;
namespace pb = divisi::artifact;

/// Of one program.
static GpuUse useOf(const ResolvedProgram &program) {
  GpuUse use;
  for (const pb::Instruction &instruction : program.message->instructions()) {
    if (isQueued(program, instruction)) {
      use.communicators.insert(instruction.queue());
    } else if (instruction.has_call() && instruction.call().has_code() &&
               instruction.call().space() != hostSpaceNumber) {
      use.codes.insert(instruction.call().code());
    }
  }
  return use;
}

GpuOverhead divisi::rt::countOverhead(const ResolvedManifest &resolved,
                                      uint32_t rank, const SpacePlan &plan,
                                      GpuUses &uses) {
  GpuOverhead overhead;
  GpuUse use;
  for (const ResolvedEntry &entry : resolved.entries) {
    auto own = entry.programOfRank.find(rank);
    if (own != entry.programOfRank.end()) {
      const ResolvedProgram &program = entry.programs[own->second];
      auto [known, isNew] = uses.try_emplace(&program);
      if (isNew) {
        known->second = useOf(program);
      }
      use.codes.insert(known->second.codes.begin(), known->second.codes.end());
      use.communicators.insert(known->second.communicators.begin(),
                               known->second.communicators.end());
    }
  }
  for (uint32_t space = 1; space < plan.arenas.size(); ++space) {
    if (!plan.uses(space) || nameOfSpace(*resolved.manifest, space) != "cuda") {
      continue;
    }
    overhead.context = GpuOverhead::contextBytes;
    int64_t code = 0;
    for (uint32_t number : use.codes) {
      code += resolved.manifest->codes(static_cast<int>(number)).bytes();
    }
    overhead.modules = GpuOverhead::rounded(code);
    if (!use.communicators.empty()) {
      auto parts = static_cast<int64_t>(use.communicators.size());
      int64_t bytes = plan.stepBytes(space);
      overhead.nccl = GpuOverhead::communicatorBytes +
                      parts * GpuOverhead::partBytes +
                      GpuOverhead::rounded(bytes) - bytes;
    }
  }
  return overhead;
}
