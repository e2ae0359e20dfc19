//===- DnnEngine.h - How cuDNN would do it ----------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Engines as the library has them, with limits like theirs: those that fuse
// take few graphs, those that take any padding are rare, the fastest ones do
// not say the truth about sums, and one wants more memory than there is.
// Whoever may not use an engine by its notes finds what it makes to be NaN.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_EMULATOR_DNNENGINE_H
#define DIVISI_TEST_EMULATOR_DNNENGINE_H

#include "test/emulator/DnnProblem.h"

#include <span>

namespace divisi::emulator {

/// One of them.
struct DnnEngine {
  int64_t index; ///< Among all.
  std::vector<cudnnBackendNumericalNote_t> notes;
  bool (*takes)(const DnnProblem &problem);
  int64_t workspaceBytes;
  DnnArithmetic arithmetic;
};

/// How often each was used, by index.
std::map<int64_t, int64_t> &engineUses();

/// Those that the library would try, the best one first.
std::span<const DnnEngine> enginesOf(cudnnBackendHeurMode_t mode);

} // namespace divisi::emulator

#endif // DIVISI_TEST_EMULATOR_DNNENGINE_H
