//===- CopyCounter.h - What a program has to copy ---------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_COMPILER_COPYCOUNTER_H
#define DIVISI_TEST_COMPILER_COPYCOUNTER_H

#include "dialects/Exec/Exec.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringSet.h"

#include <map>
#include <set>
#include <vector>

namespace divisi {

/// Copies between memory spaces.
struct Counted {
  int64_t toDevice = 0, toHost = 0;
};

/// What a program that has been lowered, and no more, copies if the device has
/// kernels for some operators.
class CopyCounter {
public:
  CopyCounter(exec::ProgramOp program, const std::set<std::string> &ops);
  /// Those of all programs of an entry, the only one of the module that is no
  /// body, whose ranks meet in one space: that of the device where it
  /// `isReached`, all who give have it there, and all who take may. A global
  /// that is updated rests there if it is copied less often so.
  static std::vector<CopyCounter> ofEntry(mlir::ModuleOp module,
                                          llvm::StringRef entry,
                                          const std::set<std::string> &ops,
                                          bool isReached);

  /// Of `rank`, and the bytes that it moves, those of bodies once.
  std::pair<Counted, int64_t> run(int64_t rank) const;

  exec::ProgramOp program() const { return program_; }

private:
  /// By input, whether it lies on the device.
  using Places = std::vector<bool>;
  /// The names of globals.
  using States = std::set<std::string>;

  static std::vector<CopyCounter> ofEntry(mlir::ModuleOp module,
                                          llvm::StringRef entry,
                                          const std::set<std::string> &ops,
                                          bool isReached, const States &states);
  /// Of a global that is updated: those of steps, and those of others.
  using StateCounts = std::map<std::string, std::pair<Counted, Counted>>;
  void countStates(StateCounts &counts) const;
  bool isWantedByHost(mlir::Value buffer) const;
  mlir::Value madeFrom(mlir::Value buffer) const;

  bool isAtHand(mlir::Value root) const;
  bool worksThere(mlir::Operation *op) const;
  bool hasThere(mlir::OpOperand &use) const;
  bool isMadeThere(mlir::Value root) const;
  bool mayMoveThere(mlir::Operation *op) const;
  bool isWanted(mlir::Value buffer) const;
  Places wantedInputs(size_t count) const;
  void collectReaders(mlir::Value buffer,
                      std::vector<mlir::OpOperand *> &readers) const;

  exec::ProgramOp program_;
  const std::set<std::string> &ops_;
  Places inputs_; ///< Of a body.
  States states_; ///< Updated, and on the device.
  /// The programs of the bodies that it runs.
  std::map<std::string, std::vector<CopyCounter>> bodies_;
  /// Collectives, by tag, that are done there.
  std::set<uint64_t> there_;
  llvm::StringSet<> updated_;
  llvm::DenseMap<mlir::Value, mlir::Operation *> writerOf_;
};

} // namespace divisi

#endif // DIVISI_TEST_COMPILER_COPYCOUNTER_H
