//===- FailingPrimitive.cpp - A device that fails in mid-run --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// To be loaded before oneDNN (LD_PRELOAD), of whose executions it lets so many
// pass as FAIL_AFTER says; then the device has failed.
//
//===----------------------------------------------------------------------===//

#include <atomic>
#include <cstdlib>
#include <dlfcn.h>
#include <oneapi/dnnl/dnnl.h>

extern "C" dnnl_status_t
dnnl_primitive_execute(const_dnnl_primitive_t primitive, dnnl_stream_t stream,
                       int count, const dnnl_exec_arg_t *args) {
  static auto *execute = reinterpret_cast<decltype(&dnnl_primitive_execute)>(
      dlsym(RTLD_NEXT, "dnnl_primitive_execute"));
  static const char *limit = std::getenv("FAIL_AFTER");
  static std::atomic<long> left{limit ? std::atol(limit) : 0};
  return left.fetch_sub(1) > 0 ? execute(primitive, stream, count, args)
                               : dnnl_runtime_error;
}
