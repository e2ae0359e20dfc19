//===- Why.h - Why an operator is split as it is ----------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Resolves a name of the table, and lists the planner's alternatives for it,
// with their costs.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_REPORT_WHY_H
#define DIVISI_REPORT_WHY_H

#include "divisi/Plan/Alternatives.h"
#include "divisi/Report/Report.h"

namespace divisi {

/// An operator or collective of the table, or a tensor, and what it could have
/// been.
struct WhyItem {
  std::string heading; ///< Of the table; the kind, of a tensor.
  size_t alike = 1;    ///< How many of that group the name means.
  ReportRow row;       ///< The first of these; unused for a tensor.
  ReportTensor tensor; ///< Unused for a row: has no name then.
  /// The rules that led to the row, in their order.
  std::vector<rewrite::RuleRecord> rules;
  /// Cheapest first; empty of a collective, which follows from the layouts on
  /// either side, and if nothing is known.
  std::vector<Alternative> alternatives;
};

/// The answer to one name.
struct WhyAnswer {
  std::string name;           ///< As it was asked for.
  std::vector<WhyItem> items; ///< What takes most time first.
  size_t leftOut = 0;         ///< So many more are meant.
  /// Why no alternatives are known; empty if they are.
  std::string unknown;
};

/// What `name` means in `report`: a heading of the table (also with *), an
/// operator, a node, a tensor; else the only one of these that contains it.
/// ExitCode::Usage lists candidates. `planned` is the module after the stage
/// Plan, null if there is none; alternatives are read off it.
Expected<WhyAnswer> answerWhy(const Report &report, llvm::StringRef name,
                              mlir::ModuleOp planned, const Cluster &cluster);

/// For people.
void printWhy(const WhyAnswer &answer, llvm::raw_ostream &os);
/// The same as JSON, and every alternative.
llvm::json::Value toJSON(const WhyAnswer &answer);

} // namespace divisi

#endif // DIVISI_REPORT_WHY_H
