//===- Dataflow.h - What a program computes, as hashes ----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Value numbering over the functions of an entry: equal hashes mean the same
// expression of arguments and globals, of the same types. Collectives, local
// steps and transfers are the identity; a transfer that only arrives has the
// hash of the one that leaves, which another function holds under the same tag.
//
// A tensor that becomes a matrix, is joined with others of as many rows, and is
// taken out again, is the tensor that it was:
//
//   %a : 4x3, %b : 2x5                    parts
//   %1 = nn.reshape %a : 2x6              %a
//   %2 = nn.concat %1, %b : 2x11          %a, %b
//   %3 = nn.slice %2 [0:2, 0:6] : 2x6     %a
//   %4 = nn.reshape %3 : 4x3              %a, whose hash it has
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_VERIFY_DATAFLOW_H
#define DIVISI_LIB_VERIFY_DATAFLOW_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace divisi::verify {

/// What of a program a hash stands for.
struct Computed {
  std::string what; ///< `result 0`, as messages say it.
  uint64_t hash;    ///< Of an expression.
};

/// See the file's head.
class DataflowHashes {
public:
  /// Hashes all functions of one entry. Reports a transfer that arrives and
  /// never leaves.
  mlir::LogicalResult run(llvm::ArrayRef<mlir::func::FuncOp> parts);

  /// The hash of what `value` is; 0 of a value that run() has not met.
  uint64_t of(mlir::Value value) const { return hashes_.lookup(value); }

  /// One hash a result of the entry, then one an update, then one of what
  /// callers see: names and types of arguments and results. Reports functions
  /// that say different things of the same result or argument.
  mlir::FailureOr<std::vector<Computed>> computed() const;

  /// The hash of the value that each global has been updated to, in program
  /// order, by its name.
  mlir::FailureOr<std::map<std::pair<std::string, unsigned>, uint64_t>>
  updates() const;

private:
  /// What callers see of the entry.
  mlir::FailureOr<std::string> signature() const;
  /// Hashes operations of `part` from `next` on until one waits for a transfer;
  /// moves `next` there.
  void advance(mlir::func::FuncOp part, mlir::Block::iterator &next);
  bool visit(mlir::Operation &op);
  void visitOperator(mlir::Operation &op);

  /// A tensor all of whose elements are in another.
  struct Part {
    uint64_t hash;
    mlir::RankedTensorType type; ///< Global.
  };
  /// One part: its elements in row-major order. Several: matrices side by side.
  using Parts = llvm::SmallVector<Part, 1>;
  Parts partsOf(mlir::Value value) const;
  /// What the result of `op` is made of; empty if that is no whole tensors.
  Parts partsOfResult(mlir::Operation &op) const;

  std::vector<mlir::func::FuncOp> parts_;
  llvm::DenseMap<mlir::Value, uint64_t> hashes_; // looked up only
  std::map<uint64_t, Parts> madeOf_;             // if not of itself alone
  std::map<uint64_t, uint64_t> transferred_;     // by tag
};

/// All that `spmd.computes` says of an entry of `module` that `hashes` knows:
/// what it computes, and one hash of what the entries share: which there are,
/// and the globals' kinds, types and first values, for which @init is read. The
/// places of bytes in files are not among it: texts of modules note these.
mlir::FailureOr<std::vector<Computed>> computedIn(mlir::ModuleOp module,
                                                  const DataflowHashes &hashes);

/// The name of the entry that `part` is a part of, or is.
llvm::StringRef entryOf(mlir::func::FuncOp part);

/// The index of an argument or result in its entry's signature: as
/// `attributes` say, or `position` before ranks are split.
unsigned signatureIndex(mlir::DictionaryAttr attributes, unsigned position);

} // namespace divisi::verify

#endif // DIVISI_LIB_VERIFY_DATAFLOW_H
