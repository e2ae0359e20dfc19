//===- Tensors.cpp - Tensors of callers -----------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/capi/Handles.h"

using namespace divisi;
using namespace divisi::rt;

namespace {

/// DLPack 1.1's names.
enum TypeCode : uint8_t {
  Int = 0,
  UInt = 1,
  Float = 2,
  BFloat = 4,
  Bool = 6,
  Float8E4M3FN = 10,
  Float8E4M3FNUZ = 11,
  Float8E5M2 = 12,
  Float8E5M2FNUZ = 13,
  Float8E8M0 = 14,
  Float4E2M1 = 17
};

/// A row of the table of types.
struct TypeRow {
  DType type;
  TypeCode code;
  uint8_t bits;
};

} // namespace

static constexpr TypeRow types[] = {{DType::F64, Float, 64},
                                    {DType::F32, Float, 32},
                                    {DType::F16, Float, 16},
                                    {DType::BF16, BFloat, 16},
                                    {DType::I8, Int, 8},
                                    {DType::I16, Int, 16},
                                    {DType::I32, Int, 32},
                                    {DType::I64, Int, 64},
                                    {DType::U8, UInt, 8},
                                    {DType::U16, UInt, 16},
                                    {DType::U32, UInt, 32},
                                    {DType::U64, UInt, 64},
                                    {DType::Bool, Bool, 8},
                                    {DType::I4, Int, 4},
                                    {DType::U4, UInt, 4},
                                    {DType::F8E4M3FN, Float8E4M3FN, 8},
                                    {DType::F8E5M2, Float8E5M2, 8},
                                    {DType::I2, Int, 2},
                                    {DType::U2, UInt, 2},
                                    {DType::F4E2M1, Float4E2M1, 4},
                                    {DType::F8E4M3FNUZ, Float8E4M3FNUZ, 8},
                                    {DType::F8E5M2FNUZ, Float8E5M2FNUZ, 8},
                                    {DType::F8E8M0, Float8E8M0, 8}};

divisi_dtype divisi::rt::dtypeOf(DType type) {
  for (const TypeRow &row : types) {
    if (row.type == type) {
      return {row.code, row.bits, 1};
    }
  }
  return {0, 0, 0};
}

static std::string nameOf(divisi_dtype dtype) {
  for (const TypeRow &row : types) {
    if (row.code == dtype.code && row.bits == dtype.bits && dtype.lanes == 1) {
      return std::string(stringify(row.type));
    }
  }
  return "DLPack's type " + std::to_string(dtype.code) + " of " +
         std::to_string(dtype.bits) + " bits in " +
         std::to_string(dtype.lanes) + " lanes";
}

Expected<TensorView> divisi::rt::viewOf(const divisi_tensor &tensor,
                                        const ValueInfo &info,
                                        const std::string &what) {
  constexpr int32_t host = 1;
  if (tensor.device.type != host) {
    return makeError(ExitCode::Unsupported, what, ": device type ",
                     tensor.device.type,
                     "; expected the memory of the host, which is 1");
  }
  divisi_dtype type = dtypeOf(info.type);
  if (tensor.dtype.code != type.code || tensor.dtype.bits != type.bits ||
      tensor.dtype.lanes != type.lanes) {
    return makeError(ExitCode::Invalid, what, ": got elements of type ",
                     nameOf(tensor.dtype), ", expected ", stringify(info.type));
  }
  constexpr int32_t maxDims = 4096; // bounds what is read of a bad one
  if (tensor.ndim < 0 || tensor.ndim > maxDims ||
      (tensor.ndim > 0 && !tensor.shape)) {
    return makeError(ExitCode::Invalid, what, ": ", tensor.ndim,
                     " dimensions without a shape");
  }
  Dims shape(tensor.shape, tensor.shape + tensor.ndim);
  if (shape != info.dims) {
    return makeError(ExitCode::Invalid, what, ": got ",
                     describe(info.type, shape), ", expected ",
                     describe(info.type, info.dims));
  }
  if (!tensor.data && numElements(info.dims) > 0) {
    return makeError(ExitCode::Invalid, what, ": its data is NULL");
  }
  Dims strides;
  if (tensor.strides) {
    strides.assign(tensor.strides, tensor.strides + tensor.ndim);
  }
  return TensorView{tensor.data, info.type, info.dims, std::move(strides),
                    tensor.byte_offset};
}
