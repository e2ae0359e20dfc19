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

/// What the artifact plans, if that is enough; else some beside the arena.
void RankProgramBuilder::setWorkspace(const pb::Call &call, int64_t bytes,
                                      Task &task) {
  std::vector<int64_t> &extra = out_.memory_.workspaces;
  extra.resize(std::max<size_t>(extra.size(), call.space() + 1));
  if (bytes > call.workspace_bytes()) {
    extra[call.space()] = std::max(extra[call.space()], bytes);
    task.wantsExtraWorkspace = true;
  } else if (bytes > 0) {
    task.workspace = arena(call.space()) + call.workspace_offset();
  }
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
    const pb::Buffer &root = program_.root(call.operands(form.operand));
    std::string own = "alone " + std::to_string(packed.size());
    packed[{root.global(), form.name.empty() ? own : form.name}] = form.bytes;
  }
}

Status RankProgramBuilder::chooseKernel(const pb::Call &call,
                                        const CallSite &site, Task &task,
                                        std::vector<int> &unread) {
  std::ostringstream reasons;
  bool isOfDevice = false, isAnyAsked = false;
  std::string_view space =
      nameOfSpace(*context_.resolved.manifest, call.space());
  for (const Backend *backend : context_.backends) {
    if (backend->space() != space) {
      continue;
    }
    isAnyAsked = true;
    const Kernel *kernel = backend->find(
        site, int(context_.resolved.operatorOf(call).message->version()));
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
    if (!hasRoom(call, query)) {
      reasons << "; backend '" << backend->name()
              << "' needs more room for a result in its format";
      continue;
    }
    if (isNothing) {
      return {};
    }
    if (onlyCounts()) {
      setWorkspace(call, query.workspaceBytes, task);
      notePacked(call, query.packed);
      notePacking(query.packed);
      unread = std::move(query.unread);
      return {};
    }
    std::string error;
    task.kernel = kernel->prepare(site, error);
    if (!task.kernel) {
      reasons << "; backend '" << backend->name() << "': " << error;
      isOfDevice |= space != hostSpace;
      continue;
    }
    std::vector<PartKernel> parts = task.kernel->parts();
    if (parts.empty()) {
      parts.push_back({std::string(site.op), backend->name()});
    }
    for (const PartKernel &part : parts) {
      ++out_.kernelCounts_[{part.op, std::string(part.backend)}];
    }
    notePacking(query.packed);
    for (const PackedBytes &packed : task.kernel->packed()) {
      out_.memory_.packed[{uint64_t(uintptr_t(packed.data)), ""}] =
          packed.bytes;
    }
    for (size_t o = 0; o < site.operands.size(); ++o) {
      if (!task.kernel->reads(o)) {
        unread.push_back(static_cast<int>(o));
      }
    }
    setWorkspace(call, query.workspaceBytes, task);
    return {};
  }
  if (onlyCounts() && !isAnyAsked) {
    return {}; // who does it is not known here
  }
  // What a device's own kernel took while compiling fails for what the machine
  // lacks: a library, or a GPU that is new enough.
  return makeError(isOfDevice ? ExitCode::Device : ExitCode::Unsupported,
                   "no backend can do '", site.op, "'", reasons.str());
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

/// A constant as the rank's box of a global has it.
class GlobalConstant final : public ConstantReader {
public:
  GlobalConstant(GlobalBoxes &globals, uint32_t global, uint32_t rank,
                 int64_t bytes, Status &status)
      : globals_(globals), global_(global), rank_(rank), bytes_(bytes),
        status_(status) {}
  GlobalConstant(const GlobalConstant &) = delete;
  ~GlobalConstant() override {
    if (isBorrowed_) {
      globals_.release(global_, rank_);
    }
  }

  bool read(int64_t begin, int64_t count, std::byte *to) override {
    constexpr int64_t small = 1 << 16; // which is read element by element
    if (bytes_ > small) {
      return note(globals_.readPart(global_, rank_, begin, count, to));
    }
    isBorrowed_ = isBorrowed_ || note(globals_.acquire(global_, rank_));
    if (isBorrowed_) {
      std::memcpy(to, globals_.data(global_, rank_) + begin, size_t(count));
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
  int64_t bytes_;
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
  borrowed_.push_back(
      std::make_unique<GlobalConstant>(*context_.globals, global, context_.rank,
                                       infoOf(buffer).bytes(), globalsStatus_));
  return {*borrowed_.back(), context_.globals->forms(global, context_.rank)};
}

Status RankProgramBuilder::addCall(const pb::Call &call, size_t instruction) {
  std::vector<TensorInfo> operands, results;
  std::vector<Constant> constants;
  bool allEmpty = true;
  for (uint32_t buffer : call.results()) {
    results.push_back(infoOf(buffer));
    allEmpty &= results.back().count() == 0;
  }
  if (allEmpty) {
    return {};
  }
  for (uint32_t buffer : call.operands()) {
    operands.push_back(infoOf(buffer));
    const pb::Buffer &root = program_.root(buffer);
    bool isConstant = context_.packsConstants &&
                      root.where_case() == pb::Buffer::kGlobal &&
                      !context_.resolved.isUpdated[root.global()];
    constants.push_back(isConstant ? borrow(buffer) : Constant());
  }
  const ResolvedOperator &what = context_.resolved.operatorOf(call);
  CallSite site{
      what.message->op(), what.attributes,       operands, results, constants,
      context_.threads,   context_.checksIndices};
  Region region = regionOf(what);
  site.region = what.parts.empty() ? nullptr : &region;
  std::optional<KernelCode> code = codeOf(call);
  site.code = code ? &*code : nullptr;
  if (code && !levelOfTarget(code->target).empty() &&
      !chooseBackend(site, int(what.message->version()), context_.backends)) {
    site.code = nullptr; // other backends were asked for than that of such code
  }
  std::optional<KernelCode> fallback = fallbackOf(call);
  site.fallback = fallback ? &*fallback : nullptr;
  Task task;
  std::vector<int> unread;
  Status status = chooseKernel(call, site, task, unread);
  borrowed_.clear();
  // What a kernel could not read is why it refused.
  status = globalsStatus_.isOk() ? status : globalsStatus_;
  if (!status.isOk()) {
    return status;
  }
  for (int o = 0; o < call.operands_size(); ++o) {
    if (!std::ranges::count(unread, o)) {
      noteRead(call.operands(o));
    }
  }
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
