//===- WriteArtifact.cpp - A compilation's last steps ---------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WriteArtifact.h"

#include "Console.h"

using namespace llvm;
using namespace divisi;

WeightsFlag::WeightsFlag(cl::SubCommand &verb)
    : opt("weights", cl::sub(verb), on(ActsOn::Emit),
          cl::value_desc("embed|external"), cl::init("embed"),
          cl::desc("store the weights in the artifact, or leave them in the "
                   "model's files")) {}

std::string divisi::nameOf(const DeviceMemory &kind,
                           const std::vector<DeviceMemory> &kinds) {
  return kinds.size() == 1 ? "device" : kind.kind;
}

divisi::Expected<WrittenArtifact>
divisi::writeArtifact(Compilation &compilation, const std::string &path) {
  Status status = compilation.checkWeights();
  if (status.isOk()) {
    status = compilation.advanceTo(Stage::Lower);
  }
  if (!status.isOk()) {
    return status;
  }
  divisi::Expected<EmitSummary> summary = compilation.emit(path);
  if (!summary) {
    return summary.status();
  }
  if (!summary->unsignedCode.empty()) {
    sayWarning() << "the native code of the artifact is not signed, "
                    "and runs only with --allow-native: "
                 << summary->unsignedCode;
  }
  auto memory = compilation.memory();
  if (!memory) {
    return memory.status();
  }
  // The planner keeps to the limit; a plan that was read need not.
  for (const DeviceMemory &kind : *memory) {
    if (kind.missing() > 0) {
      sayWarning() << "a " << nameOf(kind, *memory) << " holds "
                   << kind.held.limited()
                   << " bytes under this plan, more than the " << kind.limit
                   << " that it has";
    }
  }
  return WrittenArtifact{std::move(*summary), std::move(*memory)};
}
