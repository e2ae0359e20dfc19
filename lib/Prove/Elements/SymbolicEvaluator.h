//===- SymbolicEvaluator.h - Elements of a side, as terms -------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An element of one side of a rule, at an index, as a term over elements of its
// variables. It is traced from the result back to the variables. Operators that
// move, multiply or fold elements are defined here, and a test compares the
// definitions with the reference kernels; of all others only their pass-through
// dims are known, which their loops declare.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PROVE_ELEMENTS_SYMBOLICEVALUATOR_H
#define DIVISI_LIB_PROVE_ELEMENTS_SYMBOLICEVALUATOR_H

#include "divisi/Prove/Symbolic.h"
#include "lib/Prove/Elements/Facts.h"
#include "lib/Prove/Elements/Terms.h"

#include <set>
#include <utility>

namespace divisi::rewrite {

using Index = std::vector<Polynomial>; ///< A place in a tensor, dim by dim.

/// Whether elements of that type, or of `float`, are floats.
bool isFloat(const std::string &type);

/// A sum of indices, sizes and integers of a rule; nothing of others.
std::optional<Polynomial> wholeOf(const Sum &sum);

/// As a reader may read it, if it is not too long: `x0[r0] + 1`.
std::string describe(const Sum &sum);
std::string describe(const Polynomial &integer);

/// Whether it has an index of a fold: all but those of results.
bool hasBound(const Polynomial &polynomial);

/// Thrown where it has to be known whether it is at least 0.
struct SplitAt {
  Polynomial condition; ///< What the answer is wanted of.
};
/// Thrown where an index has to be two: itself / by and itself % by.
struct SplitIndex {
  AtomRef index; ///< The one that is split, ...
  Polynomial by; ///< ... and by what.
};
/// Thrown where it has to be known whether an extent is 1, or more.
struct SplitExtent {
  Polynomial extent; ///< The one that is asked for.
};

/// Thrown where an extent has to be a multiple of another, as an operator
/// says.
struct SplitMultiple {
  AtomRef extent; ///< The one that is replaced, ...
  Polynomial of;  ///< ... and of what it is a multiple.
};

/// How operators on floats are read. Those on integers wrap in all of them.
enum class Reading : uint8_t {
  Bits,     ///< Each rounds: a function of the bits of its operands.
  Rounding, ///< Of real numbers; but what rounding may turn over, as Bits.
  Reals,    ///< Of real numbers.
};

/// What elements are followed in.
struct ElementContext {
  Facts &facts; ///< About the symbols.
  /// What operators are, by their functions.
  const std::multimap<std::string, const SymbolicRule *> &definitions;
  std::set<std::string> used;          ///< Names of definitions.
  size_t depth = 0;                    ///< As many indices are bound.
  size_t steps = 0;                    ///< As many elements were followed.
  Reading reading = Reading::Rounding; ///< Of operators on floats.
  /// A number that was followed, since this was false, may have been rounded.
  bool isRounded = false;
  /// Of Bits: what a definition is followed for, which rounds as it likes.
  std::string within;
};

/// Another reading, or another value of isRounded, while this is there.
template <typename T> class Scoped {
public:
  /// Sets `at`, which outlives this.
  Scoped(T &at, T value) : at_(at), before_(std::exchange(at, value)) {}
  Scoped(const Scoped &) = delete;
  Scoped &operator=(const Scoped &) = delete;
  ~Scoped() { at_ = std::move(before_); }

private:
  T &at_;
  T before_;
};

/// An index that is bound while this is there.
class BoundIndex {
public:
  /// A new one, inside of `depth` others.
  explicit BoundIndex(size_t &depth)
      : depth_(depth), atom_(indexAtom("i" + std::to_string(depth++))) {}
  BoundIndex(const BoundIndex &) = delete;
  BoundIndex &operator=(const BoundIndex &) = delete;
  ~BoundIndex() { --depth_; }
  /// The index as a term.
  const AtomRef &atom() const { return atom_; }

private:
  size_t &depth_;
  AtomRef atom_;
};

/// The elements of one side.
class SymbolicEvaluator {
public:
  /// Of a rule at these values of its symbols and reals; all outlive this.
  SymbolicEvaluator(const SymbolicRule &rule, const SymbolicGraph &side,
                    const Values &symbols,
                    const std::map<std::string, Sum> &reals,
                    ElementContext &context)
      : rule_(rule), side_(side), symbols_(symbols), reals_(reals),
        context_(context), facts_(context.facts) {}

