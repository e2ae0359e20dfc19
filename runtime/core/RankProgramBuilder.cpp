//===- RankProgramBuilder.cpp - Preparing one rank's instructions ---------===//
//
// Part of Divisi, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Collectives.h"
#include "runtime/core/RankProgram.h"

#include <algorithm>

using namespace divisi;
using namespace divisi::rt;
namespace pb = divisi::artifact;

namespace divisi::rt {

/// Makes the tasks of a program for one rank.
class RankProgramBuilder {
public:
  RankProgramBuilder(const RankContext &context, RankProgram &result)
      : context_(context), entry_(context.resolved.entries[context.entryIndex]),
        programIndex_(entry_.programOfRank.at(context.rank)),
        program_(entry_.programs[programIndex_]), out_(result) {}

  Status build();

private:
  using Task = RankProgram::Task;

  Status addInstruction(int index);
  Status addCall(const pb::Call &call, size_t instruction);
  Status addCollective(const pb::Collective &collective, size_t instruction);
  Status addLocal(CollectiveKind kind, std::span<const uint32_t> axes,
                  const pb::Collective &collective, size_t instruction);
  Status addTransfer(const pb::Transfer &transfer, size_t instruction);
  Status addComm(OwnStep own, uint32_t tag, const std::string &what,
                 std::optional<uint32_t> source, std::optional<uint32_t> result,
                 size_t instruction);
  void addCopy(const pb::Copy &copy, size_t instruction);
  void addOutput(const pb::Output &output, size_t instruction);
  Status addUpdate(const pb::Update &update, size_t instruction);
  Status addEndBarrier();

  Status makeInputs();
  Status chooseKernel(const pb::Call &call, const CallSite &site, Task &task);
  bool mayShare(const pb::Call &call, const KernelQuery &query,
                bool &isNothing) const;

  Task &newTask(Task::Kind kind, size_t instruction);
  void setOperand(std::vector<Task> RankProgram::*list, uint32_t buffer);
  void setResult(uint32_t buffer);
  const void *addressOf(uint32_t buffer) const;
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
};

} // namespace divisi::rt

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

const void *RankProgramBuilder::addressOf(uint32_t buffer) const {
  const pb::Buffer &root = program_.root(buffer);
  switch (root.where_case()) {
  case pb::Buffer::kArenaOffset:
    return context_.arena + root.arena_offset();
  case pb::Buffer::kGlobal:
    return context_.globals.data(root.global(), context_.rank);
  default:
    return nullptr; // an input: bind() knows
  }
}

RankProgramBuilder::Task &RankProgramBuilder::newTask(Task::Kind kind,
                                                      size_t instruction) {
  Task &task = out_.tasks_.emplace_back();
  task.kind = kind;
  task.instruction = instruction;
  return task;
}

/// Appends the operand `buffer` to the newest task of `list`.
void RankProgramBuilder::setOperand(std::vector<Task> RankProgram::*list,
                                    uint32_t buffer) {
  std::vector<Task> &tasks = out_.*list;
  const pb::Buffer &root = program_.root(buffer);
  if (root.where_case() == pb::Buffer::kInput) {
    out_.inputPatches_.push_back(
        {list, tasks.size() - 1, tasks.back().operands.size(), root.input()});
  }
  tasks.back().operands.push_back(addressOf(buffer));
}

void RankProgramBuilder::setResult(uint32_t buffer) {
  // Verified to lie in the arena.
  out_.tasks_.back().results.push_back(const_cast<void *>(addressOf(buffer)));
}

