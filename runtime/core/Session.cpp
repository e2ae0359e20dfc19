//===- Session.cpp - Running an entry -------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/EntryInputs.h"
#include "runtime/core/SessionImpl.h"

#include <algorithm>
#include <cstring>
#include <iterator>

using namespace divisi;
using namespace divisi::rt;

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Session::~Session() {
  if (impl_->isStuck()) {
    RankThreads &threads = *impl_->threads;
    threads.abandon(std::shared_ptr<Impl>(std::move(impl_)));
  }
}

/// Nobody waits for the rank here, or could give it up.
Status Session::Impl::runOnCaller(const RankThreads::Job &job) {
  Status status = job(localRanks.front());
  if (!status.isOk() && !hasAllRanks()) {
    communicator->abort(status);
  }
  return status;
}

Status Session::Impl::runOnAll(RankThreads::Job job, RankWatch watch) {
  if (!threads) {
    return runOnCaller(job);
  }
  auto aborted = std::make_shared<std::atomic<bool>>(false);
  Status status =
      threads->runOnAll([this, job = std::move(job)](
                            uint32_t local) { return job(localRanks[local]); },
                        [this, aborted](const Status &error) {
                          *aborted = true;
                          communicator->abort(error);
                        },
                        watch);
  if (*aborted && !isStuck() && hasAllRanks()) {
    communicator->reset();
  }
  return status;
}

Status Session::Impl::checkAlive() const {
  if (isStuck()) {
    return makeError(ExitCode::Device,
                     "the session is dead: a kernel of an earlier run has not "
                     "returned; open the artifact again");
  }
  return {};
}

Status Session::Impl::checkState() const {
  Status status = checkAlive();
  if (status.isOk() && stateIsLost) {
    return makeError(ExitCode::Device,
                     "the state of the session is lost: an earlier run failed "
                     "after its commit; load the state again");
  }
  return status;
}

Status Session::Impl::checkRunnable() const {
  Status status = checkState();
  if (status.isOk() && isCutOff) {
    return makeError(ExitCode::Device,
                     "the session is dead: an earlier run has failed, and "
                     "other sessions had a part in it; open all of them again");
  }
  return status;
}

namespace {

/// Since when a rank is at what it is at.
struct RankProgress {
  uint64_t progress = 0;
  std::chrono::steady_clock::time_point since;
};

/// What a run reads and writes, for as long as a rank is at it.
struct RunTensors {
  std::vector<TensorArgument> inputs, outputs;
  std::shared_ptr<void> kept;
};

/// Tensors of the host, with arguments that show them.
struct HostTensors {
  std::vector<HostTensor> inputs, outputs;
};

} // namespace

/// Gives up a rank that is in one kernel for longer than the options allow.
RankWatch Session::Impl::watchKernels(size_t entry) {
  auto seen = std::make_shared<std::vector<RankProgress>>(localRanks.size());
  return {
      std::chrono::milliseconds(50), [this, entry, seen] {
        auto now = std::chrono::steady_clock::now();
        for (size_t i = 0; i < localRanks.size(); ++i) {
          const RankProgram *program = programs[entry][localRanks[i]].get();
          uint64_t progress = program ? program->progress() : 0;
          RankProgress &last = (*seen)[i];
          if (!RankProgram::isWorking(progress) || progress != last.progress) {
            last = {progress, now};
          } else if (now - last.since > options.timeout + options.lateness) {
            state.isGivenUp = true;
            return makeError(
                ExitCode::Device, program->locationOf(progress),
                ": the kernel has not returned for ", options.timeout.count(),
                " ms and is given up with the session; raise the timeout "
                "if it is busy");
          }
        }
        return Status();
      }};
}

void Session::Impl::beginRun() {
  std::lock_guard lock(runMutex);
  state.hasCommitted = state.isCancelled = false;
  isRunning = true;
}

void Session::Impl::endRun() {
  std::lock_guard lock(runMutex);
  isRunning = false;
}

void Session::cancel() {
  std::lock_guard lock(impl_->runMutex);
  if (!impl_->isRunning) {
    return;
  }
  impl_->state.isCancelled = true;
  if (!impl_->hasAllRanks()) { // a rank may wait for one of another session
    impl_->communicator->abort(cancelledRun());
  }
}

