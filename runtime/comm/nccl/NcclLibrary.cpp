//===- NcclLibrary.cpp - NCCL, opened at run time -------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/nccl/NcclLibrary.h"
#include "runtime/backends/cuda/Driver.h"
#include "runtime/backends/cuda/FunctionTable.h"
#include "runtime/backends/cuda/Versions.h"

using namespace divisi;
using namespace divisi::rt::nccl;

static std::string fillTable(void *handle, NcclLibrary &library) {
  rt::cuda::TableFiller table(handle);
  table.fill(library.getVersion, DIVISI_SYMBOL(ncclGetVersion));
  table.fill(library.getErrorString, DIVISI_SYMBOL(ncclGetErrorString));
  table.fill(library.getLastError, DIVISI_SYMBOL(ncclGetLastError));
  table.fill(library.getUniqueId, DIVISI_SYMBOL(ncclGetUniqueId));
  table.fill(library.commInitRankConfig, DIVISI_SYMBOL(ncclCommInitRankConfig));
  table.fill(library.commSplit, DIVISI_SYMBOL(ncclCommSplit));
  table.fill(library.commFinalize, DIVISI_SYMBOL(ncclCommFinalize));
  table.fill(library.commDestroy, DIVISI_SYMBOL(ncclCommDestroy));
  table.fill(library.commAbort, DIVISI_SYMBOL(ncclCommAbort));
  table.fill(library.commCount, DIVISI_SYMBOL(ncclCommCount));
  table.fill(library.commUserRank, DIVISI_SYMBOL(ncclCommUserRank));
  table.fill(library.commCuDevice, DIVISI_SYMBOL(ncclCommCuDevice));
  table.fill(library.commGetAsyncError, DIVISI_SYMBOL(ncclCommGetAsyncError));
  table.fill(library.groupStart, DIVISI_SYMBOL(ncclGroupStart));
  table.fill(library.groupEnd, DIVISI_SYMBOL(ncclGroupEnd));
  table.fill(library.allReduce, DIVISI_SYMBOL(ncclAllReduce));
  table.fill(library.reduceScatter, DIVISI_SYMBOL(ncclReduceScatter));
  table.fill(library.reduce, DIVISI_SYMBOL(ncclReduce));
  table.fill(library.allGather, DIVISI_SYMBOL(ncclAllGather));
  table.fill(library.send, DIVISI_SYMBOL(ncclSend));
  table.fill(library.recv, DIVISI_SYMBOL(ncclRecv));
  if (library.getVersion &&
      library.getVersion(&library.version) == ncclSuccess &&
      library.version >= NcclLibrary::registering) {
    table.fill(library.memAlloc, "ncclMemAlloc");
    table.fill(library.memFree, "ncclMemFree");
    table.fill(library.commRegister, "ncclCommRegister");
    table.fill(library.commDeregister, "ncclCommDeregister");
  }
  return table.missing;
}

Expected<std::shared_ptr<const NcclLibrary>> NcclLibrary::open() {
  if (auto driver = rt::cuda::Driver::open(); !driver) {
    return driver.status();
  }
  const std::string libraryName =
      rt::cuda::versions::fileOf("libnccl", NCCL_MAJOR);
  void *handle = dlopen(libraryName.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    return makeError(ExitCode::Device,
                     "collectives between GPUs need NCCL: ", dlerror(), "; ",
                     libraryName,
                     " comes with NVIDIA's NCCL: install it, and let "
                     "LD_LIBRARY_PATH name its folder, or compile the model "
                     "with --collectives host");
  }
  auto library = std::make_shared<NcclLibrary>();
  std::string missing = fillTable(handle, *library);
  if (library->version != 0 && library->version < oldest) {
    return makeError(ExitCode::Device, libraryName, " is NCCL ",
                     rt::cuda::nameOfLibraryVersion(library->version),
                     ", expected at least ",
                     rt::cuda::nameOfLibraryVersion(oldest), "; update it");
  }
  if (!missing.empty()) {
    return makeError(ExitCode::Device, libraryName, " has no ", missing,
                     "; expected NCCL ", rt::cuda::nameOfLibraryVersion(oldest),
                     " or later");
  }
  return std::shared_ptr<const NcclLibrary>(std::move(library));
}

Status NcclLibrary::check(ncclResult_t result, ncclComm_t communicator,
                          const std::string &what) const {
  if (result == ncclSuccess || result == ncclInProgress) {
    return {};
  }
  const char *more = getLastError(communicator);
  return makeError(ExitCode::Device, "NCCL cannot ", what, ": ",
                   getErrorString(result), more && *more ? ": " : "",
                   more ? more : "");
}
