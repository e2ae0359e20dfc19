//===- ConvertTensor.cpp - From ONNX's tensors to plain data --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OnnxConverter.h"

#include "divisi/Support/CheckedMath.h"
#include "divisi/runtime/kernels/HostTensor.h"

#include <charconv>

using namespace divisi;

/// Appends the elements of a typed field as `T` each.
template <typename T, typename Field>
static void appendElements(const Field &field, std::vector<std::byte> &out) {
  for (auto element : field) {
    T value = static_cast<T>(element);
    const auto *bytes = reinterpret_cast<const std::byte *>(&value);
    out.insert(out.end(), bytes, bytes + sizeof(T));
  }
}

/// The data of a tensor that is not raw, as raw bytes.
static std::vector<std::byte> typedData(const onnx::TensorProto &tensor,
                                        rt::DType type) {
  std::vector<std::byte> out;
  switch (type) {
  case rt::DType::F32:
    appendElements<float>(tensor.float_data(), out);
    break;
  case rt::DType::F64:
    appendElements<double>(tensor.double_data(), out);
    break;
  case rt::DType::I64:
    appendElements<int64_t>(tensor.int64_data(), out);
    break;
  case rt::DType::U32:
    appendElements<uint32_t>(tensor.uint64_data(), out);
    break;
  case rt::DType::U64:
    appendElements<uint64_t>(tensor.uint64_data(), out);
    break;
  case rt::DType::I32:
    appendElements<int32_t>(tensor.int32_data(), out);
    break;
  case rt::DType::F16:
  case rt::DType::BF16:
  case rt::DType::I16:
  case rt::DType::U16:
    appendElements<uint16_t>(tensor.int32_data(), out);
    break;
  case rt::DType::I8:
  case rt::DType::U8:
  case rt::DType::I2:
  case rt::DType::U2:
  case rt::DType::I4:
  case rt::DType::U4:
  case rt::DType::F4E2M1:
  case rt::DType::F8E4M3FN:
  case rt::DType::F8E4M3FNUZ:
  case rt::DType::F8E5M2:
  case rt::DType::F8E5M2FNUZ:
  case rt::DType::F8E8M0:
    appendElements<uint8_t>(tensor.int32_data(), out);
    break;
  case rt::DType::Bool:
    appendElements<bool>(tensor.int32_data(), out);
    break;
  case rt::DType::Field:
    break; // ONNX has no such type.
  }
  return out;
}

ByteRange OnnxConverter::locate(const onnx::TensorProto &tensor,
                                const OnnxTensor &result, int64_t bytes,
                                const std::string &where) {
  if (tensor.data_location() == onnx::TensorProto_DataLocation_EXTERNAL) {
    if (!external_) {
      throwError(ExitCode::Invalid, where + " may not have external data");
    }
    std::map<std::string, std::string> entries;
    for (const auto &entry : tensor.external_data()) {
      entries[entry.key()] = entry.value();
    }
    auto range = external_->locate(result.name, entries, bytes);
    if (!range) {
      throwError(range.status().code(), range.status().message());
    }
    return *range;
  }
  // The scanner alone writes doc_string.
  if (tensor.has_doc_string()) {
    size_t number = 0;
    const std::string &text = tensor.doc_string();
    std::from_chars(text.data(), text.data() + text.size(), number);
    return {path_, locations_.at(number).offset, locations_.at(number).length};
  }
  std::span<const std::byte> raw(
      reinterpret_cast<const std::byte *>(tensor.raw_data().data()),
      tensor.raw_data().size());
  return store_.addBlob(tensor.has_raw_data() ? raw
                                              : typedData(tensor, result.type));
}

/// What has less than 8 bits has a byte for each element from here on. Its
/// files have to be there, also for planning.
ByteRange OnnxConverter::unpack(const ByteRange &packed, rt::DType type,
                                int64_t count, const std::string &where) {
  auto bytes = store_.bytes(packed);
  if (!bytes) {
    Status status = bytes.status().in(where);
    throwError(status.code(), status.message());
  }
  return store_.addBlob(rt::unpackElements(type, *bytes, count));
}

/// What ONNX's checker may see of a tensor.
static void leaveEmpty(onnx::TensorProto &tensor, int32_t type) {
  onnx::TensorProto empty;
  empty.set_name(tensor.name());
  empty.set_data_type(type);
  empty.add_dims(0);
  empty.set_raw_data("");
  tensor = std::move(empty);
}

OnnxTensor OnnxConverter::convertTensor(onnx::TensorProto &tensor,
                                        const std::string &where) {
  OnnxTensor result;
  result.name = tensor.name();
  if (tensor.has_segment()) {
    leaveEmpty(tensor, onnx::TensorProto::FLOAT);
    throwError(ExitCode::Unsupported, where + " is stored in segments");
  }
  auto type = convertType(tensor.data_type());
  if (!type) {
    int32_t number = tensor.data_type();
    bool isKnown = onnx::TensorProto_DataType_IsValid(number) && number != 0;
    leaveEmpty(tensor, onnx::TensorProto::FLOAT);
    throwError(isKnown ? ExitCode::Unsupported : ExitCode::Invalid,
               where + " has the element type " + onnxTypeName(number) +
                   ", which Divisi does not support; export the model with " +
                   knownTypes());
  }
  result.type = *type;
  if (tensor.dims_size() > limits_.rank) {
    throwError(ExitCode::Invalid,
               where + " has rank " + std::to_string(tensor.dims_size()) +
                   ", more than " + std::to_string(limits_.rank));
  }
  for (int64_t dim : tensor.dims()) {
    if (dim < 0) {
      throwError(ExitCode::Invalid,
                 where + " has the extent " + std::to_string(dim));
    }
    result.dims.push_back(dim);
  }
  auto count = checkedProduct(result.dims);
  auto bytes = count ? checkedMul(*count, rt::byteWidth(*type)) : count;
  if (!bytes) {
    throwError(ExitCode::Invalid,
               where + " has more bytes than int64 can count");
  }
  int64_t stored = rt::onnxBytes(*type, *count);
  result.data = locate(tensor, result, stored, where);
  if (result.data.length != stored) {
    throwError(ExitCode::Invalid,
               where + " has " + std::to_string(result.data.length) +
                   " bytes of data, expected " + std::to_string(stored) +
                   " for its shape and type");
  }
  if (rt::bitWidth(*type) < 8) {
    result.data = unpack(result.data, *type, *count, where);
  }
  leaveEmpty(tensor, tensor.data_type());
  return result;
}
