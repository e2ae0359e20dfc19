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
  bool isBlocking = false; ///< Calls return when they are done.
  std::map<uint64_t, uint64_t> registered = {}; ///< Where memory ends.
};

namespace divisi::emulator {

/// Of this process.
struct NcclState {
  std::map<std::string, std::shared_ptr<NcclClique>> cliques; ///< By number.
  uint64_t numbers = 0, groups = 0, registrations = 0;
  std::string lastError;
  std::set<const ncclComm *> communicators; ///< That have not ended.
  /// How many communicators were made anew, split from others, and ended.
  uint64_t made = 0, split = 0, ended = 0;
};
NcclState &nccl();

/// Says what is refused, and that it is.
ncclResult_t refuse(const std::string &what);

/// Whether it is done, after a few questions, whatever it waits for.
std::function<bool()> later(std::function<bool()> isDone);

} // namespace divisi::emulator

/// For hosts in tests: what NcclState counts.
extern "C" void emulatedCommunicators(uint64_t *made, uint64_t *split,
                                      uint64_t *ended);

#endif // DIVISI_TEST_EMULATOR_NCCLSTATE_H
