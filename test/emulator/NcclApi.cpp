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
//   DIVISI_EMULATOR_NCCL_PLAIN     ncclMemAlloc has no memory
//   DIVISI_EMULATOR_NCCL_REFUSE    the registration of memory of that number,
//   from
//                                  1 on, fails
//
// Calls of collectives are in NcclCalls.cpp.
//
//===----------------------------------------------------------------------===//

#include "test/emulator/NcclState.h"

#include <algorithm>
#include <cstdio>
#include <unistd.h>

using namespace divisi::emulator;

NcclState &divisi::emulator::nccl() {
  static NcclState all;
  return all;
}

ncclResult_t divisi::emulator::refuse(const std::string &what) {
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

std::function<bool()> divisi::emulator::later(std::function<bool()> isDone) {
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
  if (isBlocking(config) || refuseInCapture()) {
    return refuse("a communicator that blocks, or is made in a capture");
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
  if (isBlocking(config) || whole->pending || refuseInCapture()) {
    return refuse("a split of a communicator that is not ready, or blocks, or "
                  "a split in a capture");
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
  for (auto [data, end] : communicator->registered) {
    gpus().letGo(data);
  }
  for (const auto &known : communicator->groups) {
    if (auto group = known.lock()) {
      group->isAborted = true;
    }
  }
  // It would wait for them, and they for it.
  if (std::ranges::any_of(communicator->graphs,
                          [](const auto &graph) { return !graph.expired(); })) {
    gpus().fail("NCCL: a communicator ends before graphs with its calls");
    communicator->hasEnded = true;
    return refuse("the end of a communicator before its graphs");
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
// Memory
//===----------------------------------------------------------------------===//

ncclResult_t ncclMemAlloc(void **data, size_t bytes) {
  if (fromEnvironment("DIVISI_EMULATOR_NCCL_PLAIN", 0) != 0) {
    return ncclSystemError;
  }
  CUdeviceptr made = 0;
  CUresult result = cuMemAlloc(&made, bytes);
  *data = reinterpret_cast<void *>(made);
  return result == CUDA_SUCCESS ? ncclSuccess : ncclUnhandledCudaError;
}

ncclResult_t ncclMemFree(void *data) {
  return cuMemFree(reinterpret_cast<CUdeviceptr>(data)) == CUDA_SUCCESS
             ? ncclSuccess
             : ncclUnhandledCudaError;
}

ncclResult_t ncclCommRegister(const ncclComm_t communicator, void *data,
                              size_t bytes, void **handle) {
  Lock lock(gpus().mutex);
  auto begin = reinterpret_cast<uint64_t>(data);
  MemoryRange range = gpus().rangeOf(begin);
  if (communicator->pending || refuseInCapture() || bytes == 0 ||
      begin != range.begin || begin + bytes > range.end) {
    return refuse("to register what no device has, in a capture, or with a "
                  "communicator that is not ready");
  }
  if (communicator->registered.contains(begin)) {
    gpus().fail("NCCL: memory is registered twice with a communicator");
    return refuse("to register memory twice");
  }
  if (++nccl().registrations ==
      fromEnvironment("DIVISI_EMULATOR_NCCL_REFUSE", 0)) {
    nccl().lastError = "it cannot be mapped";
    return ncclSystemError;
  }
  communicator->registered[begin] = begin + bytes;
  gpus().hold(begin);
  *handle = data;
  return ncclSuccess;
}

ncclResult_t ncclCommDeregister(const ncclComm_t communicator, void *handle) {
  Lock lock(gpus().mutex);
  auto begin = reinterpret_cast<uint64_t>(handle);
  if (communicator->registered.erase(begin) == 0) {
    gpus().fail("NCCL: memory is taken back that is not registered");
    return refuse("to take back what is not registered");
  }
  gpus().letGo(begin);
  return ncclSuccess;
}
