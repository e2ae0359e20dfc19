//===- Extract.h - Programs out of an acyclic e-graph -----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An e-graph holds many programs at once: a class is a value, each of its nodes
// a way to compute it from values of other classes. An extraction takes one
// node for each class that is needed: those of the roots, and those that taken
// nodes read. A node is paid for once, however many read it, so that the
// cheapest way to compute a class alone may not be the one to take:
//
//   root: {8: a}  or  {1: b, c}        a: {0}   b: {2: d}   c: {2: d}   d: {2}
//
// is 8 by a, and 1 + 2 + 2 + 2 by b and c, which share d.
//
// Extraction is NP-hard. A baseline goes once from the inputs to the roots. The
// exact way is an integer program, solved by HiGHS:
//
//   x(i) in {0, 1}    node i is taken        minimise the sum of cost(i) x(i)
//   y(c) in {0, 1}    class c is needed      y(root) = 1
//   sum of x(i) over the nodes i of c = y(c)
//   sum of x(i) over the nodes i of c that need d <= y(d), for each c and d
//
// where a node needs what it reads, and what all nodes of that need in turn.
// No row keeps it acyclic, since no class may read itself through others; with
// such rows the bounds of e-graphs of some thousand nodes are far apart.
//
// HiGHS computes in doubles. What it answers is completed and priced anew in
// integers; that nothing is cheaper is its claim, and no proof.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_OPTIMIZE_EXTRACT_H
#define DIVISI_OPTIMIZE_EXTRACT_H

#include "divisi/Support/Status.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace divisi::optimize {

/// A way to compute a class.
struct ExtractionNode {
  int64_t cost = 0;               ///< At least 0.
  std::vector<uint32_t> children; ///< The classes that it reads, each once.
};

/// An e-graph, in which no class reads itself through others.
struct ExtractionProblem {
  /// The nodes of each class; a class without any cannot be computed.
  std::vector<std::vector<ExtractionNode>> classes;
  std::vector<uint32_t> roots; ///< Classes that are needed.
};

/// A node for each class that is needed, and for no other.
struct Extraction {
  /// Per class the number of the node that is taken; nothing where the class
  /// is not needed.
  std::vector<std::optional<uint32_t>> choice;
  int64_t cost = 0; ///< Of all nodes that are taken.

  bool operator==(const Extraction &) const = default;
};

/// How far extracting may go: in work, so that it ends alike on each machine.
/// HiGHS looks at its iterations only now and then, and has gone over by some
/// 30,000 where classes share at random; a program of some thousand classes
/// with local alternatives takes 1,000 to 5,000 for its best extraction.
struct ExtractionLimits {
  size_t answers = 8;          ///< At most; at least one is given.
  double slack = 1.25;         ///< No answer costs more times the best.
  int64_t nodes = 2000;        ///< Of branch and bound, for all answers.
  int64_t iterations = 20'000; ///< Of the simplex method, for all answers.
};

/// What came of extracting.
struct Extracted {
  /// Different ones, cheapest first and, where as cheap, by `choice`. Where
  /// `isComplete`, nothing that is cheaper than the last of them is missing,
  /// nor, where there are fewer than `answers`, anything within the slack: so
  /// HiGHS claims.
  std::vector<Extraction> best;
  int64_t greedy = 0; ///< The cost of the baseline; the best costs no more.
  /// No extraction costs less: what all of them have to pay, or more, if HiGHS
  /// claims more. Its claim is lowered by its tolerances.
  int64_t bound = 0;
  bool isComplete = false; ///< No limit was met, and HiGHS did not fail.
  int64_t iterations = 0;  ///< Of the simplex method.
};

/// The baseline, extraction-gym's "faster greedy dag": goes through the classes
/// from the inputs to the roots, and takes for each the node that is cheapest
/// together with all that was taken below it. `problem` is one that `extract`
/// accepts; of another, nothing is taken.
Extraction extractGreedily(const ExtractionProblem &problem);

/// The cheapest extractions. Fails (Invalid) if a number is no class, a node
/// reads a class twice, a cost is negative, all costs together are more than
/// int64_t holds, classes read each other in a circle, or a root cannot be
/// computed.
Expected<Extracted> extract(const ExtractionProblem &problem,
                            const ExtractionLimits &limits = {});

} // namespace divisi::optimize

#endif // DIVISI_OPTIMIZE_EXTRACT_H
