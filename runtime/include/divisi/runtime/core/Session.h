//===- Session.h - Running an artifact --------------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A Session is a loaded artifact, ready to run many times:
//
//   SessionOptions options;
//   options.backends = {&cpuBackend(), &referenceBackend()};
//   auto session = Session::open("gpt.divisi", options);
//   if (!session)
//     return session.status();
//   auto outputs = (*session)->run("forward", inputs);
//
// Every rank has a thread (one that is alone: the caller's), an arena, and a
// flat list of instructions; they synchronize only in the steps of the list.
// Loading maps weights, slices what a rank holds, and prepares every kernel;
// running allocates nothing. Globals that an entry updates keep their new
// values from run to run.
//
// Sessions that share an artifact share its weights: see LoadedArtifact.h.
//
// A session may have some of the ranks only, and a communicator that connects
// them with those of other sessions: in this process, in others, elsewhere.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_CORE_SESSION_H
#define DIVISI_RUNTIME_CORE_SESSION_H

#include "divisi/Support/Status.h"
#include "divisi/runtime/comm/Communicator.h"
#include "divisi/runtime/core/LoadedArtifact.h"
#include "divisi/runtime/core/RankMemory.h"
#include "divisi/runtime/core/TensorView.h"
#include "divisi/runtime/device/Device.h"
#include "divisi/runtime/kernels/Kernel.h"

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace divisi::rt {

/// The code of a run that its caller has ended: no exit code of the tools.
inline constexpr ExitCode cancelledCode{130};

/// The most that callers may ask for; the least is 1.
inline constexpr int mostThreadsPerDevice = 1024;
/// The same of SessionOptions::timeout: a day.
inline constexpr std::chrono::milliseconds longestTimeout{86400000};

/// How an artifact is run, and loaded where a session loads it.
struct SessionOptions : LoadOptions {
  /// In order of preference; the first whose kernel takes a call does it.
  /// Not empty. They outlive the session.
  std::vector<const Backend *> backends;
  /// Threads that the kernels of one rank may use.
  int threadsPerDevice = 1;
  /// The ranks that run in this session; empty: all.
  std::vector<uint32_t> localRanks;
  /// Called once; empty: ranks meet in this process, and all are local.
  CommunicatorFactory communicator;
  /// Called for each memory space beside the host's that a rank uses.
  DeviceFactory device;
  /// How long a rank waits for others in one step, or works at one kernel,
  /// before the run fails.
  std::chrono::milliseconds timeout{60000};
  /// Whether a rank that is alone in its session has a thread, too, so that a
  /// kernel of it can be given up. It costs a run the time to wake it.
  bool loneRankHasThread = false;
  /// How much later a kernel may return: the session then lives on, though the
  /// run has failed. See Session.
  std::chrono::milliseconds lateness{700};
  /// Whether kernels check the indices that data gives them (gathers). Without,
  /// a bad one reads zeros, or, if it is one of several by which the model
  /// names an element, is 0; nothing outside of the tensor is touched.
  bool checksIndices = true;
  /// Whether kernels learn which operands never change, so that they bring them
  /// into an order of their own once. Without, they do so in each run, in
  /// memory beyond what was planned.
  bool packsConstants = true;
  /// Whether what a device does alone in a run is recorded in the second run,
  /// and given to it as one from then on, where it can do that. Traces show
  /// tasks, so nothing is recorded with `trace`.
  bool usesGraphs = true;
  /// Record when every instruction began and ended; see writeTrace().
  bool trace = false;
};

/// The backends named in `names` ("cpu,reference"), in that order, out of
/// `available`. Fails with Usage at a name that is not there.
Expected<std::vector<const Backend *>>
selectBackends(std::string_view names,
               std::span<const Backend *const> available);

/// The calls of one operator that one backend does for a rank in an entry.
struct KernelCalls {
  std::string entry;   ///< Its name.
  uint32_t rank = 0;   ///< Who makes them.
  std::string op;      ///< "nn.matmul"
  std::string backend; ///< "cpu"
  int64_t calls = 0;   ///< In one run.
};

/// A box of a global that some entry updates, and who has it.
struct StateBox {
  size_t global = 0;           ///< Its number in Session::globals().
  Box box;                     ///< Not empty.
  std::vector<uint32_t> ranks; ///< Of any session, ascending; at least one.
};

/// An artifact, ready to run. Not for use by two threads at once, but for
/// cancel(); several sessions of a LoadedArtifact run at once.
///
/// A run of an entry that updates globals commits before it writes the first.
/// One that fails before has changed nothing. One that fails later leaves state
/// that is neither old nor new: run() and readGlobal() then fail with Device
/// until reloadState() or loadState() has brought back another.
///
/// With a part of the ranks, a run that fails ends the session: others cannot
/// know when all have noticed. run() then fails with Device.
///
/// A kernel of a rank with a thread of its own that does not return within the
/// time-out and the lateness is given up: the run fails with Device, by default
/// within a second of the time-out, and the session is dead. run(),
/// readGlobal() and writeTrace() then fail with Device. The thread in that
/// kernel is left alone, with the session's memory, until it returns or the
/// process exits, which it does not prevent.
class Session {
public:
  ~Session();

  /// Loads and verifies the artifact at `path`. Fails with File, Invalid or
  /// Version as ArtifactFile does, with Usage where the local ranks are none of
  /// the artifact's or have no communicator, with Invalid or Unsupported where
  /// a program cannot run (Verify.h), with Unsupported where no backend takes a
  /// call or there is no device with a memory space, with Device when memory
  /// runs out.
  static Expected<std::unique_ptr<Session>> open(const std::string &path,
                                                 const SessionOptions &options);

  /// The same of an artifact that is loaded: fails for what is the session's.
  static Expected<std::unique_ptr<Session>>
  open(std::shared_ptr<LoadedArtifact> artifact, const SessionOptions &options);

  /// How many ranks the artifact is for.
  uint32_t numRanks() const;
  /// Those that run here, ascending: each on a thread of its own, or the only
  /// one on the caller's of open() and run().
  std::span<const uint32_t> localRanks() const;
  /// All entries, in the order of the artifact.
  std::span<const EntryInfo> entries() const;
  /// The entry of that name, or null.
  const EntryInfo *findEntry(std::string_view name) const;
  /// The box of each rank, of this session or not, in each output of `entry`,
  /// which is one of entries(); nothing of a rank outside of its grid.
  std::vector<std::vector<std::optional<Box>>>
  outputBoxes(const EntryInfo &entry) const;
  /// All globals, in the order of the artifact.
  std::span<const GlobalInfo> globals() const;

  /// Whether a rank has not returned from a run that was given up. It may work
  /// on with what the process has: whoever leaves destroys nothing.
  bool isStuck() const;

  /// What it does with native code.
  const NativeCodeUse &nativeCode() const;

  /// Which backend took the calls, by entry, rank, operator and backend. What
  /// needs no call (views, empty results) is not counted.
  std::vector<KernelCalls> kernelCalls() const;

  /// What each rank holds, by what has been allocated; nothing of a rank that
  /// is not local.
  std::vector<RankMemory> memory() const;
  /// The bytes of memory() that there are once for several local ranks, each of
  /// which counts them: equal shards of weights, packed or not.
  int64_t sharedBytes() const;
  /// What the artifact holds beside memory(), for all of its sessions: see
  /// ArtifactFile::verifiedBytes().
  int64_t verifiedBytes() const;
  /// What predictMemory() says of the artifact under the session's options;
  /// messages only where its communicator sends some.
  Expected<std::vector<RankMemory>> predictedMemory() const;

  /// What a run of the entry of that name does to globals, by rank; zeros for
  /// ranks that have no part in it.
  std::vector<StateBytes> stateBytes(std::string_view entry) const;
  /// What a run of it copies between memory spaces, likewise.
  std::vector<SpaceCopies> spaceCopies(std::string_view entry) const;
  /// Whether what a device does in it is given to it as one, or why not, as a
  /// sentence, likewise. Where devices meet, a run of it has to tell.
  std::vector<std::string> graphUses(std::string_view entry) const;
  /// Which operators generated code does, since a library turned out in a run
  /// of it to have nothing for them, as a sentence, likewise; empty: none.
  std::vector<std::string> fallbacks(std::string_view entry) const;
  /// By rank, what is to be said of how its devices meet others, as a sentence,
  /// once they have met; empty: nothing.
  std::vector<std::string> connections() const;
  /// What ranks do in the collectives of it, likewise.
  std::vector<CollectiveUses> collectives(std::string_view entry) const;
  /// For how many nanoseconds ranks had nothing to do but wait for others in
  /// the last run of it, likewise.
  std::vector<int64_t> waitingTimes(std::string_view entry) const;
  /// What the last run of it did to outputs, likewise.
  std::vector<OutputBytes> outputBytes(std::string_view entry) const;

  /// Runs an entry on tensors where they lie, in the order of its inputs and
  /// outputs, each whole or as boxes. All sessions that have ranks of the entry
  /// run it at the same time. Fails with Usage if there is no such entry,
  /// Invalid if the tensors do not fit it or an index in the data is bad (the
  /// first in the order of the program, then of the indices, however the ranks
  /// hold them), Device if ranks fail or wait too long: outputs then have any
  /// value, and so they may while a run lasts, and the session can be used
  /// again unless it is dead or its state is lost. If a kernel was given up,
  /// the tensors stay where they are until that returns.
  Status run(std::string_view entry, std::span<const TensorArgument> inputs,
             std::span<const TensorArgument> outputs);

  /// The same on whole tensors, returning whole outputs: fails with Usage also
  /// where other sessions have a part of one.
  Expected<std::vector<HostTensor>> run(std::string_view entry,
                                        std::span<const HostTensor> inputs);

  /// Ends the run that is in progress, if any: its ranks stop before their next
  /// instruction, and it fails with cancelledCode. One that has committed goes
  /// on to its end. By any thread, while the session lives.
  void cancel();

  /// The present value of a global, put together from the ranks. Fails with
  /// Usage if there is none of that name, or other sessions have a part of it,
  /// with Device when memory runs out, with Invalid if it is damaged.
  Expected<HostTensor> readGlobal(std::string_view name) const;

  /// The boxes of all globals that entries update, each once, in the order of
  /// the globals: the same in all sessions of an artifact.
  std::vector<StateBox> stateBoxes() const;
  /// The present bytes of one of them, row-major without gaps, until the next
  /// is read, or the next run. Those that lie with a device are copied from it.
  /// Fails with Device as run() does, or where that fails, with Usage where no
  /// rank of the session has it.
  Expected<std::span<const std::byte>> readState(const StateBox &box) const;
  /// Writes the bytes of a box.
  using ReadState =
      std::function<Status(const StateBox &box, std::span<std::byte> bytes)>;
  /// Gives every box of stateBoxes() that a rank of the session has the bytes
  /// that `read` writes. Fails with Device if the session is dead, or a device
  /// cannot be given its bytes, and as `read` does: the state is then lost until all of it has been loaded.
  Status loadState(const ReadState &read);

  /// Gives every global that an entry updates the value that it had when the
  /// artifact was opened. Fails with Device if the session is dead, or a device
  /// cannot be given them, with Invalid if those bytes are damaged: the state is
  /// then lost.
  Status reloadState();

  /// Writes what the last run did, per rank and instruction, as Chrome's trace
  /// events (JSON; also read by Perfetto). Needs SessionOptions::trace.
  Status writeTrace(const std::string &path) const;

  /// Writes what the ranks of the session did with others last, as JSON: when
  /// each came to its last 63 steps and when they were done. Also after a run
  /// that has failed, and where a rank is stuck.
  Status writeLastSteps(const std::string &path) const;

private:
  struct Impl;
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_CORE_SESSION_H
