//===- Verify.cpp - Whether an artifact's programs can run ----------------===//
//
// Part of Divisi, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/Verify.h"
#include "runtime/core/ArenaContents.h"
#include "runtime/core/Collectives.h"
#include "runtime/core/ResolvedManifest.h"

#include <algorithm>
#include <set>

using namespace divisi;
using namespace divisi::rt;
namespace pb = divisi::artifact;

template <typename... Parts> static Status invalid(const Parts &...parts) {
  return makeError(ExitCode::Invalid, parts...);
}

namespace {

/// What ranks do together under one tag: the same on all of them.
struct SharedStep {
  std::string where; ///< The first instruction that has it.
  std::string kind;  ///< Of the collective, or `transfer`.
  std::vector<uint32_t> axes;
  const Placement *source, *result;
  std::set<uint32_t> ranks; ///< That have it.
};

/// Who writes an output or an update.
using Writers = std::map<uint32_t, std::set<uint32_t>>;

/// What the programs of an entry must agree on.
struct EntryChecks {
  std::map<uint32_t, SharedStep> steps; ///< By tag.
  Writers outputs, updates;             ///< By index.
};

/// Checks one program, and collects what others must agree on.
class ProgramVerifier {
public:
  ProgramVerifier(const ResolvedManifest &resolved,
                  const ResolvedProgram &program,
                  std::span<const Backend *const> backends, EntryChecks &checks,
                  size_t numOutputs)
      : resolved_(resolved), program_(program), backends_(backends),
        checks_(checks), numOutputs_(numOutputs), contents_(program) {}

  Status verify(int index, const std::string &where);
  /// What updates take must still be there when the program ends.
  Status finish();

private:
  Status verifyCall(const pb::Call &call);
  Status verifyWorkspace(const pb::Call &call);
  Status verifyCollective(const pb::Collective &collective,
                          const std::string &where);
  Status verifyTransfer(const pb::Transfer &transfer, int index,
                        const std::string &where);
  Status verifyTransferSide(bool isPresent, uint32_t buffer,
                            const Placement &placement, const char *side);
  Status verifyCopy(const pb::Copy &copy);
  Status verifyOutput(const pb::Output &output);
  Status verifyUpdate(const pb::Update &update);

  Status read(uint32_t buffer) const;
  Status checkResult(uint32_t buffer) const;
  bool overlap(uint32_t a, uint32_t b) const;
  bool haveSamePlace(uint32_t a, uint32_t b) const;
  Status share(uint32_t tag, SharedStep step);
  Status claim(Writers &writers, uint32_t index);
  const Placement &placement(uint32_t buffer) const {
    return *program_.buffers[buffer].placement;
  }

  const ResolvedManifest &resolved_;
  const ResolvedProgram &program_;
  std::span<const Backend *const> backends_;
  EntryChecks &checks_;
  size_t numOutputs_;
  ArenaContents contents_;
  std::optional<uint32_t> lastTag_;
  std::vector<uint32_t> updateSources_;
};

} // namespace

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

Status ProgramVerifier::read(uint32_t buffer) const {
  if (buffer >= program_.buffers.size()) {
    return invalid("buffer ", buffer, " of ", program_.buffers.size());
  }
  if (!contents_.has(buffer)) {
    return invalid("it reads buffer ", buffer,
                   ", which has not been written, or has been written over");
  }
  return {};
}

Status ProgramVerifier::checkResult(uint32_t buffer) const {
  if (buffer >= program_.buffers.size()) {
    return invalid("buffer ", buffer, " of ", program_.buffers.size());
  }
  if (program_.buffers[buffer].root != buffer || !program_.arenaRange(buffer)) {
    return invalid("it writes buffer ", buffer,
                   ", which does not lie in the arena itself");
  }
  return {};
}

bool ProgramVerifier::overlap(uint32_t a, uint32_t b) const {
  auto x = program_.arenaRange(a), y = program_.arenaRange(b);
  return x && y && x->begin < y->end && y->begin < x->end;
}

