//===- NcclCommunicators.cpp - Communicators of emulated NCCL -------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/device/GpuOverhead.h"
#include "test/emulator/NcclState.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <span>
#include <thread>
#include <unistd.h>

using namespace divisi::emulator;
using divisi::rt::GpuOverhead;

uint64_t emulatedAborts() {
  Lock lock(gpus().mutex);
  return nccl().aborted;
}

void emulatedCommunicators(uint64_t *made, uint64_t *split, uint64_t *ended) {
  Lock lock(gpus().mutex);
  *made = nccl().made;
  *split = nccl().split;
  *ended = nccl().ended;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
  Lock lock(gpus().mutex);
  *id = {};
  std::snprintf(id->internal, sizeof(id->internal), "emulated-%d-%lu", getpid(),
                static_cast<unsigned long>(++nccl().numbers));
  return ncclSuccess;
}

static bool isBlocking(const ncclConfig_t *config) {
  return !config || config->blocking != 0;
}

/// Whether it may be used; else says so.
static bool isThere(ncclComm_t communicator) {
  if (!nccl().communicators.contains(communicator)) {
    refuse("a communicator that is none, or has ended");
    return false;
  }
  return true;
}

/// Does what they have still to do; those that have ended have nothing.
static bool goOn(std::span<const ncclComm_t> communicators) {
  Lock lock(gpus().mutex);
  bool isDone = true;
  for (ncclComm_t communicator : communicators) {
    if (!nccl().communicators.contains(communicator)) {
      continue;
    }
    if (communicator->pending && communicator->pending()) {
      communicator->pending = nullptr;
    }
    isDone &= !communicator->pending;
  }
  return isDone;
}

