//===- RankProgram.h - One rank's instructions, ready to run ----*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loading turns the instructions of a program into tasks with pointers: kernels
// are prepared, boxes are turned into copies. Running them looks nothing up and
// allocates nothing. Only the addresses of inputs and outputs change from run
// to run; bind() patches them in.
//
// One thread runs all queues. It starts every collective whose turn it is and
// polls those in flight between kernels, and blocks only when no queue has
// anything else to do:
//
//   compute        call     call              call (after the reduce)
//   communicator      start·····poll·····wait·
//
// What is done by a device with queues of its own has then only begun. What
// comes after it on the same device begins at once, and waits for it there; all
// else when it has ended.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_CORE_RANKPROGRAM_H
#define DIVISI_RUNTIME_CORE_RANKPROGRAM_H

#include "divisi/runtime/comm/Communicator.h"
#include "divisi/runtime/core/RankMemory.h"
#include "divisi/runtime/core/TensorView.h"
#include "divisi/runtime/kernels/HostTensor.h"
#include "divisi/runtime/kernels/Kernel.h"
#include "runtime/core/LastSteps.h"
#include "runtime/core/RankSpaces.h"

#include <atomic>

namespace divisi::rt {

/// What one program of a rank holds beside its arenas, in bytes.
struct ProgramMemory {
  /// By memory space, what the call that wants most wants beyond what the
  /// artifact plans for it; programs share it.
  std::vector<int64_t> workspaces;
  /// By memory space, of its collectives, where they want memory; programs
  /// share it.
  std::vector<int64_t> messages;
  int64_t staging = 0; ///< Slices of inputs.
  int64_t packed = 0;  ///< Constants.
  /// The globals that a run reads where the host has them, by number.
  std::set<uint32_t> globals;
};

/// Weights and arenas of every rank, as the manifest plans them.
std::vector<RankMemory> plannedMemory(const ResolvedManifest &resolved);
/// Lets the weights of `number` be those that programs read or update.
void countWeights(const ResolvedManifest &resolved, uint32_t number,
                  const std::set<uint32_t> &globals, RankMemory &rank);
/// By memory space, what the program that wants most wants of what all share.
struct SharedMemory {
  std::vector<int64_t> workspaces, messages;

  /// Raises each to what `program` wants.
  void raise(const ProgramMemory &program);
};
/// Raises each of `most`, by memory space, to what there is of `own`.
void raiseEach(std::vector<int64_t> &most, const std::vector<int64_t> &own);
/// Adds what a program holds for itself: nothing of what programs share.
void addMemory(RankMemory &rank, const ProgramMemory &program);
/// Adds what they share.
void addShared(RankMemory &rank, const SharedMemory &shared);

/// What the session and its ranks tell each other in a run.
struct RunState {
  /// That globals are written from now on.
  std::atomic<bool> hasCommitted = false;
  /// That the run goes on without a rank: it must write nothing any more.
  std::atomic<bool> isGivenUp = false;
};

/// What a program is prepared from, for one rank.
struct RankContext {
  const ResolvedManifest &resolved;
  size_t entryIndex;
  uint32_t rank;
  const RankSpaces *spaces; ///< Unused by predict(), as what follows.
  GlobalBoxes *globals;
  Communicator *communicator; ///< Never null for prepare().
  std::span<const Backend *const> backends;
  int threads;
  bool trace = false;
  bool checksIndices = true;
  bool packsConstants = true;
  RunState *state = nullptr;      ///< One for all ranks of the session.
  LastSteps *lastSteps = nullptr; ///< One for all programs of the rank.
  /// The ranks of the session, ascending.
  std::span<const uint32_t> localRanks;
  /// Of each code of the artifact; unused by predict().
  std::span<const KernelCode> codes = {};
  /// Of a body, by memory space: where its arena begins, in that of the program
  /// with the loop.
  std::vector<std::byte *> bodyArenas = {};
  /// Whether what a device does alone is recorded, and done as one.
  bool usesGraphs = false;
};

struct RankGraph;
struct RankLoop;

class RankProgram {
public:
  RankProgram();
  ~RankProgram();

  /// How many steps a device may be in at a time. Each keeps a part of it busy
  /// until the devices of others have come to it; were there more of them than
  /// it has room for, and not the same on all, none might ever end.
  static constexpr size_t mostQueued = 2;

