//===- OnnxTypes.cpp - ONNX's numbers of element types --------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OnnxTypes.h"

#include "onnx/onnx_pb.h"

using namespace divisi;

namespace {
struct TypeRow {
  onnx::TensorProto_DataType onnx;
  rt::DType type;
};
} // namespace

static constexpr TypeRow kTypes[] = {
    {onnx::TensorProto_DataType_DOUBLE, rt::DType::F64},
    {onnx::TensorProto_DataType_FLOAT, rt::DType::F32},
    {onnx::TensorProto_DataType_FLOAT16, rt::DType::F16},
    {onnx::TensorProto_DataType_BFLOAT16, rt::DType::BF16},
    {onnx::TensorProto_DataType_INT8, rt::DType::I8},
    {onnx::TensorProto_DataType_INT16, rt::DType::I16},
    {onnx::TensorProto_DataType_INT32, rt::DType::I32},
    {onnx::TensorProto_DataType_INT64, rt::DType::I64},
    {onnx::TensorProto_DataType_UINT8, rt::DType::U8},
    {onnx::TensorProto_DataType_UINT16, rt::DType::U16},
    {onnx::TensorProto_DataType_UINT32, rt::DType::U32},
    {onnx::TensorProto_DataType_UINT64, rt::DType::U64},
    {onnx::TensorProto_DataType_BOOL, rt::DType::Bool},
    {onnx::TensorProto_DataType_INT4, rt::DType::I4},
    {onnx::TensorProto_DataType_UINT4, rt::DType::U4},
    {onnx::TensorProto_DataType_FLOAT8E4M3FN, rt::DType::F8E4M3FN},
    {onnx::TensorProto_DataType_INT2, rt::DType::I2},
    {onnx::TensorProto_DataType_UINT2, rt::DType::U2},
    {onnx::TensorProto_DataType_FLOAT4E2M1, rt::DType::F4E2M1},
    {onnx::TensorProto_DataType_FLOAT8E4M3FNUZ, rt::DType::F8E4M3FNUZ},
    {onnx::TensorProto_DataType_FLOAT8E5M2, rt::DType::F8E5M2},
    {onnx::TensorProto_DataType_FLOAT8E5M2FNUZ, rt::DType::F8E5M2FNUZ},
    {onnx::TensorProto_DataType_FLOAT8E8M0, rt::DType::F8E8M0},
};

std::optional<rt::DType> divisi::convertType(int onnxType) {
  for (const TypeRow &row : kTypes) {
    if (row.onnx == onnxType) {
      return row.type;
    }
  }
  return std::nullopt;
}

int divisi::onnxType(rt::DType type) {
  for (const TypeRow &row : kTypes) {
    if (row.type == type) {
      return row.onnx;
    }
  }
  return onnx::TensorProto_DataType_UNDEFINED;
}

std::string divisi::knownTypes() {
  return "booleans, integers of 2 to 64 bits, or floats of 4 to 64 bits";
}

std::string divisi::onnxTypeName(int type) {
  return onnx::TensorProto_DataType_IsValid(type)
             ? onnx::TensorProto_DataType_Name(
                   static_cast<onnx::TensorProto_DataType>(type))
             : "number " + std::to_string(type);
}

bool divisi::isFloat8(rt::DType type) {
  return rt::isFloatType(type) && rt::bitWidth(type) == 8;
}

rt::DType divisi::exactFloat(rt::DType type) {
  return rt::isFloatType(type)      ? type
         : rt::byteWidth(type) <= 2 ? rt::DType::F32
                                    : rt::DType::F64;
}
