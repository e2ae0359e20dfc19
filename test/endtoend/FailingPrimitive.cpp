//===- FailingPrimitive.cpp - A device that fails in mid-run --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// To be loaded before oneDNN (LD_PRELOAD), of whose executions it lets so many
// pass as FAIL_AFTER says; then the device has failed. Or, as FAIL_FOR says,
// oneDNN has no memory: for `code` it says so, and for an `object` it asks the
// C library, and uses what it gets.
//
//===----------------------------------------------------------------------===//

#include <atomic>
#include <cstdlib>
#include <dlfcn.h>
#include <limits>
#include <oneapi/dnnl/dnnl.h>
#include <string_view>

extern "C" dnnl_status_t
dnnl_primitive_execute(const_dnnl_primitive_t primitive, dnnl_stream_t stream,
                       int count, const dnnl_exec_arg_t *args) {
  static auto *execute = reinterpret_cast<decltype(&dnnl_primitive_execute)>(
      dlsym(RTLD_NEXT, "dnnl_primitive_execute"));
  static const char *limit = std::getenv("FAIL_AFTER");
  static std::atomic<long> left{limit ? std::atol(limit) : 0};
  if (left.fetch_sub(1) > 0) {
    return execute(primitive, stream, count, args);
  }
  static const char *reason = std::getenv("FAIL_FOR");
  std::string_view want = reason ? reason : "";
  if (want == "object") {
    constexpr size_t most = std::numeric_limits<ptrdiff_t>::max() - 4096;
    void *place = nullptr;
    (void)posix_memalign(&place, 64, most);
    *static_cast<std::atomic<char> *>(place) = 1; // null
  }
  return want == "code" ? dnnl_out_of_memory : dnnl_runtime_error;
}
