//===- RuleRecord.h - Where rules were applied ------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A module notes what became of a user's rules in it, and what the stage
// Rewrite did, for reports.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_REWRITE_RULERECORD_H
#define DIVISI_REWRITE_RULERECORD_H

#include "divisi/Support/Status.h"

#include "mlir/IR/BuiltinOps.h"

#include <optional>
#include <string>
#include <vector>

namespace divisi::rewrite {

struct ProvedRule;

/// What became of one rule.
struct RuleRecord {
  std::string name;         ///< Of the rule.
  std::string file;         ///< That it is of; `Divisi` for what ships.
  std::string numericClass; ///< `reassociates`
  int64_t times = 0;        ///< How often it was applied.
  /// The nodes of the model whose results its target computes, each once.
  std::vector<std::string> nodes;
  /// `at /a/MatMul: 'w' is no weight`: why it was not applied where its source
  /// stands, of the first such place; empty if there is none.
  std::string declined;

  friend bool operator==(const RuleRecord &, const RuleRecord &) = default;
};

/// RuleRecord::file of a rule.
std::string fileOf(const ProvedRule &proved);

/// Notes `records` on `module`.
void setRuleRecords(mlir::ModuleOp module,
                    const std::vector<RuleRecord> &records);

/// What is noted on `module`. ExitCode::Invalid for a note that somebody has
/// broken.
Expected<std::vector<RuleRecord>> getRuleRecords(mlir::ModuleOp module);

/// What the stage Rewrite is predicted to save.
struct SavingRecord {
  int64_t devices = 1; ///< That times are of; several: each has its own plan.
  int64_t before = 0;  ///< Nanoseconds of a run of the program without it.
  int64_t after = 0;   ///< And of what it has made.

  friend bool operator==(const SavingRecord &, const SavingRecord &) = default;
};

/// Notes `record` on `module`.
void setSavingRecord(mlir::ModuleOp module, const SavingRecord &record);

/// What is noted on `module`, if anything; fails as getRuleRecords does.
Expected<std::optional<SavingRecord>> getSavingRecord(mlir::ModuleOp module);

/// A form of the program that --rewrite joint has found.
struct ProgramRecord {
  /// It is the cheapest where a device does one of so many even parts of the
  /// work; 0 for the program without rewriting.
  int64_t share = 0;
  std::optional<int64_t> nanoseconds; ///< Of a run, by its plan.
  /// That no plan of it takes less than, if its planner knows.
  std::optional<int64_t> lowerBound;
  bool isTaken = false;           ///< Its plan is the answer.
  std::string leftOut;            ///< Why it has no plan; else empty.
  std::vector<std::string> rules; ///< That were applied, each once.

  friend bool operator==(const ProgramRecord &,
                         const ProgramRecord &) = default;
};

/// Notes `records` on `module`, in place of what is noted there; none leave no
/// note.
void setProgramRecords(mlir::ModuleOp module,
                       const std::vector<ProgramRecord> &records);

/// What is noted on `module`; fails as getRuleRecords does.
Expected<std::vector<ProgramRecord>> getProgramRecords(mlir::ModuleOp module);

/// That no plan of any program with one takes less than; nothing if it is not
/// known of one of them.
std::optional<int64_t> boundOverAll(const std::vector<ProgramRecord> &records);

/// What of `after`, the records of a program, has been applied since it had
/// those of `before`.
std::vector<RuleRecord> appliedSince(const std::vector<RuleRecord> &before,
                                     std::vector<RuleRecord> after);

/// `applied 3 times: /a, /b, /c`, or why it was not.
std::string describe(const RuleRecord &record);

} // namespace divisi::rewrite

#endif // DIVISI_REWRITE_RULERECORD_H
