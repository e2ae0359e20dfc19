//===- NcclCalls.cpp - Calls of emulated NCCL -----------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/emulator/NcclState.h"

#include <algorithm>
#include <span>
#include <utility>

using namespace divisi::emulator;

namespace {

/// Calls between ncclGroupStart and ncclGroupEnd of a thread.
struct OpenGroup {
  int depth = 0;
  ncclComm_t communicator = nullptr;
  Stream *stream = nullptr;
  uint64_t capture = 0; ///< That the stream is in; 0: in none.
  std::vector<NcclCall> calls;
  std::vector<ncclComm_t> aborted; ///< To be, when it ends.
  ncclResult_t wrong = ncclSuccess;
};

} // namespace

static OpenGroup &openGroup() {
  thread_local OpenGroup own;
  return own;
}

bool divisi::emulator::isInGroup(ncclComm_t aborted) {
  if (openGroup().depth == 0) {
    return false;
  }
  openGroup().aborted.push_back(aborted);
  return true;
}

ncclResult_t ncclGroupStart() {
  ++openGroup().depth;
  return ncclSuccess;
}

/// 0: it is in none.
static uint64_t captureOf(const Stream &stream) {
  return stream.capture ? stream.capture->number : 0;
}

/// Notes failures on demand.
static void chooseFate(ncclComm &communicator, NcclGroup &group) {
  uint64_t number = ++nccl().groups;
  auto isMeant = [&](const char *name) {
    return fromEnvironment(name, 0) == number;
  };
  group.hangs = isMeant("DIVISI_EMULATOR_NCCL_HANG");
  group.isLost = isMeant("DIVISI_EMULATOR_NCCL_LOSE");
  if (isMeant("DIVISI_EMULATOR_NCCL_FAIL")) {
    group.isLost = true;
    communicator.state = ncclRemoteError;
    communicator.error = "the emulated network is down";
  }
}

/// The calls, made now; null if something is wrong with them.
static std::shared_ptr<NcclGroup> makeGroup(ncclComm &communicator,
                                            std::span<const NcclCall> calls) {
  if (communicator.hasEnded) {
    gpus().fail("NCCL: a graph with calls of a communicator that has ended");
    return nullptr;
  }
  auto group =
      std::make_shared<NcclGroup>(communicator.self, communicator.last);
  for (const NcclCall &call : calls) {
    std::shared_ptr<NcclMeeting> meeting;
    if (auto wrong =
            communicator.clique->meet(communicator.self, call, meeting)) {
      gpus().fail("NCCL: " + *wrong);
      refuse(*wrong);
      return nullptr;
    }
    group->add(call, std::move(meeting));
  }
  chooseFate(communicator, *group);
  communicator.last = group;
  std::erase_if(communicator.groups,
                [](const auto &known) { return known.expired(); });
  communicator.groups.push_back(group);
  return group;
}

/// Lets each run of the graph make the calls.
static void recordGroup(OpenGroup &open, Stream::Work &work) {
  ncclComm *communicator = open.communicator;
  for (NcclCall &call : open.calls) {
    call.capture = communicator->clique->captureOf(communicator->self, call);
  }
  std::shared_ptr<ncclComm> kept(communicator, [](ncclComm *) {});
  communicator->graphs.push_back(kept);
  work.meets = [kept, calls = open.calls] { return makeGroup(*kept, calls); };
}

/// Puts the calls on their stream.
static ncclResult_t putGroup(OpenGroup &open) {
  if (captureOf(*open.stream) != open.capture) {
    gpus().fail("NCCL: calls come to a stream whose capture has ended");
    return ncclInvalidUsage;
  }
  Stream::Work work{nameOf(open.calls.front().kind)};
  if (open.capture != 0) {
    recordGroup(open, work);
  } else if (!(work.joint = makeGroup(*open.communicator, open.calls))) {
    return ncclInvalidArgument;
  }
  gpus().put(*open.stream, std::move(work));
  return ncclSuccess;
}

/// The first collective connects its ranks: nothing is put before all have
/// come.
static ncclResult_t endGroup(OpenGroup open) {
  ncclComm &communicator = *open.communicator;
  auto clique = communicator.clique;
  NcclKind kind = open.calls.front().kind;
  bool isCollective = kind != NcclKind::Send && kind != NcclKind::Recv;
  bool isFirst = std::ranges::any_of(open.calls, [&](const NcclCall &call) {
    return !clique->hasMet(communicator.self, call);
  });
  if (open.capture != 0 && isFirst) { // which connects ranks
    open.stream->capture->isBroken = true;
    return refuse("first calls of a communicator in a capture");
  }
  if (isCollective) {
    clique->say(communicator.self, NcclClique::Said::MakesCollectives);
  }
  auto isDone = [clique, isCollective] {
    return !isCollective ||
           clique->haveAllSaid(NcclClique::Said::MakesCollectives);
  };
  communicator.pending = later(
      [isDone, open = std::move(open), result = ncclInProgress]() mutable {
        if (isDone() && result == ncclInProgress) {
          result = putGroup(open);
          if (result != ncclSuccess) {
            open.communicator->state = result;
          }
        }
        return result != ncclInProgress;
      });
  return ncclInProgress;
}

ncclResult_t ncclGroupEnd() {
  if (openGroup().depth == 1 && !openGroup().aborted.empty()) {
    OpenGroup open = std::exchange(openGroup(), {});
    return abortAll(open.aborted);
  }
  Lock lock(gpus().mutex);
  OpenGroup &own = openGroup();
  if (own.depth == 0) {
    return refuse("the end of a group that has not begun");
  }
  if (--own.depth > 0) {
    return ncclSuccess;
  }
  OpenGroup open = std::exchange(own, {});
  if (open.wrong != ncclSuccess || open.calls.empty()) {
    return open.wrong;
  }
  return endGroup(std::move(open));
}

