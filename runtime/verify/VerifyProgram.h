//===- VerifyProgram.h - Checks of one program ------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_VERIFY_VERIFYPROGRAM_H
#define DIVISI_RUNTIME_VERIFY_VERIFYPROGRAM_H

#include "runtime/artifact/AccessOrder.h"
#include "runtime/artifact/Collectives.h"
#include "runtime/verify/ArenaContents.h"

#include <set>
#include <tuple>

namespace divisi::rt {

/// What ranks do together under one tag: the same on all of them.
struct SharedStep {
  std::string where;                ///< The first instruction that has it.
  std::string kind;                 ///< Of the collective, or `transfer`.
  uint32_t queue;                   ///< Of its communicator.
  std::vector<uint32_t> axes;       ///< Of the grid, over which it goes.
  std::string format;               ///< Of source and result.
  const Placement *source, *result; ///< Owned by the manifest.
  std::set<uint32_t> ranks;         ///< That have it.
};

/// Who writes an output or a global, or runs a body.
using Writers = std::map<uint32_t, std::set<uint32_t>>;

/// What the programs of an entry must agree on.
struct EntryChecks {
  std::map<uint32_t, SharedStep> steps;         ///< By tag.
  Writers outputs, globals;                     ///< By index.
  Writers bodies;                               ///< By index: who runs them.
  std::set<const ResolvedProgram *> committing; ///< Programs with a commit.
};

/// Collectives that have been found right. The checks look at every position of
/// a grid, and programs do the same few things many times.
class CheckedCollectives {
public:
  /// checkCollective(), once for each combination.
  Status check(const GridInfo &grid, CollectiveKind kind,
               const std::vector<uint32_t> &axes, const Placement &source,
               const Placement &result);
  /// checkTransfer(), likewise.
  Status check(const Placement &from, const Placement &to);

private:
  // A tensor has one placement: ResolvedManifest::place.
  std::set<std::tuple<CollectiveKind, std::vector<uint32_t>, const Placement *,
                      const Placement *>>
      collectives_;
  std::set<std::pair<const Placement *, const Placement *>> transfers_;
};

/// Checks one program, and collects what others must agree on.
class ProgramVerifier {
public:
  /// Of `program`; all references must outlive it.
  ProgramVerifier(const ResolvedManifest &resolved,
                  const ResolvedProgram &program,
                  std::span<const Backend *const> backends,
                  CheckedCollectives &collectives, EntryChecks &checks,
                  const ResolvedEntry &entry)
      : resolved_(resolved), program_(program), backends_(backends),
        collectives_(collectives), checks_(checks), entry_(entry),
        contents_(program) {
    for (const artifact::Instruction &instruction :
         program.message->instructions()) {
      hasLoops_ |= instruction.has_loop();
    }
  }

  /// Before the first instruction.
  Status begin() { return order_.begin(program_, *resolved_.manifest); }
  /// Checks instruction `index`, which messages call `where`, after all before
  /// it. Invalid, or Unsupported where a kernel is missing.
  Status verify(int index, const std::string &where);

private:
  Status verifyQueue(const artifact::Instruction &instruction) const;
  Status verifyContents(int index, const std::string &where);
  Status verifyCommunicator(uint32_t queue, uint32_t grid,
                            std::span<const uint32_t> axes,
                            std::optional<uint32_t> target) const;
  Status verifyCall(const artifact::Call &call);
  Status verifyOperator(const artifact::Call &call) const;
  Status verifyParts(const artifact::Call &call) const;
  Status verifyWorkspace(const artifact::Call &call);
  Status verifyInPlace(const artifact::Call &call) const;
  Status verifyCode(const artifact::Call &call) const;
  Status verifyMove(const artifact::Instruction &instruction) const;
  Status checkInSpace(const artifact::Call &call, uint32_t buffer) const;
  std::string spaceOf(uint32_t buffer) const;
  Status verifyCollective(const artifact::Collective &collective,
                          uint32_t queue, const std::string &where);
  Status verifyTransfer(const artifact::Transfer &transfer, int index,
                        uint32_t queue, const std::string &where);
  Status verifyTransferSide(bool isPresent, uint32_t buffer,
                            const Placement &placement, const char *side);
  Status verifyCopy(const artifact::Copy &copy);
  Status verifyOutput(const artifact::Output &output);
  Status verifyCommit();
  Status verifyLoop(const artifact::Loop &loop);
  Expected<const ResolvedEntry *> bodyOf(const artifact::Loop &loop) const;
  Status checkLoopPlaces(const artifact::Loop &loop,
                         const ResolvedEntry &body) const;
  Status checkLoopRanks(const artifact::Loop &loop, const ResolvedEntry &body);
  std::vector<uint32_t> spacesOf(const artifact::Loop &loop,
                                 const ResolvedEntry &body) const;
  Status checkBodySpaces(std::span<const uint32_t> spaces,
                         const ResolvedProgram &body) const;
  Status writeInLoop(const artifact::Loop &loop);

  Status checkOperand(uint32_t buffer) const;
  Status read(uint32_t buffer);
  void write(uint32_t buffer);
  void overwrite(ResolvedProgram::Range range);
  Status checkResult(uint32_t buffer);
  bool overlap(uint32_t a, uint32_t b) const;
  bool haveSamePlace(uint32_t a, uint32_t b) const;
  Status share(uint32_t tag, SharedStep step);
  Status claim(Writers &writers, uint32_t index);
  const Placement &placement(uint32_t buffer) const {
    return *program_.buffers[buffer].placement;
  }

  const ResolvedManifest &resolved_;
  const ResolvedProgram &program_;
  std::span<const Backend *const> backends_;
  CheckedCollectives &collectives_;
  EntryChecks &checks_;
  const ResolvedEntry &entry_; ///< The program's.
  ArenaContents contents_;
  AccessOrder order_;
  std::vector<MemoryAccess> accesses_; ///< Of the present instruction.
  std::set<uint32_t> tags_;
  bool hasLoops_ = false;
};

/// What only bodies must be: `entry` writes no globals, reads none that are
/// written, and works on one device.
Status checkBody(const ResolvedManifest &resolved, const ResolvedEntry &entry);

/// Whether all ranks of every body run it.
Status checkBodyRanks(const ResolvedManifest &resolved, const Writers &bodies);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_VERIFY_VERIFYPROGRAM_H
