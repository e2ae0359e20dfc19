//===- NcclTypes.cpp - What NCCL calls types and reductions ---------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/nccl/NcclTypes.h"

#include <algorithm>

using namespace divisi::rt;
using namespace divisi::rt::nccl;

std::span<const TypeRow> divisi::rt::nccl::typeRows() {
  static constexpr TypeRow rows[] = {
      {DType::F64, ncclFloat64}, {DType::F32, ncclFloat32},
      {DType::F16, ncclFloat16}, {DType::BF16, ncclBfloat16},
      {DType::I8, ncclInt8},     {DType::I32, ncclInt32},
      {DType::I64, ncclInt64},   {DType::U8, ncclUint8},
      {DType::U32, ncclUint32},  {DType::U64, ncclUint64},
      {DType::Bool, ncclUint8}, // a byte that is 0 or 1
  };
  return rows;
}

static bool isNumber(DType type) { return type != DType::Bool; }
static bool isFlag(DType type) { return type == DType::Bool; }
/// NCCL's are those of C, which drop NaN.
static bool isOrdered(DType type) { return !isFloatType(type); }

std::span<const KindRow> divisi::rt::nccl::kindRows() {
  static constexpr KindRow rows[] = {
      {ReduceKind::Sum, ncclSum, isNumber},
      {ReduceKind::Prod, ncclProd, isNumber},
      {ReduceKind::Max, ncclMax, isOrdered},
      {ReduceKind::Min, ncclMin, isOrdered},
      {ReduceKind::And, ncclMin, isFlag},
      {ReduceKind::Or, ncclMax, isFlag},
  };
  return rows;
}

std::optional<NcclReduction> divisi::rt::nccl::findReduction(DType type,
                                                             ReduceKind kind) {
  auto row = std::ranges::find(typeRows(), type, &TypeRow::type);
  auto how = std::ranges::find(kindRows(), kind, &KindRow::kind);
  if (row == typeRows().end() || !how->isOf(type)) {
    return std::nullopt;
  }
  return NcclReduction{row->name, how->name};
}
