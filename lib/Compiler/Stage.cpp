//===- Stage.cpp - The stages of the compiler -----------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Compiler/Stage.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace divisi;

static constexpr Stage kStages[] = {
    Stage::Import,    Stage::Train,    Stage::Rewrite, Stage::Plan,
    Stage::Partition, Stage::Schedule, Stage::Lower};
static constexpr StringLiteral kStageNames[] = {
    "import", "train", "rewrite", "plan", "partition", "schedule", "lower"};

ArrayRef<Stage> divisi::allStages() { return kStages; }

StringRef divisi::stringifyStage(Stage stage) {
  return kStageNames[size_t(stage)];
}

std::optional<Stage> divisi::parseStage(StringRef name) {
  const auto *found = find(kStageNames, name);
  return found == std::end(kStageNames)
             ? std::nullopt
             : std::optional(kStages[found - std::begin(kStageNames)]);
}
