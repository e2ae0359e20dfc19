//===- Senders.h - Who sends what of a move ---------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Several parties may hold the same box. What others want of it is shared out
// among them, so that the one who sends most sends little; a piece that one
// party wants of a box comes from one holder:
//
//   holders 0 1 of one box, who want it 2 3 4 5     0 -> 2 3    1 -> 4 5
//
// Parties near each other in their order mostly stand near each other, so equal
// pieces are shared out in that order.
//
// Those who run a move and those who price it ask this one function.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_DEVICE_SENDERS_H
#define DIVISI_RUNTIME_DEVICE_SENDERS_H

#include "divisi/runtime/device/Box.h"

#include <optional>

namespace divisi::rt {

/// What a party has of a tensor before a move, and wants behind it.
struct MoveParty {
  const Box *source = nullptr; ///< Null: it has nothing.
  const Box *result = nullptr; ///< Null: it wants nothing.
};

/// What a party gets from one of them, which may be itself.
struct SentPiece {
  size_t sender; ///< Its number.
  Box box;       ///< In the tensor.
};

/// Who sends what to one party.
struct Received {
  /// Disjoint; together the result, or as much of it as anybody has. First what
  /// it has itself, then by holders in their order.
  std::vector<SentPiece> pieces;
  bool isWhole = true; ///< Whether nothing is missing.
};

/// Who sends what of a move. What a party has itself nobody sends it; of boxes
/// that overlap without being equal, the one whose first holder comes first is
/// used. It remembers what it has computed, and is not for two threads.
class Senders {
public:
  /// Of `parties`, whose boxes the caller keeps.
  explicit Senders(std::span<const MoveParty> parties);

  /// What party `to` gets from `from`: disjoint boxes, the same ones in the
  /// same order whoever asks.
  std::vector<Box> pieces(size_t from, size_t to);
  /// What it gets from all.
  Received received(size_t to);

private:
  /// A box, and who holds it.
  struct Shard {
    const Box *box;
    std::vector<size_t> holders;
    bool isShared = false;        ///< `senderOf` is known.
    std::vector<size_t> senderOf; ///< By who wants some of it.
  };
  std::vector<Box> wanted(size_t to, size_t shard) const;
  size_t senderOf(size_t to, Shard &shard);

  std::vector<MoveParty> parties_;
  std::vector<Shard> shards_;   ///< In the order of their first holders.
  std::vector<size_t> shardOf_; ///< By party that holds one.
  bool areDisjoint_ = true;
};

/// Shares out `sizes` among so many holders: the holder of each, such that the
/// one with most has little. Neighbours go together where that has as little.
std::vector<size_t> shareOut(std::span<const int64_t> sizes, size_t holders);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_DEVICE_SENDERS_H
