//===- NcclApi.cpp - Emulated NCCL ----------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What Divisi uses of libnccl.so.2, and no more, of communicators that do not
// block: what they are asked for they do when they are asked how far they are,
// some time later. From the environment:
//
//   DIVISI_EMULATOR_NCCL_VERSION   what it says it is
//   DIVISI_EMULATOR_NCCL_ALONE     no communicator ever connects
//   DIVISI_EMULATOR_NCCL_HANG      the group of calls of that number, from 1
//                                  on, never ends, though all have come,
//   DIVISI_EMULATOR_NCCL_LOSE      it never begins on its rank, which is lost,
//   DIVISI_EMULATOR_NCCL_FAIL      and here its rank meets an error
//   DIVISI_EMULATOR_NCCL_FOLDER    an empty folder by which ranks of several
//                                  processes meet
//
//===----------------------------------------------------------------------===//

#include "test/emulator/NcclClique.h"

#include <cstdio>
#include <cstring>
#include <unistd.h>

using namespace divisi::emulator;

using Lock = std::lock_guard<std::mutex>;

/// A communicator, as one rank has it.
struct ncclComm {
  std::shared_ptr<NcclClique> clique; ///< Null until it is known.
  int self = 0;
  int device = 0;
  ncclResult_t state = ncclSuccess;
  std::string error = {};
  /// What it still has to do, asked about until it says so.
  std::function<bool()> pending = {};
  uint64_t splits = 0;
  std::shared_ptr<NcclGroup> last = {};
  std::vector<std::weak_ptr<NcclGroup>> groups = {};
};

namespace {

/// Calls between ncclGroupStart and ncclGroupEnd of a thread.
struct OpenGroup {
  int depth = 0;
  ncclComm_t communicator = nullptr;
  Stream *stream = nullptr;
  std::vector<NcclCall> calls;
  ncclResult_t wrong = ncclSuccess;
};

/// Of this process.
struct Nccl {
  std::map<std::string, std::shared_ptr<NcclClique>> cliques; ///< By number.
  uint64_t numbers = 0, groups = 0;
  std::string lastError;
};

} // namespace

static Nccl &nccl() {
  static Nccl all;
  return all;
}

static OpenGroup &openGroup() {
  thread_local OpenGroup own;
  return own;
}

static ncclResult_t refuse(const std::string &what) {
  std::fprintf(stderr, "emulator: NCCL refuses %s\n", what.c_str());
  nccl().lastError = what;
  return ncclInvalidArgument;
}

ncclResult_t ncclGetVersion(int *version) {
  *version =
      int(fromEnvironment("DIVISI_EMULATOR_NCCL_VERSION", NCCL_VERSION_CODE));
  return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t result) {
  return result == ncclUnhandledCudaError ? "unhandled cuda error"
         : result == ncclRemoteError
             ? "remote process exited or there was a network error"
             : "refused by the emulator";
}

const char *ncclGetLastError(ncclComm_t communicator) {
  Lock lock(gpus().mutex);
  return communicator && !communicator->error.empty()
             ? communicator->error.c_str()
             : nccl().lastError.c_str();
}

//===----------------------------------------------------------------------===//
// Communicators
//===----------------------------------------------------------------------===//

ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
  Lock lock(gpus().mutex);
  *id = {};
  std::snprintf(id->internal, sizeof(id->internal), "emulated-%d-%lu", getpid(),
                static_cast<unsigned long>(++nccl().numbers));
  return ncclSuccess;
}

/// After a few questions, whatever it waits for.
static std::function<bool()> later(std::function<bool()> isDone) {
  return [isDone = std::move(isDone), rest = gpus().draw() % 4]() mutable {
    return isDone() && (rest == 0 || --rest == 0);
  };
}

static bool isBlocking(const ncclConfig_t *config) {
  return !config || config->blocking != 0;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *made, int size, ncclUniqueId id,
                                    int self, ncclConfig_t *config) {
  Lock lock(gpus().mutex);
  if (isBlocking(config)) {
    return refuse("a communicator that blocks");
  }
  if (currentDevice() < 0 || self < 0 || self >= size) {
    return refuse("a rank without a device, or out of range");
  }
  std::shared_ptr<NcclClique> &clique = nccl().cliques[id.internal];
  if (!clique) {
    clique = std::make_shared<NcclClique>(id.internal, size);
  }
  for (const auto &[rank, device] : clique->devices) {
    if (rank == self || device == currentDevice()) {
      return refuse("two ranks of one number, or on one device");
    }
  }
  if (clique->size != size) {
    return refuse("another number of ranks than others say");
  }
  clique->devices[self] = currentDevice();
  clique->say(self, NcclClique::Said::IsThere);
  *made = new ncclComm{clique, self, currentDevice()};
  bool isAlone = fromEnvironment("DIVISI_EMULATOR_NCCL_ALONE", 0) != 0;
  (*made)->pending = later([clique, isAlone] {
    return !isAlone && clique->haveAllSaid(NcclClique::Said::IsThere);
  });
  return ncclInProgress;
}