  /// The element of a value, by its number. Throws one of the above, or
  /// GivenUp.
  Sum at(size_t value, const Index &index);
  /// The extents of a value.
  Index shape(size_t value);
  /// An integer of the rule.
  Polynomial integer(const Expr &expr);
  /// A real of the rule.
  Sum real(const Expr &expr);
  /// The operators that are not elementwise and have a definition here, for
  /// some attributes at least.
  static std::vector<std::string> definedOperators();
  /// Those of the others that operate along some dims, and alike along others.
  static const std::set<std::string> &operatorsAlong();

private:
  using Body = std::function<Sum(const Polynomial &)>;
  /// What an operand of a definition is.
  using Operand = std::function<Sum(const Index &)>;
  /// What makes the elements that an operator takes.
  using Operands = std::function<std::vector<Sum>()>;
  using Define = Sum (SymbolicEvaluator::*)(const SymbolicCall &,
                                            const Index &);
  /// The values that it gives its names.
  struct Bound {
    Values symbols;
    std::map<std::string, Sum> reals;
    std::vector<Operand> operands; ///< Of each variable.
  };
  /// Closes a fold, and joins two parts of one.
  struct FoldKind {
    std::function<Sum(const Binder &, const Sum &)> close;
    std::function<Sum(const Sum &, const Sum &)> join;
    bool isSum = false;
    bool isInOrder = false; ///< Of rounded numbers: it has no parts.
    bool isChoice = false;  ///< It takes one of them.
  };

  /// Where a condition changes along an index: it begins to hold there, or has
  /// ended to.
  struct Change {
    bool begins = false;
    Polynomial at;
  };

  const SymbolicCall &call(size_t value) const {
    return side_.calls[value - rule_.variables.size()];
  }
  const SymbolicValue &attribute(const SymbolicCall &call, const char *name);
  Index list(const SymbolicCall &call, const char *name);
  int64_t number(const SymbolicCall &call, const char *name);
  std::vector<size_t> dimList(const SymbolicCall &call, const char *name);
  Polynomial integerOf(const Sum &sum, const std::string &type);

  static const std::map<std::string, Define> &definitions();
  static Define definitionOf(const std::string &op);
  Index shapeOf(const SymbolicCall &call);
  std::optional<Index> definedShape(const SymbolicCall &call);
  Index elementwiseShape(const SymbolicCall &call);
  Index labelledShape(const SymbolicCall &call);
  Index windowShape(const SymbolicCall &call);
  Index gatherShape(const SymbolicCall &call);
  std::optional<Index> shapeOfRows(const SymbolicCall &call);
  Polynomial sliceExtent(const Polynomial &start, const Polynomial &limit,
                         const Polynomial &step);
  bool isKnown(const Polynomial &condition);
  Sum inside(const std::vector<Polynomial> &conditions,
             const std::function<Sum()> &first, const Sum &second);
  Sum insideWindow(const std::vector<Polynomial> &conditions,
                   const std::function<Sum()> &first, const Sum &second,
                   size_t from = 0);
  Division divideIndex(const Polynomial &index, const Polynomial &by);
  FoldKind foldKind(const std::string &kind, const std::string &type);
  FoldKind foldOf(const std::string &kind, const SymbolicCall &call);
  FoldKind foldInOrder(const std::string &kind, const SymbolicCall &call);
  Sum foldWhole(const Polynomial &extent, const FoldKind &kind,
                const Body &body);
  Sum fold(const Polynomial &extent, const FoldKind &kind, const Body &body);
  Sum close(const Binder &binder, const FoldKind &kind, const Sum &body);
  Sum closeTerm(const Binder &binder, const FoldKind &kind, Monomial monomial,
                Fraction coefficient);
  std::optional<Change> changeOf(const Polynomial &condition,
                                 const Binder &binder, bool splits = false);
  std::optional<Sum> foldParts(const Polynomial &extent, const FoldKind &kind,
                               const Body &body, const AtomRef &index,
                               const Polynomial &condition);
  Sum foldHalves(const AtomRef &index, const Body &body,
                 const Polynomial &condition);
  Sum foldAll(const Index &extents, const FoldKind &kind,
              const std::function<Sum(const Index &)> &body);
  Index operandIndex(size_t operand, const Index &index, const Index &extents);
  std::vector<Sum> operands(const SymbolicCall &call, const Index &index);

