//===- Collectives.h - Collectives, as each rank sees them ------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_ARTIFACT_COLLECTIVES_H
#define DIVISI_RUNTIME_ARTIFACT_COLLECTIVES_H

#include "divisi/runtime/comm/Communicator.h"
#include "runtime/artifact/ResolvedManifest.h"

namespace divisi::rt {

/// What a collective does with boxes.
enum class CollectiveKind : uint8_t {
  Slice,         ///< Local: a part of the own box.
  Mask,          ///< Local: replicated becomes partial.
  Move,          ///< all_gather, all_to_all, exchange: boxes from the group.
  AllReduce,     ///< Partial becomes replicated.
  ReduceScatter, ///< Partial becomes split.
};
/// The kind that an instruction's collective `name` has; nothing if it is none.
std::optional<CollectiveKind> parseCollectiveKind(std::string_view name);

/// Slice and Mask need nobody else.
bool isLocal(CollectiveKind kind);

/// Whether `kind` over `axes` leads from `source` to `result` at all positions
/// of their grid: what each needs is in its group, partial axes come and go as
/// the kind says. Returns Invalid with the reason.
Status checkCollective(const GridInfo &grid, CollectiveKind kind,
                       std::span<const uint32_t> axes, const Placement &source,
                       const Placement &result);

/// Whether the target's ranks can fetch `to` from `from`.
Status checkTransfer(const Placement &from, const Placement &to);

/// The step of the group of `position`, with the caller's place in it. Entry,
/// tag and location are left to the caller.
struct OwnStep {
  StepDesc step;   ///< Of all parties of the group.
  size_t self = 0; ///< The caller's number among them.
};
/// That of a collective on `grid` over `axes`. Both placements were checked.
OwnStep describeCollective(const GridInfo &grid, CollectiveKind kind,
                           std::span<const uint32_t> axes,
                           const Placement &source, const Placement &result,
                           size_t position);
/// Of elements that lie in `format`: the same step of the dimensions as they
/// are stored.
void storeIn(const std::string &format, OwnStep &own);
/// The box of the dimensions as they are stored in `format`.
Box storedIn(const std::string &format, const Box &box);
/// That of a transfer between two grids, for `rank`, which belongs to one of
/// them.
OwnStep describeTransfer(const GridInfo &fromGrid, const Placement &from,
                         const GridInfo &toGrid, const Placement &to,
                         uint32_t rank);

/// A mask's result is zero (neutral) everywhere but at the first position
/// along `axes`.
bool isMasked(const GridInfo &grid, std::span<const uint32_t> axes,
              size_t position);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_ARTIFACT_COLLECTIVES_H