bool ProgramVerifier::haveSamePlace(uint32_t a, uint32_t b) const {
  auto x = program_.arenaRange(a), y = program_.arenaRange(b);
  return x && y && x->begin == y->begin;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

static Status findKernel(const pb::Call &call,
                         std::span<const Backend *const> backends) {
  std::ostringstream versions;
  for (const Backend *backend : backends) {
    for (const Kernel &kernel : backend->kernels()) {
      if (kernel.op != call.op()) {
        continue;
      }
      if (kernel.version == static_cast<int>(call.version())) {
        return {};
      }
      versions << " " << kernel.version;
    }
  }
  if (versions.str().empty()) {
    return makeError(ExitCode::Unsupported, "no backend in use has a kernel '",
                     call.op(), "'");
  }
  return makeError(ExitCode::Unsupported, "version ", call.version(),
                   " of kernel '", call.op(), "' is called, there is",
                   versions.str(), "; compile the model again");
}

Status ProgramVerifier::verifyCall(const pb::Call &call) {
  if (Status status = findKernel(call, backends_); !status.isOk()) {
    return status;
  }
  for (uint32_t operand : call.operands()) {
    if (Status status = read(operand); !status.isOk()) {
      return status;
    }
  }
  for (int r = 0; r < call.results_size(); ++r) {
    uint32_t result = call.results(r);
    if (Status status = checkResult(result); !status.isOk()) {
      return status;
    }
    for (int other = 0; other < r; ++other) {
      if (overlap(result, call.results(other))) {
        return invalid("two results lie at the same bytes");
      }
    }
    for (uint32_t operand : call.operands()) {
      // At the same place: the kernel is asked whether it may, at load.
      if (overlap(result, operand) && !haveSamePlace(result, operand)) {
        return invalid("result buffer ", result, " cuts into operand buffer ",
                       operand);
      }
    }
  }
  if (Status status = verifyWorkspace(call); !status.isOk()) {
    return status;
  }
  for (uint32_t result : call.results()) {
    contents_.write(result);
  }
  return {};
}

Status ProgramVerifier::verifyWorkspace(const pb::Call &call) {
  if (call.workspace_bytes() == 0) {
    return {};
  }
  int64_t begin = call.workspace_offset(), bytes = call.workspace_bytes();
  int64_t arena = program_.message->arena_bytes();
  if (begin < 0 || begin % 64 != 0 || bytes < 0 || begin > arena ||
      bytes > arena - begin) {
    return invalid("its workspace is at bytes ", begin, " + ", bytes,
                   " of an arena of ", arena,
                   "; expected a multiple of 64 and inside of it");
  }
  ResolvedProgram::Range range{begin, begin + bytes};
  std::vector<uint32_t> touched(call.operands().begin(), call.operands().end());
  touched.insert(touched.end(), call.results().begin(), call.results().end());
  for (uint32_t buffer : touched) {
    auto other = program_.arenaRange(buffer);
    if (other && other->begin < range.end && range.begin < other->end) {
      return invalid("its workspace cuts into buffer ", buffer);
    }
  }
  contents_.overwrite(range);
  return {};
}

//===----------------------------------------------------------------------===//
// Steps between ranks
//===----------------------------------------------------------------------===//

Status ProgramVerifier::share(uint32_t tag, SharedStep step) {
  if (lastTag_ && tag <= *lastTag_) {
    return invalid("tag ", tag, " follows tag ", *lastTag_,
                   "; tags must ascend, or ranks could wait for each other");
  }
  lastTag_ = tag;
  step.ranks.insert(program_.message->ranks().begin(),
                    program_.message->ranks().end());
  auto [it, isNew] = checks_.steps.emplace(tag, step);
  if (isNew) {
    return {};
  }
  SharedStep &other = it->second;
  if (other.kind != step.kind || other.axes != step.axes ||
      !(*other.source == *step.source) || !(*other.result == *step.result)) {
    return invalid("under tag ", tag, " another rank does something else (",
                   other.where, ")");
  }
  other.ranks.insert(step.ranks.begin(), step.ranks.end());
  return {};
}

Status ProgramVerifier::verifyCollective(const pb::Collective &collective,
                                         const std::string &where) {
  std::optional<CollectiveKind> kind = parseCollectiveKind(collective.kind());
  if (!kind) {
    return invalid("unknown collective '", collective.kind(), "'");
  }
  uint32_t from = collective.source(), to = collective.result();
  Status status = read(from);
  if (status.isOk()) {
    status = checkResult(to);
  }
  if (!status.isOk()) {
    return status;
  }
  const Placement &source = placement(from), &result = placement(to);
  std::vector<uint32_t> axes(collective.axes().begin(),
                             collective.axes().end());
  status = checkCollective(resolved_.grids[source.grid], *kind, axes, source,
                           result);
  if (!status.isOk()) {
    return status.in(collective.kind());
  }
  bool mayShare = *kind == CollectiveKind::AllReduce &&
                  haveSamePlace(from, to) && source.boxes == result.boxes;
  if (overlap(from, to) && !mayShare) {
    return invalid("the result of ", collective.kind(),
                   " lies over its source");
  }
  contents_.write(to);
  return isLocal(*kind)
             ? Status()
             : share(collective.tag(),
                     {where, collective.kind(), axes, &source, &result, {}});
}

Status ProgramVerifier::verifyTransferSide(bool isPresent, uint32_t buffer,
                                           const Placement &expected,
                                           const char *side) {
  const GridInfo &grid = resolved_.grids[expected.grid];
  for (uint32_t rank : program_.message->ranks()) {
    if (grid.positionOf(rank).has_value() != isPresent) {
      return invalid("rank ", rank, isPresent ? " has a " : " has no ", side,
                     isPresent ? " but is not in its grid"
                               : " but is in its grid");
    }
  }
  if (isPresent &&
      (buffer >= program_.buffers.size() || !(placement(buffer) == expected))) {
    return invalid("the ", side, " buffer ", buffer,
                   " does not lie as the transfer says");
  }
  return {};
}

Status ProgramVerifier::verifyTransfer(const pb::Transfer &transfer, int index,
                                       const std::string &where) {
  auto [from, to] = program_.transfers.at(index);
  Status status = checkTransfer(*from, *to);
  if (status.isOk()) {
    status = verifyTransferSide(transfer.has_source(), transfer.source(), *from,
                                "source");
  }
  if (status.isOk()) {
    status = verifyTransferSide(transfer.has_result(), transfer.result(), *to,
                                "result");
  }
  if (status.isOk() && transfer.has_source()) {
    status = read(transfer.source());
  }
  if (status.isOk() && transfer.has_result()) {
    status = checkResult(transfer.result());
  }
  if (!status.isOk()) {
    return status;
  }
  if (transfer.has_source() && transfer.has_result() &&
      overlap(transfer.source(), transfer.result())) {
    return invalid("the result of the transfer lies over its source");
  }
  if (transfer.has_result()) {
    contents_.write(transfer.result());
  }
  return share(transfer.tag(), {where, "transfer", {}, from, to, {}});
}

//===----------------------------------------------------------------------===//
// Copies, outputs, updates
//===----------------------------------------------------------------------===//

Status ProgramVerifier::verifyCopy(const pb::Copy &copy) {
  Status status = read(copy.source());
  if (status.isOk()) {
    status = checkResult(copy.result());
  }
  if (!status.isOk()) {
    return status;
  }
  if (!(placement(copy.source()) == placement(copy.result()))) {
    return invalid("source and result of a copy lie differently");
  }
  if (overlap(copy.source(), copy.result()) &&
      !haveSamePlace(copy.source(), copy.result())) {
    return invalid("the result of a copy cuts into its source");
  }
  contents_.write(copy.result());
  return {};
}

Status ProgramVerifier::claim(Writers &writers, uint32_t index) {
  for (uint32_t rank : program_.message->ranks()) {
    if (!writers[index].insert(rank).second) {
      return invalid("rank ", rank, " writes number ", index, " twice");
    }
  }
  return {};
}

Status ProgramVerifier::verifyOutput(const pb::Output &output) {
  if (output.output() >= numOutputs_) {
    return invalid("output ", output.output(), " of ", numOutputs_);
  }
  if (Status status = read(output.source()); !status.isOk()) {
    return status;
  }
  return claim(checks_.outputs, output.output());
}

Status ProgramVerifier::verifyUpdate(const pb::Update &update) {
  if (update.global() >= resolved_.globals.size()) {
    return invalid("global ", update.global(), " of ",
                   resolved_.globals.size());
  }
  if (Status status = read(update.source()); !status.isOk()) {
    return status;
  }
  if (!(placement(update.source()) == *resolved_.globals[update.global()])) {
    return invalid(
        "the new value of global '",
        resolved_.manifest->globals(static_cast<int>(update.global())).name(),
        "' does not lie as the global does at rest");
  }
  updateSources_.push_back(update.source());
  return claim(checks_.updates, update.global());
}

Status ProgramVerifier::verify(int index, const std::string &where) {
  const pb::Instruction &instruction = program_.message->instructions(index);
  switch (instruction.what_case()) {
  case pb::Instruction::kCall:
    return verifyCall(instruction.call());
  case pb::Instruction::kCollective:
    return verifyCollective(instruction.collective(), where);
  case pb::Instruction::kTransfer:
    return verifyTransfer(instruction.transfer(), index, where);
  case pb::Instruction::kCopy:
    return verifyCopy(instruction.copy());
  case pb::Instruction::kOutput:
    return verifyOutput(instruction.output());
  case pb::Instruction::kUpdate:
    return verifyUpdate(instruction.update());
  default:
    return invalid("unknown instruction");
  }
}

Status ProgramVerifier::finish() {
  for (uint32_t source : updateSources_) {
    if (!contents_.has(source)) {
      return invalid("buffer ", source,
                     ", the new value of a global, is "
                     "written over before the program ends");
    }
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

static Status checkRanks(const std::set<uint32_t> &ranks,
                         const std::vector<uint32_t> &devices,
                         const char *what) {
  for (uint32_t device : devices) {
    if (!ranks.contains(device)) {
      return invalid("rank ", device, " does not ", what,
                     ", but is in its grid");
    }
  }
  return {};
}

static Status checkShared(const ResolvedManifest &resolved,
                          const EntryChecks &checks) {
  for (const auto &[tag, step] : checks.steps) {
    for (const Placement *side : {step.source, step.result}) {
      Status status = checkRanks(step.ranks, resolved.grids[side->grid].devices,
                                 "take part");
      if (!status.isOk()) {
        return status.in(step.where + ", tag " + std::to_string(tag));
      }
    }
  }
  return {};
}

static Status checkComplete(const ResolvedManifest &resolved,
                            const ResolvedEntry &entry, EntryChecks &checks) {
  for (size_t i = 0; i < entry.outputs.size(); ++i) {
    const GridInfo &grid = resolved.grids[entry.outputs[i]->grid];
    Status status = checkRanks(checks.outputs[i], grid.devices, "write it");
    if (!status.isOk()) {
      return status.in("output " + std::to_string(i));
    }
  }
  for (auto &[index, ranks] : checks.updates) {
    const GridInfo &grid = resolved.grids[resolved.globals[index]->grid];
    Status status = checkRanks(ranks, grid.devices, "update it");
    if (!status.isOk()) {
      return status.in("global " + std::to_string(index));
    }
  }
  return {};
}

/// An output's buffer lies as the output does.
static Status checkOutputPlace(const ResolvedEntry &entry,
                               const ResolvedProgram &program,
                               const pb::Instruction &instruction) {
  if (!instruction.has_output() ||
      *program.buffers[instruction.output().source()].placement ==
          *entry.outputs[instruction.output().output()]) {
    return {};
  }
  return invalid("buffer ", instruction.output().source(),
                 " does not lie as the output does");
}

static Status verifyEntry(const ResolvedManifest &resolved,
                          const ResolvedEntry &entry,
                          std::span<const Backend *const> backends) {
  EntryChecks checks;
  for (size_t p = 0; p < entry.programs.size(); ++p) {
    const ResolvedProgram &program = entry.programs[p];
    ProgramVerifier verifier(resolved, program, backends, checks,
                             entry.outputs.size());
    for (int i = 0; i < program.message->instructions_size(); ++i) {
      const pb::Instruction &instruction = program.message->instructions(i);
      std::string where = describeInstruction(entry, p, i);
      Status status = verifier.verify(i, where);
      if (status.isOk()) {
        status = checkOutputPlace(entry, program, instruction);
      }
      if (!status.isOk()) {
        return status.in(where);
      }
    }
    if (Status status = verifier.finish(); !status.isOk()) {
      return status.in("entry '" + entry.message->name() + "', program " +
                       std::to_string(p));
    }
  }
  Status status = checkShared(resolved, checks);
  if (status.isOk()) {
    status = checkComplete(resolved, entry, checks)
                 .in("entry '" + entry.message->name() + "'");
  }
  return status;
}

Status divisi::rt::verifyResolved(const ResolvedManifest &resolved,
                                  std::span<const Backend *const> backends) {
  for (const ResolvedEntry &entry : resolved.entries) {
    Status status = verifyEntry(resolved, entry, backends);
    if (!status.isOk()) {
      return status;
    }
  }
  return {};
}

Status divisi::rt::verifyManifest(const pb::Manifest &manifest,
                                  std::span<const Backend *const> backends) {
  Expected<std::unique_ptr<ResolvedManifest>> resolved =
      resolveManifest(manifest);
  return resolved ? verifyResolved(**resolved, backends) : resolved.status();
}
