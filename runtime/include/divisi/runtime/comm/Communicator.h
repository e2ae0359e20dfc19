//===- Communicator.h - How ranks exchange boxes ----------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A step is what a group of ranks does together once in a program: each gives
// the box that it holds and takes the box that it needs. Everything about it
// (who, which boxes, in which order values combine) is known when the program
// is loaded; while it runs only two pointers are handed over.
//
//   all_gather over 2 ranks   party 0: source [0,2) result [0,4)
//                             party 1: source [2,4) result [0,4)
//
// A rank may have several steps in flight. It starts each, polls all of them
// between other work, and waits only where it has no other:
//
//   start(a)  start(b)  … compute …  poll(a)  … compute …  wait(a, b)  poll(b)
//
// Devices execute the steps on boxes in their memory: the step is put on a
// queue, after the work that makes its source and before the work that reads
// its result, and the host continues at once:
//
//   host      put(kernel)  put(step)  put(kernel)  … check(step) …
//   compute   ···[kernel]·····┐              ┌·[kernel]
//   its queue                 └·[step]·······┘
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_COMM_COMMUNICATOR_H
#define DIVISI_RUNTIME_COMM_COMMUNICATOR_H

#include "divisi/Support/Status.h"
#include "divisi/runtime/device/Box.h"
#include "divisi/runtime/device/Reduce.h"
#include "divisi/runtime/kernels/HostTensor.h"

#include <chrono>
#include <functional>
#include <memory>
#include <span>

namespace divisi::rt {

class Device;
class DeviceGraph;
class DeviceMemory;
class DeviceQueue;

/// One member of a step.
struct StepParty {
  uint32_t rank = 0;         ///< Who it is.
  std::optional<Box> source; ///< What it holds; absent: nothing.
  std::optional<Box> result; ///< What it wants; absent: nothing.

  friend bool operator==(const StepParty &, const StepParty &) = default;
};

/// One step, described alike on all of its parties.
struct StepDesc {
  /// Names the step, together with its first party's rank: the program's entry
  /// and the tag within.
  uint32_t entry = 0, tag = 0;
  std::string location; ///< For messages: "all_reduce of 'fc1'".
  DType type = DType::F32;
  std::vector<StepParty> parties; ///< In group order.
  /// If set, each element of a result is the combination of the parties'
  /// sources, in group order; they all hold the same box. Else it is copied,
  /// by a party that has it itself from there, or from one of those who hold it
  /// (Senders.h).
  std::optional<ReduceKind> reduce;

  friend bool operator==(const StepDesc &, const StepDesc &) = default;
};

/// One rank's share of a step, ready to run many times. Neither call blocks;
/// both fail if another rank has failed or did not come in time.
class CommStep {
public:
  virtual ~CommStep() = default;
  /// How much memory it wants for messages while it runs.
  virtual int64_t workspaceBytes() const { return 0; }
  /// Gives it as much, 64-byte aligned, before it is first started. The memory
  /// outlives the step; steps that never run at the same time may share it.
  virtual void setWorkspace(std::byte *) {}
  /// Comes to the step. The pointers are the starts of the party's boxes, null
  /// where it has none or an empty one. Source and result are disjoint, or,
  /// where it reduces and the boxes are equal, the same.
  virtual Status start(const void *source, void *result) = 0;
  /// Goes on, after start(), as far as the others let it. True once the result
  /// is there and the source may be overwritten: the step is then done, and
  /// can be started again.
  virtual Expected<bool> poll() = 0;
};

/// One rank's share of a step between memories of devices, ready to be put on a
/// queue many times. What it puts there neither waits for the host nor wants
/// memory that it has not got: it may be recorded and done again.
class QueuedStep {
public:
  virtual ~QueuedStep() = default;
  /// As CommStep::workspaceBytes(), of the device's memory.
  virtual int64_t workspaceBytes() const { return 0; }
  /// As CommStep::setWorkspace().
  virtual void setWorkspace(std::byte *) {}
  /// Puts it on `queue`, of the device that it was prepared for; the pointers
  /// are as those of CommStep::start(). What the queue gets behind it begins
  /// when the result is there and the source may be overwritten. The first time
  /// it may take until others have come, no longer than a wait may.
  virtual Status put(DeviceQueue &queue, const void *source, void *result) = 0;
  /// Whether it may be put on a queue while a graph is recorded.
  virtual bool mayBeRecorded() const { return true; }
  /// Says that a graph is run in which it was put somewhere.
  virtual void beginAgain() {}
  /// Asked now and then while it is on the queue. Fails if another rank has
  /// failed, or what connects them; if `isNext`, which says that nothing is
  /// left of what it comes after, also when it has been so for too long, with
  /// who is missing in the message as far as that is known.
  virtual Status check(bool isNext) = 0;
};

/// What connects the ranks.
class Communicator {
public:
  virtual ~Communicator() = default;

