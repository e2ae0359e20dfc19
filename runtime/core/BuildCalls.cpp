//===- BuildCalls.cpp - Choosing and preparing kernels --------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/code/RowCode.h"
#include "runtime/core/RankProgramBuilder.h"

#include <algorithm>
#include <cstring>

using namespace divisi;
using namespace divisi::rt;
namespace pb = divisi::artifact;

/// Whether the kernel allows every result that lies at an operand's place.
/// `isNothing` tells that all of them are views there: no call is needed.
bool RankProgramBuilder::mayShare(const pb::Call &call,
                                  const KernelQuery &query,
                                  bool &isNothing) const {
  isNothing = call.results_size() != 0;
  for (int r = 0; r < call.results_size(); ++r) {
    auto result = program_.range(call.results(r));
    bool isView = false;
    for (int o = 0; o < call.operands_size(); ++o) {
      auto operand = program_.range(call.operands(o));
      if (!operand || operand->begin != result->begin ||
          boxOf(call.operands(o)).empty()) {
        continue;
      }
      bool isShown = std::ranges::count(query.views, SharedBytes{o, r}) != 0;
      isView |= isShown;
      if (!isShown && !std::ranges::count(query.inPlace, std::pair(o, r))) {
        return false;
      }
    }
    isNothing &= isView;
  }
  return true;
}

/// Whether the results' buffers hold what the kernel writes.
bool RankProgramBuilder::hasRoom(const pb::Call &call,
                                 const KernelQuery &query) const {
  for (size_t r = 0; r < query.resultBytes.size(); ++r) {
    uint32_t result = call.results(static_cast<int>(r));
    if (query.resultBytes[r] > program_.root(result).bytes()) {
      return false;
    }
  }
  return true;
}

/// Whether the call wants more than the artifact plans: then it has some beside
/// the arena.
bool RankProgramBuilder::countWorkspace(const pb::Call &call, int64_t bytes) {
  std::vector<int64_t> &extra = out_.memory_.workspaces;
  extra.resize(std::max<size_t>(extra.size(), call.space() + 1));
  bool isMore = bytes > call.workspace_bytes();
  if (isMore) {
    extra[call.space()] = std::max(extra[call.space()], bytes);
  }
  return isMore;
}

/// What is there beside constants while they are packed.
void RankProgramBuilder::notePacking(std::span<const PackedForm> forms) {
  for (const PackedForm &form : forms) {
    out_.memory_.packing = std::max(out_.memory_.packing, form.scratch);
  }
}

/// Of one constant, what is packed alike is there once.
void RankProgramBuilder::notePacked(const pb::Call &call,
                                    std::span<const PackedForm> forms) {
  PackedConstants &packed = out_.memory_.packed;
  for (const PackedForm &form : forms) {
    uint32_t buffer = call.operands(form.operand);
    bool isShared = !form.name.empty() && program_.buffers[buffer].isWhole;
    std::string own = "alone " + std::to_string(packed.size());
    packed[{program_.root(buffer).global(), isShared ? form.name : own}] =
        form.bytes;
  }
}

bool RankProgramBuilder::isFor(const Backend &backend,
                               const pb::Call &call) const {
  return backend.space() ==
         nameOfSpace(*context_.resolved.manifest, call.space());
}

RankProgramBuilder::Answer RankProgramBuilder::ask(const Backend &backend,
                                                   const pb::Call &call,
                                                   const CallSite &site) const {
  const pb::Operator &op = *context_.resolved.operatorOf(call).message;
  const Kernel *kernel = backend.find(site, int(op.version()));
  return kernel ? Answer{kernel, kernel->query(site)} : Answer();
}

/// Why the backend cannot do the call, as far as it says so; empty: it can.
std::string_view RankProgramBuilder::refusal(const pb::Call &call,
                                             const Answer &answer,
                                             bool &isNothing) const {
  isNothing = false;
  return !answer.kernel ? " has no kernel for it"
         : !mayShare(call, answer.query, isNothing)
             ? " cannot write a result over its operand"
         : !hasRoom(call, answer.query)
             ? " needs more room for a result in its format"
             : "";
}

/// `reasons`: what each of those that were asked says.
Status RankProgramBuilder::noBackend(const pb::Call &call, ExitCode code,
                                     const std::string &reasons) const {
  return makeError(code, "no backend can do '", context_.resolved.nameOf(call),
                   "'", reasons);
}

