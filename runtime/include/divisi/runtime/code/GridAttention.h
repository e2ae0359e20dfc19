//===- GridAttention.h - Attention in blocks of threads ---------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Generated code of an `nn.attention`, or of the `nn.attention_lse` of one
// (GridCode.h has that of regions): a module with one kernel. Its parameters
// are
//
//   pointers                      the result, queries, keys, values (but of the
//                                 logarithm), a mask
//   numbers, of 64 bits each      as `Number` and the strides behind it
//
// Each warp has some queries of one head, a block as many as its warps have.
// Keys and values pass, 32 at a time, through the block's shared memory; for
// all keys together only their maximum, the sum of their exponentials, and that
// of these times values are kept.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_CODE_GRIDATTENTION_H
#define DIVISI_RUNTIME_CODE_GRIDATTENTION_H

#include "divisi/runtime/code/GridLaunch.h"
#include "divisi/runtime/kernels/Attention.h"

#include <optional>

namespace divisi::rt {

/// Which keys a query attends by its position, as kernels have it: local query
/// `s` those from `s + first` up to `s + end`, counted from the first one that
/// takes part.
struct KeyBounds {
  int64_t first; ///< Added to the query's number.
  int64_t end;   ///< The same.
  /// Where a bound is none, more than there are.
  static KeyBounds of(const AttentionPlan &plan);
};

/// See the file's head. What differs from rank to rank is in numbers alone.
struct GridAttention {
  /// The numbers that are no strides. Query `s` attends from key `s + First` up
  /// to key `s + End`.
  enum Number : size_t {
    Tiles, ///< Of the queries of a head: what a block has at a time.
    Batch,
    Heads,
    Queries,
    Keys,
    Depth,
    Features,
    Group,     ///< Heads for each head of keys.
    FirstHead, ///< In the whole tensor.
    First,
    End,
    numNumbers
  };
  /// Keys that come by at a time, and features of a lane's row of threads.
  static constexpr int64_t tile = 32;
  static constexpr int64_t mostFeatures = 256;
  /// On tensor cores: of the features, for which there are registers, and of
  /// the depth, for which there is room where the block shares; of the warps of
  /// a block; and the queries of a warp, which are multiplied together.
  static constexpr int64_t mostTensorFeatures = 192, mostTensorDepth = 256,
                           mostTensorWarps = 4, tensorQueries = 16;
  /// There, elements from one row of what a block shares to the next, of the
  /// values of a feature. Rows are padded such that the lanes of a warp, which
  /// read from eight of them, find all in different banks.
  static constexpr int64_t padding = 8, valuePitch = tile + padding;
  /// Fewer queries of a head than this leave most of a product empty.
  static constexpr int64_t leastTensorQueries = 8;

  AttentionPlan plan;      ///< The boxes and attributes of the call.
  DType type = DType::F32; ///< Of all tensors but the mask and the logarithm.
  bool makesLse = false;   ///< The logarithm of each query's sum, no values.
  /// Of 16, of the whole depth, which tensor cores multiply; 0: they don't.
  int64_t depthTiles = 0;
  /// Of the whole result: of 32, or of 8 on tensor cores; none of a logarithm.
  int64_t featureTiles = 1;

  /// That of `site`; nothing if it does something else, or has elements or
  /// extents for which there is no kernel.
  static std::optional<GridAttention> of(const CallSite &site);

  /// Of a warp: as many as registers hold the features of.
  int64_t queries() const {
    if (usesTensorCores()) {
      return tensorQueries;
    }
    int64_t tiles = type == DType::F64 ? 4 * featureTiles : featureTiles;
    return tiles > 4 ? 1 : tiles > 2 ? 2 : 4;
  }
  /// Whether tensor cores multiply.
  bool usesTensorCores() const { return depthTiles > 0; }
  /// On tensor cores: valuePitch of queries and keys.
  int64_t tensorPitch() const { return 16 * depthTiles + padding; }
  /// There, the most warps of a block: those for whose queries there is room
  /// where it shares, beside keys and values. At least one.
  int64_t tensorWarps() const;
  /// Whether there may be keys that a query does not attend.
  bool masks() const {
    return plan.hasMask || plan.positions.left >= 0 ||
           plan.positions.right >= 0;
  }
  /// All that the kernel depends on.
  std::string structure() const;
  /// How many pointers the kernel takes.
  size_t pointerCount() const {
    return 4 + size_t(plan.hasMask) - size_t(makesLse);
  }
  /// How many numbers the kernel takes.
  size_t numberCount() const { return numNumbers + 3 * 4 + 4; }
  /// The one launch.
  GridLaunch launch() const;
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_CODE_GRIDATTENTION_H
