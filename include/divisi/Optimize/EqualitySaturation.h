//===- EqualitySaturation.h - All that rules reach, at once -----*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rules are applied to an e-graph, which keeps what was and what comes of it;
// then the cheapest programs are extracted (Extract.h). So the order of rules
// does not matter, and many places where one may be applied make no more
// programs than one. Extraction adds up prices of operators, of which each
// knows whether it may be fused into something; what is extracted is then
// priced as a program (ProgramPrice.h).
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_OPTIMIZE_EQUALITYSATURATION_H
#define DIVISI_OPTIMIZE_EQUALITYSATURATION_H

#include "divisi/Optimize/BestFirst.h"
#include "divisi/Optimize/Extract.h"

namespace divisi::optimize {

/// What a saturation may do.
struct SaturationLimits {
  int rounds = 6;              ///< Of applying all rules.
  size_t nodes = 1200;         ///< Of the e-graph.
  size_t matches = 100;        ///< Of a rule in one round, before it pauses.
  size_t merged = 64;          ///< Operators that are made one.
  ExtractionLimits extraction; ///< Of each extraction.
};

/// Searches from sources of one context, which are modules of one function.
class EqualitySaturation {
public:
  /// With these rules, which are those of `sites`, on a device of that kind.
  EqualitySaturation(mlir::MLIRContext *context, rewrite::SiteFinder &sites,
                     const std::vector<rewrite::ProvedRule> &rules,
                     const DeviceKind &kind, SaturationLimits limits);
  ~EqualitySaturation();

  /// Of `source`, which stays as it is. Counts extracted programs. Fails where
  /// a program breaks a rule of its operators, which no proved rule does.
  Expected<SearchResult> run(mlir::ModuleOp source);

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace divisi::optimize

#endif // DIVISI_OPTIMIZE_EQUALITYSATURATION_H
