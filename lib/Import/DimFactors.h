//===- DimFactors.h - Which factors each dim is made of ---------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A reshape says that a dim of extent 64 is 8 heads of 8 elements. Operators
// pass that on: a loop ties the dims that it runs over, in all operands and
// results, and what is a product for one of them is a product for all.
//
//   %w: [64, 192]    %y = matmul %x, %w "mk,kn->mn": [128, 192]
//   %q = slice %y [.., 0:64]     %h = reshape %q: [8, 16, 64] → [8, 16, 8, 8]
//
// The last dim of %q is (8 8), so that of %y is (3 8 8), so the loop n and with
// it the last dim of %w are (3 8 8) as well.
//
// Dims that are tied form a class. A class has cuts: the strides at which its
// dims fall into factors, {8, 64} for (3 8 8) of 192. The cuts of a class
// divide one another. Demands are spread until nothing changes; one that would
// break a class, or that reaches a dim which no operator can take apart (a
// window, the rows of a table, softmax's own axis), is dropped, and a reshape
// stays where the two disagree.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_IMPORT_DIMFACTORS_H
#define DIVISI_LIB_IMPORT_DIMFACTORS_H

#include "dialects/NN/NN.h"

#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <set>
#include <vector>

namespace divisi {

/// Whether nobody has said where `op` runs, or how what it touches lies.
bool isPlain(mlir::Operation *op);

class DimFactors {
public:
  /// For all functions of `module`, which share its globals. No value gets
  /// more dims than kernels take.
  explicit DimFactors(mlir::ModuleOp module);

  /// The factors of one dim, major first; the extent alone if it has none.
  llvm::SmallVector<int64_t> of(mlir::Value value, unsigned dim) const;
  /// The factors of all dims, one after the other.
  llvm::SmallVector<int64_t> shapeOf(mlir::Value value) const;
  llvm::SmallVector<int64_t> shapeOf(nn::GlobalOp global) const;
  /// Whether any dim has more than one factor.
  bool isRefined(mlir::Value value) const;

private:
  using Node = unsigned;

  /// Dims that are tied; read at the root of each set.
  struct Class {
    int64_t extent = 1;
    bool isPinned = false;
    std::set<int64_t> cuts; ///< Strides, each dividing the next.
  };
  /// Dims with the same elements in the same order: the two sides of a part of
  /// a reshape. `low` is the stride of each in the flat index.
  struct Group {
    struct Member {
      Node node;
      int64_t low, extent;
    };
    std::vector<Member> members;
  };
  /// Pieces of a whole dim, all multiples of `unit` long and far in: they
  /// share the factors below it.
  struct Pieces {
    Node whole;
    std::vector<Node> parts;
    int64_t unit = 0;
    bool areUnits = true; ///< Each piece is one unit long.
  };

  Node addNode(int64_t extent);
  Node find(Node node) const;
  void tie(Node a, Node b);
  void pin(Node node) { classes_[find(node)].isPinned = true; }
  Node nodeOf(mlir::Value value, unsigned dim) const;
  void addValue(mlir::Value value);
  void pinAll(mlir::Operation *op);

  void addModule(mlir::ModuleOp module);
  void visit(mlir::Operation *op);
  void visitReshape(nn::ReshapeOp op);
  void visitSlice(nn::SliceOp op);
  void visitConcat(nn::ConcatOp op);
  void visitGlobal(llvm::StringRef name, mlir::Value value);
  void visitLoops(nn::LoopInterface op);
  void visitMap(const DimMap &map, const LoopNest &nest,
                llvm::ArrayRef<Node> loops, Node node);

  bool cut(Node node, int64_t stride);
  void spreadAll();
  /// Pins the values that have become too large; whether there are any.
  bool pinLarge();
  bool spread(const Group &group);
  bool spread(const Pieces &pieces);
  llvm::SmallVector<int64_t> factorsOf(Node node) const;

  std::vector<Node> parent_;
  std::vector<Class> classes_;
  llvm::DenseMap<mlir::Value, Node> first_;
  std::vector<mlir::Value> values_; ///< In the order of the program.
  std::map<std::string, Node> globals_;
  std::vector<Group> groups_;
  /// Slices are gathered per dim of the value that they cut.
  std::map<Node, Pieces> slices_;
  std::vector<Pieces> concats_;
};

} // namespace divisi

#endif // DIVISI_LIB_IMPORT_DIMFACTORS_H