Status Session::Impl::run(size_t entry, std::span<const TensorArgument> inputs,
                          std::span<const TensorArgument> outputs,
                          std::shared_ptr<void> kept) {
  auto tensors =
      std::make_shared<RunTensors>(RunTensors{{inputs.begin(), inputs.end()},
                                              {outputs.begin(), outputs.end()},
                                              std::move(kept)});
  lastEntry = entry;
  stateCopy = {};
  beginRun();
  for (auto &[rank, steps] : lastSteps) {
    steps.beginRun();
  }
  const auto &ofEntry = programs[entry];
  Status status = runOnAll(
      [&ofEntry, tensors](uint32_t rank) {
        RankProgram *program = ofEntry[rank].get();
        if (!program) {
          return Status();
        }
        Status status = program->bind(tensors->inputs, tensors->outputs);
        return status.isOk() ? program->run() : status;
      },
      watchKernels(entry));
  if (status.isOk()) {
    status = findBadIndex(entry);
  }
  endRun();
  stateIsLost = !status.isOk() && state.hasCommitted;
  isCutOff = !status.isOk() && !hasAllRanks();
  return status;
}

/// Tells of a bad index after all else, so that it does not depend on who was
/// faster.
Status Session::Impl::findBadIndex(size_t entry) {
  bool isBad = false, hasStopped = false;
  for (uint32_t rank : localRanks) {
    const RankProgram *program = programs[entry][rank].get();
    isBad |= program && program->sawBadIndex();
    hasStopped |= program && program->isStopped();
  }
  if (!isBad) {
    return {};
  }
  Status status = RankProgram::firstFault(programs[entry]);
  if (status.isOk()) {
    status = makeError(ExitCode::Invalid,
                       "an index in the data is bad; the session of the rank "
                       "that read it says which");
  }
  if (hasStopped && hasAllRanks()) { // maybe with steps in flight
    communicator->abort(status);
    communicator->reset();
  }
  return status;
}

Status Session::run(std::string_view name,
                    std::span<const TensorArgument> inputs,
                    std::span<const TensorArgument> outputs) {
  const EntryInfo *info = findEntry(name);
  if (!info) {
    return makeError(ExitCode::Usage, "the artifact has no entry '", name, "'");
  }
  Status status = impl_->checkRunnable();
  if (status.isOk()) {
    status = checkArguments(*info, inputs, outputs);
  }
  if (!status.isOk()) {
    return status;
  }
  size_t entry = info - impl_->entries.data();
  return impl_->run(entry, inputs, outputs, nullptr)
      .in("entry '" + std::string(name) + "'");
}

static std::vector<TensorArgument> viewAll(std::vector<HostTensor> &tensors) {
  std::vector<TensorArgument> views;
  for (HostTensor &tensor : tensors) {
    views.push_back(TensorView::of(tensor));
  }
  return views;
}

Expected<std::vector<HostTensor>>
Session::run(std::string_view name, std::span<const HostTensor> inputs) {
  const EntryInfo *info = findEntry(name);
  if (!info) {
    return makeError(ExitCode::Usage, "the artifact has no entry '", name, "'");
  }
  // A rank that is given up goes on with them.
  auto tensors = std::make_shared<HostTensors>();
  tensors->inputs.assign(inputs.begin(), inputs.end());
  for (const ValueInfo &output : info->outputs) {
    Expected<HostTensor> tensor =
        HostTensor::allocate(output.type, output.dims, output.name);
    if (!tensor) {
      return tensor.status();
    }
    tensors->outputs.push_back(std::move(*tensor));
  }
  std::vector<TensorArgument> from = viewAll(tensors->inputs),
                              to = viewAll(tensors->outputs);
  Status status = impl_->checkRunnable();
  if (status.isOk()) {
    status = checkArguments(*info, from, to);
  }
  if (status.isOk()) {
    status = checkWholeOutputs(*info);
  }
  if (!status.isOk()) {
    return status;
  }
  size_t entry = info - impl_->entries.data();
  status = impl_->run(entry, from, to, tensors);
  if (!status.isOk()) {
    return status.in("entry '" + std::string(name) + "'");
  }
  return std::move(tensors->outputs);
}

