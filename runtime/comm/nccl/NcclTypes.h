//===- NcclTypes.h - What NCCL calls types and reductions -------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_COMM_NCCL_NCCLTYPES_H
#define DIVISI_RUNTIME_COMM_NCCL_NCCLTYPES_H

#include "divisi/runtime/device/Reduce.h"

#include <nccl.h>
#include <span>

namespace divisi::rt::nccl {

/// A type that NCCL computes with.
struct TypeRow {
  DType type;          ///< Ours, ...
  ncclDataType_t name; ///< ... and NCCL's.
};
/// A reduction, of types as `isOf` says.
struct KindRow {
  ReduceKind kind;  ///< Ours, ...
  ncclRedOp_t name; ///< ... and NCCL's.
  /// Whether it holds of that type.
  bool (*isOf)(DType type);
};

/// All that are used.
std::span<const TypeRow> typeRows();
std::span<const KindRow> kindRows();

/// How NCCL combines elements; nothing where it does not, or not as the
/// reference does (combineQueued()).
struct NcclReduction {
  ncclDataType_t type; ///< Of the elements.
  ncclRedOp_t kind;    ///< How they combine.
};
/// That of elements of `type` by `kind`.
std::optional<NcclReduction> findReduction(DType type, ReduceKind kind);

} // namespace divisi::rt::nccl

#endif // DIVISI_RUNTIME_COMM_NCCL_NCCLTYPES_H
