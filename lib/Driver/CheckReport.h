//===- CheckReport.h - What check says of outputs ---------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_DRIVER_CHECKREPORT_H
#define DIVISI_LIB_DRIVER_CHECKREPORT_H

#include "ErrorAgainst.h"
#include "divisi/Compiler/CompareTensors.h"
#include "divisi/Rewrite/RuleRecord.h"
#include "divisi/runtime/core/Session.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace divisi {

/// One output and how it compares.
struct CheckedOutput {
  rt::ValueInfo value;   ///< Its name, type and shape.
  Comparison comparison; ///< With what is expected.
  /// With --against, it is this that decides.
  std::optional<ErrorAgainst> against = {};

  /// Whether it is right.
  bool isEqual() const {
    return against ? against->isAllowed() : comparison.equal;
  }
};

/// What was run and compared.
struct CheckedRun {
  std::string name;                   ///< `mlp.divisi`, `the plan found`
  std::vector<CheckedOutput> outputs; ///< In the order of the entry's.
  /// Of a rewritten program: the rules by which it was.
  std::optional<std::vector<rewrite::RuleRecord>> rules = {};

  /// Whether all outputs are right.
  bool isEqual() const;
};

/// A line for the run, one for each rule, and one for every output: type and
/// shape, the largest error, what is allowed there, and where it is.
void printRun(const CheckedRun &run, llvm::raw_ostream &os);

/// The same as JSON.
llvm::json::Value toJSON(const CheckedRun &run);

/// Success, or ExitCode::Differs with the outputs that do.
Status toStatus(const CheckedRun &run);

} // namespace divisi

#endif // DIVISI_LIB_DRIVER_CHECKREPORT_H