Status RankProgramBuilder::chooseKernel(const pb::Call &call,
                                        const CallSite &site, Task &task,
                                        std::vector<int> &unread) {
  std::ostringstream reasons;
  bool isOfDevice = false;
  for (const Backend *backend : context_.backends) {
    if (!isFor(*backend, call)) {
      continue;
    }
    Answer answer = ask(*backend, call, site);
    bool isNothing = false;
    std::string_view why = refusal(call, answer, isNothing);
    if (!why.empty()) {
      reasons << "; backend '" << backend->name() << "'" << why;
      continue;
    }
    if (isNothing) {
      return {};
    }
    std::string error;
    task.kernel = answer.kernel->prepare(site, error);
    if (!task.kernel) {
      reasons << "; backend '" << backend->name() << "': " << error;
      isOfDevice |= backend->space() != hostSpace;
      continue;
    }
    if (Status status = makeReady(call, *task.kernel); !status.isOk()) {
      return status.in(context_.resolved.nameOf(call));
    }
    noteKernel(*task.kernel, site.op, *backend);
    notePacking(answer.query.packed);
    if (countWorkspace(call, answer.query.workspaceBytes)) {
      task.wantsExtraWorkspace = true;
    } else if (answer.query.workspaceBytes > 0) {
      task.workspace = arena(call.space()) + call.workspace_offset();
    }
    for (size_t o = 0; o < site.operands.size(); ++o) {
      if (!task.kernel->reads(o)) {
        unread.push_back(static_cast<int>(o));
      }
    }
    return {};
  }
  // What a device's own kernel took while compiling fails for what the machine
  // lacks: a library, or a GPU that is new enough.
  return noBackend(call, isOfDevice ? ExitCode::Device : ExitCode::Unsupported,
                   reasons.str());
}

/// On the device that has the space of the call; there is none where the rank
/// has nothing in it.
Status RankProgramBuilder::makeReady(const pb::Call &call,
                                     PreparedKernel &kernel) const {
  const std::shared_ptr<Device> &device =
      (*context_.spaces)[call.space()].device;
  return device ? device->makeReady(kernel) : Status();
}

/// Who does which part of a call, and the constants that it has packed.
void RankProgramBuilder::noteKernel(const PreparedKernel &kernel,
                                    std::string_view op,
                                    const Backend &backend) {
  std::vector<PartKernel> parts = kernel.parts();
  if (parts.empty()) {
    parts.push_back({std::string(op), backend.name()});
  }
  for (const PartKernel &part : parts) {
    ++out_.kernelCounts_[{part.op, std::string(part.backend)}];
  }
  for (const PackedBytes &packed : kernel.packed()) {
    out_.memory_.packed[{uint64_t(uintptr_t(packed.data)), ""}] = packed.bytes;
  }
}

/// Its bytes are only looked at in prepare(). Nothing where the call is made
/// without what it names.
std::optional<KernelCode>
RankProgramBuilder::codeOf(const pb::Call &call) const {
  if (!call.has_code()) {
    return std::nullopt;
  }
  if (!onlyCounts()) {
    const KernelCode &code = context_.codes[call.code()];
    return code.target.empty() ? std::nullopt : std::optional(code);
  }
  std::string_view target =
      context_.resolved.manifest->codes(static_cast<int>(call.code())).target();
  bool isForOther = !levelOfTarget(target).empty() && !runsOnHost(target);
  return isForOther ? std::nullopt : std::optional(KernelCode{target, {}});
}

/// Only prepare() looks at it.
std::optional<KernelCode>
RankProgramBuilder::fallbackOf(const pb::Call &call) const {
  return call.has_fallback() && !onlyCounts()
             ? std::optional(context_.codes[call.fallback()])
             : std::nullopt;
}

/// As this rank has it.
Region RankProgramBuilder::regionOf(const ResolvedOperator &what) const {
  Region region;
  for (size_t p = 0; p < what.parts.size(); ++p) {
    const pb::Part &message = what.message->parts(static_cast<int>(p));
    const ResolvedOperator &op = context_.resolved.operators[message.op()];
    RegionPart &part = region.parts.emplace_back();
    part.op = op.message->op();
    part.version = static_cast<int>(op.message->version());
    part.attributes = op.attributes;
    part.operands.assign(message.operands().begin(), message.operands().end());
    for (const Placement *result : what.parts[p]) {
      part.results.push_back(result->info(positionOf(*result)));
    }
  }
  region.results.assign(what.message->results().begin(),
                        what.message->results().end());
  return region;
}

namespace {

/// A constant as the rank's box of a global has it, or some of its bytes.
class GlobalConstant final : public ConstantReader {
public:
  GlobalConstant(GlobalBoxes &globals, uint32_t global, uint32_t rank,
                 int64_t offset, int64_t boxBytes, Status &status)
      : globals_(globals), global_(global), rank_(rank), offset_(offset),
        boxBytes_(boxBytes), status_(status) {}
  GlobalConstant(const GlobalConstant &) = delete;
  ~GlobalConstant() override {
    if (isBorrowed_) {
      globals_.release(global_, rank_);
    }
  }

