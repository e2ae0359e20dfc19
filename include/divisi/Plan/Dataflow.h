//===- Dataflow.h - A program as the planner sees it ------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operators with their loops, and tensors with their producers and users, in
// program order over all entry functions: positions in that order are the times
// of the planning problem. Plain data: it needs no IR, and any number of
// threads may read it.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_PLAN_DATAFLOW_H
#define DIVISI_PLAN_DATAFLOW_H

#include "divisi/Cost/OpCost.h"

#include <optional>
#include <string>
#include <vector>

namespace divisi::plan {

/// Where the results of an operator lie in memory, as its kernel says.
struct ResultBuffers {
  /// Nowhere of their own: it is a constant.
  bool isConstant = false;
  /// In an operand, of which the result is a view if it is not converted.
  std::optional<unsigned> viewed;
  /// Over an operand of as many bytes that nobody needs afterwards: any of
  /// these.
  llvm::SmallVector<unsigned, 2> overwritable;
};

/// A layout that an operator has to have, as far as dimensions say it: whether
/// it is partial does not count.
struct WantedLayout {
  bool isResult = false; ///< Of a result; else of an operand.
  unsigned number = 0;   ///< Which one.
  /// Per dimension the axes that split it, outermost first.
  std::vector<std::vector<std::string>> axes;
  std::string tensor; ///< What the model calls it, for messages.

  friend bool operator==(const WantedLayout &, const WantedLayout &) = default;
};

/// An operator to be planned.
struct Site {
  std::string name;                 ///< Of the operator: `nn.matmul`.
  LoopNest nest;                    ///< Its loops.
  OpProfile profile;                ///< What it costs beside its loops.
  llvm::SmallVector<bool, 6> batch; ///< Per loop: does the batch reach it?
  /// Per operand: is it made from parameters and constants alone?
  llvm::SmallVector<bool, 3> parameters;
  ResultBuffers buffers;
  /// The ends that one kernel may share with other sites (Fusion.h).
  FusedEnds fusible;
  unsigned numResults = 1;
  /// Sites of one kind have the same strategies, and with the same `fusible`
  /// at the same prices.
  unsigned kind = 0;
  int64_t time = 0; ///< When it runs.
  /// How often, in one run of the entry: more than once in a loop's body, and
  /// where one micro-batch stands for all.
  int64_t repeats = 1;
  bool isInBody = false; ///< Of a loop.
  /// Of tensors of which the model says how they are to lie; mostly none.
  std::vector<WantedLayout> wanted;

  /// `fusible` if devices of `pace` fuse at all.
  FusedEnds fusibleOn(const GridPace &pace) const {
    return pace.fuses() ? fusible : FusedEnds();
  }
};

/// Somebody who wants a tensor.
struct Consumer {
  /// An operator, the end of an entry, what replaces a global, or what becomes
  /// an argument of a body, before its first iteration or its next.
  enum class Kind : uint8_t { Operand, Output, Update, Argument };
  Kind kind = Kind::Operand; ///< What `index` counts.
  /// Of the site, the output, the updated tensor, or the argument.
  unsigned index = 0;
  unsigned operand = 0; ///< Of the site.
  int64_t time = 0;
  int64_t repeats = 1; ///< As Site::repeats.
  /// Where it takes the tensor from, in Dataflow::stops; else from the tensor.
  std::optional<unsigned> stop;
};

/// What of a training step a tensor is (TrainingStates.h).
enum class StateKind : uint8_t { None, Parameter, Gradient, Optimizer };

/// A tensor: made by a site, given as an argument, or a global.
struct DataflowValue {
  /// Where it comes from.
  enum class Kind : uint8_t { Result, Argument, Global };
  Kind kind = Kind::Result; ///< What `index` counts.
  unsigned index = 0;       ///< Of the site, the entry or the global.
  unsigned number = 0;      ///< Of the result or argument.
  std::string name;         ///< Of a global: `@w`.
  llvm::SmallVector<int64_t, 4> shape;
  int64_t bits = 0;           ///< Per element, in memory.
  int64_t begin = 0, end = 0; ///< The times at which it is needed.
  std::vector<Consumer> consumers;
  /// Of an argument of a body: that it lies where what is given for it does.
  bool isGiven = false;
  /// How often it comes to rest, as Site::repeats: mostly as often as its maker
  /// runs, but what micro-batches carry only after the last one.
  int64_t repeats = 1;
  /// Of an argument: whether it is an entry's, which the host has.
  bool isInput = false;

  /// What of a training step it is.
  StateKind state = StateKind::None;

  /// Of the whole tensor.
  int64_t bytes() const;
};

/// Users of one tensor that are alike may share the way to where they want it:
/// it is converted once, to the stop, and kept until the last of them has run.
struct Stop {
  unsigned tensor = 0;        ///< In Dataflow::values.
  int64_t begin = 0, end = 0; ///< From the first of its users to the last.
  int64_t repeats = 1;        ///< As Site::repeats.
};

/// A result of an entry function.
struct Output {
  unsigned entry = 0;  ///< Counted in the module's order.
  unsigned number = 0; ///< Of the function's result.
  unsigned tensor = 0; ///< In Dataflow::values.
  int64_t time = 0;    ///< When the entry returns.
};

/// From when to when an entry runs; a body within the entry that runs it.
struct EntryTimes {
  int64_t begin = 0; ///< Of its first operation.
  int64_t end = 0;   ///< After its last.
};

/// A program: entry functions one after the other, bodies at their loops.
struct Dataflow {
  std::vector<Site> sites;            ///< As they run.
  std::vector<DataflowValue> values;  ///< As they are first mentioned.
  std::vector<Stop> stops;            ///< By their first users.
  std::vector<Output> outputs;        ///< Entry by entry.
  std::vector<EntryTimes> entryTimes; ///< Entry by entry.
  int64_t time = 0;                   ///< The end of the last entry.
};

} // namespace divisi::plan

#endif // DIVISI_PLAN_DATAFLOW_H
