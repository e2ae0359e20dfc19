//===- AttentionNode.h - Attention of any domain ----------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_IMPORT_ATTENTIONNODE_H
#define DIVISI_LIB_IMPORT_ATTENTIONNODE_H

#include "NodeImporter.h"

#include <limits>

namespace divisi {

/// What is added to the product of a key that is not attended.
inline constexpr double kMinusInfinity =
    -std::numeric_limits<double>::infinity();

/// A node's operands, by heads, and who attends what.
struct AttentionNode {
  Tensor q, k, v; ///< Four dims; k and v with what is past.
  Tensor mask;    ///< Four dims, or null.
  /// As nn.attention has them.
  double scale = 1, softcap = 0;
  int64_t left = -1, right = -1, offset = 0; ///< Likewise; -1 is no bound.

  /// How many queries a head has.
  int64_t queries() const { return q->dims[2]; }
  /// How many keys a head has, those of the past among them.
  int64_t keys() const { return k->dims[2]; }
};

/// [batch, length, heads * depth] as [batch, heads, length, depth]; fails if
/// `x`, which is called `what`, does not have that form. `attribute` says how
/// many heads there are.
Tensor splitHeads(NodeImporter &node, const Tensor &x, int64_t heads,
                  const std::string &what, const std::string &attribute);
/// The reverse.
Tensor joinHeads(Emitter &emit, const Tensor &x);
/// `past` and `now` behind it, along the lengths; fails if they do not fit.
Tensor behindPast(NodeImporter &node, const Tensor &past, const Tensor &now);
/// Whether queries, keys and values fit together; else fails.
bool checkHeads(NodeImporter &node, const AttentionNode &it);
/// Of `mask`, null for none, only what `allowed`, booleans, holds; else minus
/// infinity in `type`.
Tensor restrict(Emitter &emit, const Tensor &mask, const Tensor &allowed,
                rt::DType type);
/// Which keys the bounds allow, seen from `offset`, numbers that broadcast to
/// [batch, 1, queries, 1]; null if they allow all.
Tensor withinBounds(Emitter &emit, const AttentionNode &it,
                    const Tensor &offset);
/// [batch, heads, queries, depth of values].
Tensor attend(Emitter &emit, const AttentionNode &it);
/// Which keys lie before `length`, [batch, 1, 1, 1]: [batch, 1, 1, keys].
Tensor keysBefore(Emitter &emit, const AttentionNode &it, const Tensor &length);
/// `x` of four dims, the depth last, with pairs rotated by the angles whose
/// cosines and sines are [batch or 1, length, angles]; `axis` has the length.
Tensor rotate(Emitter &emit, const Tensor &x, const Tensor &cos,
              const Tensor &sin, int64_t axis, bool interleaved);

} // namespace divisi

#endif // DIVISI_LIB_IMPORT_ATTENTIONNODE_H