  bool read(int64_t begin, int64_t count, std::byte *to) override {
    constexpr int64_t small = 1 << 16; // which is read element by element
    if (boxBytes_ > small) {
      return note(
          globals_.readPart(global_, rank_, offset_ + begin, count, to));
    }
    isBorrowed_ = isBorrowed_ || note(globals_.acquire(global_, rank_));
    if (isBorrowed_) {
      std::memcpy(to, globals_.data(global_, rank_) + offset_ + begin,
                  size_t(count));
    }
    return isBorrowed_;
  }

private:
  bool note(const Status &status) {
    status_ = status_.isOk() ? status : status_;
    return status.isOk();
  }

  GlobalBoxes &globals_;
  uint32_t global_, rank_;
  int64_t offset_; ///< Of what is read in the box.
  int64_t boxBytes_;
  Status &status_;
  bool isBorrowed_ = false;
};

} // namespace

/// For a kernel to pack; any address while there are no bytes yet.
Constant RankProgramBuilder::borrow(uint32_t buffer) {
  if (onlyCounts()) {
    return &context_;
  }
  uint32_t global = program_.root(buffer).global();
  const ResolvedBuffer &resolved = program_.buffers[buffer];
  borrowed_.push_back(std::make_unique<GlobalConstant>(
      *context_.globals, global, context_.rank, resolved.offset,
      infoOf(resolved.root).bytes(), globalsStatus_));
  // Forms are named for the whole box.
  return {*borrowed_.back(),
          resolved.isWhole ? context_.globals->forms(global, context_.rank)
                           : nullptr};
}

bool RankProgramBuilder::isConstant(uint32_t buffer) const {
  const pb::Buffer &root = program_.root(buffer);
  return context_.packsConstants && root.has_global() &&
         !context_.resolved.isUpdated[root.global()];
}

/// Whether all results are: then there is nothing to do.
bool RankProgramBuilder::isEmpty(const pb::Call &call) const {
  return std::ranges::all_of(
      call.results(), [&](uint32_t buffer) { return boxOf(buffer).empty(); });
}

void RankProgramBuilder::describe(const pb::Call &call, OwnSite &own) {
  for (uint32_t buffer : call.results()) {
    own.results.push_back(infoOf(buffer));
  }
  for (uint32_t buffer : call.operands()) {
    own.operands.push_back(infoOf(buffer));
    own.constants.push_back(isConstant(buffer) ? borrow(buffer) : Constant());
  }
  const ResolvedOperator &what = context_.resolved.operatorOf(call);
  own.region = regionOf(what);
  own.code = codeOf(call);
  own.fallback = fallbackOf(call);
  CallSite &site = own.site.emplace(
      CallSite{what.message->op(), what.attributes, own.operands, own.results,
               own.constants, context_.threads, context_.checksIndices});
  site.region = what.parts.empty() ? nullptr : &own.region;
  site.code = own.code ? &*own.code : nullptr;
  if (own.code && !levelOfTarget(own.code->target).empty() &&
      !chooseBackend(site, int(what.message->version()), context_.backends)) {
    site.code = nullptr; // other backends were asked for than that of such code
  }
  site.fallback = own.fallback ? &*own.fallback : nullptr;
}

/// What a call reads of globals, but for the operands `unread`.
void RankProgramBuilder::noteReads(const pb::Call &call,
                                   std::span<const int> unread) {
  for (int o = 0; o < call.operands_size(); ++o) {
    if (!std::ranges::count(unread, o)) {
      noteRead(call.operands(o));
    }
  }
}

Status RankProgramBuilder::addCall(const pb::Call &call, size_t instruction) {
  if (isEmpty(call)) {
    return {};
  }
  OwnSite own;
  describe(call, own);
  Task task;
  std::vector<int> unread;
  Status status = chooseKernel(call, *own.site, task, unread);
  borrowed_.clear();
  // What a kernel could not read is why it refused.
  status = globalsStatus_.isOk() ? status : globalsStatus_;
  if (!status.isOk()) {
    return status;
  }
  noteReads(call, unread);
  if (!task.kernel) { // all results are views
    for (const auto *buffers : {&call.operands(), &call.results()}) {
      for (uint32_t buffer : *buffers) {
        sharing_.insert(program_.buffers[buffer].root);
      }
    }
    return {};
  }
  task.kind = Task::Kind::Call;
  task.instruction = instruction;
  setSpace(task, call.space());
  out_.list_.tasks.push_back(std::move(task));
  for (int o = 0; o < call.operands_size(); ++o) {
    if (program_.root(call.operands(o)).has_global() &&
        std::ranges::count(unread, o)) {
      out_.list_.tasks.back().operands.push_back(&program_); // any address
    } else {
      setOperand(call.operands(o));
    }
  }
  for (uint32_t buffer : call.results()) {
    setResult(buffer);
  }
  return {};
}