/// Returns when they have, whoever has to come.
static ncclResult_t block(std::span<const ncclComm_t> communicators) {
  while (!goOn(communicators)) {
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  return ncclSuccess;
}

//===----------------------------------------------------------------------===//
// What begins them
//===----------------------------------------------------------------------===//

/// Lets the device hold the buffers of a communicator; with `of`, it is one of
/// its family, and uses those.
static bool holdBuffers(ncclComm &made, const ncclComm *of) {
  gpus().synchronize(made.device, "a new communicator of NCCL's");
  made.family = of ? of->family : nullptr;
  made.bytes =
      made.family ? GpuOverhead::partBytes : GpuOverhead::communicatorBytes;
  return gpus().charge(made.device, Charge::Nccl, made.bytes);
}

static bool shares(const ncclConfig_t *config) {
  return config && config->splitShare == 1;
}

/// One that connects when all of its ranks have come; others may share what it
/// has, or none.
static ncclResult_t begin(ncclComm_t *made, int size, const ncclUniqueId &id,
                          int self, int device, bool isShared = false) {
  Lock lock(gpus().mutex);
  if (refuseInCapture() || device < 0 || self < 0 || self >= size) {
    return refuse("a rank without a device, or out of range, or in a capture");
  }
  std::shared_ptr<NcclClique> &clique = nccl().cliques[id.internal];
  if (!clique) {
    clique = std::make_shared<NcclClique>(id.internal, size);
  }
  for (const auto &[rank, other] : clique->devices) {
    if (rank == self || other == device) {
      return refuse("two ranks of one number, or on one device");
    }
  }
  if (clique->size != size) {
    return refuse("another number of ranks than others say");
  }
  clique->devices[self] = device;
  clique->say(self, NcclClique::Said::IsThere);
  *made = new ncclComm{clique, self, device};
  nccl().communicators.insert(*made);
  ++nccl().made;
  if (!holdBuffers(**made, nullptr)) {
    return ncclUnhandledCudaError;
  }
  (*made)->family = isShared ? std::make_shared<bool>(false) : nullptr;
  bool isAlone = fromEnvironment("DIVISI_EMULATOR_NCCL_ALONE", 0) != 0;
  (*made)->pending = later([clique, isAlone] {
    return !isAlone && clique->haveAllSaid(NcclClique::Said::IsThere);
  });
  return ncclInProgress;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *made, int size, ncclUniqueId id,
                                    int self, ncclConfig_t *config) {
  return isBlocking(config)
             ? refuse("a communicator that blocks")
             : begin(made, size, id, self, currentDevice(), shares(config));
}

ncclResult_t ncclCommInitRank(ncclComm_t *made, int size, ncclUniqueId id,
                              int self) {
  ncclResult_t result = begin(made, size, id, self, currentDevice());
  if (result != ncclInProgress) {
    return result;
  }
  (*made)->isBlocking = true;
  return block({made, 1});
}

ncclResult_t ncclCommInitAll(ncclComm_t *made, int size, const int *devices) {
  ncclUniqueId id;
  ncclGetUniqueId(&id);
  for (int self = 0; self < size; ++self) {
    ncclResult_t result =
        begin(&made[self], size, id, self, devices ? devices[self] : self);
    if (result != ncclInProgress) {
      return result;
    }
    made[self]->isBlocking = true;
  }
  return block({made, size_t(size)});
}

/// Asks for a part of `whole`, which comes when all of its ranks have asked.
static ncclResult_t askFor(ncclComm_t whole, int color, int key,
                           ncclComm_t *made, bool isShared) {
  Lock lock(gpus().mutex);
  if (!isThere(whole) || whole->pending || refuseInCapture()) {
    return refuse("a split of a communicator that is not ready, or in a "
                  "capture");
  }
  auto clique = whole->clique;
  uint64_t number = whole->splits++;
  clique->askFor(number, whole->self, {color, key});
  *made = color < 0 ? nullptr : new ncclComm{nullptr, 0, whole->device};
  if (*made) {
    nccl().communicators.insert(*made);
    ++nccl().split;
    if (!holdBuffers(**made, isShared ? whole : nullptr)) {
      return ncclUnhandledCudaError;
    }
  }
  auto isDone = [clique, number, self = whole->self, color = color,
                 child = *made] {
    if (!clique->haveAllAskedFor(number)) {
      return false;
    }
    if (nccl().communicators.contains(child) && !child->clique) {
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

/// A call on the whole, which blocks if that does.
ncclResult_t ncclCommSplit(ncclComm_t whole, int color, int key,
                           ncclComm_t *made, ncclConfig_t *config) {
  if (isBlocking(config)) {
    return refuse("a part of a communicator that blocks");
  }
  ncclResult_t result = askFor(whole, color, key, made, shares(config));
  return result == ncclInProgress && whole->isBlocking ? block({&whole, 1})
                                                       : result;
}

//===----------------------------------------------------------------------===//
// What ends them
//===----------------------------------------------------------------------===//

ncclResult_t ncclCommFinalize(ncclComm_t communicator) {
  std::unique_lock lock(gpus().mutex);
  if (!isThere(communicator) || communicator->pending ||
      communicator->isFinalized) {
    return refuse("to finalize what is not ready, or twice");
  }
  gpus().synchronize(communicator->device, "ncclCommFinalize");
  communicator->isFinalized = true;
  communicator->clique->say(communicator->self, NcclClique::Said::Finalizes);
  communicator->pending = later([clique = communicator->clique] {
    return clique->haveAllSaid(NcclClique::Said::Finalizes);
  });
  lock.unlock();
  return communicator->isBlocking ? block({&communicator, 1}) : ncclInProgress;
}

/// With its buffers and what is registered with it.
static ncclResult_t end(ncclComm_t communicator) {
  for (auto [data, end] : communicator->registered) {
    gpus().letGo(data);
    --nccl().slots[communicator->device];
  }
  // It would wait for them, and they for it.
  if (std::ranges::any_of(communicator->graphs,
                          [](const auto &graph) { return !graph.expired(); })) {
    gpus().fail("NCCL: a communicator ends before graphs with its calls");
    communicator->hasEnded = true;
    return refuse("the end of a communicator before its graphs");
  }
  gpus().charge(communicator->device, Charge::Nccl, -communicator->bytes);
  nccl().communicators.erase(communicator);
  ++nccl().ended;
  delete communicator;
  return ncclSuccess;
}

static ncclResult_t endedTwice() {
  gpus().fail("NCCL: a communicator is ended twice");
  return ncclInvalidArgument;
}

ncclResult_t divisi::emulator::abortAll(std::span<const ncclComm_t> all) {
  std::unique_lock lock(gpus().mutex);
  for (ncclComm_t communicator : all) {
    if (!isThere(communicator)) {
      return endedTwice();
    }
    for (const auto &known : communicator->groups) {
      if (auto group = known.lock()) {
        group->isAborted = true;
      }
    }
    if (communicator->family) {
      *communicator->family = true;
    }
  }
  ncclResult_t result = ncclSuccess;
  for (ncclComm_t communicator : all) {
    int device = communicator->device;
    gpus().synchronize(device, "ncclCommAbort");
    gpus().drain(device, lock);
    ++nccl().aborted;
    ncclResult_t own = end(communicator);
    result = result == ncclSuccess ? own : result;
  }
  return result;
}

/// It returns when its buffers are freed, which waits for all work of its
/// device (CUDA Runtime API, cudaFree); in a group, when the group ends.
ncclResult_t ncclCommAbort(ncclComm_t communicator) {
  return isInGroup(communicator) ? ncclSuccess : abortAll({&communicator, 1});
}

ncclResult_t ncclCommDestroy(ncclComm_t communicator) {
  Lock lock(gpus().mutex);
  if (!isThere(communicator)) {
    return endedTwice();
  }
  gpus().synchronize(communicator->device, "ncclCommDestroy");
  if (communicator->isFinalized && communicator->pending) {
    gpus().fail("NCCL: a communicator is destroyed while it is finalized");
  }
  return end(communicator);
}

//===----------------------------------------------------------------------===//
// What they say
//===----------------------------------------------------------------------===//

ncclResult_t ncclCommGetAsyncError(ncclComm_t communicator,
                                   ncclResult_t *state) {
  Lock lock(gpus().mutex);
  if (!isThere(communicator)) {
    return ncclInvalidArgument;
  }
  if (communicator->pending && communicator->pending()) {
    communicator->pending = nullptr;
  }
  *state = gpus().fault()          ? ncclUnhandledCudaError
           : communicator->state   ? communicator->state
           : communicator->pending ? ncclInProgress
                                   : ncclSuccess;
  return ncclSuccess;
}

/// Puts what a ready communicator says where the caller wants it.
static ncclResult_t tell(ncclComm_t communicator, int *to,
                         int (*what)(const ncclComm &)) {
  Lock lock(gpus().mutex);
  if (!isThere(communicator) || communicator->pending) {
    return refuse("to tell of a communicator that is not ready");
  }
  *to = what(*communicator);
  return ncclSuccess;
}

ncclResult_t ncclCommCount(ncclComm_t communicator, int *count) {
  return tell(communicator, count,
              [](const ncclComm &of) { return of.clique->size; });
}

ncclResult_t ncclCommUserRank(ncclComm_t communicator, int *rank) {
  return tell(communicator, rank, [](const ncclComm &of) { return of.self; });
}

ncclResult_t ncclCommCuDevice(ncclComm_t communicator, int *device) {
  return tell(communicator, device,
              [](const ncclComm &of) { return of.device; });
}
