//===- PipelineRequest.cpp - What is asked of a pipeline ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Cluster/Cluster.h"
#include "divisi/Plan/PlaceStages.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace divisi {

/// Whether it is one of one chunk a stage.
static bool needsOne(llvm::StringRef schedule) {
  return schedule == "gpipe" || schedule == "1f1b" ||
         schedule.starts_with("zero-bubble");
}

int64_t PipelineRequest::numChunksPerStage() const {
  bool needsTwo = schedule == "interleaved" || schedule == "wave";
  return chunksPerStage != 0 ? chunksPerStage : needsTwo ? 2 : 1;
}

ArrayRef<StringLiteral> pipelineScheduleNames() {
  static constexpr StringLiteral kNames[] = {
      "auto",        "stream",         "gpipe",          "1f1b",
      "interleaved", "zero-bubble-h1", "zero-bubble-h2", "wave"};
  return kNames;
}

std::string stageDevicesText(ArrayRef<int64_t> sizes) {
  return join(
      map_range(sizes, [](int64_t size) { return std::to_string(size); }), ",");
}

Status checkPipeline(const PipelineRequest &request) {
  constexpr int64_t kMostStages = Cluster::maxDevices, kMostChunks = 64;
  const std::string &name = request.schedule;
  if (request.stages < 1 || request.stages > kMostStages) {
    return makeError(ExitCode::Usage, "--pipeline-parallel-size is ",
                     request.stages, ", expected 1 to ", kMostStages);
  }
  if (!llvm::is_contained(pipelineScheduleNames(), name)) {
    return makeError(ExitCode::Usage, "--schedule ", name, ": there are ",
                     llvm::join(pipelineScheduleNames(), ", "));
  }
  if (request.chunksPerStage < 0 || request.chunksPerStage > kMostChunks) {
    return makeError(ExitCode::Usage, "--num-stages-per-device is ",
                     request.chunksPerStage, ", expected 1 to ", kMostChunks);
  }
  if (request.stages == 1 && (name != "auto" || request.chunksPerStage > 1)) {
    return makeError(ExitCode::Usage,
                     name != "auto" ? "--schedule" : "--num-stages-per-device",
                     " is of a pipeline: give --pipeline-parallel-size, too");
  }
  if (needsOne(name) && request.chunksPerStage > 1) {
    return makeError(ExitCode::Usage, "--schedule ", name,
                     " runs one stage per device, and "
                     "--num-stages-per-device is ",
                     request.chunksPerStage, ": use interleaved or wave");
  }
  if (name == "wave" && request.numChunksPerStage() % 2 != 0) {
    return makeError(ExitCode::Usage,
                     "--schedule wave goes down and up again, "
                     "so --num-stages-per-device is even, "
                     "and ",
                     request.chunksPerStage, " was given");
  }
  return Status();
}

} // namespace divisi
