//===- WorkerResult.h - Results of a worker process -------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_GENERATE_WORKERRESULT_H
#define DIVISI_LIB_GENERATE_WORKERRESULT_H

#include "divisi/Support/Status.h"
#include "lib/Generate/Keeper.h"

#include <string>
#include <vector>

namespace divisi::rewrite {

/// What was found in one vocabulary.
struct WorkerResult {
  std::vector<GenerateCounts> counts; ///< One for each number of operators.
  std::vector<Kept> kept;             ///< Without what they say.
};

/// As a text, which is not empty.
std::string printWorkerResult(const WorkerResult &result);
/// And of a failure.
std::string printWorkerResult(const Status &failure);
/// The way back. Fails as the process did.
Expected<WorkerResult> parseWorkerResult(const std::string &text);

} // namespace divisi::rewrite

#endif // DIVISI_LIB_GENERATE_WORKERRESULT_H
