//===- Universe.h - All terms over a vocabulary -----------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The universe of terms over a vocabulary. A graph is an operator on smaller
// graphs; graphs are enumerated in the order of their sizes, operators and
// operands. Each has one result and is evaluated once, on random elements of
// the prime field, by the reference kernel of its last operator. Graphs of
// equal results are a class, whose first graph is its representative.
//
// Operands of larger graphs are representatives: with another graph of the
// class, the equations about the larger graph follow. The exception is operands
// that share an operator: there a graph that is no representative is an operand
// too, since with the representative the larger graph could have more
// operators; and graphs are built on such operands where larger ones may share
// them.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_GENERATE_UNIVERSE_H
#define DIVISI_LIB_GENERATE_UNIVERSE_H

#include "divisi/Rules/Instance.h"
#include "lib/Generate/Table.h"

#include <functional>
#include <memory>
#include <random>
#include <unordered_map>
#include <vector>

namespace divisi::rewrite {

/// A graph's last operator, and the graphs that are its operands. Of a leaf
/// `op` is kLeaf and `a` its number.
struct Term {
  /// The `op` of a leaf; what is no operand.
  static constexpr uint16_t kLeaf = 0xffff;
  static constexpr uint32_t kNone = 0xffffffff;
  uint8_t size = 0; ///< Operators of the graph, each counted once.
  uint16_t op = kLeaf;
  uint32_t a = 0;
  uint32_t b = kNone;
  /// The order in which graphs are enumerated.
  auto operator<=>(const Term &) const = default;
};

/// All graphs of a vocabulary.
class Universe {
public:
  /// Of the leaves alone, whose elements are drawn by `seed`.
  Universe(Vocabulary vocabulary, uint64_t seed);

  /// What the graphs are made of.
  const Vocabulary &vocabulary() const { return vocabulary_; }

  /// A graph of less operators than the most.
  struct Graph {
    Term term;                       ///< Its last operator.
    uint32_t form = 0;               ///< The number of its result's form.
    uint32_t representative = 0;     ///< Of its class.
    std::vector<uint32_t> operators; ///< All in it, ascending, with itself.
  };
  /// All that are kept, in the order in which they were met.
  const std::vector<Graph> &graphs() const { return graphs_; }
  /// Those of a class, by its representative.
  const std::vector<uint32_t> &membersOf(uint32_t representative) const;
  /// A mask of which operator.
  static uint64_t maskOf(uint16_t op) { return uint64_t(1) << op % 64; }
  /// Which ones are the last of a graph of that class.
  uint64_t lastOperators(uint32_t representative) const {
    return lasts_[representative];
  }
  /// The graph of an operator on graphs, or kNone if it is not kept.
  uint32_t find(const Term &term) const;
  /// The representative of the class of an operator on any graphs of the
  /// classes of `term`'s operands, or kNone if none such is kept.
  uint32_t findClass(const Term &term) const;

  /// Enumerates graphs of `size` operators, one more than before, and calls
  /// `visit` with each that has the result of an earlier one, and that one.
  /// They are kept if `isKeeping`.
  void enumerate(uint8_t size, bool isKeeping,
                 const std::function<void(const Term &, const Term &)> &visit);

  /// How many graphs there were, and classes.
  uint64_t enumerated() const { return enumerated_; }
  /// Of graphs with equal results.
  uint64_t classes() const { return classes_.size(); }

  /// Of which operators a graph with that last one would be: how many.
  uint8_t sizeOf(uint32_t a, uint32_t b) const;
  /// What the result is known by; nothing where operands do not fit.
  std::optional<uint64_t> fingerprint(const Term &term);
  /// The result of a graph of less operators than the most.
  const rt::HostTensor &resultOf(uint32_t graph) const {
    return values_[graph][0];
  }
  /// What an operator makes of those values; nothing where they do not fit.
  std::optional<rt::HostTensor>
  apply(uint16_t op, const std::vector<rt::HostTensor> &operands);
  /// An operator on tensors of such forms; nothing where it takes none such.
  std::optional<Call> callOf(uint16_t op, const std::vector<TensorForm> &forms);

  /// The extents of a graph's result.
  const rt::Dims &extentsOf(uint32_t graph) const {
    return forms_[graphs_[graph].form].dims;
  }
  /// The leaf of a number: which of vocabulary().leaves it is of.
  size_t leafOf(uint32_t number) const { return leaves_[number]; }

private:
  /// An operator on operands of known forms.
  struct Site {
    Call call;
    uint32_t form = Term::kNone; ///< kNone: there is no such operator.
  };
  const Site &siteOf(uint16_t op, uint32_t a, uint32_t b);
  Site makeSite(uint16_t op, uint32_t a, uint32_t b);
  std::optional<rt::HostTensor>
  apply(uint16_t op, uint32_t a, uint32_t b,
        const std::vector<rt::HostTensor> &operands);
  uint64_t keyOf(const Term &term) const;
  uint32_t formNumber(const TensorForm &form);
  /// A result for each time that elements of leaves were drawn.
  using Results = std::vector<rt::HostTensor>;
  std::optional<Results> valuesOf(const Term &term);
  uint64_t hashOf(const Results &values, uint32_t form) const;
  bool isOperand(uint32_t graph, uint8_t size) const;
  void visitOperands(uint16_t op, uint8_t size,
                     const std::function<void(Term)> &visit);
  void addSharing(uint32_t a, uint8_t size, std::vector<uint32_t> &found) const;
  void add(const Term &term, bool isKeeping,
           const std::function<void(const Term &, const Term &)> &visit);
  void keep(const Term &term, uint32_t form, const Term &first, Results values);
  void addLeaves(uint64_t seed);

  Vocabulary vocabulary_;
  Instantiator instantiator_;
  std::vector<size_t> leaves_;
  std::vector<TensorForm> forms_;
  std::unordered_map<uint64_t, Site> sites_;
  std::vector<Graph> graphs_;
  std::vector<Results> values_;                ///< Of graphs_.
  std::vector<std::vector<uint32_t>> members_; ///< Of graphs_.
  std::vector<uint64_t> lasts_;                ///< Of graphs_, of the members.
  /// Of graphs_: those that have it, by their sizes.
  std::vector<std::vector<std::vector<uint32_t>>> containing_;
  std::vector<std::vector<uint32_t>> bySize_;
  std::unordered_map<uint64_t, Term> classes_; ///< By fingerprint.
  /// By operators and the classes of their operands.
  std::unordered_map<uint64_t, std::vector<uint32_t>> byTerm_;
  uint64_t enumerated_ = 0;
};

} // namespace divisi::rewrite

#endif // DIVISI_LIB_GENERATE_UNIVERSE_H
