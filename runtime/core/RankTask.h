//===- RankTask.h - What a rank does, task by task --------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loading turns the instructions of a program into tasks with pointers: kernels
// are prepared, boxes are turned into copies. Running them looks nothing up and
// allocates nothing.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_CORE_RANKTASK_H
#define DIVISI_RUNTIME_CORE_RANKTASK_H

#include "divisi/runtime/comm/Communicator.h"
#include "divisi/runtime/device/Device.h"
#include "divisi/runtime/kernels/Kernel.h"
#include "runtime/artifact/ResolvedManifest.h"
#include "runtime/core/RankContext.h"

namespace divisi::rt {

struct RankLoop;

/// How many steps a device may be in at a time. Each keeps a part of it busy
/// until the devices of others have come to it; were there more of them than
/// it has room for, and not the same on all, none might ever end.
inline constexpr size_t mostQueued = 2;

/// One thing to do.
struct RankTask {
  /// What there is to do.
  enum class Kind : uint8_t {
    Call,    ///< Launch a kernel.
    Comm,    ///< A step with other ranks.
    Copy,    ///< Copy boxes.
    Fill,    ///< Write a neutral element.
    Loop,    ///< Run a body.
    Nothing, ///< Keeps the place of an instruction that others come after.
  } kind = Kind::Nothing;
  size_t instruction = 0;             ///< It comes from.
  uint32_t space = hostSpaceNumber;   ///< Of its kernel, or what it moves.
  Device *device = nullptr;           ///< Who does it; of Comm where queued.
  DeviceQueue *queue = nullptr;       ///< Where; null if done at once.
  std::unique_ptr<DeviceEvent> ended; ///< Recorded there behind it.

  std::unique_ptr<PreparedKernel> kernel; ///< Of a call.
  bool wantsExtraWorkspace = false; ///< Beyond what the artifact plans for it.
  void *workspace = nullptr;        ///< Of a call.

  std::unique_ptr<CommStep> comm;     ///< Of a step that the host does.
  std::unique_ptr<QueuedStep> queued; ///< Of a step that a device does.
  size_t number = 0;                  ///< Among those that devices do.
  int64_t messagesAt = 0;             ///< Of a step: in the rank's memory.

  std::vector<BoxCopy> copies; ///< Of a copy.
  bool isSkipped = false;      ///< In this run the bytes are there already.
  bool isPageable = false;     ///< From or to memory that is not pinned.

  DType fillType = DType::F32;           ///< Of a fill: the elements.
  ReduceKind fillKind = ReduceKind::Sum; ///< Whose neutral element.
  int64_t fillCount = 0;                 ///< How many elements.

  std::unique_ptr<RankLoop> loop; ///< Of a loop.

  std::vector<const void *> operands; ///< What is read, in order.
  std::vector<void *> results;        ///< What is written, in order.
  /// Begins when so many tasks of another queue have ended.
  struct Wait {
    uint32_t queue; ///< Its number among those in use.
    size_t tasks;   ///< How many of its first ones.
  };
  std::vector<Wait> waits; ///< All that it comes after on other queues.

  /// Of no kind.
  RankTask();
  RankTask(RankTask &&) noexcept;
  ~RankTask();

  /// What a step wants for messages.
  int64_t messageBytes() const {
    return comm     ? comm->workspaceBytes()
           : queued ? queued->workspaceBytes()
                    : 0;
  }
  /// Whether the host does it with others.
  bool isStep() const { return kind == Kind::Comm && !queued; }
};

/// The tasks of one program of a rank, and what all that run them need.
struct RankTasks {
  /// Of the rank's program of the entry; no tasks yet.
  explicit RankTasks(const RankContext &context);

  /// An instruction and the rank, for messages.
  std::string locationAt(size_t instruction) const;
  /// The same of a task; of one on a device with what it is, an operator, a
  /// copy.
  std::string whereIs(const RankTask &task) const;
  /// `node 'fc1' (nn.matmul)`, alike on all ranks of a program.
  std::string nodeAt(size_t instruction) const;
  /// Fails if the session goes on without the rank, or if the run is cancelled
  /// and `mayCancel`: once globals are written it goes on to its end.
  Status checkGoesOn(bool mayCancel = true) const {
    bool ends =
        state->isGivenUp.load(std::memory_order_relaxed) ||
        (mayCancel && state->isCancelled.load(std::memory_order_relaxed) &&
         !state->hasCommitted.load(std::memory_order_relaxed));
    return ends ? whyEnds() : Status();
  }

  const ResolvedManifest &resolved; ///< The artifact's.
  const ResolvedEntry &entry;       ///< Whose program it is.
  uint32_t entryIndex;              ///< Its number.
  size_t programIndex;              ///< The program among the entry's.
  uint32_t rank;                    ///< Whose tasks these are.
  Communicator *communicator;       ///< The context's, as what follows.
  RunState *state;                  ///< One for all ranks of the session.
  LastSteps *lastSteps;             ///< One for all programs of the rank.
  int threads;                      ///< Of the rank's team.

  std::vector<std::shared_ptr<Device>> devices; ///< By memory space.
  std::vector<RankTask> tasks;                  ///< In the order of the list.
  /// By queue and memory space. They end before what they work on does.
  std::map<std::pair<uint32_t, uint32_t>, std::unique_ptr<DeviceQueue>>
      deviceQueues;

private:
  Status whyEnds() const;
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_CORE_RANKTASK_H
