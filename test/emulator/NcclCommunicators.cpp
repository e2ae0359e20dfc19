//===- NcclCommunicators.cpp - Communicators of emulated NCCL -------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/emulator/NcclState.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <span>
#include <thread>
#include <unistd.h>

using namespace divisi::emulator;

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

/// One that connects when all of its ranks have come.
static ncclResult_t begin(ncclComm_t *made, int size, const ncclUniqueId &id,
                          int self, int device) {
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
  bool isAlone = fromEnvironment("DIVISI_EMULATOR_NCCL_ALONE", 0) != 0;
  (*made)->pending = later([clique, isAlone] {
    return !isAlone && clique->haveAllSaid(NcclClique::Said::IsThere);
  });
  return ncclInProgress;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *made, int size, ncclUniqueId id,
                                    int self, ncclConfig_t *config) {
  return isBlocking(config) ? refuse("a communicator that blocks")
                            : begin(made, size, id, self, currentDevice());
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
                           ncclComm_t *made) {
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
  ncclResult_t result = askFor(whole, color, key, made);
  return result == ncclInProgress && whole->isBlocking ? block({&whole, 1})
                                                       : result;
}

//===----------------------------------------------------------------------===//
// What ends them
//===----------------------------------------------------------------------===//

/// With `aborts`, also what others may never come to.
static ncclResult_t end(ncclComm_t communicator, bool aborts) {
  Lock lock(gpus().mutex);
  if (!isThere(communicator)) {
    gpus().fail("NCCL: a communicator is ended twice");
    return ncclInvalidArgument;
  }
  for (auto [data, end] : communicator->registered) {
    gpus().letGo(data);
  }
  for (const auto &known : communicator->groups) {
    if (auto group = known.lock()) {
      group->isAborted |= aborts;
    }
  }
  // It would wait for them, and they for it.
  if (std::ranges::any_of(communicator->graphs,
                          [](const auto &graph) { return !graph.expired(); })) {
    gpus().fail("NCCL: a communicator ends before graphs with its calls");
    communicator->hasEnded = true;
    return refuse("the end of a communicator before its graphs");
  }
  nccl().communicators.erase(communicator);
  ++nccl().ended;
  delete communicator;
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t communicator) {
  return end(communicator, /*aborts=*/true);
}

ncclResult_t ncclCommDestroy(ncclComm_t communicator) {
  return end(communicator, /*aborts=*/false);
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
