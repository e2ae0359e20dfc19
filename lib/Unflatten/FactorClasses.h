//===- FactorClasses.h - Dims that share their factors ----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Dims that are tied form a class. A class has cuts: the strides at which its
// dims fall into factors, {8, 64} for (3 8 8) of 192. The cuts of a class
// divide one another.
//
// Demands come from groups (dims with the same elements on the two sides of a
// reshape) and pieces (parts of a dim that is sliced or joined), and are spread
// until nothing changes. A demand that would break a class, or that reaches a
// pinned one, is dropped.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_UNFLATTEN_FACTORCLASSES_H
#define DIVISI_LIB_UNFLATTEN_FACTORCLASSES_H

#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <map>
#include <set>
#include <vector>

namespace divisi {

/// The classes of all dims of a module, as numbers: a node is a dim, or a loop
/// that ties some.
class FactorClasses {
public:
  /// Numbered from 0, in the order in which they were added.
  using Node = unsigned;

  /// A part of a reshape. `low` is the stride of the dim in the flat index that
  /// both sides share.
  struct Member {
    Node node;           ///< The dim that it is a part of.
    int64_t low, extent; ///< Its stride, and how many indices it counts.
  };

  /// A dim of `extent`, in a class of its own.
  Node add(int64_t extent);
  /// The node that add() will return next.
  Node next() const { return static_cast<Node>(parent_.size()); }
  /// Makes one class of two.
  void tie(Node a, Node b);
  /// Keeps the class of `node` whole.
  void pin(Node node) { classes_[find(node)].isPinned = true; }
  /// The extent with which `node` was added.
  int64_t extent(Node node) const { return classes_[node].extent; }

  /// Dims on the two sides of a part of a reshape, with equal products.
  void addGroup(std::vector<Member> members) {
    groups_.push_back(std::move(members));
  }
  /// `part` is [start, limit) of `whole`. Cuts of one dim are taken together.
  void addCut(Node whole, Node part, int64_t start, int64_t limit);
  /// `parts`, one behind the other, are `whole`.
  void addJoin(Node whole, std::vector<Node> parts);

  /// Forgets all cuts and spreads the demands anew.
  void spread();

  /// The factors of `node`, major first; the extent alone if it has none.
  llvm::SmallVector<int64_t> factorsOf(Node node) const;

private:
  /// Dims that are tied; read at the root of each set.
  struct Class {
    int64_t extent = 1;
    bool isPinned = false;
    std::set<int64_t> cuts; ///< Strides, each dividing the next.
  };
  /// Pieces of a whole dim, all multiples of `unit` long and far in: they
  /// share the factors below it.
  struct Pieces {
    Node whole;
    std::vector<Node> parts;
    int64_t unit = 0;
  };

  Node find(Node node) const;
  bool cut(Node node, int64_t stride);
  bool spread(const std::vector<Member> &group);
  bool spread(const Pieces &pieces);

  std::vector<Node> parent_;
  std::vector<Class> classes_;
  std::vector<std::vector<Member>> groups_;
  std::map<Node, Pieces> cuts_; ///< By the dim that is cut.
  std::vector<Pieces> joins_;
};

} // namespace divisi

#endif // DIVISI_LIB_UNFLATTEN_FACTORCLASSES_H
