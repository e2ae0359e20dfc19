//===- NcclLibrary.h - NCCL, opened at run time -----------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As the driver (Driver.h): a table of functions, filled from the library when
// ranks are first connected by it. The types come from NVIDIA's header.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_COMM_NCCL_NCCLLIBRARY_H
#define DIVISI_RUNTIME_COMM_NCCL_NCCLLIBRARY_H

#include "divisi/Support/Status.h"

#include <memory>
#include <nccl.h>
#include <string>

namespace divisi::rt::nccl {

/// The functions that are used, each as nccl.h declares it.
struct NcclLibrary {
  /// Null until the library is loaded.
  decltype(&::ncclGetVersion) getVersion = nullptr;
  decltype(&::ncclGetErrorString) getErrorString = nullptr;
  decltype(&::ncclGetLastError) getLastError = nullptr;
  decltype(&::ncclGetUniqueId) getUniqueId = nullptr;
  decltype(&::ncclCommInitRankConfig) commInitRankConfig = nullptr;
  decltype(&::ncclCommSplit) commSplit = nullptr;
  decltype(&::ncclCommFinalize) commFinalize = nullptr;
  decltype(&::ncclCommDestroy) commDestroy = nullptr;
  decltype(&::ncclCommAbort) commAbort = nullptr;
  decltype(&::ncclCommCount) commCount = nullptr;
  decltype(&::ncclCommUserRank) commUserRank = nullptr;
  decltype(&::ncclCommCuDevice) commCuDevice = nullptr;
  decltype(&::ncclCommGetAsyncError) commGetAsyncError = nullptr;
  decltype(&::ncclGroupStart) groupStart = nullptr;
  decltype(&::ncclGroupEnd) groupEnd = nullptr;
  decltype(&::ncclAllReduce) allReduce = nullptr;
  decltype(&::ncclReduceScatter) reduceScatter = nullptr;
  decltype(&::ncclReduce) reduce = nullptr;
  decltype(&::ncclAllGather) allGather = nullptr;
  decltype(&::ncclSend) send = nullptr;
  decltype(&::ncclRecv) recv = nullptr;
  /// From `registering` on, which the header need not be; else null.
  ncclResult_t (*memAlloc)(void **data, size_t bytes) = nullptr;
  ncclResult_t (*memFree)(void *data) = nullptr;
  ncclResult_t (*commRegister)(const ncclComm_t communicator, void *data,
                               size_t bytes, void **handle) = nullptr;
  ncclResult_t (*commDeregister)(const ncclComm_t communicator,
                                 void *handle) = nullptr;
  int version = 0; ///< What it says it is.

  /// That of this machine. It stays in the process. Device if there is none, or
  /// one that is older than `oldest`.
  static Expected<std::shared_ptr<const NcclLibrary>> open();
  /// 2.18: the first that splits communicators.
  static constexpr int oldest = NCCL_VERSION(2, 18, 1);
  /// 2.19: the first that registers memory.
  static constexpr int registering = NCCL_VERSION(2, 19, 1);
  /// Whether it does.
  bool registers() const { return commDeregister != nullptr; }

  /// What `result` is, of a call that was to `what`; Ok for success, and for
  /// what goes on. The communicator knows more of it; it may be null.
  Status check(ncclResult_t result, ncclComm_t communicator,
               const std::string &what) const;
};

} // namespace divisi::rt::nccl

#endif // DIVISI_RUNTIME_COMM_NCCL_NCCLLIBRARY_H
