//===- Tensor.cpp - Element types and views of tensors --------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/kernels/Tensor.h"

namespace divisi::rt {
namespace {
struct DTypeRow {
  DType type;
  std::string_view name;
  int64_t bits;
};
} // namespace

// In the order of the enumerators, so that a type is its own index.
static constexpr DTypeRow dtypeTable[] = {
    {DType::F64, "f64", 64},
    {DType::F32, "f32", 32},
    {DType::F16, "f16", 16},
    {DType::BF16, "bf16", 16},
    {DType::I8, "i8", 8},
    {DType::I16, "i16", 16},
    {DType::I32, "i32", 32},
    {DType::I64, "i64", 64},
    {DType::U8, "u8", 8},
    {DType::U16, "u16", 16},
    {DType::U32, "u32", 32},
    {DType::U64, "u64", 64},
    {DType::Bool, "bool", 8},
    {DType::I2, "i2", 2},
    {DType::U2, "u2", 2},
    {DType::I4, "i4", 4},
    {DType::U4, "u4", 4},
    {DType::F4E2M1, "f4e2m1", 4},
    {DType::F8E4M3FN, "f8e4m3fn", 8},
    {DType::F8E4M3FNUZ, "f8e4m3fnuz", 8},
    {DType::F8E5M2, "f8e5m2", 8},
    {DType::F8E5M2FNUZ, "f8e5m2fnuz", 8},
    {DType::F8E8M0, "f8e8m0", 8},
    {DType::Field, "field", 64},
};
static_assert(std::size(dtypeTable) == numDTypes);

int64_t bitWidth(DType type) {
  return dtypeTable[static_cast<size_t>(type)].bits;
}

int64_t byteWidth(DType type) { return (bitWidth(type) + 7) / 8; }

std::string_view stringify(DType type) {
  return dtypeTable[static_cast<size_t>(type)].name;
}

bool isFloatType(DType type) {
  return type <= DType::BF16 ||
         (type >= DType::F4E2M1 && type <= DType::F8E8M0);
}

bool isStoredType(DType type) {
  return type >= DType::I2 && type <= DType::F8E8M0;
}

DType sumType(DType type) {
  if (isFloatType(type)) {
    return type == DType::F64 ? DType::F64 : DType::F32;
  }
  return type != DType::Bool && byteWidth(type) < 4 ? DType::I32 : type;
}

std::optional<DType> parseDType(std::string_view name) {
  for (const DTypeRow &row : dtypeTable) {
    if (row.name == name) {
      return row.type;
    }
  }
  return std::nullopt;
}

int64_t numElements(const Dims &dims) {
  int64_t count = 1;
  for (int64_t dim : dims) {
    count *= dim;
  }
  return count;
}

TensorInfo TensorInfo::whole(DType type, Dims dims) {
  TensorInfo info;
  info.type = type;
  info.offset.assign(dims.size(), 0);
  info.extents = dims;
  info.global = std::move(dims);
  return info;
}

} // namespace divisi::rt
