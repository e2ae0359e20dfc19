//===- NcclState.h - What emulated NCCL has ---------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_EMULATOR_NCCLSTATE_H
#define DIVISI_TEST_EMULATOR_NCCLSTATE_H

#include "test/emulator/CudaState.h"
#include "test/emulator/NcclClique.h"

#include <span>

/// A communicator, as one rank has it.
struct ncclComm {
  /// Null until it is known.
  std::shared_ptr<divisi::emulator::NcclClique> clique;
  int self = 0;
  int device = 0;
  ncclResult_t state = ncclSuccess;
  std::string error = {};
  /// What it still has to do, asked about until it says so.
  std::function<bool()> pending = {};
  uint64_t splits = 0;
  std::shared_ptr<divisi::emulator::NcclGroup> last = {};
  std::vector<std::weak_ptr<divisi::emulator::NcclGroup>> groups = {};
  /// Of each graph that has recorded its calls.
  std::vector<std::weak_ptr<ncclComm>> graphs = {};
  bool hasEnded = false;
  bool isFinalized = false;
  /// Those that share resources: whether one of them was aborted. Null: it
  /// shares none.
  std::shared_ptr<bool> family = {};
  int64_t bytes = 0;       ///< That its device holds for it.
  bool isBlocking = false; ///< Calls return when they are done.
  std::map<uint64_t, uint64_t> registered = {}; ///< Where memory ends.
};

namespace divisi::emulator {

/// Of this process.
struct NcclState {
  std::map<std::string, std::shared_ptr<NcclClique>> cliques; ///< By number.
  uint64_t numbers = 0, groups = 0, registrations = 0;
  uint64_t refused = 0; ///< The number of the registration that fails; 0: none.
  std::map<int, uint64_t> slots; ///< By device: registrations in force.
  std::string lastError;
  std::set<const ncclComm *> communicators; ///< That have not ended.
  /// How many communicators were made anew, split from others, and ended; how
  /// many of these were aborted.
  uint64_t made = 0, split = 0, ended = 0, aborted = 0;

  NcclState();
  /// DIVISI_EMULATOR_NCCL_COUNTS names a file for these numbers.
  ~NcclState();
};
NcclState &nccl();

/// Says what is refused, and that it is.
ncclResult_t refuse(const std::string &what);

/// Aborts them together, as a group does.
ncclResult_t abortAll(std::span<const ncclComm_t> all);
/// Whether the calling thread has begun a group: that aborts it then.
bool isInGroup(ncclComm_t aborted);

/// Whether it is done, after a few questions, whatever it waits for.
std::function<bool()> later(std::function<bool()> isDone);

} // namespace divisi::emulator

/// For hosts in tests: what NcclState counts.
extern "C" void emulatedCommunicators(uint64_t *made, uint64_t *split,
                                      uint64_t *ended);
extern "C" uint64_t emulatedAborts();
/// For tests: lets the registration of that number fail, from the next one on;
/// 0: none.
extern "C" void emulatedRefusal(uint64_t next);

#endif // DIVISI_TEST_EMULATOR_NCCLSTATE_H
