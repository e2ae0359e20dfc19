//===- ElementProver.h - Proofs by elements ---------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Both sides of a rule are equal if their elements at a symbolic index are: for
// all sizes, as TensorRight proves rewrites (Arora et al., POPL 2025). Where an
// element depends on the part of a tensor in which the index lies, the proof
// splits into cases.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_PROVE_ELEMENTPROVER_H
#define DIVISI_PROVE_ELEMENTPROVER_H

#include "divisi/Prove/Prover.h"

#include <functional>
#include <optional>

namespace divisi::rewrite {

/// Whether the elements of both sides are equal wherever the conditions hold,
/// by no axioms but those of `axioms` that are definitions. Its axioms are
/// "elements" and those that it used. What it says is the same on all machines.
Proof proveByElements(const SymbolicRule &rule,
                      const std::vector<SymbolicRule> &axioms);

/// Whether axioms, which say nothing of rounding, can prove the class that the
/// rule claims: not that bits are the same, nor what rounding may turn over.
bool isLeftToAxioms(const SymbolicRule &rule);

/// Whether the prover has a definition of the operator (`matmul`), or knows
/// along which dims it operates.
bool isDefinedByElements(const std::string &op);

/// Forgets which extents of results were fitted from samples, but for those
/// that are shown to be right at all sizes; says of the others on which extents
/// of operands they depend.
void keepKnownExtents(SymbolicRule &rule);

/// The element of a variable, by its number, at an index.
using ElementValues =
    std::function<double(size_t variable, const std::vector<int64_t> &index)>;

/// The value of a function of which the prover knows no formula, by its name
/// ("tanh of f64", "cast of f64 to i32"); nothing if the name is none.
using FunctionValues = std::function<std::optional<double>(
    const std::string &name, const std::vector<double> &operands)>;

/// The element at `index` of the first result of the source of a rule without
/// sizes or reals, whose extents are at most 4: what the definitions of its
/// operators say. Nothing where they don't say all.
std::optional<double> evaluateElement(const SymbolicRule &rule,
                                      const std::vector<int64_t> &index,
                                      const ElementValues &elements,
                                      const FunctionValues &functions);

/// The extents of that result, as the definitions say; nothing where they
/// don't.
std::optional<std::vector<int64_t>> shapeByElements(const SymbolicRule &rule);

/// The operators that are not elementwise and of whose elements the prover has
/// a definition, by name ("matmul").
std::vector<std::string> operatorsByElements();

} // namespace divisi::rewrite

#endif // DIVISI_PROVE_ELEMENTPROVER_H