/// Whether the device has these bytes, aligned as elements are.
static bool isOfDevice(uint64_t address, size_t bytes, size_t width) {
  return bytes == 0 || (address % width == 0 && gpus().find(address, bytes));
}

/// Whether the communicator knows all of these bytes.
static bool isRegistered(const ncclComm &communicator, uint64_t address,
                         size_t bytes) {
  auto next = communicator.registered.upper_bound(address);
  return bytes == 0 || (next != communicator.registered.begin() &&
                        address + bytes <= std::prev(next)->second);
}

static bool overlap(uint64_t a, size_t aBytes, uint64_t b, size_t bBytes) {
  return a < b + bBytes && b < a + aBytes;
}

/// What is wrong with a call, seen alone; says whether its memory is
/// registered.
static const char *whatIsWrong(const ncclComm &communicator, NcclCall &call) {
  size_t width = widthOf(call.type), own = call.count * width;
  auto ranks = size_t(communicator.clique->size);
  bool reads = call.kind != NcclKind::Recv;
  bool writes = call.kind != NcclKind::Send && (call.kind != NcclKind::Reduce ||
                                                call.peer == communicator.self);
  bool combines = call.kind == NcclKind::AllReduce ||
                  call.kind == NcclKind::ReduceScatter ||
                  call.kind == NcclKind::Reduce;
  size_t from = own * (call.kind == NcclKind::ReduceScatter ? ranks : 1);
  size_t to = own * (call.kind == NcclKind::AllGather ? ranks : 1);
  if (width == 0 ||
      (combines && !divisi::emulator::combines(call.type, call.reduction))) {
    return "a type or a reduction that is not emulated";
  }
  if (call.peer < 0 || call.peer >= int(ranks)) {
    return "a rank that is not in the communicator";
  }
  if ((reads && !isOfDevice(call.source, from, width)) ||
      (writes && !isOfDevice(call.result, to, width))) {
    return "bytes that no device has, or that are not aligned";
  }
  call.isRegistered =
      (!reads || isRegistered(communicator, call.source, from)) &&
      (!writes || isRegistered(communicator, call.result, to));
  bool isInPlace = from == to && call.source == call.result;
  if (reads && writes && !isInPlace &&
      overlap(call.source, from, call.result, to)) {
    return "a result that overlaps the source";
  }
  return nullptr;
}

static ncclResult_t addCall(ncclComm_t communicator, cudaStream_t on,
                            NcclCall call) {
  Lock lock(gpus().mutex);
  OpenGroup &own = openGroup();
  auto *stream = reinterpret_cast<Stream *>(on);
  const char *wrong =
      communicator->family && *communicator->family
          ? "a call of a communicator that shares with one that was aborted"
      : communicator->isFinalized ? "a call of one that was finalized"
      : own.depth == 0            ? "a call outside of a group"
      : communicator->pending     ? "a call of a communicator that is not ready"
      : currentDevice() != communicator->device ||
              stream->device != communicator->device
          ? "a call on another device than the communicator's"
      : own.communicator &&
              (own.communicator != communicator || own.stream != stream)
          ? "two communicators or streams in one group"
          : whatIsWrong(*communicator, call);
  if (wrong) {
    return own.wrong =
               refuse(std::string(wrong) + " (" + nameOf(call.kind) + ")");
  }
  own.communicator = communicator;
  own.stream = stream;
  own.capture = captureOf(*stream);
  own.calls.push_back(call);
  return ncclSuccess;
}

ncclResult_t ncclAllReduce(const void *source, void *result, size_t count,
                           ncclDataType_t type, ncclRedOp_t reduction,
                           ncclComm_t communicator, cudaStream_t stream) {
  return addCall(communicator, stream,
                 {NcclKind::AllReduce, uint64_t(source), uint64_t(result),
                  count, type, reduction});
}

ncclResult_t ncclReduceScatter(const void *source, void *result, size_t count,
                               ncclDataType_t type, ncclRedOp_t reduction,
                               ncclComm_t communicator, cudaStream_t stream) {
  return addCall(communicator, stream,
                 {NcclKind::ReduceScatter, uint64_t(source), uint64_t(result),
                  count, type, reduction});
}

ncclResult_t ncclReduce(const void *source, void *result, size_t count,
                        ncclDataType_t type, ncclRedOp_t reduction, int root,
                        ncclComm_t communicator, cudaStream_t stream) {
  return addCall(communicator, stream,
                 {NcclKind::Reduce, uint64_t(source), uint64_t(result), count,
                  type, reduction, root});
}

ncclResult_t ncclAllGather(const void *source, void *result, size_t count,
                           ncclDataType_t type, ncclComm_t communicator,
                           cudaStream_t stream) {
  return addCall(
      communicator, stream,
      {NcclKind::AllGather, uint64_t(source), uint64_t(result), count, type});
}

ncclResult_t ncclSend(const void *source, size_t count, ncclDataType_t type,
                      int peer, ncclComm_t communicator, cudaStream_t stream) {
  return addCall(
      communicator, stream,
      {NcclKind::Send, uint64_t(source), 0, count, type, ncclSum, peer});
}

ncclResult_t ncclRecv(void *result, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t communicator, cudaStream_t stream) {
  return addCall(
      communicator, stream,
      {NcclKind::Recv, 0, uint64_t(result), count, type, ncclSum, peer});
}
