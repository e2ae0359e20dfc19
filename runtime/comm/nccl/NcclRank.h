//===- NcclRank.h - The communicators of one rank ---------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranks that meet in steps are a clique, which has one communicator of NCCL's
// on each of them. Which cliques there are all ranks of an entry, or of a body
// that it runs, tell each other, by steps of the host. All that are in some, of
// whichever entry, make one communicator together, by a number that the first
// of them gets from NCCL and tells the others; each round of ncclCommSplit
// makes those of cliques that have no rank in common, which share its
// resources:
//
//   ranks 0 1 2 3     cliques {0,1} {2,3}   round 1: 0 0 1 1
//                             {0,2} {1,3}   round 2: 0 1 0 1
//
// NCCL wants a call to be recorded in a graph on all ranks that meet in it, or
// on none, and graphs to be run that were recorded together. So ranks also tell
// each other there whether they could record the entry, and count its runs from
// then on: the second is recorded by all of them, the later ones are graphs.
// NCCL waits for graphs with calls of a communicator before that ends: they are
// let go first. In the same way ranks see to it that all of a communicator have
// registered their memory with it, or none.
//
// Where nothing has failed, communicators are finalized, which all of their
// ranks do, and then destroyed; only after a failure they are aborted (NCCL
// User Guide, "Creating a Communicator": finalizing and destroying
// communicators; "Error handling and communicator abort").
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_COMM_NCCL_NCCLRANK_H
#define DIVISI_RUNTIME_COMM_NCCL_NCCLRANK_H

#include "divisi/runtime/comm/nccl/NcclCommunicator.h"
#include "runtime/backends/cuda/CudaDevice.h"
#include "runtime/comm/AbortState.h"
#include "runtime/comm/nccl/BlockingSplit.h"
#include "runtime/comm/nccl/NcclBuffers.h"

#include <map>
#include <set>
#include <vector>

namespace divisi::rt::nccl {

/// Steps of this room have entries behind all that artifacts have.
inline constexpr uint32_t firstOwnEntry = uint32_t(1) << 31;

/// Ranks, in the order of their numbers in the communicator.
using Group = std::vector<uint32_t>;

/// One, as a rank has it.
struct Clique {
  Group ranks;                       ///< Who belongs to it.
  ncclComm_t communicator = nullptr; ///< Null while it is not connected.
};

/// What the ranks of an entry have told each other.
struct Meeting {
  std::vector<Group> groups; ///< That still have to be connected.
  Group members;             ///< Who is in some clique, of any entry.
  bool mayRecord = true;     ///< Whether all of them may.
};

/// What a rank has of NCCL. Used by the rank's thread.
class NcclRank {
public:
  /// Of `number` of `numRanks`, which meets others by steps of `inner`, with
  /// what it was `given`. Nothing takes longer than `timeout`, or goes on when
  /// `aborts` has a reason.
  NcclRank(uint32_t number, uint32_t numRanks, Communicator &inner,
           const AbortState &aborts, std::chrono::milliseconds timeout,
           const NcclHandles &given)
      : number_(number), numRanks_(numRanks), inner_(inner), aborts_(aborts),
        timeout_(timeout), given_(given) {}
  ~NcclRank() { abort(); }
  NcclRank(const NcclRank &) = delete;

