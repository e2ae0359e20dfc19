//===- NcclStep.cpp - A step as calls of NCCL -----------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/nccl/NcclStep.h"
#include "runtime/comm/StepShape.h"

#include <thread>

using namespace divisi;
using namespace divisi::rt;
using namespace divisi::rt::nccl;

NcclStep::NcclStep(SharedStep &shared, size_t self, QueuedPlan plan,
                   Device &device, NcclRank &rank, Clique &clique,
                   AbortState &aborts, std::chrono::milliseconds timeout)
    : shared_(shared), self_(self), plan_(std::move(plan)), device_(device),
      rank_(rank), clique_(clique), aborts_(aborts), timeout_(timeout) {
  if (shared.step.reduce) {
    reduction_ = *findReduction(shared.step.type, *shared.step.reduce);
  }
  std::string name = shared.step.location + " (tag " +
                     std::to_string(shared.step.tag) + ") on rank " +
                     std::to_string(rank.number());
  begins_ = "begin " + name;
  goesOn_ = "go on with " + name;
}

//===----------------------------------------------------------------------===//
// What is put on the queue
//===----------------------------------------------------------------------===//

Status NcclStep::pack(DeviceQueue &queue, const std::byte *source,
                      std::byte *result) {
  Status status;
  auto copy = [&](const BoxCopy &piece, void *to) {
    if (status.isOk()) {
      status = device_.copyBox(&queue, piece, source, to);
    }
  };
  for (const BoxCopy &own : plan_.messages.own) {
    copy(own, result);
  }
  for (const Parcel &parcel : plan_.messages.out) {
    for (size_t i = 0; i < parcel.copies.size() && !parcel.isDirect(); ++i) {
      copy(parcel.copies[i], workspace_ + parcel.place + parcel.offsets[i]);
    }
  }
  for (const QueuedPart &part : plan_.parts) {
    if (part.isPacked && shared_.step.reduce) {
      copy(part.copy, workspace_ + part.place);
    }
  }
  return status;
}

Status NcclStep::unpack(DeviceQueue &queue, std::byte *result) {
  Status status;
  auto copy = [&](const BoxCopy &piece, const void *from) {
    if (status.isOk()) {
      status = device_.copyBox(&queue, piece, from, result);
    }
  };
  for (const Parcel &parcel : plan_.messages.in) {
    for (size_t i = 0; i < parcel.copies.size() && !parcel.isDirect(); ++i) {
      copy(parcel.copies[i], workspace_ + parcel.place + parcel.offsets[i]);
    }
  }
  for (const QueuedPart &part : plan_.parts) {
    if (part.isPacked && !shared_.step.reduce) {
      copy(part.copy, workspace_ + part.place);
    }
  }
  return status;
}

/// Messages are bytes, of whatever type.
ncclResult_t NcclStep::exchange(cudaStream_t stream, const std::byte *source,
                                std::byte *result) {
  const NcclLibrary &library = rank_.library();
  ncclResult_t done = ncclSuccess;
  auto note = [&](ncclResult_t one) {
    done = one == ncclSuccess || one == ncclInProgress ? done : one;
  };
  for (const Parcel &parcel : plan_.messages.out) {
    const std::byte *from = parcel.isDirect()
                                ? source + parcel.copies.front().sourceOffset()
                                : workspace_ + parcel.place;
    note(library.send(from, size_t(parcel.bytes), ncclUint8, int(parcel.party),
                      clique_.communicator, stream));
  }
  for (const Parcel &parcel : plan_.messages.in) {
    std::byte *to = parcel.isDirect()
                        ? result + parcel.copies.front().resultOffset()
                        : workspace_ + parcel.place;
    note(library.recv(to, size_t(parcel.bytes), ncclUint8, int(parcel.party),
                      clique_.communicator, stream));
  }
  return done;
}

ncclResult_t NcclStep::reduceEach(cudaStream_t stream, const std::byte *source,
                                  std::byte *result) {
  ncclResult_t done = ncclSuccess;
  for (const QueuedPart &part : plan_.parts) {
    const std::byte *from = part.isPacked ? workspace_ + part.place
                                          : source + part.copy.sourceOffset();
    ncclResult_t one = rank_.library().reduce(
        from, part.party == self_ ? result : nullptr, size_t(part.count),
        reduction_.type, reduction_.kind, int(part.party), clique_.communicator,
        stream);
    done = one == ncclSuccess || one == ncclInProgress ? done : one;
  }
  return done;
}

Status NcclStep::call(cudaStream_t stream, const std::byte *source,
                      std::byte *result) {
  const NcclLibrary &library = rank_.library();
  ncclComm_t communicator = clique_.communicator;
  const StepParty &own = shared_.step.parties[self_];
  ncclResult_t done = library.groupStart();
  if (done != ncclSuccess) {
    return library.check(done, communicator, begins_);
  }
  switch (plan_.form) {
  case QueuedForm::AllReduce:
    done = library.allReduce(source, result, size_t(own.source->count()),
                             reduction_.type, reduction_.kind, communicator,
                             stream);
    break;
  case QueuedForm::ReduceScatter:
    done = library.reduceScatter(plan_.isDirect() ? source : workspace_, result,
                                 size_t(own.result->count()), reduction_.type,
                                 reduction_.kind, communicator, stream);
    break;
  case QueuedForm::ReduceEach:
    done = reduceEach(stream, source, result);
    break;
  case QueuedForm::AllGather:
    done = library.allGather(
        source, plan_.isDirect() ? result : workspace_,
        size_t(own.source->count() * byteWidth(shared_.step.type)), ncclUint8,
        communicator, stream);
    break;
  case QueuedForm::Exchange:
    done = exchange(stream, source, result);
    break;
  }
  ncclResult_t ended = library.groupEnd();
  Status status = library.check(done, communicator, begins_);
  if (status.isOk()) {
    status = library.check(ended, communicator, begins_);
  }
  return status.isOk() ? rank_.await(communicator, begins_) : status;
}