ncclResult_t ncclCommSplit(ncclComm_t whole, int color, int key,
                           ncclComm_t *made, ncclConfig_t *config) {
  Lock lock(gpus().mutex);
  if (isBlocking(config) || whole->pending) {
    return refuse("a split of a communicator that is not ready, or blocks");
  }
  auto clique = whole->clique;
  uint64_t number = whole->splits++;
  clique->askFor(number, whole->self, {color, key});
  *made = color < 0 ? nullptr : new ncclComm{nullptr, 0, whole->device};
  auto isDone = [clique, number, self = whole->self, color = color,
                 child = *made] {
    if (!clique->haveAllAskedFor(number)) {
      return false;
    }
    if (child && !child->clique) {
      child->clique = clique->childOf(number, color);
      child->self = clique->rankInChild(number, self);
      child->clique->devices[child->self] = child->device;
    }
    return true;
  };
  whole->pending = later(isDone);
  if (*made) {
    (*made)->pending = later(isDone);
  }
  return ncclInProgress;
}

ncclResult_t ncclCommAbort(ncclComm_t communicator) {
  Lock lock(gpus().mutex);
  for (const auto &known : communicator->groups) {
    if (auto group = known.lock()) {
      group->isAborted = true;
    }
  }
  delete communicator;
  return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t communicator,
                                   ncclResult_t *state) {
  Lock lock(gpus().mutex);
  if (communicator->pending && communicator->pending()) {
    communicator->pending = nullptr;
  }
  *state = gpus().fault()          ? ncclUnhandledCudaError
           : communicator->state   ? communicator->state
           : communicator->pending ? ncclInProgress
                                   : ncclSuccess;
  return ncclSuccess;
}

ncclResult_t ncclCommCount(const ncclComm_t communicator, int *count) {
  Lock lock(gpus().mutex);
  *count = communicator->clique->size;
  return ncclSuccess;
}

ncclResult_t ncclCommUserRank(const ncclComm_t communicator, int *rank) {
  Lock lock(gpus().mutex);
  *rank = communicator->self;
  return ncclSuccess;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

ncclResult_t ncclGroupStart() {
  ++openGroup().depth;
  return ncclSuccess;
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

/// Puts the calls on their stream.
static ncclResult_t putGroup(OpenGroup &open) {
  ncclComm &communicator = *open.communicator;
  auto group =
      std::make_shared<NcclGroup>(communicator.self, communicator.last);
  for (const NcclCall &call : open.calls) {
    std::shared_ptr<NcclMeeting> meeting;
    if (auto wrong =
            communicator.clique->meet(communicator.self, call, meeting)) {
      gpus().fail("NCCL: " + *wrong);
      return refuse(*wrong);
    }
    group->add(call, std::move(meeting));
  }
  chooseFate(communicator, *group);
  communicator.last = group;
  std::erase_if(communicator.groups,
                [](const auto &known) { return known.expired(); });
  communicator.groups.push_back(group);
  Stream::Work work{nameOf(open.calls.front().kind)};
  work.joint = std::move(group);
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

static bool overlap(uint64_t a, size_t aBytes, uint64_t b, size_t bBytes) {
  return a < b + bBytes && b < a + aBytes;
}

/// What is wrong with a call, seen alone.
static const char *whatIsWrong(const ncclComm &communicator,
                               const NcclCall &call) {
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
  bool isInPlace = from == to && call.source == call.result;
  if (reads && writes && !isInPlace &&
      overlap(call.source, from, call.result, to)) {
    return "a result that overlaps the source";
  }
  return nullptr;
}

static ncclResult_t addCall(ncclComm_t communicator, cudaStream_t on,
                            const NcclCall &call) {
  Lock lock(gpus().mutex);
  OpenGroup &own = openGroup();
  auto *stream = reinterpret_cast<Stream *>(on);
  const char *wrong =
      own.depth == 0          ? "a call outside of a group"
      : communicator->pending ? "a call of a communicator that is not ready"
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