std::vector<StateBox> Session::stateBoxes() const {
  std::vector<StateBox> all;
  const ResolvedManifest &resolved = *impl_->resolved;
  for (size_t i = 0; i < resolved.globals.size(); ++i) {
    if (!resolved.isUpdated[i]) {
      continue;
    }
    const Placement &placement = *resolved.globals[i];
    const GridInfo &grid = resolved.grids[placement.grid];
    auto begin = std::ptrdiff_t(all.size());
    for (uint32_t rank = 0; rank < numRanks(); ++rank) {
      std::optional<size_t> position = grid.positionOf(rank);
      if (!position || placement.boxes[*position].empty()) {
        continue;
      }
      const Box &box = placement.boxes[*position];
      auto same =
          std::find_if(all.begin() + begin, all.end(),
                       [&](const StateBox &other) { return other.box == box; });
      if (same == all.end()) {
        all.push_back(StateBox{i, box, {}});
        same = std::prev(all.end());
      }
      same->ranks.push_back(rank);
    }
  }
  return all;
}

/// Lets `room` have as many bytes at least, whatever is in them.
static Status makeRoom(AlignedBytes &room, int64_t bytes) {
  if (room.size() >= bytes) {
    return {};
  }
  room = {}; // first, not both at once
  auto made = AlignedBytes::allocate(bytes);
  if (made) {
    room = std::move(*made);
  }
  return made.status();
}

Expected<std::span<const std::byte>> Session::Impl::readState(size_t global,
                                                              uint32_t rank) {
  RankState state = stateOf(global, rank);
  if (!state.device) {
    return std::span<const std::byte>(state.data, size_t(state.bytes));
  }
  Status status = makeRoom(stateCopy, state.bytes);
  if (status.isOk()) {
    status = state.read(stateCopy.data());
  }
  if (!status.isOk()) {
    return status.in("global '" + artifact.globals[global].value.name + "'");
  }
  return std::span<const std::byte>(stateCopy.data(), size_t(state.bytes));
}

Expected<std::span<const std::byte>>
Session::readState(const StateBox &box) const {
  if (Status status = impl_->checkState(); !status.isOk()) {
    return status;
  }
  for (uint32_t rank : box.ranks) {
    if (std::ranges::binary_search(impl_->localRanks, rank)) {
      return impl_->readState(box.global, rank);
    }
  }
  return makeError(ExitCode::Usage, "global '",
                   globals()[box.global].value.name,
                   "' lies partly on ranks of other sessions");
}

/// Lets `readInto` write `box`, which `to` is to have: where that lies, or in
/// `room` first. Where the host has it then is `read`.
static Status readBox(const Session::ReadState &readInto, const StateBox &box,
                      const RankState &to, AlignedBytes &room,
                      std::span<std::byte> &read) {
  read = std::span(to.data, size_t(to.bytes));
  if (!to.device) {
    return readInto(box, read);
  }
  Status status = makeRoom(room, to.bytes);
  if (status.isOk()) {
    read = room.span().first(size_t(to.bytes));
    status = readInto(box, read);
  }
  return status.isOk() ? to.write(read.data()) : status;
}

Status Session::loadState(const ReadState &readInto) {
  Status status = impl_->checkAlive();
  if (!status.isOk()) {
    return status;
  }
  impl_->stateIsLost = true;
  AlignedBytes room; // for what goes on to a device
  for (const StateBox &box : stateBoxes()) {
    std::span<std::byte> read;
    for (uint32_t rank : box.ranks) {
      if (!std::ranges::binary_search(impl_->localRanks, rank)) {
        continue;
      }
      RankState to = impl_->stateOf(box.global, rank);
      if (!read.empty()) {
        status = to.write(read.data());
      } else {
        status = readBox(readInto, box, to, room, read);
      }
      if (!status.isOk()) {
        return status;
      }
    }
  }
  impl_->stateIsLost = false;
  return status;
}

Status Session::reloadState() {
  Status status = impl_->checkAlive();
  if (status.isOk()) {
    impl_->stateIsLost = true;
    status = impl_->globals.reload();
    for (uint32_t rank : impl_->localRanks) {
      status = status.isOk() ? reloadStates(*impl_->resolved, rank,
                                            impl_->globals, impl_->spaces[rank])
                             : status;
    }
    impl_->stateIsLost = !status.isOk();
  }
  return status;
}
