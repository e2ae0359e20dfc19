//===- Binding.h - Values of names at a match -------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_REWRITE_BINDING_H
#define DIVISI_LIB_REWRITE_BINDING_H

#include "divisi/Rules/Instance.h"
#include "divisi/Rules/ProofRecord.h"
#include "divisi/Support/Status.h"
#include "lib/Rewrite/SourceMatch.h"

#include <vector>

namespace divisi::rewrite {

/// What the names of a rule are at a match.
struct Binding {
  Assignment assignment;             ///< Of sizes, shapes, integers and reals.
  TypeChoice types;                  ///< Of the words for elements.
  std::vector<TensorForm> variables; ///< In the order of the rule.
  CallGraph source;                  ///< With these it is what was matched.
};

/// The binding at which the source of the rule is `match`, operator by operator
/// with all types and attributes, and its conditions hold, among the ranks at
/// which it is proved. `proved` has no choice of operators. Fails with Invalid,
/// and why, if there is none.
Expected<Binding> bindNames(const ProvedRule &proved, const SourceMatch &match,
                            Instantiator &instantiator);

} // namespace divisi::rewrite

#endif // DIVISI_LIB_REWRITE_BINDING_H
