//===- Messages.h - What a step sends as messages ---------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where ranks do not read each other's memory, boxes travel as messages. A box
// that lies in one piece is sent from where it lies; others are packed, and
// what is combined is received beside the result, in memory of the step:
//
//   reduce-scatter by rank 1 of 3, rows of a matrix, which lie in one piece
//     | from rank 0  |         as large as rank 1's result, in which that of
//                              rank 2 comes: it is combined with the others
//                              there
//
// The compiler counts that memory, and a session allocates it, once for all
// steps of a queue, of which one runs at a time.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_COMM_MESSAGES_H
#define DIVISI_RUNTIME_COMM_MESSAGES_H

#include "divisi/runtime/comm/Communicator.h"
#include "divisi/runtime/device/Senders.h"

namespace divisi::rt {

/// All pieces that travel between two parties, in one message.
struct Parcel {
  size_t party;      ///< The other one.
  int64_t bytes = 0; ///< Of the message.
  /// Between the own box and the message. One that is contiguous needs no
  /// packing: the box itself is sent, or written.
  std::vector<BoxCopy> copies;
  std::vector<int64_t> offsets; ///< Of each in the message.
  int64_t place = 0;            ///< In the step's memory, of what is packed.

  /// Whether it is not packed.
  bool isDirect() const {
    return copies.size() == 1 && copies.front().isContiguous();
  }
};

/// Of a party to a step that moves.
struct MoveMessages {
  /// What it sends, and what it receives; none is empty.
  std::vector<Parcel> out, in;
  std::vector<BoxCopy> own; ///< From its own box.
  int64_t bytes = 0;        ///< Of the step's memory.
};
/// Those of party `self` of a step that moves boxes.
MoveMessages planMoveMessages(const StepDesc &step, size_t self);
/// The same by `senders`, those of `step` (sendersOf), which whoever asks for
/// several parties asks for once.
MoveMessages planMoveMessages(const StepDesc &step, size_t self,
                              Senders &senders);

/// Of a party to a step in which each combines the part that it wants.
struct CombineMessages {
  std::vector<Parcel> out; ///< What it sends to those who combine it.
  Parcel own;              ///< Its own summand of the part that it combines.
  int64_t slot = 0;        ///< Where what the other parties have comes, ...
  int64_t slotBytes = 0;   ///< ... and from there to the next one's.
  int64_t bytes = 0;       ///< Of the step's memory.
};
/// Those of party `self` of a step that reduces.
CombineMessages planCombineMessages(const StepDesc &step, size_t self);

/// What a barrier is done as: a vote on nothing.
StepDesc asVote(StepDesc step);

/// How much memory party `self` needs for the messages of `step`, whatever its
/// kind: of an all-reduce, its own chunk of each.
int64_t messageBytes(const StepDesc &step, size_t self);
/// That of each party. What parties have in common is worked out once.
std::vector<int64_t> messageBytes(const StepDesc &step);

/// Where the next message may begin, or the memory of the next step.
inline int64_t alignedMessage(int64_t bytes) { return (bytes + 63) / 64 * 64; }

/// Which of the others than `self` that party is.
inline int64_t slotOf(size_t party, size_t self) {
  return static_cast<int64_t>(party > self ? party - 1 : party);
}

/// All parties but `self`. Each begins with the one behind it, so that not all
/// send to the same.
std::vector<size_t> othersThan(size_t self, size_t count);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_COMM_MESSAGES_H
