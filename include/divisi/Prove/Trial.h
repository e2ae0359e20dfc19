//===- Trial.h - Gates that evaluate rules ----------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Three of the four gates of a rule need no proof:
//
//   forms   wherever the source is legal, the target is, and its results have
//           the same types and shapes, by what the operators say themselves;
//   values  both compute the same on random elements, by the reference kernels:
//           of the prime field for floats, where equal polynomials are equal
//           and others differ, of integers as they are;
//   floats  in f32 both differ by no more than the rule's class says.
//
// In the field only what follows from equal arguments is equal. Where sides
// differ there, they are tried on small integers in f64, which are numbers
// without rounding: a difference there is one.
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
  Domain domain = Domain::Field;
};

/// Passes a rule through the gates of forms and values, at assignments drawn by
/// its name: at least three for all ranks with extents that are all different,
/// and others.
Trial tryRule(const Rule &rule, Instantiator &instantiator);

/// The same of an axiom at all assignments of extents from 1 to 3 and integers
/// from -1 to 3, or at `most` of them if there are more for some ranks.
Trial tryAxiom(const Rule &axiom, Instantiator &instantiator, size_t most);

/// Passes a rule through the gate of floats.
Trial tryFloats(const Rule &rule, Instantiator &instantiator);

} // namespace divisi::rewrite

#endif // DIVISI_PROVE_TRIAL_H
