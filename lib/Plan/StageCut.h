//===- StageCut.h - Which nodes are on which stage --------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operators of one node of the model are on one stage. Nodes are cut in the
// order of the program, where the slowest stage is as fast as it can be and
// little crosses (Stages/StagePlanner.h).
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PLAN_STAGECUT_H
#define DIVISI_LIB_PLAN_STAGECUT_H

#include "dialects/SPMD/SPMD.h"
#include "divisi/Cluster/Cluster.h"
#include "divisi/Support/Status.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

#include <vector>

namespace divisi::plan {

/// Stages whose devices are of one kind.
struct StageKind {
  spmd::GridOp grid; ///< Of such devices, as the plan's; it names a pace.
  int64_t count = 0; ///< How many stages there are of it.
};

/// Cuts the nodes of planned entries. One use.
class StageCut {
public:
  /// Of a plan for `cluster`, which the caller keeps, into `chunks`, each of
  /// which a stage runs. With several kinds of stages there is a chunk for each
  /// stage.
  StageCut(const Cluster &cluster, int64_t chunks, std::vector<StageKind> kinds)
      : cluster_(cluster), chunks_(chunks), kinds_(std::move(kinds)) {}

  /// Cuts the nodes of all `entries`. ExitCode::Usage if they have too few.
  Status run(llvm::ArrayRef<mlir::func::FuncOp> entries);
  /// Per chunk, of which kind its stage is.
  llvm::ArrayRef<size_t> kindOfChunk() const { return kindOfChunk_; }
  /// The chunk of an operator that belongs to a node.
  std::optional<int64_t> chunkOf(mlir::Operation *op) const;

private:
  /// Operators of one node, in the order of the program.
  struct Node {
    /// Of all of them, per kind of stages.
    llvm::SmallVector<int64_t, 1> nanoseconds;
    int64_t crossing = 0; ///< Bytes that are made up to it and used behind it.
    int64_t values = 0;   ///< Of how many values.
  };

  void findNodes(mlir::func::FuncOp entry);
  void priceNodes(mlir::func::FuncOp entry);
  void addCrossing(mlir::func::FuncOp entry);
  std::vector<size_t> findLayers() const;
  Status cut();
  bool cutAsAnnotated(llvm::ArrayRef<mlir::func::FuncOp> entries);

  const Cluster &cluster_;
  int64_t chunks_;
  std::vector<StageKind> kinds_;
  std::vector<Node> nodes_;
  llvm::StringMap<size_t> nodeOf_; ///< By name.
  llvm::DenseMap<mlir::Operation *, size_t> nodeOfOp_;
  std::vector<int64_t> chunkOfNode_;
  std::vector<size_t> kindOfChunk_;
};

} // namespace divisi::plan

#endif // DIVISI_LIB_PLAN_STAGECUT_H
