//===- CudaState.h - What the emulated driver is asked about ----*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_EMULATOR_CUDASTATE_H
#define DIVISI_TEST_EMULATOR_CUDASTATE_H

#include "test/emulator/Graphs.h"

#include <cuda.h>

namespace divisi::emulator {

/// While it lives, the calling thread alone is in the emulator.
using Lock = std::lock_guard<std::mutex>;

/// What a handle is.
inline Stream &streamOf(CUstream stream) {
  return *reinterpret_cast<Stream *>(stream);
}

/// Of the calling thread's device: success until something was wrong.
inline CUresult result() {
  return gpus().fault() ? CUDA_ERROR_LAUNCH_FAILED
                        : CUresult(gpus().errorOf(currentDevice()));
}

/// result(), if the calling thread has a context, as nearly all calls want.
inline CUresult needContext() {
  return currentDevice() < 0 ? CUDA_ERROR_INVALID_CONTEXT : result();
}

/// What the calling thread is capturing; null: nothing.
Capture *&ownCapture();

/// How many libraries of kernels were loaded, in how many contexts in all, and
/// unloaded.
struct LibraryCounts {
  uint64_t loaded = 0, modules = 0, unloaded = 0;
};
LibraryCounts &libraries();

/// An error, if it is capturing: it must not do what could end up in it, or
/// wait for it.
CUresult refuseInCapture();

} // namespace divisi::emulator

/// For tests: LibraryCounts.
extern "C" void emulatedLibraries(uint64_t *loaded, uint64_t *modules,
                                  uint64_t *unloaded);

#endif // DIVISI_TEST_EMULATOR_CUDASTATE_H
