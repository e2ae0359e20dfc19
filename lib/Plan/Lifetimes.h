//===- Lifetimes.h - When tensors take memory -------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// As plan-memory will place them. A unit of time of the dataflow is several
// positions: operands are brought one after the other, the operator runs, its
// results are brought to where they rest.
//
//   position    0     1    2     3
//               x ->  w -> mm -> y's place
//   x           [-----------)            used as it lies: until mm has run
//   w           [-----)                  converted: its copy lives on
//   copy of w         [-----)
//   result                 [-----)
//   y                            [-----
//
// Where the operator writes its result over an operand, the operand's time ends
// before it runs; where the result is a view, the operand lives as long as it.
// The new value of a global lies at the global's place, if nobody reads the old
// one after it is made (pass write-globals).
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PLAN_LIFETIMES_H
#define DIVISI_LIB_PLAN_LIFETIMES_H

#include "divisi/Plan/Dataflow.h"
#include "divisi/Search/Problem.h"

namespace divisi::plan {

/// When a user of a tensor takes memory for it.
struct UseTimes {
  search::Lifetime moving; ///< It is converted, beside the tensor.
  search::Lifetime held;   ///< What was converted is there.
  /// Whether the tensor itself, if it is used as it lies, is held so, too: its
  /// own lifetime ends with `moving`.
  bool isLast = false;
  bool isWritten = false; ///< Lifetimes::isWrittenInPlace.
};

/// See the file's head. The dataflow must outlive it.
class Lifetimes {
public:
  /// Finds when each tensor is made and used.
  explicit Lifetimes(const Dataflow &dataflow);

  /// How many positions a unit of time has.
  int64_t positions() const { return stride_; }

  /// Results of `site` as it makes them, beside those who rest so.
  search::Lifetime made(unsigned site) const;
  /// While the result `number` of `site` goes to where it rests.
  search::Lifetime placing(unsigned site, unsigned number) const;
  /// A tensor where it rests.
  search::Lifetime value(unsigned tensor) const { return values_[tensor]; }
  /// What a user takes, or has brought.
  UseTimes use(unsigned tensor, const Consumer &consumer) const;
  /// Whether the user is an update for which the tensor, where it rests as the
  /// global does, is written over the global and takes no memory.
  bool isWrittenInPlace(unsigned tensor, const Consumer &consumer) const {
    return consumer.kind == Consumer::Kind::Update &&
           writtenGlobal_[tensor] == consumer.index;
  }
  /// The same of any of its users.
  bool isWrittenInPlace(unsigned tensor) const {
    return writtenGlobal_[tensor].has_value();
  }
  /// What is brought to a stop that is needed until `end`, a time.
  UseTimes stop(const Stop &stop, int64_t end) const;

private:
  int64_t slot(const Consumer &consumer) const;
  int64_t run(const Site &site) const {
    return site.time * stride_ + int64_t(site.nest.operands.size());
  }
  search::Lifetime held(unsigned tensor, const Consumer &consumer) const;
  EntryTimes entryAt(int64_t time) const;
  bool isOverwrittenBy(unsigned global, const Site &writer) const;
  void writeGlobals();
  void overwriteOperands();
  void endValues();

  const Dataflow &dataflow_;
  int64_t stride_ = 1;
  std::vector<search::Lifetime> values_;
  /// Per site: the operand that its result may be written over.
  std::vector<std::optional<unsigned>> overwritten_;
  /// Per site: whether it either writes a global and leaves that operand, or
  /// not and writes over it. Then the result counts from when it has run.
  std::vector<bool> overwritesEither_;
  /// Per value: the global, another value, in which it may be written.
  std::vector<std::optional<unsigned>> writtenGlobal_;
  std::vector<bool> endsWithLast_;             ///< Per value: UseTimes::isLast.
  std::vector<std::vector<unsigned>> results_; ///< Per site, in values.
};

/// Whether a tensor has a node of its own: where it rests is a decision.
inline bool hasPoint(const Dataflow &dataflow, const DataflowValue &tensor) {
  return tensor.kind != DataflowValue::Kind::Result ||
         tensor.consumers.size() > 1 ||
         dataflow.sites[tensor.index].numResults > 1;
}

/// Whether what `site` makes takes memory where it makes it: a constant does
/// not, nor what is a view of an operand.
inline bool isAlias(const Site &site) {
  return site.buffers.isConstant || site.buffers.viewed.has_value();
}

} // namespace divisi::plan

#endif // DIVISI_LIB_PLAN_LIFETIMES_H
