//===- QueuedShape.h - Steps in the words of NCCL's calls -------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which calls of a library like NCCL a step is, on all of its ranks alike, and
// what is packed before and unpacked behind them:
//
//   all parties want the whole box that they hold    all-reduce
//   party i wants part i of it, all as large         reduce-scatter
//   parts of other sizes, or of some                 a reduction to each who
//   wants all want what each has an equal part of          all-gather anything
//   else                                    messages, as MPI's
//
// A part that does not lie in one piece is packed; so are all where the calls
// want them one behind the other.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_COMM_QUEUEDSHAPE_H
#define DIVISI_RUNTIME_COMM_QUEUEDSHAPE_H

#include "runtime/comm/Messages.h"

namespace divisi::rt {

/// The calls.
enum class QueuedForm : uint8_t {
  AllReduce,     ///< All of the source.
  ReduceScatter, ///< Of parts one behind the other, as many as there are.
  ReduceEach,    ///< Each part to its party.
  AllGather,     ///< Into parts one behind the other.
  Exchange,      ///< Messages between two each.
};

/// The part of one party: of the source that is reduced, or of the result that
/// is gathered.
struct QueuedPart {
  size_t party;  ///< Whose part it is.
  int64_t count; ///< Elements.
  /// Between the box and the step's memory, where the part is packed; what is
  /// not lies in the box at the copy's offset.
  BoxCopy copy;
  bool isPacked;
  int64_t place; ///< In the step's memory.
};

/// What one party does.
struct QueuedPlan {
  QueuedForm form = QueuedForm::Exchange; ///< As which collective it is done.
  MoveMessages messages;                  ///< Of Exchange.
  std::vector<QueuedPart> parts; ///< Of those in between; none is empty.
  int64_t bytes = 0;             ///< Of the step's memory.

  /// Whether parts lie one behind the other in the box itself.
  bool isDirect() const { return !parts.front().isPacked; }
};

/// What party `self` does in a step that has been checked (checkReduce,
/// planMove), and in which somebody wants something.
QueuedPlan planQueued(const StepDesc &step, size_t self);
/// How much of the device's memory it wants for that, whatever connects them.
int64_t queuedBytes(const StepDesc &step, size_t self);
/// That of each party. What parties have in common is worked out once.
std::vector<int64_t> queuedBytes(const StepDesc &step);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_COMM_QUEUEDSHAPE_H