  /// When an instruction began and ended, in nanoseconds of the steady clock.
  struct Event {
    int64_t begin = 0, end = 0;
  };
  /// One thing to do.
  struct Task {
    enum class Kind : uint8_t {
      Call,
      Comm,
      Copy,
      Fill,
      Loop,
      Nothing, ///< Keeps the place of an instruction that others come after.
    } kind = Kind::Nothing;
    size_t instruction = 0;             ///< It comes from.
    uint32_t space = hostSpaceNumber;   ///< Of its kernel, or what it moves.
    Device *device = nullptr;           ///< Who does it; of Comm where queued.
    DeviceQueue *queue = nullptr;       ///< Where; null if done at once.
    std::unique_ptr<DeviceEvent> ended; ///< Recorded there behind it.
    std::unique_ptr<PreparedKernel> kernel; // Call
    bool wantsExtraWorkspace = false;       // Call
    void *workspace = nullptr;              // Call
    std::unique_ptr<CommStep> comm;         // Comm, unless queued
    std::unique_ptr<QueuedStep> queued;     // Comm
    size_t number = 0;                      // Comm: of those queued
    int64_t messagesAt = 0;                 // Comm: in the rank's memory
    std::vector<BoxCopy> copies;            // Copy
    bool isSkipped = false;  ///< Copy: in this run the bytes are there already.
    bool isPageable = false; ///< Copy: from or to memory that is not pinned.
    DType fillType = DType::F32;           // Fill
    ReduceKind fillKind = ReduceKind::Sum; // Fill
    int64_t fillCount = 0;                 // Fill
    std::unique_ptr<RankLoop> loop;        // Loop
    std::vector<const void *> operands;
    std::vector<void *> results;
    /// Begins when so many tasks of another queue have ended.
    struct Wait {
      uint32_t queue;
      size_t tasks;
    };
    std::vector<Wait> waits;

    Task();
    Task(Task &&) noexcept;
    ~Task();

    /// What a step wants for messages.
    int64_t messageBytes() const {
      return comm     ? comm->workspaceBytes()
             : queued ? queued->workspaceBytes()
                      : 0;
    }
    /// Whether the host does it with others.
    bool isStep() const { return kind == Kind::Comm && !queued; }
  };

  /// Fails with Unsupported if no backend takes a call, Invalid if a result
  /// lies over an operand and the kernel does not allow it.
  static Expected<std::unique_ptr<RankProgram>>
  prepare(const RankContext &context);

  /// What prepare() would allocate. Fails where it does before it makes
  /// kernels.
  static Expected<ProgramMemory> predict(const RankContext &context);

  /// What it holds; workspaces and the memory of messages are the caller's to
  /// give.
  const ProgramMemory &memory() const { return memory_; }
  void setWorkspaces(const RankSpaces &spaces);

  /// Sets the entry's inputs and outputs for the next run, slicing what does
  /// not lie in one piece. They fit (checkArguments), and stay where they are
  /// until the run has ended. Fails with Device where memory runs out.
  Status bind(std::span<const TensorArgument> inputs,
              std::span<const TensorArgument> outputs);
  /// Walks the tasks; up to the commit only, without an error, if a rank has
  /// met a bad index before. All ranks then stop there, maybe with collectives
  /// in flight.
  Status run();
  /// Whether the last run did.
  bool isStopped() const { return isStopped_; }

  /// What a run does to globals, in bytes.
  const StateBytes &stateBytes() const { return stateBytes_; }
  /// What a run copies from one memory space to another, in bodies once.
  const SpaceCopies &spaceCopies() const { return spaceCopies_; }
  /// What it does in collectives, those of bodies once.
  const CollectiveUses &collectives() const { return collectives_; }
  /// Nanoseconds of the last run in which it did nothing but wait for others.
  int64_t waitingTime() const { return waitingTime_; }
  /// What the last run did to the caller's outputs, in bytes.
  const OutputBytes &outputBytes() const { return outputBytes_; }

  /// A bad index of a call.
  struct IndexFault {
    /// The call; in a body the loop, its iteration, and the call, and so on.
    std::vector<uint64_t> at;
    std::string where; ///< Node and operator.
    BadIndex index;
  };
  /// The first of the last run, in the order of the program. Nothing ends a
  /// program there: which one is told must not depend on who was faster.
  const std::optional<IndexFault> &indexFault() const { return indexFault_; }
  /// Whether some rank has met one in the last run, as far as this one knows.
  bool sawBadIndex() const { return indexFault_ || isStopped_ || othersFault_; }
  /// The first fault of all ranks of a run: by instruction, by position, by
  /// rank. Success without one, else Invalid with node and operator.
  static Status
  firstFault(std::span<const std::unique_ptr<RankProgram>> programs);