  /// Whether it reads and writes boxes in the memory space of that name: in the
  /// host's by prepare(), in those of devices by prepareQueued().
  virtual bool reaches(std::string_view space) const {
    return space == hostSpace;
  }
  /// Whether boxes travel as messages, for which its steps want memory
  /// (messageBytes); else ranks read each other's boxes where they lie.
  virtual bool sendsMessages() const { return false; }
  /// Makes the share of party `self` of `step`. Every party calls it once,
  /// from any thread, before it starts the step; others may have started.
  /// Fails with Invalid where it sees that parties describe it differently:
  /// their artifacts are not the same.
  virtual Expected<std::unique_ptr<CommStep>> prepare(const StepDesc &step,
                                                      size_t self) = 0;
  /// prepare(), for boxes in the memory of `device`, whose space it reaches;
  /// the device outlives the step. A rank puts such steps on queues in one
  /// order, that of its program, which is the same for all ranks (verifyOrder).
  /// Fails with Unsupported where the devices cannot combine so.
  virtual Expected<std::unique_ptr<QueuedStep>>
  prepareQueued(const StepDesc &step, size_t self, Device &device);
  /// Bytes of `device` in which queued steps of the rank may have their boxes,
  /// as what connects the devices reaches them best. Freed before this is.
  virtual Expected<std::unique_ptr<DeviceMemory>>
  allocate(uint32_t rank, Device &device, int64_t bytes);
  /// What has become of that, as a sentence; empty: nothing.
  virtual std::string describe(uint32_t /*rank*/) const { return {}; }
  /// Before each run of an entry with queued steps, by each of `ranks`, which
  /// have a program of it: connects their devices. The first time it waits for
  /// all of them, no longer than a wait may. Of a body, whose steps have its
  /// number for an entry, it is called before the run of the entry that runs
  /// it, once however often it does, if at all. Whether work is recorded is for
  /// all ranks together to say: if each says that it `mayRecord`, returns the
  /// number of the run since its devices were connected, from 1 on, which is
  /// the same on all of them; else 0.
  virtual Expected<uint64_t> beginRun(uint32_t /*entry*/,
                                      std::span<const uint32_t> /*ranks*/,
                                      uint32_t /*rank*/, bool /*mayRecord*/) {
    return 0;
  }
  /// The graph of a rank's work in which queued steps were put on queues. What
  /// connects the devices ends after it: where that is to end, `graph` becomes
  /// null before.
  virtual void
  noteGraph(uint32_t /*rank*/,
            std::weak_ptr<std::unique_ptr<DeviceGraph>> /*graph*/) {}
  /// Ends what the rank has put on queues and others may never come to, because
  /// its run goes no further.
  virtual void endQueued(uint32_t /*rank*/) {}
  /// Blocks until a poll of one of `steps`, which one rank has started and
  /// which are not done, goes on or fails: because another rank has failed, or
  /// does not come in time, with who is missing in the message.
  virtual void wait(std::span<CommStep *const> steps) = 0;
  /// Ends all steps with `reason`, now and until reset(); the first one stays.
  virtual void abort(const Status &reason) = 0;
  /// Makes it usable again after abort(); no rank is inside of a call. Steps
  /// that were in flight never were. Only called where one session has all
  /// ranks: others cannot know when the last of them has noticed.
  virtual void reset() = 0;
};

/// What a session asks a communicator for.
struct CommunicatorRequest {
  uint32_t numRanks = 0;                ///< Of the artifact.
  std::span<const uint32_t> localRanks; ///< Those of the session.
  std::chrono::milliseconds timeout{0}; ///< After which a wait fails.
  /// How long a wait may keep a core busy before it sleeps; 0 where the
  /// session's ranks have more threads than there are cores.
  std::chrono::microseconds spin{0};
  size_t threads = 1; ///< With which the session's ranks compute, in all.
};

/// Makes what connects the ranks of a session to all others; several sessions
/// may get the same.
using CommunicatorFactory =
    std::function<Expected<std::shared_ptr<Communicator>>(
        const CommunicatorRequest &)>;

/// A step outside of a program, with the memory that it wants.
class LoneStep {
public:
  /// Communicator::prepare(); fails with Device, too, when memory runs out.
  static Expected<LoneStep> prepare(Communicator &communicator,
                                    const StepDesc &step, size_t self);

  CommStep &operator*() const { return *step_; }
  CommStep *operator->() const { return step_.get(); }
  /// As of a pointer: the step, which lives as long as this.
  CommStep *get() const { return step_.get(); }

private:
  AlignedBytes workspace_;
  std::unique_ptr<CommStep> step_;
};

/// Starts `step` and waits until it is done.
Status runStep(Communicator &communicator, CommStep &step, const void *source,
               void *result);

/// Whether devices combine elements of `type` so in queued steps, and give what
/// the reference does but for the order: sums and products of floats, of
/// integers of 8, 32 and 64 bits all but `and` and `or`, of booleans all that
/// there is. Of floats not the largest and the least: NCCL drops NaN there.
bool combineQueued(DType type, ReduceKind kind);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_COMM_COMMUNICATOR_H
