//===- Certificate.h - Proofs of lower bounds -------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A certificate lets anyone recompute a lower bound in integers, without
// believing the solver. It has two parts.
//
// Deductions ("steps" in files) shrink the problem. At first every node is a
// variable, called by its number, and its states are its strategies. Infeasible
// is a cost of at least kInfeasible, of a node or an entry of an edge's matrix.
// Then, one by one:
//
//   Drop    variable v loses state s, because s is infeasible by itself (its
//           own cost, or an edge inside the variable), or because no state of
//           the variable w goes with it: for each state t of w some edge
//           between v and w is infeasible at (s, t).
//   Follow  variable w becomes part of variable v, because each state of v
//           goes with at most one state of w; a state of v that goes with none
//           is lost. All members of w now have their strategy from v's state.
//
// States keep their numbers: state s of v is "node v takes strategy s". What is
// left when all deductions are made are the variables; those with one state are
// fixed. Two others that an edge joins (through any members) are a pair (u, v),
// u < v; pairs are sorted.
//
// The tree splits what is left. Its root has all states; every other node keeps
// those states of its parent where `variable` has one of `kept`. The children
// of a node together must keep all states of that variable. Then, until nothing
// changes, a node loses each state for which, in some pair, all entries with
// the states left of the other end are infeasible. A node that bounds has
// prices of memory p(r, t) >= 0, of resource r at time t, and two potentials a
// pair, q(u, s) and q(v, t), one for each state that the deductions left. For
// its states,
//
//   value =  sum over v of     min over s of     cost(v, s) + sum of q(v, s)
//          + sum over pairs of min over s, t of  cost(s, t) - q(u, s) - q(v, t)
//          - sum over r, t of  p(r, t) * limit of r
//
// where the cost of a state is that of its members, of edges inside the
// variable and to fixed ones, and of its memory at prices p; that of (s, t) is
// the sum of the edges between u and v and of their memory. An edge between two
// fixed variables counts once. Infeasible entries do not count in minima, nor
// do states that a member, an edge inside or one to a fixed variable makes
// infeasible: the root has lost them already, though they have potentials. A
// minimum of nothing makes the value infinite. No assignment within the limits
// and within the node's states costs less, whatever prices and potentials are:
// weak duality of Lagrange multipliers and of reparametrisation (M. I.
// Schlesinger 1976; V. Kolmogorov, "Convergent tree-reweighted message
// passing", PAMI 28(10), 2006).
//
// A node that bounds and `fixes` then loses, with all below it, every state s
// of v for which value + (v's term at s) - (v's minimum) >= cutoff: whoever
// takes it pays at least cutoff.
//
// The bound is the least value of the leaves, rounded up, but at most cutoff;
// a leaf without potentials has the value of the nearest ancestor that bounds.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_SEARCH_CERTIFICATE_H
#define DIVISI_SEARCH_CERTIFICATE_H

#include <cstdint>
#include <optional>
#include <vector>

namespace divisi::search {

/// What follows from the problem's infeasible entries alone: see above. Files
/// call it a step.
struct Deduction {
  /// Whether a state is dropped, or a variable follows another.
  enum class Kind : uint8_t { Drop, Follow };
  /// What is deduced.
  Kind kind = Kind::Drop;
  uint32_t variable = 0; ///< v.
  uint32_t other = 0;    ///< w; equal to `variable` if s fails by itself.
  uint32_t state = 0;    ///< s of a Drop.
  friend bool operator==(const Deduction &, const Deduction &) = default;
};

/// Price of memory: cost per unit of usage at `time`, times 2^priceBits.
struct MemoryPrice {
  int64_t time = 0;      ///< A position of the program.
  int64_t price = 0;     ///< At least 0.
  uint32_t resource = 0; ///< One that has a limit.
  friend bool operator==(MemoryPrice, MemoryPrice) = default;
};

/// One node of the tree of a certificate.
struct BoundNode {
  int32_t parent = -1;        ///< An earlier node; -1 for the root.
  uint32_t variable = 0;      ///< What the parent was split by; 0: the root.
  std::vector<uint32_t> kept; ///< Its states here; sorted.
  std::vector<MemoryPrice> prices; ///< Sorted by resource, then time.
  /// For each pair, first u's states in order, then v's, times
  /// 2^potentialBits; within 2^62. Empty if this node does not bound.
  std::vector<int64_t> potentials;
  bool bounds = false;
  bool fixes = false;
  friend bool operator==(const BoundNode &, const BoundNode &) = default;
};

/// A proof of a lower bound: see above.
struct Certificate {
  /// Prices and potentials are integers in units of 2^-bits; potentialBits may
  /// be negative. |bits| <= 60, and potentialBits <= priceBits.
  int32_t priceBits = 0, potentialBits = 0;
  std::vector<Deduction> deductions; ///< In the order in which they are made.
  std::vector<BoundNode> tree;       ///< The root first; empty: no certificate.
  /// Cost below which an answer would have to be to count; that of the best
  /// answer. Needed if a node fixes.
  std::optional<__int128> cutoff;
  friend bool operator==(const Certificate &, const Certificate &) = default;
};

} // namespace divisi::search

#endif // DIVISI_SEARCH_CERTIFICATE_H
