//===- Trial.h - Gates that evaluate rules ----------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Three of the four gates of a rule evaluate it and need no proof:
//
//   forms   wherever the source is legal, the target is, and its results have
//           the same types and shapes, as the operators infer them;
//   values  both sides are equal on random elements, by the reference kernels:
//           floats in the prime field, where equal polynomials are equal and
//           others differ, integers as they are;
//   floats  in f32 both sides differ by no more than the rule's class allows.
//
// Functions are uninterpreted in the field. Where the sides differ there, they
// are evaluated on small integers in f64, which are exact: a difference there
// is a counter-example.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_PROVE_TRIAL_H
#define DIVISI_PROVE_TRIAL_H

#include "divisi/Rules/Instance.h"
#include "divisi/Rules/Verdict.h"

#include <optional>

namespace divisi::rewrite {

/// What came of it.
struct Trial {
  std::optional<Refusal> refusal; ///< Nothing if the rule passed.
  size_t instances = 0; ///< On how many assignments and types it was tried.
  size_t shapes = 0;    ///< How many of these assignments are different.
  Domain domain = Domain::Field; ///< In which values were compared.
};

/// Passes a rule through the gates of forms and values, at assignments drawn by
/// what it says: at least three for all ranks with extents that are all different,
/// and others.
Trial tryRule(const Rule &rule, Instantiator &instantiator);

/// The same of an axiom at all assignments of extents from 1 to 3 and integers
/// from -1 to 3, or at `most` of them if there are more for some ranks.
Trial tryAxiom(const Rule &axiom, Instantiator &instantiator, size_t most);

/// Passes a rule through the gate of floats.
Trial tryFloats(const Rule &rule, Instantiator &instantiator);

} // namespace divisi::rewrite

#endif // DIVISI_PROVE_TRIAL_H
