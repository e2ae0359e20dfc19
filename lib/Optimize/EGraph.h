//===- EGraph.h - Many programs that compute the same -----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An e-graph (M. Willsey et al., "egg: Fast and Extensible Equality
// Saturation", POPL 2021) whose nodes are operators of one function: a class is
// a set of values that compute the same, of which one stands for all, and nodes
// read these. So rules are matched as in a program. The order of its operators
// means nothing; no verifier sees it.
//
// It has no cycles: where a class becomes equal to one that it is made of, what
// makes it from that is no longer one of its nodes. No program that is taken
// from a class would use them.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_OPTIMIZE_EGRAPH_H
#define DIVISI_LIB_OPTIMIZE_EGRAPH_H

#include "dialects/NN/Known.h"
#include "divisi/Rewrite/Sites.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace divisi::optimize {

/// What a node comes from.
struct Origin {
  size_t rule = 0;                       ///< That made it.
  std::vector<mlir::Location> results;   ///< Of the rule's source.
  std::vector<mlir::Operation *> source; ///< Nodes that the rule matched.
};

/// An e-graph of one function.
class EGraph : public rewrite::Definitions, public nn::KnownValues {
public:
  /// Of the function of `module`, which it changes from now on. Operands of
  /// `commutative` operators have no order.
  EGraph(mlir::ModuleOp module, const nn::KnownValues &known,
         const std::set<std::string> &commutative);

  /// The value that stands for its class.
  mlir::Value classOf(mlir::Value value) const;
  /// The nodes of a class.
  llvm::ArrayRef<mlir::Operation *> nodesOf(mlir::Value value) const;
  /// Nodes that belong to some class, in the order in which they came.
  size_t countNodes() const { return alive_.size(); }
  /// Of the class among all that there have been.
  unsigned numberOf(mlir::Value value) const {
    return classes_.find(classOf(value))->second.number;
  }
  /// The results of the function.
  llvm::ArrayRef<mlir::Value> roots() const { return roots_; }
  /// Nodes of that name that belong to some class.
  std::vector<mlir::Operation *> named(llvm::StringRef name) const;
  /// What the node comes from; null for one of the source.
  const Origin *originOf(mlir::Operation *node) const;

  /// Visits the rules by which two values of a class compute the same, each
  /// where it was applied.
  void explain(mlir::Value a, mlir::Value b,
               llvm::function_ref<void(const Origin &)> visit) const;
  /// What a node read when it was made: values of the classes that it reads.
  llvm::ArrayRef<mlir::Value> operandsOf(mlir::Operation *node) const {
    return operands_.find(node)->second;
  }
  /// The arguments of the function.
  mlir::ValueRange arguments() const { return body_.getArguments(); }

  /// Makes nodes of operators that were built at end(), each after what it
  /// reads, and says that results compute the same as those of the source, of
  /// which there are as many; whether that is new. Operators that are there
  /// already are erased.
  bool addTarget(rewrite::BuiltTarget built, const Origin &origin,
                 mlir::ValueRange source);
  /// Where operators are built.
  mlir::OpBuilder end();
  /// Makes nodes that read equal classes one. To be called after unite() and
  /// before nodes are looked at.
  void rebuild();

  bool anyOf(mlir::Value value, Visit visit) const override;
  bool anyNamed(llvm::StringRef name, Visit visit) const override;
  bool isKnown(mlir::Value value) const override;
  bool isConstant(mlir::Value value) const override;

private:
  /// Equal operators, whatever their places and results.
  struct Same : llvm::DenseMapInfo<mlir::Operation *> {
    static unsigned getHashValue(const mlir::Operation *op);
    static bool isEqual(const mlir::Operation *a, const mlir::Operation *b);
  };
  /// Why a value is the same as another.
  struct Reason {
    mlir::Value from, to;
    /// The rule; nothing where equal operators read what is the same.
    std::optional<Origin> origin;
  };
  struct Class {
    std::vector<mlir::Operation *> nodes;
    unsigned number = 0; ///< In the order in which they came.
    bool isKnown = false, isConstant = false;
  };

  void add(rewrite::BuiltTarget &built, const Origin &origin);
  bool unite(mlir::Value a, mlir::Value b, std::optional<Origin> origin);
  bool findReasons(mlir::Value from, mlir::Value to, mlir::Value before,
                   std::vector<const Reason *> &path) const;
  void addClass(mlir::Value value);
  void note(mlir::Operation *op);
  void normalise(mlir::Operation *op);
  bool reaches(mlir::Value from, mlir::Value to);
  void cutNodes(mlir::Value from, mlir::Value to);
  void kill(mlir::Operation *op);
  void drop(mlir::Operation *op, mlir::Operation *same);

  mlir::Block &body_;
  std::set<std::string> commutative_;
  mutable llvm::DenseMap<mlir::Value, mlir::Value> parents_;
  llvm::DenseMap<mlir::Value, Class> classes_; ///< By who stands for them.
  llvm::MapVector<mlir::Operation *, unsigned> alive_; ///< In how many classes.
  std::vector<mlir::Operation *> all_; ///< With those that are in none.
  llvm::DenseSet<mlir::Operation *, Same> known_;
  llvm::DenseMap<mlir::Operation *, Origin> origins_;
  /// Why values of a class are the same, as a tree of each class.
  llvm::DenseMap<mlir::Value, std::vector<Reason>> reasons_;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Value, 2>>
      operands_; ///< As they were first.
  llvm::SmallVector<mlir::Value> roots_;
  llvm::DenseMap<mlir::Value, bool> reach_; ///< Of one reaches().
  bool isDirty_ = false;
};

} // namespace divisi::optimize

#endif // DIVISI_LIB_OPTIMIZE_EGRAPH_H
