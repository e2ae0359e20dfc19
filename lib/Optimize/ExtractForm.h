//===- ExtractForm.h - What extractions may take ----------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A problem of extraction is checked and put in order: what cannot be computed
// and what no root reaches is left out, and it is seen what every extraction
// needs, and which nodes the cheapest one can do without.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_OPTIMIZE_EXTRACTFORM_H
#define DIVISI_LIB_OPTIMIZE_EXTRACTFORM_H

#include "divisi/Optimize/Extract.h"

#include "llvm/ADT/BitVector.h"

namespace divisi::optimize {

/// What is known of a problem before it is solved.
struct ExtractionForm {
  /// Of each class, the nodes that may be taken, ascending; none where it
  /// cannot be computed, or no root reaches it.
  std::vector<std::vector<uint32_t>> nodes;
  std::vector<uint32_t> order; ///< Classes with such nodes, children first.
  std::vector<char> isForced;  ///< Per class: whether all extractions need it.
  /// As `nodes`: whether another node can stand in its place in any extraction,
  /// which then costs no more. One that cannot is left in each class.
  std::vector<std::vector<char>> isDominated;
  /// Per class what is needed wherever it is, whatever is taken; itself, too.
  std::vector<llvm::BitVector> needed;
  int64_t forcedCost = 0; ///< What all extractions pay at least.
};

/// Checks a problem, and orders its classes. Forced are the roots alone, and
/// nothing is dominated.
Expected<ExtractionForm> orderClasses(const ExtractionProblem &problem);

/// Finds what is needed, forced and dominated, in memory of the square of the
/// classes in bits.
void findForced(const ExtractionProblem &problem, ExtractionForm &form);

/// What is needed wherever a node is taken: its children, and what they need.
llvm::BitVector needsOf(const ExtractionForm &form, const ExtractionNode &node);

/// What the cheapest node of a class that can be computed costs.
int64_t leastCost(const ExtractionProblem &problem, const ExtractionForm &form,
                  uint32_t c);

} // namespace divisi::optimize

#endif // DIVISI_LIB_OPTIMIZE_EXTRACTFORM_H
