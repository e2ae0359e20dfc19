//===- OpenMpiWorld.cpp - Opening the shared object for MPI ---------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Support/Version.h"
#include "runtime/comm/mpi/MpiPlugin.h"

#include <dlfcn.h>

using namespace divisi;
using namespace divisi::rt;

static Status noMpi(const std::string &why) {
  return makeError(ExitCode::Device, "several processes need MPI: ", why,
                   "; install it (Debian: libopenmpi-dev openmpi-bin) and "
                   "build divisi again, or run without a launcher");
}

Expected<std::shared_ptr<ProcessWorld>>
divisi::rt::openMpiWorld(const std::string &library, const Launch &launch) {
  // OpenMPI opens parts of itself, which look for its symbols among all.
  void *handle = dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!handle) {
    return noMpi(dlerror());
  }
  auto *open =
      reinterpret_cast<OpenMpiPlugin *>(dlsym(handle, openMpiPluginName));
  if (!open) {
    return noMpi(dlerror());
  }
  Status status;
  std::shared_ptr<ProcessWorld> world(
      open(std::string(version()), launch, status));
  if (!world) {
    return status;
  }
  return world;
}
