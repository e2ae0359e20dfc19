//===- Stage.h - The stages of the compiler ---------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_COMPILER_STAGE_H
#define DIVISI_COMPILER_STAGE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>

namespace divisi {

/// The stages in order; each is named after what it produces.
enum class Stage : uint8_t {
  Import,
  Train,
  Rewrite,
  Plan,
  Partition,
  Schedule,
  Lower
};

/// All of them, in order.
llvm::ArrayRef<Stage> allStages();

/// `import`, `train`, `rewrite`, `plan`, `partition`, `schedule`, `lower`.
llvm::StringRef stringifyStage(Stage stage);
/// Nothing if `name` names no stage.
std::optional<Stage> parseStage(llvm::StringRef name);

} // namespace divisi

#endif // DIVISI_COMPILER_STAGE_H