  /// How many calls of an operator a backend does.
  using KernelCounts = std::map<std::pair<std::string, std::string>, int64_t>;
  /// By operator and backend; calls that the runtime drops (views, empty
  /// results) are not among them.
  const KernelCounts &kernelCounts() const { return kernelCounts_; }

  /// How often generated code does an operator, by that and the library which
  /// has nothing for it: as launches have found out, those of bodies once.
  KernelCounts fallbacks() const;

  /// What becomes of what a device does: `from the second run on, 57 tasks of
  /// the device are one graph`, or why not. Empty if no device does anything.
  const std::string &graphUse() const { return graphUse_; }

  /// What the rank is at, for who watches it meanwhile. It changes with every
  /// task but collectives; see isWorking() and locationOf().
  uint64_t progress() const {
    const RankProgram *inner = inner_.load(std::memory_order_relaxed);
    return inner ? inner->progress()
                 : progress_.load(std::memory_order_relaxed);
  }
  /// Whether the rank is in a kernel or copy, not waiting for others.
  static bool isWorking(uint64_t progress) { return progress % 2 != 0; }
  /// Where that is, for messages: entry, program, instruction and rank.
  std::string locationOf(uint64_t progress) const;

  /// One event per task of the last run, if the context asked for them.
  std::span<const Event> events() const { return events_; }
  std::span<const Task> tasks() const { return tasks_; }

private:
  friend class RankProgramBuilder;

  /// Where the address of an input goes.
  struct InputPatch {
    size_t task, operand;
    uint32_t input;
  };
  /// How the caller's memory is laid out.
  struct ViewLayout {
    bool isWhole = true;
    Dims strides = {}; ///< As in TensorView.

    friend bool operator==(const ViewLayout &, const ViewLayout &) = default;
    /// Copies pieces of `box` between a box without gaps and the view.
    BoxCopy copyIn(const Placement &placement, const Box &box) const;
    BoxCopy copyOut(const Placement &placement, const Box &box,
                    const Box &piece) const;
  };
  /// What the rank takes of an input.
  struct InputSlice {
    const Placement *placement;
    Box box;
    ViewLayout layout; ///< That `copy` is for.
    BoxCopy copy;
    AlignedBytes staging; ///< Empty while it is used where it lies.
    const std::byte *address = nullptr; ///< Of the bound box.
  };
  /// Where the address of a buffer stands in the tasks.
  struct Mention {
    size_t task;
    bool isResult;
    size_t index;
  };
  /// What the rank writes of an output.
  struct OutputPatch {
    size_t task;
    uint32_t output;
    const Placement *placement;
    Box box;
    std::vector<Box> pieces;          ///< Of the box, of a whole output.
    std::optional<ViewLayout> layout; ///< That the task's copies are for.
    /// Of the buffer that it comes from: all, if the caller's memory can take
    /// its place; else none.
    std::vector<Mention> mentions;
    std::byte *arena = nullptr;   ///< Where that buffer lies.
    std::byte *present = nullptr; ///< What its mentions say.
  };
  /// Bytes of the caller's: addresses.
  struct CallerBytes {
    uintptr_t begin, end;
  };

  /// Tasks that run in order, and how far they are.
  struct Queue {
    std::vector<size_t> tasks;
    size_t done = 0;  ///< How many have ended, ...
    size_t begun = 0; ///< ... and how many have begun.

    bool isOver() const { return done == tasks.size(); }
    bool isInFlight() const { return begun != done; }
    /// The first that has not ended.
    size_t next() const { return tasks[done]; }
  };

