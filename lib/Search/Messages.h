//===- Messages.h - Message passing with a lower bound ----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sequential tree-reweighted message passing (V. Kolmogorov, "Convergent
// Tree-Reweighted Message Passing for Energy Minimization", PAMI 2006). A pass
// visits the variables in order and sends from each to those that follow; on
// the way every variable takes the state that is best given those before it
// and what the others have said.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_SEARCH_MESSAGES_H
#define DIVISI_LIB_SEARCH_MESSAGES_H

#include "Model.h"

namespace divisi::search {

class Messages {
public:
  explicit Messages(const Model &model);

  /// One pass in ascending order; returns the assignment taken on the way.
  Assignment forward();
  /// One pass in descending order. `bound` is a lower bound of the priced cost
  /// of every assignment, up to rounding.
  Assignment backward(double &bound);

private:
  void visit(uint32_t v, bool ascending, Assignment &taken);
  uint32_t best(uint32_t v, bool ascending, const Assignment &taken) const;
  std::vector<double> &message(const Incidence &to) {
    return messages_[2 * to.link + (to.first ? 0 : 1)];
  }
  const std::vector<double> &message(const Incidence &to) const {
    return messages_[2 * to.link + (to.first ? 0 : 1)];
  }

  const Model *model_;
  /// Per link what arrives at its u, and what arrives at its v.
  std::vector<std::vector<double>> messages_;
  std::vector<double> weight_; ///< Per variable: 1 / max(before, after).
  double bound_ = 0;
  std::vector<double> belief_; ///< Of the variable being visited.
};

} // namespace divisi::search

#endif // DIVISI_LIB_SEARCH_MESSAGES_H