  Sum splat(const SymbolicCall &call);
  Sum iota(const SymbolicCall &call, const Index &index);
  Sum matmul(const SymbolicCall &call, const Index &index);
  Sum reduce(const SymbolicCall &call, const Index &index);
  Sum cumulate(const SymbolicCall &call, const Index &index);
  Sum conv(const SymbolicCall &call, const Index &index);
  Sum pool(const SymbolicCall &call, const Index &index);
  Sum transpose(const SymbolicCall &call, const Index &index);
  Sum slice(const SymbolicCall &call, const Index &index);
  Sum padded(const SymbolicCall &call);
  Sum pad(const SymbolicCall &call, const Index &index);
  Sum concat(const SymbolicCall &call, const Index &index);
  Sum broadcast(const SymbolicCall &call, const Index &index);
  Sum reshape(size_t value, const Index &index);
  Sum gather(const SymbolicCall &call, const Index &index);
  Sum takeAlong(const SymbolicCall &call, const Index &index);
  Sum insert(const SymbolicCall &call, const Index &index);
  std::optional<Polynomial> bound(const SymbolicCall &call, const char *name);
  Sum capped(const SymbolicCall &call, const Sum &product);
  Polynomial headOf(const Polynomial &head, const Polynomial &queries,
                    const Polynomial &keys);
  Sum attention(const SymbolicCall &call, const Index &index);
  Sum attentionBits(const SymbolicCall &call, const Index &index);
  bool bind(const std::vector<std::pair<Expr, Polynomial>> &values,
            const SymbolicRule &definition, Bound &bound);
  std::optional<Bound> bindDefinition(const SymbolicCall &call,
                                      const SymbolicRule &definition);
  std::optional<Sum> define(const SymbolicCall &call, const Index &index);
  std::string typeOf(size_t value) const;
  /// Whether the integer is one of the type, wherever the facts hold.
  bool fits(const Polynomial &integer, const std::string &type);
  /// What elements of integers are, if that is made of indices and sizes, and
  /// does not wrap.
  std::optional<Polynomial> unwrapped(const Sum &sum, const std::string &type);
  bool isWithin(const Polynomial &integer, int64_t least, int64_t most);
  std::optional<Sum> chosenInteger(const std::string &op,
                                   const std::string &type,
                                   const std::vector<Sum> &x);
  std::optional<Sum> remainder(const SymbolicCall &call,
                               const std::string &type,
                               const std::vector<Sum> &x);
  Sum lessInteger(const Sum &small, const Sum &large, const std::string &from);
  /// An operand's element as what contracts or folds it takes it.
  Sum widened(const SymbolicCall &call, size_t operand, const Index &place);
  Sum times(const Sum &left, const Sum &right, const std::string &type);
  /// Whether rounding of its operands may turn its result over.
  bool isTurning(const SymbolicCall &call, const std::string &from);
  Sum turning(const SymbolicCall &call, const std::string &from,
              const Operands &operands);
  /// The element of a float operator that rounds.
  Sum bits(const SymbolicCall &call, const std::string &from,
           const std::vector<Sum> &x);
  std::optional<Sum> bitsOfOne(const std::string &op, const std::string &from,
                               const Sum &x);
  Sum bitsOfCast(const std::string &from, const std::string &to, const Sum &x);
  std::optional<Sum> bitsOfProduct(const std::string &op,
                                   const std::string &from,
                                   const std::vector<Sum> &x);
  Sum bitsOfComparison(const SymbolicCall &call, const std::string &from,
                       const std::vector<Sum> &x);
  std::optional<Sum> beyondNumbers(const SymbolicCall &call,
                                   const std::vector<Sum> &x);
  std::string bitsName(const std::string &op, const std::string &type) const;
  std::optional<Sum> shiftOf(const SymbolicCall &call,
                             const std::vector<Sum> &x);
  std::vector<Sum> scaledOperands(const SymbolicCall &call, const Index &index);
  Sum scaled(const SymbolicCall &call, const Index &index);
  /// The dim of the result that goes through each dim of an operand, wherever
  /// an operator without a definition computes the same at all places.
  std::vector<std::optional<size_t>> dimsThrough(const SymbolicCall &call,
                                                 size_t operand);
  Sum elementwise(const SymbolicCall &call, const Index &index);
  Sum pointwise(const SymbolicCall &call, const std::string &from,
                const Operands &operands);
  std::optional<Sum> ring(const SymbolicCall &call, const std::string &from,
                          const std::vector<Sum> &x);
  std::optional<Sum> boolean(const SymbolicCall &call, const std::string &from,
                             const std::vector<Sum> &x);
  Sum compare(const SymbolicCall &call, const std::string &from,
              const std::vector<Sum> &x);
  Sum function(const SymbolicCall &call, const std::string &from,
               const std::vector<Sum> &x);
  Polynomial placeThrough(const Polynomial &extent, const Polynomial &wanted,
                          const Polynomial &index);
  Sum uninterpreted(const SymbolicCall &call, const Index &index);
  Sum lambdaBody(size_t operand, const Index &place,
                 const std::vector<Binder> &binders);
  std::string nameOf(const SymbolicCall &call);
  SymbolicCall withDimsInside(const SymbolicCall &call);

  const SymbolicRule &rule_;
  const SymbolicGraph &side_;
  const Values &symbols_;
  const std::map<std::string, Sum> &reals_;
  ElementContext &context_;
  Facts &facts_;
  /// Of a definition: what its variables are.
  const std::vector<Operand> *variables_ = nullptr;
};

} // namespace divisi::rewrite

#endif // DIVISI_LIB_PROVE_ELEMENTS_SYMBOLICEVALUATOR_H
