//===- PlanMeter.h - What is known of plans that are lowered ----*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What devices hold under a plan, and what it takes, is known when a copy has
// been partitioned, scheduled and lowered. The same plan is asked about several
// times: whether it fits, what it takes with overlap, what a run of it needs.
// Each of these goes on from what the one before has made.
//
//   planned --partition--> parts --lower------------> memory in order
//                            |
//                            +-----schedule--> overlapped --lower--> memory
//                                                   |
//                                                   +---> time
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_COMPILER_PLANMETER_H
#define DIVISI_LIB_COMPILER_PLANMETER_H

#include "divisi/Compiler/Compilation.h"
#include "divisi/Plan/FewBatches.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace divisi {

/// Measures plans, of all copies of one compilation. Keeps what it has found,
/// and of the last plan the modules, too.
class Compilation::PlanMeter {
public:
  /// What devices hold; nothing where that is not known.
  using Memory = std::optional<std::vector<DeviceMemory>>;

  /// What devices hold under the plan of `planned`, the fullest of each kind;
  /// nothing if it cannot be lowered, or a person ends this, or has ended
  /// another measurement.
  Memory memory(Compilation &of, mlir::ModuleOp planned, bool overlap);
  /// What a run of it takes, in nanoseconds; nothing if that is not known, or
  /// as above.
  std::optional<int64_t> time(Compilation &of, mlir::ModuleOp planned);
  /// Keeps what is known, and no module, until another plan is asked about.
  void forgetModules();

private:
  using Owned = mlir::OwningOpRef<mlir::ModuleOp>;

  /// What has been found of a plan.
  struct Found {
    Memory inOrder, overlapped; ///< Per device.
    std::optional<int64_t> nanoseconds;
  };

  /// One plan. For the length of a question.
  struct Question {
    Compilation &of;
    mlir::ModuleOp planned;
    std::string key;
    std::optional<FewBatches> few;
    Found &found;
    /// A person had ended the search before: what is kept is measured.
    bool isOver = false;
  };

  Question ask(Compilation &of, mlir::ModuleOp planned);
  llvm::LogicalResult
  runQuietly(const Question &about, mlir::ModuleOp module,
             llvm::function_ref<void(mlir::OpPassManager &)> addPasses);
  static bool isKept(const Question &about, int64_t batches);
  Owned parts(const Question &about, int64_t batches);
  std::optional<int64_t> room(const Question &about);
  Owned overlapped(const Question &about, int64_t batches,
                   std::optional<int64_t> ahead = std::nullopt);
  Memory lowered(const Question &about, Owned module);
  Memory ofBatches(const Question &about, bool overlap, int64_t batches);
  const Memory &ofDevices(const Question &about, bool overlap);

  std::map<std::string, Found> found_; ///< By plan.
  std::string last_;                   ///< The plan that the others are of.
  Owned parts_;        ///< Of as many micro-batches as are written out at most.
  Owned overlapped_;   ///< The same, scheduled.
  bool isCut_ = false; ///< A person ended a measurement: there are no others.
};

} // namespace divisi

#endif // DIVISI_LIB_COMPILER_PLANMETER_H
