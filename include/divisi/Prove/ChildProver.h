//===- ChildProver.h - Proofs in child processes ----------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Z3 has a limit of work, which makes its answers the same on all machines. It
// has exceeded such limits before, so it runs in a process that can be killed.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_PROVE_CHILDPROVER_H
#define DIVISI_PROVE_CHILDPROVER_H

#include "divisi/Prove/Prover.h"

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace divisi::rewrite {

/// All that has to be proved for a rule to be proved.
using Obligations = std::vector<SymbolicRule>;

/// What came of it.
struct ProofResult {
  bool isProved = false;           ///< Each obligation, and there is one.
  std::vector<std::string> axioms; ///< That all proofs used, in order.
  /// By its number, each obligation that is proved, where not all are: those
  /// before the first that is not, or more.
  std::vector<size_t> proved;
  std::string open; ///< The first that is not proved, and why.
  /// The class of which it is proved where it is not of its own.
  std::optional<NumericClass> weaker;
  double seconds = 0; ///< How long it took.
};

/// How much a proof may take.
struct ProofLimits {
  unsigned work = kDefaultWork; ///< Of each obligation, in Z3's units.
  unsigned secondWork = 0;      ///< Of one that is not proved, again; 0: none.
  double seconds = 60;          ///< Of a rule, before its process is killed.
  size_t jobs = 1;              ///< Processes at once.
  /// Whether elements are followed before axioms are asked.
  bool byElements = false;
};

/// What a child process does.
struct ChildWork {
  std::function<void()> prepare;             ///< First of all.
  std::function<ProofResult(size_t)> answer; ///< A question, by its number.
};

/// Answers `count` questions in a process that begins as a copy of this one and
/// is killed after `seconds` for one, and begun again with the next; gives the
/// results to `done`, in order, in this process. The caller has no other
/// threads.
void answerInChild(size_t count, const ChildWork &work, double seconds,
                   const std::function<void(const ProofResult &)> &done);

/// Proves all of them.
ProofResult proveAll(Prover &prover, const Obligations &obligations);

/// Proves all of them by elements and those of `axioms` that are definitions.
ProofResult followAll(const std::vector<SymbolicRule> &axioms,
                      const Obligations &obligations);

/// The same; where they are not proved of the class that they claim, finds the
/// first of the classes behind it of which they are.
ProofResult followClass(const std::vector<SymbolicRule> &axioms,
                        const Obligations &obligations);

/// As many steps as there are.
inline constexpr size_t kAllSteps = std::numeric_limits<size_t>::max();

/// Which axioms the proof of a rule, by its number, may use within so many
/// steps from what stands in it; Z3 looks at none of the others. With more
/// steps there are more, from some number on as many.
using UsableAxioms =
    std::function<std::vector<SymbolicRule>(size_t number, size_t steps)>;

/// Proves each of `rules` by its elements and those of `axioms` that are
/// definitions, each in a process of its own, and gives the results to `done`,
/// in order. The caller has no other threads.
void followElementsInChildren(
    const std::vector<SymbolicRule> &axioms,
    const std::vector<Obligations> &rules, const ProofLimits &limits,
    const std::function<void(const ProofResult &)> &done);

/// Proves each of `rules` from those of `axioms` that `usable` says, if all of
/// them do not make all tensors equal, each in a process of its own, and gives
/// the results to `done`, in order. What few axioms don't prove is asked again
/// with more. A limit that is reached, or a process that
/// ends, is "not proved". The caller has no other threads.
void proveInChildren(const std::vector<SymbolicRule> &axioms,
                     const UsableAxioms &usable,
                     const std::vector<Obligations> &rules,
                     const ProofLimits &limits,
                     const std::function<void(const ProofResult &)> &done);

} // namespace divisi::rewrite

#endif // DIVISI_PROVE_CHILDPROVER_H
