//===- GridAttentionGradient.h - Gradients in blocks ------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Generated code of an `nn.attention_gradient`: a module with one kernel. Its
// parameters are
//
//   pointers                      the result, queries, keys, values, gradients
//                                 of the attention's result, lse, delta, a mask
//   numbers, of 64 bits each      as `Number` and the strides behind it
//
// A warp has some rows of the result: queries of one head, or keys. What they
// are paired with, keys or queries of all heads that share them, comes by, 32
// at a time, through memory that the block shares; what a pair weighs is
// computed anew for each gradient (Dao, FlashAttention-2, 2023, section 3.1.2),
// and a row is summed up by one warp, in the order of what comes by.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_CODE_GRIDATTENTIONGRADIENT_H
#define DIVISI_RUNTIME_CODE_GRIDATTENTIONGRADIENT_H

#include "divisi/runtime/code/GridAttention.h"

namespace divisi::rt {

/// See the file's head. What differs from rank to rank is in numbers alone.
struct GridAttentionGradient {
  /// The numbers that are no strides.
  enum Number : size_t {
    Tiles, ///< Of the result's rows of a head: what a block has at a time.
    Batch,
    Heads, ///< Of the result.
    Queries,
    Keys,
    Depth,
    Features,
    Group,       ///< Heads of queries for each head of keys.
    FirstHead,   ///< Of the queries that take part, in the whole tensor.
    QueryHeads,  ///< How many of these there are.
    FirstResult, ///< Head of the result, in the whole tensor.
    First,       ///< Of KeyBounds.
    End,
    numNumbers
  };
  /// Of the operands, in the order of the pointers.
  static constexpr std::array<size_t, 7> kinds = {Query, Key,   Value, Gradient,
                                                  Lse,   Delta, Mask};
  /// Rows that come by at a time.
  static constexpr int64_t tile = GridAttention::tile;
  /// Of the columns of a row, for whose sums there are registers: of all
  /// kernels, and on tensor cores.
  static constexpr int64_t mostColumns = 256, mostTensorColumns = 192;

  AttentionPlan plan;           ///< The boxes and attributes of the call.
  DType type = DType::F32;      ///< Of what is multiplied.
  DType result = DType::F32;    ///< Of the result.
  bool usesTensorCores = false; ///< To multiply.
  /// Of the depth and the features of the whole tensors: tiles of 16 on tensor
  /// cores, else of 32.
  int64_t depthTiles = 1, featureTiles = 1;

  /// That of `site`; nothing if it does something else, or has elements or
  /// extents for which there is no kernel.
  static std::optional<GridAttentionGradient> of(const CallSite &site);

  /// Whether rows of the result are those of queries.
  bool isOfQueries() const { return plan.of == Query; }
  /// Whether a pair's weight is all that is needed of it: no product of values.
  bool isOfValues() const { return plan.of == Value; }
  /// Of a row of the result.
  int64_t columnTiles() const {
    return isOfValues() ? featureTiles : depthTiles;
  }
  /// Rows of a warp.
  int64_t rows() const;
  /// The most warps of a block; on tensor cores those for whose rows there is
  /// room where it shares.
  int64_t warps() const;
  /// On tensor cores: what a block shares of what comes by, and of the rows of
  /// a warp, in elements.
  int64_t comingElements() const;
  int64_t ownElements() const;
  /// There, elements from a row to the next of what has the depth, or the
  /// features, padded as GridAttention's.
  int64_t depthPitch() const {
    return 16 * depthTiles + GridAttention::padding;
  }
  int64_t featurePitch() const {
    return 16 * featureTiles + GridAttention::padding;
  }

  /// All that the kernel depends on.
  std::string structure() const;
  /// How many pointers the kernel takes.
  size_t pointerCount() const { return plan.hasMask ? 8 : 7; }
  /// How many numbers the kernel takes.
  size_t numberCount() const { return numNumbers + 3 * 7 + 4; }
  /// The one launch.
  GridLaunch launch() const;
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_CODE_GRIDATTENTIONGRADIENT_H
