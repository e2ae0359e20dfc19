//===- Verdict.h - The status of a rule -------------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RULES_VERDICT_H
#define DIVISI_RULES_VERDICT_H

#include "divisi/Rules/Assignment.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace divisi::rewrite {

/// What a rule has to pass, in this order.
enum class Gate : uint8_t { Forms, Values, Floats, Proof };
/// `forms`, ...
const char *spell(Gate gate);

/// Why a rule is refused.
struct Refusal {
  Gate gate = Gate::Forms; ///< The one that it did not pass.
  std::string reason;      ///< With the counter-example, if there is one.
};

/// The numbers on which both sides were the same.
enum class Domain : uint8_t {
  Field,    ///< All of the prime field: a polynomial identity.
  Integers, ///< Small integers, exactly; not the field.
  Reals,    ///< Small integers, up to rounding; not the field.
};

/// The status of a rule.
enum class RuleStatus : uint8_t {
  Proved,  ///< It has passed all gates.
  Tested,  ///< All but the proof, and says itself that this is open.
  Refused, ///< By a gate.
};
/// `proved`, ...
const char *spell(RuleStatus status);

/// The result of checking a rule.
struct Verdict {
  std::string rule; ///< The name of the one it is about.
  /// Refused just if `refusal` is there.
  RuleStatus status = RuleStatus::Proved;
  std::optional<Refusal> refusal;  ///< By the first gate that it did not pass.
  std::vector<std::string> axioms; ///< That the proofs used.
  std::vector<Ranks> ranks;        ///< Of its shapes, where it is proved.
  /// Of a proved rule: at which ranks alone; empty where at all.
  std::string where;
  std::string open;     ///< What is not proved, if anything is.
  size_t instances = 0; ///< On which it was tried.
  size_t shapes = 0;    ///< Different assignments among these.
  Domain domain = Domain::Field;
  double seconds = 0;
};

} // namespace divisi::rewrite

#endif // DIVISI_RULES_VERDICT_H
