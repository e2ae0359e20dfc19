//===- RankProgramBuilder.h - Making one rank's tasks -----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_CORE_RANKPROGRAMBUILDER_H
#define DIVISI_RUNTIME_CORE_RANKPROGRAMBUILDER_H

#include "runtime/artifact/Collectives.h"
#include "runtime/core/RankProgram.h"

#include <set>
#include <tuple>

namespace divisi::rt {

/// Makes the tasks of a program for one rank.
class RankProgramBuilder {
public:
  /// Without a communicator in `context` only memory is counted.
  RankProgramBuilder(const RankContext &context, RankProgram &result)
      : context_(context), entry_(context.resolved.entries[context.entryIndex]),
        programIndex_(entry_.programOfRank.at(context.rank)),
        program_(entry_.programs[programIndex_]), out_(result) {}

  /// Makes the program, kernels and all. Fails as RankProgram::prepare does.
  Status build();
  /// Sets only what the program's memory() says. Fails as RankProgram::predict
  /// does.
  Status countMemory();

private:
  friend class RankClasses;
  using Task = RankTask;

  Status addInstruction(int index);
  Status enqueue(int index, size_t firstTask);
  Status putOnDevice(Task &task, uint32_t queue);
  Status addCall(const artifact::Call &call, size_t instruction);
  Status addCollective(const artifact::Collective &collective,
                       size_t instruction);
  Status addLocal(CollectiveKind kind, std::span<const uint32_t> axes,
                  const artifact::Collective &collective, size_t instruction);
  Status addTransfer(const artifact::Transfer &transfer, size_t instruction);
  OwnStep stepOf(const artifact::Collective &collective) const;
  OwnStep stepOfTransfer(size_t instruction) const;
  uint32_t spaceOfStep(const artifact::Instruction &instruction) const;
  /// Whether devices do it, kind with format, axes, source and result of a
  /// step.
  using StepKey = std::tuple<bool, std::string, std::vector<uint32_t>,
                             const Placement *, const Placement *>;
  std::optional<StepKey> stepKeyOf(int index) const;
  OwnStep stepAt(int index) const;
  int64_t messagesOf(int index);
  int64_t voteBytes() const;
  void countAgreement(const artifact::Loop &loop);
  void countEnd();
  void noteMessages(int64_t bytes, uint32_t space = hostSpaceNumber);
  void noteMessages(int index, int64_t bytes);
  Status placeMessages();
  Status addComm(OwnStep own, uint32_t tag, const std::string &what,
                 std::optional<uint32_t> source, std::optional<uint32_t> result,
                 size_t instruction);
  void addCopy(const artifact::Copy &copy, size_t instruction);
  void addOutput(const artifact::Output &output, size_t instruction);
  void addBodyOutput(const artifact::Output &output, size_t instruction);
  Status addLoop(const artifact::Loop &loop, size_t instruction);
  Status addLoopQueue(RankLoop &loop);
  Status countLoop(const artifact::Loop &loop);
  void addBodyMemory(const ProgramMemory &body);
  void addBodyUses(const RankProgram &body);
  RankContext contextOf(const artifact::Loop &loop) const;
  OwnStep stepOfAll(size_t entryIndex, DType type, ReduceKind reduce,
                    int64_t count) const;
  Expected<std::unique_ptr<CommStep>>
  prepareForAll(size_t entryIndex, uint32_t number, const std::string &what,
                DType type, ReduceKind reduce, int64_t count);
  Expected<std::unique_ptr<CommStep>> prepareVote(uint32_t number,
                                                  const std::string &what);
  Status addMet(const OwnStep &own, Task &task);
  Status addQueued(const OwnStep &own, uint32_t space, Task &task);
  void limitQueued(Task &task);
  void noteQueuedRanks();
  Status addCommit(size_t instruction);
  Status addEndStep();

  Status makeInputs();
  /// Bytes that are the program's; none while memory is only counted.
  Expected<AlignedBytes> stage(int64_t bytes);
  bool onlyCounts() const { return !context_.communicator; }
  /// A call as the rank has it, with all that `site` refers to.
  struct OwnSite {
    std::vector<TensorInfo> operands, results;
    std::vector<Constant> constants;
    Region region;
    std::optional<KernelCode> code, fallback;
    std::optional<CallSite> site;
  };
  /// What a backend says of a call.
  struct Answer {
    const Kernel *kernel = nullptr; ///< Null: it has none.
    KernelQuery query = {};
    friend bool operator==(const Answer &, const Answer &) = default;
  };
  using CallKey =
      std::tuple<uint32_t, int64_t, uint32_t,
                 std::vector<std::tuple<const Placement *, std::string, bool>>>;