Status RankProgramBuilder::makeInputs() {
  constexpr int64_t alignment = 64; // what kernels are promised
  for (const pb::Buffer &buffer : program_.message->buffers()) {
    if (buffer.where_case() != pb::Buffer::kInput ||
        out_.inputs_.contains(buffer.input())) {
      continue;
    }
    const Placement &placement = *entry_.inputs[buffer.input()];
    const Box &box = placement.boxes[positionOf(placement)];
    RankProgram::InputSlice slice{BoxCopy(byteWidth(placement.type), box,
                                          Box::whole(placement.dims), box),
                                  {}};
    if (slice.copy.bytes() != 0 &&
        (!slice.copy.isContiguous() ||
         slice.copy.sourceOffset() % alignment != 0)) {
      Expected<AlignedBytes> staging =
          AlignedBytes::allocate(slice.copy.bytes());
      if (!staging) {
        return staging.status();
      }
      slice.staging = std::move(*staging);
    }
    out_.inputs_.emplace(buffer.input(), std::move(slice));
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

static Expected<Attributes> readAttributes(const pb::Call &call) {
  Attributes attributes;
  for (const pb::Attribute &message : call.attributes()) {
    const std::string &name = message.name();
    switch (message.value_case()) {
    case pb::Attribute::kI:
      attributes.set(name, int64_t(message.i()));
      break;
    case pb::Attribute::kF:
      attributes.set(name, message.f());
      break;
    case pb::Attribute::kS:
      attributes.set(name, message.s());
      break;
    case pb::Attribute::kInts:
      attributes.set(name, std::vector<int64_t>(message.ints().values().begin(),
                                                message.ints().values().end()));
      break;
    case pb::Attribute::kFloats:
      attributes.set(name,
                     std::vector<double>(message.floats().values().begin(),
                                         message.floats().values().end()));
      break;
    default:
      return makeError(ExitCode::Invalid, "attribute '", name,
                       "' has no value");
    }
  }
  return attributes;
}

/// Whether the kernel allows every result that lies at an operand's place.
/// `isNothing` tells that all of them are views there: no call is needed.
bool RankProgramBuilder::mayShare(const pb::Call &call,
                                  const KernelQuery &query,
                                  bool &isNothing) const {
  isNothing = call.results_size() != 0;
  for (int r = 0; r < call.results_size(); ++r) {
    auto result = program_.arenaRange(call.results(r));
    bool isView = false;
    for (int o = 0; o < call.operands_size(); ++o) {
      auto operand = program_.arenaRange(call.operands(o));
      if (!operand || operand->begin != result->begin ||
          boxOf(call.operands(o)).empty()) {
        continue;
      }
      auto has = [&](const std::vector<std::pair<int, int>> &pairs) {
        return std::count(pairs.begin(), pairs.end(), std::pair(o, r)) != 0;
      };
      isView |= has(query.views);
      if (!has(query.inPlace) && !has(query.views)) {
        return false;
      }
    }
    isNothing &= isView;
  }
  return true;
}

Status RankProgramBuilder::chooseKernel(const pb::Call &call,
                                        const CallSite &site, Task &task) {
  std::ostringstream reasons;
  for (const Backend *backend : context_.backends) {
    const Kernel *kernel = backend->find(site, int(call.version()));
    if (!kernel) {
      reasons << "; backend '" << backend->name() << "' has no kernel for it";
      continue;
    }
    KernelQuery query = kernel->query(site);
    bool isNothing = false;
    if (!mayShare(call, query, isNothing)) {
      reasons << "; backend '" << backend->name()
              << "' cannot write a result over its operand";
      continue;
    }
    if (isNothing) {
      return {};
    }
    std::string error;
    task.kernel = kernel->prepare(site, error);
    if (!task.kernel) {
      reasons << "; backend '" << backend->name() << "': " << error;
      continue;
    }
    ++out_.kernelCounts_[{call.op(), std::string(backend->name())}];
    if (query.workspaceBytes > call.workspace_bytes()) {
      task.wantsExtraWorkspace = true;
      out_.extraWorkspaceBytes_ =
          std::max(out_.extraWorkspaceBytes_, query.workspaceBytes);
    } else if (query.workspaceBytes > 0) {
      task.workspace = context_.arena + call.workspace_offset();
    }
    return {};
  }
  return makeError(ExitCode::Unsupported, "no backend can do '", call.op(), "'",
                   reasons.str());
}

Status RankProgramBuilder::addCall(const pb::Call &call, size_t instruction) {
  std::vector<TensorInfo> operands, results;
  std::vector<const void *> constants;
  for (uint32_t buffer : call.operands()) {
    const Placement &at = placement(buffer);
    operands.push_back(at.info(positionOf(at)));
    const pb::Buffer &root = program_.root(buffer);
    bool isConstant = root.where_case() == pb::Buffer::kGlobal &&
                      !context_.resolved.isUpdated[root.global()];
    constants.push_back(isConstant ? addressOf(buffer) : nullptr);
  }
  bool allEmpty = true;
  for (uint32_t buffer : call.results()) {
    const Placement &at = placement(buffer);
    results.push_back(at.info(positionOf(at)));
    allEmpty &= results.back().count() == 0;
  }
  if (allEmpty) {
    return {};
  }
  Expected<Attributes> attributes = readAttributes(call);
  if (!attributes) {
    return attributes.status();
  }
  CallSite site{call.op(), *attributes, operands,
                results,   constants,   context_.threads};
  Task task;
  if (Status status = chooseKernel(call, site, task); !status.isOk()) {
    return status;
  }
  if (!task.kernel) {
    return {}; // all results are views
  }
  task.kind = Task::Kind::Call;
  task.instruction = instruction;
  out_.tasks_.push_back(std::move(task));
  for (uint32_t buffer : call.operands()) {
    setOperand(&RankProgram::tasks_, buffer);
  }
  for (uint32_t buffer : call.results()) {
    setResult(buffer);
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Collectives and transfers
//===----------------------------------------------------------------------===//

Status RankProgramBuilder::addComm(OwnStep own, uint32_t tag,
                                   const std::string &what,
                                   std::optional<uint32_t> source,
                                   std::optional<uint32_t> result,
                                   size_t instruction) {
  own.step.entry = static_cast<uint32_t>(context_.entryIndex);
  own.step.tag = tag;
  own.step.location = what + " of '" + locationOf(instruction) + "'";
  Expected<std::unique_ptr<CommStep>> comm =
      context_.communicator.prepare(own.step, own.self);
  if (!comm) {
    return comm.status();
  }
  Task &task = newTask(Task::Kind::Comm, instruction);
  task.comm = std::move(*comm);
  if (source) {
    setOperand(&RankProgram::tasks_, *source);
  } else {
    task.operands.push_back(nullptr);
  }
  if (result) {
    setResult(*result);
  } else {
    task.results.push_back(nullptr);
  }
  return {};
}

Status RankProgramBuilder::addCollective(const pb::Collective &collective,
                                         size_t instruction) {
  CollectiveKind kind = *parseCollectiveKind(collective.kind());
  std::vector<uint32_t> axes(collective.axes().begin(),
                             collective.axes().end());
  if (isLocal(kind)) {
    return addLocal(kind, axes, collective, instruction);
  }
  const Placement &source = placement(collective.source());
  return addComm(describeCollective(
                     context_.resolved.grids[source.grid], kind, axes, source,
                     placement(collective.result()), positionOf(source)),
                 collective.tag(), collective.kind(), collective.source(),
                 collective.result(), instruction);
}

Status RankProgramBuilder::addLocal(CollectiveKind kind,
                                    std::span<const uint32_t> axes,
                                    const pb::Collective &collective,
                                    size_t instruction) {
  const Placement &result = placement(collective.result());
  const Box &box = boxOf(collective.result());
  const GridInfo &grid = context_.resolved.grids[result.grid];
  if (kind == CollectiveKind::Mask &&
      isMasked(grid, axes, positionOf(result))) {
    Task &task = newTask(Task::Kind::Fill, instruction);
    task.fillType = result.type;
    task.fillKind = result.partialKind;
    task.fillCount = box.count();
    setResult(collective.result());
    return {};
  }
  Task &task = newTask(Task::Kind::Copy, instruction);
  task.copies.emplace_back(byteWidth(result.type), box,
                           boxOf(collective.source()), box);
  setOperand(&RankProgram::tasks_, collective.source());
  setResult(collective.result());
  return {};
}

Status RankProgramBuilder::addTransfer(const pb::Transfer &transfer,
                                       size_t instruction) {
  auto [from, to] = program_.transfers.at(static_cast<int>(instruction));
  std::optional<uint32_t> source, result;
  if (transfer.has_source()) {
    source = transfer.source();
  }
  if (transfer.has_result()) {
    result = transfer.result();
  }
  return addComm(describeTransfer(context_.resolved.grids[from->grid], *from,
                                  context_.resolved.grids[to->grid], *to,
                                  context_.rank),
                 transfer.tag(), "transfer", source, result, instruction);
}

Status RankProgramBuilder::addEndBarrier() {
  bool updates = false;
  for (const ResolvedProgram &program : entry_.programs) {
    for (const pb::Instruction &instruction : program.message->instructions()) {
      updates |= instruction.has_update();
    }
  }
  if (!updates) {
    return {};
  }
  OwnStep own;
  // Behind the entries' own numbers: no tag of theirs can be met.
  own.step.entry = static_cast<uint32_t>(context_.resolved.entries.size() +
                                         context_.entryIndex);
  own.step.location = "the end of entry '" + entry_.message->name() + "'";
  for (const auto &[rank, program] : entry_.programOfRank) {
    if (rank == context_.rank) {
      own.self = own.step.parties.size();
    }
    own.step.parties.push_back({rank, {}, {}});
  }
  Expected<std::unique_ptr<CommStep>> comm =
      context_.communicator.prepare(own.step, own.self);
  if (!comm) {
    return comm.status();
  }
  out_.endBarrier_ = std::move(*comm);
  return {};
}

//===----------------------------------------------------------------------===//
// Copies, outputs, updates
//===----------------------------------------------------------------------===//

void RankProgramBuilder::addCopy(const pb::Copy &copy, size_t instruction) {
  const void *result = addressOf(copy.result());
  if (addressOf(copy.source()) == result) {
    return;
  }
  Task &task = newTask(Task::Kind::Copy, instruction);
  task.copies.push_back(wholeCopy(copy.source()));
  setOperand(&RankProgram::tasks_, copy.source());
  setResult(copy.result());
}

/// Of an element that several positions hold, the first writes it, so that no
/// two threads write the same bytes.
void RankProgramBuilder::addOutput(const pb::Output &output,
                                   size_t instruction) {
  const Placement &at = placement(output.source());
  size_t position = positionOf(at);
  const Box &box = at.boxes[position];
  std::vector<Box> pieces = {box}, rest;
  for (size_t p = 0; p < position; ++p) {
    rest.clear();
    for (const Box &piece : pieces) {
      subtract(piece, at.boxes[p], rest);
    }
    std::swap(pieces, rest);
  }
  Task &task = newTask(Task::Kind::Copy, instruction);
  for (const Box &piece : pieces) {
    task.copies.emplace_back(byteWidth(at.type), piece, box,
                             Box::whole(at.dims));
  }
  setOperand(&RankProgram::tasks_, output.source());
  task.results.push_back(nullptr);
  out_.outputPatches_.push_back(
      {&RankProgram::tasks_, out_.tasks_.size() - 1, 0, output.output()});
}

/// The value is taken when the program has ended, unless it is a global that
/// is updated itself: then another update could come first.
Status RankProgramBuilder::addUpdate(const pb::Update &update,
                                     size_t instruction) {
  const pb::Buffer &root = program_.root(update.source());
  bool isStaged = root.where_case() == pb::Buffer::kGlobal &&
                  context_.resolved.isUpdated[root.global()];
  std::byte *staging = nullptr;
  if (isStaged && !boxOf(update.source()).empty()) {
    BoxCopy copy = wholeCopy(update.source());
    Expected<AlignedBytes> bytes = AlignedBytes::allocate(copy.bytes());
    if (!bytes) {
      return bytes.status();
    }
    staging = bytes->data();
    out_.staging_.push_back(std::move(*bytes));
    Task &task = newTask(Task::Kind::Copy, instruction);
    task.copies.push_back(std::move(copy));
    setOperand(&RankProgram::tasks_, update.source());
    task.results.push_back(staging);
  }
  Task &task = out_.updates_.emplace_back();
  task.instruction = instruction;
  task.copies.push_back(wholeCopy(update.source()));
  if (staging) {
    task.operands.push_back(staging);
  } else {
    setOperand(&RankProgram::updates_, update.source());
  }
  task.results.push_back(
      context_.globals.mutableData(update.global(), context_.rank));
  return {};
}

Status RankProgramBuilder::addInstruction(int index) {
  const pb::Instruction &instruction = program_.message->instructions(index);
  switch (instruction.what_case()) {
  case pb::Instruction::kCall:
    return addCall(instruction.call(), index);
  case pb::Instruction::kCollective:
    return addCollective(instruction.collective(), index);
  case pb::Instruction::kTransfer:
    return addTransfer(instruction.transfer(), index);
  case pb::Instruction::kCopy:
    addCopy(instruction.copy(), index);
    return {};
  case pb::Instruction::kOutput:
    addOutput(instruction.output(), index);
    return {};
  case pb::Instruction::kUpdate:
    return addUpdate(instruction.update(), index);
  default:
    return makeError(ExitCode::Invalid, "unknown instruction");
  }
}

Status RankProgramBuilder::build() {
  out_.entry_ = &entry_;
  out_.programIndex_ = programIndex_;
  out_.rank_ = context_.rank;
  if (Status status = makeInputs(); !status.isOk()) {
    return status;
  }
  for (int i = 0; i < program_.message->instructions_size(); ++i) {
    if (Status status = addInstruction(i); !status.isOk()) {
      return status.in(describeInstruction(entry_, programIndex_, i) +
                       ", rank " + std::to_string(context_.rank));
    }
  }
  if (context_.trace) {
    out_.events_.resize(out_.tasks_.size());
  }
  return addEndBarrier();
}

Expected<std::unique_ptr<RankProgram>>
RankProgram::prepare(const RankContext &context) {
  auto program = std::make_unique<RankProgram>();
  Status status = RankProgramBuilder(context, *program).build();
  if (!status.isOk()) {
    return status;
  }
  return program;
}