  Status runTask(Task &task);
  Status launch(Task &task);
  Status runAt(size_t index);
  Status runLoop(Task &task);
  Status copyFirst(Task &task, std::span<void *const> to);
  Status awaitFirst(const RankLoop &loop);
  Expected<int64_t> agreeOnCount(const Task &task);
  void adoptFault(const Task &task);
  Status iterate(std::span<const void *const> inputs,
                 std::span<void *const> outputs);
  void noteFault(const Task &task, LaunchContext &context);
  void noteStep(size_t index, bool isDone);
  bool canWaitThere(const Task &task, const Task::Wait &wait) const;
  bool isNext(const Task &task) const;
  bool mayBegin(const Queue &queue, const Task &task) const;
  Status beginOnDevice(size_t index);
  Expected<bool> collectEnded(Queue &queue);
  void awaitDevices();
  Expected<bool> advance(Queue &queue);
  Expected<bool> advanceComm(Queue &queue);
  Expected<bool> advanceAll(bool steps);
  Expected<bool> advanceQueues();
  Status drainQueues();
  Status waitForOthers();
  Status planGraph();
  Status stageInput(uint32_t input, InputSlice &slice);
  Status connectBodies();
  Expected<bool> beginRun();
  void listGraphAddresses();
  Status makeMarks();
  Status giveMark(size_t step);
  Status giveWork();
  Status giveTask(size_t index, std::span<const size_t> waits);
  Status recordGraph();
  Status prepareGraph();
  Status launchGraph();
  Status watchSteps();
  Status awaitGraph();
  void endGraph();
  Status runOnHost(std::span<const size_t> tasks);
  Status runGraph();
  Status bindInput(InputSlice &slice, const TensorArgument &argument);
  void listInputs(std::span<const TensorArgument> inputs);
  std::byte *placeFor(const OutputPatch &patch, const TensorView &view) const;
  void bindOutput(OutputPatch &patch, const TensorArgument &argument);
  /// An instruction and the rank, for messages.
  std::string locationAt(size_t instruction) const;
  /// The same of a task; of one on a device with what it is, an operator, a
  /// copy.
  std::string whereIs(const Task &task) const;
  /// `node 'fc1' (nn.matmul)`, alike on all ranks of a program.
  std::string nodeAt(size_t instruction) const;
  const ResolvedManifest *resolved_ = nullptr;
  const ResolvedEntry *entry_ = nullptr;
  size_t programIndex_ = 0;
  uint32_t rank_ = 0;
  size_t local_ = 0; ///< Its number among the session's ranks.

  std::vector<std::shared_ptr<Device>> devices_; ///< By memory space.
  std::vector<Task> tasks_;
  /// By queue and memory space. They end before what they work on does.
  std::map<std::pair<uint32_t, uint32_t>, std::unique_ptr<DeviceQueue>>
      deviceQueues_;
  std::vector<Queue> queues_;        ///< Those in use.
  std::unique_ptr<RankGraph> graph_; ///< Null if there is none.
  std::string graphUse_;
  bool hasRun_ = false;              ///< Task by task, to the end.
  std::vector<CommStep *> inFlight_; ///< While waiting; has room for all.
  /// Steps on queues begun in the run, of a body in the iteration.
  size_t numQueued_ = 0;
  bool hasQueued_ = false; ///< Whether there are some.
  /// Who has a program of an entry, or body, with such steps; else nobody.
  std::vector<uint32_t> queuedRanks_;
  /// The bodies, those within bodies too, that have some: in the order of the
  /// list, a body before those within it.
  std::vector<const RankProgram *> meetingBodies_;
  Communicator *communicator_ = nullptr; ///< The context's.
  size_t commit_ = SIZE_MAX;             ///< The task; else there is none.
  bool hasCommitted_ = false;            ///< In the last run.
  bool commitVote_ = false;              ///< Whether it must not.
  bool isStopped_ = false;               ///< Whether a rank has said that.
  std::unique_ptr<CommStep> endStep_;    ///< Null if all ranks are local.
  bool othersFault_ = false;             ///< What they say there.
  std::map<uint32_t, InputSlice> inputs_;
  std::vector<InputPatch> inputPatches_;
  std::vector<OutputPatch> outputPatches_;
  std::vector<CallerBytes> inputBytes_; ///< Of all inputs of the run.
  std::vector<Event> events_;
  std::optional<IndexFault> indexFault_;
  RunState *state_ = nullptr;      ///< The context's.
  LastSteps *lastSteps_ = nullptr; ///< The context's.
  uint32_t entryIndex_ = 0;
  KernelCounts kernelCounts_;
  /// Twice the task's index; and 1 while it works. Of a body, more in each
  /// iteration.
  std::atomic<uint64_t> progress_ = 0;
  uint64_t progressBase_ = 0;
  std::atomic<const RankProgram *> inner_ = nullptr; ///< In a loop: the body.
  int threads_ = 1;                                  ///< Of the rank's team.
  ProgramMemory memory_;
  StateBytes stateBytes_;
  SpaceCopies spaceCopies_;
  OutputBytes outputBytes_;
  CollectiveUses collectives_;
  int64_t waitingTime_ = 0; ///< Of a body: since its loop began.
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_CORE_RANKPROGRAM_H
