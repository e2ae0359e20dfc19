//===- NcclApi.cpp - Emulated NCCL ----------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What Divisi uses of libnccl.so.2, of communicators that do not block: what
// they are asked for they do when they are asked how far they are, some time
// later. And what its callers use to make communicators of their own, which may
// block, and to end them. From the environment:
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
//                                  from 1 on, fails
//   DIVISI_EMULATOR_NCCL_SLOTS     how many there can be on a device (256)
//   DIVISI_EMULATOR_NCCL_COUNTS    a file for how many communicators were made,
//                                  split, ended and aborted
//
// Communicators are in NcclCommunicators.cpp, calls of collectives in
// NcclCalls.cpp.
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/device/GpuOverhead.h"
#include "test/emulator/NcclState.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>

using namespace divisi::emulator;
using divisi::rt::GpuOverhead;

NcclState &divisi::emulator::nccl() {
  static NcclState all;
  return all;
}

NcclState::NcclState()
    : refused(fromEnvironment("DIVISI_EMULATOR_NCCL_REFUSE", 0)) {
  gpus(); // outlive it
}

NcclState::~NcclState() {
  if (const char *path = std::getenv("DIVISI_EMULATOR_NCCL_COUNTS")) {
    std::ofstream(path) << made << " " << split << " " << ended << " "
                        << aborted << "\n";
  }
}

void emulatedRefusal(uint64_t next) {
  Lock lock(gpus().mutex);
  nccl().refused = next ? nccl().registrations + next : 0;
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

std::function<bool()> divisi::emulator::later(std::function<bool()> isDone) {
  return [isDone = std::move(isDone), rest = gpus().draw() % 4]() mutable {
    return isDone() && (rest == 0 || --rest == 0);
  };
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// What an allocation takes beyond what is asked for: it is of whole pieces
/// (NCCL User Guide, ncclMemAlloc: "the actual allocated size might be
/// larger").
static int64_t roundingOf(uint64_t bytes) {
  return GpuOverhead::rounded(int64_t(bytes)) - int64_t(bytes);
}

ncclResult_t ncclMemAlloc(void **data, size_t bytes) {
  if (fromEnvironment("DIVISI_EMULATOR_NCCL_PLAIN", 0) != 0) {
    return ncclSystemError;
  }
  CUdeviceptr made = 0;
  CUresult result = cuMemAlloc(&made, bytes);
  *data = reinterpret_cast<void *>(made);
  if (result == CUDA_SUCCESS) {
    Lock lock(gpus().mutex);
    gpus().charge(currentDevice(), Charge::Nccl, roundingOf(bytes));
  }
  return result == CUDA_SUCCESS ? ncclSuccess : ncclUnhandledCudaError;
}

ncclResult_t ncclMemFree(void *data) {
  {
    Lock lock(gpus().mutex);
    MemoryRange range = gpus().rangeOf(reinterpret_cast<uint64_t>(data));
    gpus().charge(gpus().deviceOf(range.begin), Charge::Nccl,
                  -roundingOf(range.end - range.begin));
  }
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
  uint64_t &slots = nccl().slots[communicator->device];
  if (++nccl().registrations == nccl().refused ||
      slots == fromEnvironment("DIVISI_EMULATOR_NCCL_SLOTS", 256)) {
    nccl().lastError = "it cannot be mapped";
    return ncclSystemError;
  }
  ++slots;
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
  --nccl().slots[communicator->device];
  return ncclSuccess;
}
