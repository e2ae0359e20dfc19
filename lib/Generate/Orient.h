//===- Orient.h - Which way a rule goes -------------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_GENERATE_ORIENT_H
#define DIVISI_LIB_GENERATE_ORIENT_H

#include "divisi/Rules/Instance.h"
#include "divisi/Rules/Rule.h"

#include <optional>

namespace divisi::rewrite {

/// What a rule can take less of, the most first.
enum class Gain : uint8_t {
  Contractions, ///< Of their operations, or of them.
  Operators,
  Elements, ///< Of results.
  None,
};

/// Which way a rule goes best, and what for.
struct Way {
  bool isReversed = false;         ///< From the right side to the left one.
  std::vector<VariableKind> kinds; ///< Of its variables.
  Gain gain = Gain::None;          ///< What the rule is for in this direction.
};

/// Whether every variable stands in the source, or for the reverse in the
/// target, which has operators.
bool isMatchable(const Rule &rule, bool isReversed);

/// Where the rule or its reverse, whichever can take less of more, with as few
/// of its variables weights as that needs. Nothing if neither is one that
/// matches say all names of.
std::optional<Way> bestWay(const Rule &rule, Instantiator &instantiator);

/// The rule on its way.
Rule onWay(const Rule &rule, const Way &way);

} // namespace divisi::rewrite

#endif // DIVISI_LIB_GENERATE_ORIENT_H
