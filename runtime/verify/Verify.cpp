//===- Verify.cpp - Whether an artifact's programs can run ----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/verify/Verify.h"
#include "runtime/verify/VerifyOrder.h"
#include "runtime/verify/VerifyProgram.h"

using namespace divisi;
using namespace divisi::rt;
namespace pb = divisi::artifact;

template <typename... Parts> static Status invalid(const Parts &...parts) {
  return makeError(ExitCode::Invalid, parts...);
}

static Status checkRanks(const std::set<uint32_t> &ranks,
                         const std::vector<uint32_t> &devices,
                         const char *what) {
  for (uint32_t device : devices) {
    if (!ranks.contains(device)) {
      return invalid("rank ", device, " does not ", what,
                     ", but is in its grid");
    }
  }
  return {};
}

static Status checkShared(const ResolvedManifest &resolved,
                          const EntryChecks &checks) {
  for (const auto &[tag, step] : checks.steps) {
    for (const Placement *side : {step.source, step.result}) {
      Status status = checkRanks(step.ranks, resolved.grids[side->grid].devices,
                                 "take part");
      if (!status.isOk()) {
        return status.in(step.where + ", tag " + std::to_string(tag));
      }
    }
  }
  return {};
}

static Status checkComplete(const ResolvedManifest &resolved,
                            const ResolvedEntry &entry, EntryChecks &checks) {
  for (size_t i = 0; i < entry.outputs.size(); ++i) {
    const GridInfo &grid = resolved.grids[entry.outputs[i]->grid];
    Status status = checkRanks(checks.outputs[i], grid.devices, "write it");
    if (!status.isOk()) {
      return status.in("output " + std::to_string(i));
    }
  }
  for (auto &[index, ranks] : checks.globals) {
    const GridInfo &grid = resolved.grids[resolved.globals[index]->grid];
    Status status = checkRanks(ranks, grid.devices, "write it");
    if (!status.isOk()) {
      return status.in("global " + std::to_string(index));
    }
  }
  for (const ResolvedProgram &program : entry.programs) {
    if (!checks.committing.empty() && !checks.committing.contains(&program)) {
      return invalid("program ", &program - entry.programs.data(),
                     " has no commit, but others have");
    }
  }
  return {};
}

/// An output's buffer lies as the output does.
static Status checkOutputPlace(const ResolvedEntry &entry,
                               const ResolvedProgram &program,
                               const pb::Instruction &instruction) {
  if (!instruction.has_output() ||
      *program.buffers[instruction.output().source()].placement ==
          *entry.outputs[instruction.output().output()]) {
    return {};
  }
  return invalid("buffer ", instruction.output().source(),
                 " differs in layout from the output");
}

static Status verifyEntry(const ResolvedManifest &resolved,
                          const ResolvedEntry &entry,
                          std::span<const Backend *const> backends,
                          CheckedCollectives &collectives, Writers &bodies) {
  EntryChecks checks;
  if (Status status = entry.isBody() ? checkBody(resolved, entry) : Status();
      !status.isOk()) {
    return status.in("entry '" + entry.message->name() + "'");
  }
  for (size_t p = 0; p < entry.programs.size(); ++p) {
    const ResolvedProgram &program = entry.programs[p];
    ProgramVerifier verifier(resolved, program, backends, collectives, checks,
                             entry);
    if (Status status = verifier.begin(); !status.isOk()) {
      return status.in("entry '" + entry.message->name() + "', program " +
                       std::to_string(p));
    }
    for (int i = 0; i < program.message->instructions_size(); ++i) {
      const pb::Instruction &instruction = program.message->instructions(i);
      std::string where = describeInstruction(entry, p, i);
      Status status = verifier.verify(i, where);
      if (status.isOk()) {
        status = checkOutputPlace(entry, program, instruction);
      }
      if (!status.isOk()) {
        return status.in(where);
      }
    }
  }
  for (auto &[body, ranks] : checks.bodies) {
    if (!bodies.emplace(body, ranks).second) {
      return invalid("body '", resolved.entries[body].message->name(),
                     "' is run by two entries");
    }
  }
  Status status = checkShared(resolved, checks);
  if (status.isOk()) {
    status = verifyOrder(resolved, entry);
  }
  if (status.isOk()) {
    status = checkComplete(resolved, entry, checks)
                 .in("entry '" + entry.message->name() + "'");
  }
  return status;
}

Status divisi::rt::verifyResolved(const ResolvedManifest &resolved,
                                  std::span<const Backend *const> backends) {
  CheckedCollectives collectives;
  Writers bodies;
  for (const ResolvedEntry &entry : resolved.entries) {
    Status status = verifyEntry(resolved, entry, backends, collectives, bodies);
    if (!status.isOk()) {
      return status;
    }
  }
  return checkBodyRanks(resolved, bodies);
}

Status divisi::rt::verifyManifest(const pb::Manifest &manifest,
                                  std::span<const Backend *const> backends) {
  Expected<std::unique_ptr<ResolvedManifest>> resolved =
      resolveManifest(manifest);
  return resolved ? verifyResolved(**resolved, backends) : resolved.status();
}