  void describe(const artifact::Call &call, OwnSite &own);
  Answer ask(const Backend &backend, const artifact::Call &call,
             const CallSite &site) const;
  CallKey keyOf(const artifact::Call &call) const;
  std::vector<const Placement *> tensorsOf(const artifact::Call &call) const;
  std::vector<Answer> askAll(const artifact::Call &call);
  const std::vector<Answer> &answersOf(const artifact::Call &call);
  Status countCall(const artifact::Call &call);
  Status chooseKernel(const artifact::Call &call, const CallSite &site,
                      Task &task, std::vector<int> &unread);
  bool isFor(const Backend &backend, const artifact::Call &call) const;
  std::string_view refusal(const artifact::Call &call, const Answer &answer,
                           bool &isNothing) const;
  Status noBackend(const artifact::Call &call, ExitCode code,
                   const std::string &reasons) const;
  Status makeReady(const artifact::Call &call, PreparedKernel &kernel) const;
  void noteKernel(const PreparedKernel &kernel, std::string_view op,
                  const Backend &backend);
  bool isConstant(uint32_t buffer) const;
  bool isEmpty(const artifact::Call &call) const;
  void noteReads(const artifact::Call &call, std::span<const int> unread);
  bool mayShare(const artifact::Call &call, const KernelQuery &query,
                bool &isNothing) const;
  std::optional<KernelCode> codeOf(const artifact::Call &call) const;
  std::optional<KernelCode> fallbackOf(const artifact::Call &call) const;
  std::byte *globalOnDevice(uint32_t space, uint32_t global) const;
  const std::byte *bringGlobal(uint32_t global);
  Constant borrow(uint32_t buffer);
  bool hasRoom(const artifact::Call &call, const KernelQuery &query) const;
  Region regionOf(const ResolvedOperator &what) const;
  void notePacking(std::span<const PackedForm> forms);
  void notePacked(const artifact::Call &call,
                  std::span<const PackedForm> forms);
  bool countWorkspace(const artifact::Call &call, int64_t bytes);

  Task &newTask(Task::Kind kind, size_t instruction);
  void setOperand(uint32_t buffer);
  void setResult(uint32_t buffer);
  void setSpace(Task &task, uint32_t space);
  void mention(uint32_t buffer, bool isResult, size_t index);
  void noteRead(uint32_t buffer);
  void noteReads(const artifact::Instruction &instruction);
  bool isWrittenByDevice(const std::vector<BufferMention> &mentions) const;
  void writeOutputsInPlace();
  TensorInfo infoOf(uint32_t buffer) const;
  std::byte *arena(uint32_t space) const;
  const void *addressOf(uint32_t buffer);
  const void *addressOfRoot(const artifact::Buffer &root);
  size_t positionOf(const Placement &placement) const {
    return *context_.resolved.grids[placement.grid].positionOf(context_.rank);
  }
  const Placement &placement(uint32_t buffer) const {
    return *program_.buffers[buffer].placement;
  }
  const Box &boxOf(uint32_t buffer) const {
    return placement(buffer).boxes[positionOf(placement(buffer))];
  }
  BoxCopy wholeCopy(uint32_t buffer) const {
    const Box &box = boxOf(buffer);
    return BoxCopy(byteWidth(placement(buffer).type), box, box, box);
  }
  const std::string &locationOf(size_t instruction) const {
    return program_.message->instructions(static_cast<int>(instruction))
        .location();
  }

  const RankContext &context_;
  const ResolvedEntry &entry_;
  size_t programIndex_;
  const ResolvedProgram &program_;
  RankProgram &out_;
  std::map<uint32_t, uint32_t> queues_; ///< By number: those in use.
  /// By root: where the arena's buffers stand in the tasks.
  std::map<uint32_t, std::vector<BufferMention>> mentions_;
  /// Roots that have the bytes of another one, whose call or copy was dropped.
  std::set<uint32_t> sharing_;
  /// The memory of one instruction's step.
  struct Messages {
    int instruction;
    int64_t bytes, at;
    uint32_t space;
    int64_t end() const { return at + bytes; }
  };
  std::vector<Messages> messages_; ///< In the order of the list.
  std::map<StepKey, int64_t> messagesOf_;
  /// While memory is counted: what backends say of the calls of a key, one by
  /// one; nothing of those for other memory spaces.
  std::map<CallKey, std::vector<Answer>> answers_;
  /// What went wrong where a global was brought to memory.
  Status globalsStatus_;
  /// Constants of the kernel that is prepared.
  std::vector<std::unique_ptr<ConstantReader>> borrowed_;
  /// Per instruction: what waits for it waits for this.
  std::vector<Task::Wait> ends_;
  std::vector<Task::Wait> queued_; ///< The ends of steps on devices' queues.
  /// By queue, the end of the last step that the host does with others.
  std::map<uint32_t, Task::Wait> met_;
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_CORE_RANKPROGRAMBUILDER_H