Status NcclStep::makeReady() {
  std::vector<std::unique_ptr<DeviceEvent> *> events = {&first_, &last_};
  if (rank_.givenStream()) {
    given_ = std::make_unique<cuda::CudaQueue>(
        cuda::contextOf(device_), rank_.givenStream(), /*isOwn=*/false);
    events.insert(events.end(), {&before_, &behind_});
  }
  for (std::unique_ptr<DeviceEvent> *event : events) {
    auto made = device_.makeEvent();
    if (!made) {
      return made.status();
    }
    *event = std::move(*made);
  }
  return {};
}

/// The calls, on the queue or, in between, on the stream that was given.
Status NcclStep::callOn(DeviceQueue &queue, const std::byte *source,
                        std::byte *result) {
  auto follow = [&](DeviceQueue &first, DeviceQueue &then, DeviceEvent &event) {
    Status status = device_.record(first, event);
    return status.isOk() ? device_.wait(then, event) : status;
  };
  Status status = given_ ? follow(queue, *given_, *before_) : Status();
  auto &stream = static_cast<cuda::CudaQueue &>(given_ ? *given_ : queue);
  stream.context().driver(); // the thread has the context
  if (status.isOk()) {
    status =
        call(reinterpret_cast<cudaStream_t>(stream.stream()), source, result);
  }
  return status.isOk() && given_ ? follow(*given_, queue, *behind_) : status;
}

void NcclStep::beginAgain() {
  since_.reset();
  shared_.puts[self_].fetch_add(1, std::memory_order_relaxed);
}

Status NcclStep::put(DeviceQueue &queue, const void *source, void *result) {
  beginAgain();
  if (aborts_.isAborted()) {
    return aborts_.reason();
  }
  auto *from = static_cast<const std::byte *>(source);
  auto *to = static_cast<std::byte *>(result);
  Status status = first_ ? device_.record(queue, *first_) : Status();
  if (status.isOk()) {
    status = pack(queue, from, to);
  }
  if (status.isOk()) {
    status = callOn(queue, from, to);
  }
  if (status.isOk()) {
    status = unpack(queue, to);
  }
  if (status.isOk() && first_) {
    status = device_.record(queue, *last_);
    status = status.isOk() ? awaitFirst() : status;
  }
  return status;
}

/// Until it has ended, no longer than a step may last.
Status NcclStep::awaitFirst() {
  constexpr std::chrono::microseconds pause(20);
  bool hasBegun = false;
  while (true) {
    Expected<bool> hasEnded = device_.poll(*last_);
    if (!hasEnded || *hasEnded) {
      first_.reset();
      last_.reset();
      since_.reset();
      return hasEnded.status();
    }
    if (!hasBegun) {
      auto reached = device_.poll(*first_);
      if (!reached) {
        return reached.status();
      }
      hasBegun = *reached;
    }
    if (Status status = check(hasBegun); !status.isOk()) {
      return status;
    }
    std::this_thread::sleep_for(pause);
  }
}

//===----------------------------------------------------------------------===//
// What may become of it
//===----------------------------------------------------------------------===//

/// Who has not come, where that can be seen from here.
Status NcclStep::timeoutStatus() const {
  std::vector<uint32_t> missing;
  bool areAllLocal = true;
  uint64_t own = shared_.puts[self_].load(std::memory_order_relaxed);
  for (size_t i = 0; i < shared_.puts.size(); ++i) {
    areAllLocal &= shared_.areLocal[i];
    if (shared_.areLocal[i] &&
        shared_.puts[i].load(std::memory_order_relaxed) < own) {
      missing.push_back(shared_.step.parties[i].rank);
    }
  }
  if (!missing.empty()) {
    return timeoutError(shared_.step, self_, missing, timeout_);
  }
  return makeError(ExitCode::Device, "rank ", rank_.number(), " waited ",
                   timeout_.count(), " ms in ", shared_.step.location, " (tag ",
                   shared_.step.tag, ") for NCCL to end it, which ",
                   areAllLocal ? "the GPUs of all its ranks have been given"
                               : "all its ranks of this process have begun",
                   "; raise the timeout if they are busy");
}

Status NcclStep::check(bool isNext) {
  if (aborts_.isAborted()) {
    return aborts_.reason();
  }
  const NcclLibrary &library = rank_.library();
  ncclResult_t state = ncclSuccess;
  Status status =
      library.check(library.commGetAsyncError(clique_.communicator, &state),
                    clique_.communicator, goesOn_);
  if (status.isOk()) {
    status = library.check(state, clique_.communicator, goesOn_);
  }
  auto now = std::chrono::steady_clock::now();
  if (isNext && !since_) {
    since_ = now;
  }
  if (status.isOk() && since_ && now - *since_ > timeout_) {
    status = timeoutStatus();
  }
  // Before others see that this one has ended its communicators.
  return status.isOk() || aborts_.set(status) ? status : aborts_.reason();
}
