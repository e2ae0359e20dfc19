//===- OnnxTensor.cpp - ONNX's test data ----------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/tensors/TensorFile.h"
#include "runtime/schema/onnx_tensor.pb.h"

#include <array>
#include <cstring>

using namespace divisi;
using namespace divisi::rt;
using Message = divisi::onnx_tensor::Tensor;

namespace {

/// ONNX's number of an element type, and which field holds the elements where
/// they are not raw.
struct OnnxType {
  int number;
  DType type;
  enum { Float, Int32, Int64, Double, Uint64 } field;
};

} // namespace

static constexpr std::array<OnnxType, 23> onnxTypes = {{
    {1, DType::F32, OnnxType::Float},
    {2, DType::U8, OnnxType::Int32},
    {3, DType::I8, OnnxType::Int32},
    {4, DType::U16, OnnxType::Int32},
    {5, DType::I16, OnnxType::Int32},
    {6, DType::I32, OnnxType::Int32},
    {7, DType::I64, OnnxType::Int64},
    {9, DType::Bool, OnnxType::Int32},
    {10, DType::F16, OnnxType::Int32}, // bits in the lower half
    {11, DType::F64, OnnxType::Double},
    {12, DType::U32, OnnxType::Uint64},
    {13, DType::U64, OnnxType::Uint64},
    {16, DType::BF16, OnnxType::Int32},
    {17, DType::F8E4M3FN, OnnxType::Int32},
    {18, DType::F8E4M3FNUZ, OnnxType::Int32},
    {19, DType::F8E5M2, OnnxType::Int32},
    {20, DType::F8E5M2FNUZ, OnnxType::Int32},
    {21, DType::U4, OnnxType::Int32}, // several in a byte, as are the next
    {22, DType::I4, OnnxType::Int32},
    {23, DType::F4E2M1, OnnxType::Int32},
    {24, DType::F8E8M0, OnnxType::Int32},
    {25, DType::U2, OnnxType::Int32},
    {26, DType::I2, OnnxType::Int32},
}};

/// The elements of a typed field as bytes of `width` each. Little-endian: the
/// low bytes of a wider integer are the narrower one.
template <typename Field>
static std::string pack(const Field &field, int64_t width) {
  std::string bytes;
  bytes.reserve(static_cast<size_t>(field.size()) * width);
  for (auto value : field) {
    bytes.append(reinterpret_cast<const char *>(&value), width);
  }
  return bytes;
}

static std::string packTyped(const Message &message, const OnnxType &row) {
  int64_t width = byteWidth(row.type);
  switch (row.field) {
  case OnnxType::Float:
    return pack(message.float_data(), width);
  case OnnxType::Int32:
    return pack(message.int32_data(), width);
  case OnnxType::Int64:
    return pack(message.int64_data(), width);
  case OnnxType::Double:
    return pack(message.double_data(), width);
  case OnnxType::Uint64:
    return pack(message.uint64_data(), width);
  }
  return {};
}

static const OnnxType *findType(int number) {
  for (const OnnxType &row : onnxTypes) {
    if (row.number == number) {
      return &row;
    }
  }
  return nullptr;
}

Expected<HostTensor>
divisi::rt::parseOnnxTensor(std::span<const std::byte> bytes) {
  // Other messages, and short texts, can parse as a tensor without a type.
  Message message;
  if (bytes.size() > INT32_MAX ||
      !message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) ||
      message.data_type() == 0) {
    return makeError(ExitCode::Invalid,
                     "not an ONNX tensor, or one of more than 2 GiB; expected "
                     "tensors as .npy, .npz or .pb");
  }
  const OnnxType *row = findType(message.data_type());
  if (!row) {
    return makeError(ExitCode::Unsupported, "ONNX element type ",
                     message.data_type(),
                     "; expected a boolean, an integer or a float");
  }
  if (message.data_location() != 0) {
    return makeError(ExitCode::Unsupported,
                     "an ONNX tensor whose data lies in another file; test "
                     "data must hold its own");
  }
  Dims dims(message.dims().begin(), message.dims().end());
  if (dims.size() > 64) {
    return makeError(ExitCode::Invalid, "an ONNX tensor of rank ", dims.size(),
                     "; expected at most 64");
  }
  std::string typed;
  if (!message.has_raw_data()) {
    typed = packTyped(message, *row);
  }
  const std::string &data = message.has_raw_data() ? message.raw_data() : typed;
  std::span<const std::byte> elements =
      std::as_bytes(std::span<const char>(data));
  std::vector<std::byte> unpacked;
  std::optional<int64_t> count = checkedBytes(DType::U8, dims);
  if (count && bitWidth(row->type) < 8) {
    int64_t expected = onnxBytes(row->type, *count);
    if (expected != static_cast<int64_t>(data.size())) {
      return makeError(ExitCode::Invalid, "got ", data.size(),
                       " bytes for an ONNX tensor ", describe(row->type, dims),
                       ", expected ", expected);
    }
    unpacked = unpackElements(row->type, elements, *count);
    elements = unpacked;
  }
  return HostTensor::copyOf(row->type, dims, elements, message.name());
}