  /// What it works on, from now on.
  void use(std::shared_ptr<const NcclLibrary> library,
           std::shared_ptr<const cuda::Context> context);
  /// The clique of these ranks, which steps of the entry want; connected by
  /// connect(). It lives as long as this.
  Clique &want(uint32_t entry, const Group &ranks);
  /// Connects all that the entry wants, with `ranks`, who all call it, where it
  /// has not been since the communicators that there are of `generation` were
  /// made; older ones are ended. Communicator::beginRun() says what it returns.
  Expected<uint64_t> connect(uint32_t entry, std::span<const uint32_t> ranks,
                             uint64_t generation, bool mayRecord);
  /// Communicator::allocate(), after use().
  Expected<std::unique_ptr<DeviceMemory>> allocate(Device &device,
                                                   int64_t bytes) {
    return buffers_->allocate(device, bytes);
  }
  /// Communicator::describe().
  const std::string &registration() const { return registration_; }
  /// Communicator::noteGraph().
  void noteGraph(std::weak_ptr<std::unique_ptr<DeviceGraph>> graph);
  /// Ends all communicators, and what is on queues of them, after all graphs:
  /// where something has failed.
  void abort();
  /// Lets go of all that was made for communicators of `generation`, whose work
  /// has ended, after all graphs. When all ranks have done so, destroy() can
  /// end them. Older ones it aborts.
  void finalize(uint64_t generation);
  /// Ends what was finalized; aborts it if others do not come to that in time.
  void destroy();

  /// The library of this machine.
  const NcclLibrary &library() const { return *library_; }
  /// Of the rank, in the communicator.
  uint32_t number() const { return number_; }
  /// The stream that it was given, or null.
  CUstream givenStream() const { return static_cast<CUstream>(given_.stream); }
  /// Waits until the communicator has done what it was asked for: until it is
  /// on a queue, or connected.
  Status await(ncclComm_t communicator, const std::string &what) const;

private:
  /// An entry whose cliques are connected.
  struct Connected {
    bool isRecorded; ///< All its ranks have said that they may.
    uint64_t runs = 0;
  };

  Expected<Meeting> meet(uint32_t entry, std::span<const uint32_t> ranks,
                         bool mayRecord);
  Expected<std::vector<int64_t>> gather(const StepDesc &names,
                                        const std::vector<int64_t> &own,
                                        std::span<const uint32_t> ranks);
  Expected<ncclUniqueId> exchangeNumber(uint32_t entry, const Group &ranks);
  Expected<ncclComm_t> connectAll(uint32_t entry, const Group &ranks);
  Status connectGroups(uint32_t entry, std::span<const uint32_t> ranks,
                       const Meeting &meeting);
  Status registerMemory(uint32_t entry, std::span<const uint32_t> ranks,
                        const std::vector<Group> &groups);
  void describeRegistration();
  void releaseGraphs();
  std::vector<ncclComm_t> takeAll();
  Status split(ncclComm_t whole, const std::vector<Group> &groups);
  Status splitRound(ncclComm_t whole, std::span<const Group> round);
  Expected<ncclComm_t> splitGiven(int color, int key);
  Status waitFor(const std::string &what,
                 const std::function<Expected<bool>()> &isDone) const;

  uint32_t number_, numRanks_;
  Communicator &inner_;
  const AbortState &aborts_;
  std::chrono::milliseconds timeout_;
  NcclHandles given_;
  std::shared_ptr<const NcclLibrary> library_;
  std::shared_ptr<const cuda::Context> context_;
  std::map<Group, Clique> cliques_;
  std::map<uint32_t, std::set<Group>> wanted_; ///< By entry.
  std::map<Group, ncclComm_t> wholes_; ///< Of all ranks of some cliques.
  ncclComm_t none_ = nullptr; ///< Made where it is in no clique of a round.
  /// The last split of what it was given; null: there was none.
  std::shared_ptr<BlockingSplit> split_;
  std::map<uint32_t, Connected> connected_; ///< By entry.
  std::vector<std::weak_ptr<std::unique_ptr<DeviceGraph>>> graphs_;
  uint64_t generation_ = 0;
  std::shared_ptr<NcclBuffers> buffers_; ///< Null before use().
  /// Communicators with which memory is registered, and is not.
  size_t numRegistered_ = 0, numRefused_ = 0;
  std::string refusal_;      ///< Why it is not with the last of these.
  std::string registration_; ///< What has become of it.
  std::vector<ncclComm_t> finalized_;
};

} // namespace divisi::rt::nccl

#endif // DIVISI_RUNTIME_COMM_NCCL_NCCLRANK_H
