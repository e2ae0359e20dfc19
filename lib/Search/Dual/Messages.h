//===- Messages.h - Sequential tree-reweighted message passing --*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// TRW-S (V. Kolmogorov, "Convergent tree-reweighted message passing for energy
// minimization", PAMI 28(10), 2006). Every pair holds two messages, one for the
// states of either end: what the other end thinks of them. A pass visits the
// variables in order and sends from each to those that follow; on the way every
// variable takes the state that is best given those before it and what the
// others say. The bound is that of the backward pass, valid for any messages:
//
//   hat(v)         = costs(v) + all messages to v
//   message v -> u = min over v's states of  share(v) * hat(v)
//                                            - message u -> v + table(u, v)
//   bound          = sum of the minima taken off the messages
//                  + sum over v of (1 - before(v) * share(v)) * min hat(v)
//
// with share(v) = 1 / max(pairs before v, pairs after v), where a pair that
// stands for several counts as these, and is sent so many shares.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_SEARCH_DUAL_MESSAGES_H
#define DIVISI_LIB_SEARCH_DUAL_MESSAGES_H

#include "lib/Search/Graph/CostGraph.h"

#include <array>

namespace divisi::search {

/// Where the messages of each pair lie among all messages.
struct MessageLayout {
  /// One message to either end of each pair, padded.
  explicit MessageLayout(const CostGraph &graph);
  /// Where those to the first and to the second of a pair begin; the last of
  /// `first` is the number of all values.
  std::vector<uint32_t> first, second;
};

/// The messages of a graph with given costs of states. Tables of pairs are the
/// graph's, which must outlive this.
class Messages {
public:
  /// Starts with messages of zeros.
  explicit Messages(const CostGraph &graph);

  /// The costs of states, laid out by offset(); initially the graph's.
  std::vector<double> &costs() { return costs_; }
  /// The same for reading.
  const std::vector<double> &costs() const { return costs_; }
  /// Where the costs of a variable's states begin.
  uint32_t offset(uint32_t variable) const { return offsets_[variable]; }

  /// Replaces the table of a pair, for transient memory at new prices.
  void setTable(uint32_t pair, std::shared_ptr<const Table> table);
  /// The table that a pair has now.
  const Table &table(uint32_t pair) const {
    return replaced_[pair] ? *replaced_[pair] : *graph_->pairs[pair].table;
  }

  /// Fills `taken`. Visits each table once.
  void forward(Assignment &taken);
  /// The same in descending order. The bound is on costs and tables, without
  /// the graph's constant.
  double backward(Assignment &taken);

  /// What the next forward pass reads, so that one may go back to it: messages
  /// to the first of each pair, pair by pair, without padding.
  void save(std::vector<float> &messages) const;
  /// Takes what save() has left of the same graph.
  void load(const std::vector<float> &messages);
  /// The message to the first of a pair, a value for each of its states.
  const float *toFirst(uint32_t pair) const {
    return values_.data() + layout_.first[pair];
  }
  /// The message to the second of a pair.
  const float *toSecond(uint32_t pair) const {
    return values_.data() + layout_.second[pair];
  }
  /// Costs and all messages of a variable's states: at the end of a backward
  /// pass, up to what the variable shares, its min-marginals.
  void belief(uint32_t variable, std::vector<double> &hat) const;
  /// Which part of its belief a variable sends to each neighbour, through a
  /// pair that stands for itself alone: see above.
  double share(uint32_t variable) const { return shares_[variable]; }

private:
  /// One end of a pair, as seen from the variable that it belongs to.
  struct Slot {
    uint32_t other;
    double weight;      ///< Pair::weight.
    uint32_t in, out;   ///< Offsets of the message to this end, to the other.
    const float *table; ///< Rows are this end's states, as far as they differ.
    const float *transposed; ///< Rows are the other's states.
    uint32_t rows;           ///< That differ.
    uint32_t columns;        ///< The other's states that differ.
    uint32_t stride;         ///< `columns`, padded.
    /// Row and column of each state; null if that is the state itself.
    const uint32_t *rowOf, *columnOf;
  };

  Slot makeSlot(uint32_t pair, bool first) const;
  static void setTable(Slot &slot, const Table &table, bool first);
  double send(uint32_t variable, const Slot &slot);
  uint32_t visit(uint32_t variable, std::span<const Slot> fixed,
                 std::span<const Slot> open, const Assignment &taken);
  std::span<const Slot> before(uint32_t v) const {
    return {slots_.data() + firstSlot_[v], slots_.data() + middleSlot_[v]};
  }
  std::span<const Slot> after(uint32_t v) const {
    return {slots_.data() + middleSlot_[v], slots_.data() + firstSlot_[v + 1]};
  }

  const CostGraph *graph_;
  std::vector<uint32_t> offsets_;
  std::vector<double> costs_;
  std::vector<float> values_;
  MessageLayout layout_;
  std::vector<Slot> slots_; ///< By variable, smaller others first.
  std::vector<uint32_t> firstSlot_, middleSlot_;
  std::vector<std::array<uint32_t, 2>> slotsOf_; ///< Of each pair, its ends.
  std::vector<double> shares_;
  std::vector<std::shared_ptr<const Table>> replaced_;
  // Scratch of the variable that is visited.
  std::vector<double> hat_, chosen_;
  std::vector<float> sent_, merged_, received_;
};

} // namespace divisi::search

#endif // DIVISI_LIB_SEARCH_DUAL_MESSAGES_H
