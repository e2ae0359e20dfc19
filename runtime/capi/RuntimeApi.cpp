//===- RuntimeApi.cpp - The table of the runtime's functions --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/capi/Handles.h"

using namespace divisi;
using namespace divisi::rt;

static divisi_runtime_api makeApi() {
  divisi_runtime_api api{};
  api.struct_size = sizeof(divisi_runtime_api);
  api.version = DIVISI_RUNTIME_VERSION;
  api.errors = errorApi();
  addArtifactFunctions(api);
  addContextFunctions(api);
  addProcessesFunctions(api);
  return api;
}

const divisi_runtime_api *divisi_runtime_get_api(uint32_t version) {
  static const divisi_runtime_api api = makeApi();
  return isServed(version, DIVISI_RUNTIME_VERSION) ? &api : nullptr;
}
