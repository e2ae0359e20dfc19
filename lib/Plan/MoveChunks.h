//===- MoveChunks.h - Operators on the grids of their chunks ----*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parts of a program, its chunks, have grids of their own: a chunk takes its
// strategies from the plan for so many devices, with its grid in place of that
// plan's.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PLAN_MOVECHUNKS_H
#define DIVISI_LIB_PLAN_MOVECHUNKS_H

#include "SizedPlans.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>

namespace divisi::plan {

/// The chunk of an operator that belongs to a node.
using ChunkOfNode =
    llvm::function_ref<std::optional<int64_t>(mlir::Operation *)>;

/// Gives all operators of `entry` and of the bodies that it runs a chunk, and
/// these bodies that of the loop. Operators of no node, which make new values
/// of globals, are where their first user is, or the last operand.
void spreadChunks(mlir::func::FuncOp entry, ChunkOfNode chunkOfNode,
                  llvm::DenseMap<mlir::Operation *, int64_t> &chunks);

/// Where a chunk is.
struct ChunkPlace {
  size_t plan = 0;              ///< Of SizedPlans.
  mlir::FlatSymbolRefAttr grid; ///< Of the module.
};

/// Moves the operators of a module to the grids of their chunks. One use.
class ChunkMover {
public:
  /// By `plans` of `module`, which the caller keeps; `places` per chunk.
  ChunkMover(mlir::ModuleOp module, const SizedPlans &plans,
             std::vector<ChunkPlace> places)
      : module_(module), plans_(plans), places_(std::move(places)) {}

  /// Moves all that `entries` run, and globals. What belongs to no node is
  /// where it is used first.
  void run(llvm::ArrayRef<mlir::func::FuncOp> entries, ChunkOfNode chunkOfNode);
  /// The chunks of all operators of entries and their bodies.
  const llvm::DenseMap<mlir::Operation *, int64_t> &chunks() const {
    return chunkOf_;
  }

private:
  void move(mlir::func::FuncOp entry);
  void moveBodies(mlir::func::FuncOp entry);
  void moveGlobals(llvm::ArrayRef<mlir::func::FuncOp> entries);
  void bringGlobals(mlir::func::FuncOp entry);
  mlir::Attribute onChunk(mlir::Attribute attribute, int64_t chunk);
  mlir::Attribute splitOn(int64_t chunk, mlir::Operation *op);
  size_t planOf(int64_t chunk) const { return places_[size_t(chunk)].plan; }
  template <typename Op> Op twinOn(int64_t chunk, Op op) const {
    return plans_.twin(planOf(chunk), op);
  }

  mlir::ModuleOp module_;
  const SizedPlans &plans_;
  std::vector<ChunkPlace> places_;
  llvm::DenseMap<mlir::Operation *, int64_t> chunkOf_;
};

} // namespace divisi::plan

#endif // DIVISI_LIB_PLAN_MOVECHUNKS_H
