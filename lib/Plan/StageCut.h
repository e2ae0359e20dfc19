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

#include "SizedPlans.h"
#include "divisi/Cluster/Cluster.h"
#include "divisi/Stages/BranchPlanner.h"
#include "divisi/Stages/StagePlanner.h"
#include "divisi/Support/Status.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"

#include <set>
#include <vector>

namespace divisi::plan {

/// Stages whose devices are of one kind, and have one plan.
struct StageKind {
  size_t plan = 0;     ///< Of the plans.
  size_t pool = 0;     ///< Whence it takes devices.
  int64_t begin = 0;   ///< One of these, which says of what kind they are.
  int64_t devices = 1; ///< How many it takes.
  /// It has no plan: its devices share all operators evenly, and send nothing.
  bool isBound = false;
};

/// The stages that there may be.
struct StageKinds {
  std::vector<StageKind> kinds; ///< No two of one pool take the same devices.
  std::vector<int64_t> pools;   ///< What each has.
  /// Per chunk, what it takes; empty: what is best, or what all take.
  std::vector<int64_t> sizes;
  bool isSized = false; ///< Whether not all take the same.
  /// Fewer chunks than are asked for are as good, down to so many, if given;
  /// but for these numbers.
  std::optional<int64_t> leastChunks;
  std::vector<size_t> leftOut;
  /// Bytes that a device may hold, if given; asked of stages of several sizes.
  std::optional<int64_t> memoryLimit;
};

/// ExitCode::Usage: so many nodes are too few for `chunks`.
Status fewNodes(size_t chunks, size_t nodes);

/// What users call.
llvm::SmallVector<mlir::func::FuncOp> entriesOf(mlir::ModuleOp module);

/// Cuts the nodes of planned entries. One use.
class StageCut {
public:
  /// Of `plans` for `cluster`, which the caller keeps, into `chunks`, each of
  /// which a stage runs. With several pools there is a chunk for each stage.
  StageCut(const Cluster &cluster, const SizedPlans &plans, int64_t chunks,
           StageKinds kinds)
      : cluster_(cluster), plans_(plans), chunks_(chunks),
        kinds_(std::move(kinds)) {}

  /// Cuts the nodes of all entries of `module`, which stays as it is.
  /// ExitCode::Usage if they have too few, or the pools too few devices.
  Status run(mlir::ModuleOp module);
  /// Per chunk, of which kind its stage is.
  llvm::ArrayRef<size_t> kindOfChunk() const { return kindOfChunk_; }
  /// In place of run(): the nodes as what may run beside each other on parts of
  /// the devices, of which there is one pool (BranchNodes.cpp). A kind is a
  /// size.
  BranchProblem branches(mlir::ModuleOp module);
  /// The nodes of branches() alone, without what they take.
  void findBranchNodes(mlir::ModuleOp module);
  /// Per node of these, others that what results are made of reads from.
  std::vector<std::set<size_t>> readsOfNodes(mlir::ModuleOp module) const;
  /// Gives each node of these the chunk that `chunks` has for it.
  void assign(std::vector<int64_t> chunks) { chunkOfNode_ = std::move(chunks); }
  /// The chunk of an operator that belongs to a node.
  std::optional<int64_t> chunkOf(mlir::Operation *op) const;
  /// What a call takes on all stages, one after the other. Known of stages of
  /// several sizes.
  int64_t nanoseconds() const { return nanoseconds_; }
  /// Whether there was a cut; of which there is none if all numbers of chunks
  /// are left out.
  bool hasCut() const { return !kindOfChunk_.empty(); }

private:
  /// What operators of a node cost on stages of a kind. Of stages of one size,
  /// time alone is asked for, of all micro-batches.
  struct NodeCost {
    int64_t nanoseconds = 0; ///< Of a micro-batch.
    int64_t once = 0;        ///< Per call.
    int64_t bytes = 0;       ///< Of globals on the fullest device.
    int64_t bytesKept = 0;   ///< Of a micro-batch, until it comes back.

    NodeCost &operator+=(const NodeCost &other);
  };
  /// Operators of one node, in the order of the program.
  struct Node {
    llvm::SmallVector<NodeCost, 1> costs; ///< Per kind of stages.
    int64_t crossing = 0; ///< Bytes that are made up to it and used behind it.
    int64_t values = 0;   ///< Of how many values.
  };

  void price(mlir::ModuleOp module);
  void findNodes(mlir::func::FuncOp entry);
  void joinLoops(mlir::ModuleOp module);
  std::optional<size_t> nodeOf(mlir::Operation *op) const;
  void priceNodes(mlir::func::FuncOp entry);
  // Of stages of several sizes (StageCosts.cpp).
  void addTime(mlir::Operation *op, int64_t nanoseconds, NodeCost &cost);
  std::optional<size_t> nodeNear(mlir::Operation *op) const;
  void addWays(llvm::ArrayRef<mlir::func::FuncOp> entries);
  void addMemory(mlir::func::FuncOp entry);
  void addKept(mlir::Operation *op, size_t node);
  void addGlobal(nn::GlobalOp global, size_t node);
  void addCrossing(mlir::func::FuncOp entry);
  std::vector<size_t> findLayers() const;
  std::vector<std::vector<NodeCost>>
  costsUpTo(llvm::ArrayRef<size_t> ends) const;
  size_t kindOf(const SubGrid &subGrid) const;
  StageProblem problemOf(std::vector<size_t> ends) const;
  Status cut();
  bool cutAsAnnotated(llvm::ArrayRef<mlir::func::FuncOp> entries);
  void countTime();

  const Cluster &cluster_;
  const SizedPlans &plans_;
  int64_t chunks_;
  StageKinds kinds_;
  /// Per kind, while nodes are priced: on such devices; it names a pace.
  std::vector<spmd::GridOp> grids_;
  int64_t microBatches_ = 1;
  std::vector<Node> nodes_;
  llvm::StringMap<size_t> nodeOf_; ///< By name.
  llvm::DenseMap<mlir::Operation *, size_t> nodeOfOp_;
  llvm::DenseSet<mlir::Operation *> forward_; ///< What results are made of.
  llvm::DenseSet<mlir::Operation *> counted_; ///< Globals.
  std::vector<int64_t> chunkOfNode_;
  std::vector<size_t> kindOfChunk_;
  int64_t nanoseconds_ = 0;
};

} // namespace divisi::plan

#endif // DIVISI_LIB_PLAN_STAGECUT_H
