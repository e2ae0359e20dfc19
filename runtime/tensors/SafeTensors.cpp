//===- SafeTensors.cpp - Writing .safetensors -----------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/tensors/SafeTensors.h"

#include "divisi/Support/JsonOutput.h"
#include "divisi/Support/OutputFile.h"

#include <array>
#include <cstring>
#include <string_view>

using namespace divisi;
using namespace divisi::rt;

namespace {

/// How the format calls a type.
struct SafeName {
  DType type;
  std::string_view name;
};

} // namespace

static constexpr std::array<SafeName, 16> safeNames = {
    {{DType::F64, "F64"},
     {DType::F32, "F32"},
     {DType::F16, "F16"},
     {DType::BF16, "BF16"},
     {DType::F8E4M3FN, "F8_E4M3"},
     {DType::F8E5M2, "F8_E5M2"},
     {DType::F8E8M0, "F8_E8M0"},
     {DType::I8, "I8"},
     {DType::I16, "I16"},
     {DType::I32, "I32"},
     {DType::I64, "I64"},
     {DType::U8, "U8"},
     {DType::U16, "U16"},
     {DType::U32, "U32"},
     {DType::U64, "U64"},
     {DType::Bool, "BOOL"}}};

static Expected<std::string>
makeHeader(const std::vector<SafeTensor> &tensors) {
  std::string text = "{";
  int64_t offset = 0;
  for (const SafeTensor &tensor : tensors) {
    std::string_view name;
    for (const SafeName &row : safeNames) {
      name = row.type == tensor.type ? row.name : name;
    }
    if (name.empty()) {
      return makeError(ExitCode::Unsupported, "the tensor '", tensor.name,
                       "' is ", describe(tensor.type, tensor.dims),
                       ", and .safetensors has no such type");
    }
    text += offset == 0 && text.size() == 1 ? "" : ",";
    writeJsonString(text, tensor.name);
    text += ":{\"dtype\":\"" + std::string(name) + "\",\"shape\":";
    writeJsonList(text, tensor.dims.size(),
                  [&](size_t i) { text += std::to_string(tensor.dims[i]); });
    int64_t end = offset + numElements(tensor.dims) * byteWidth(tensor.type);
    text += ",\"data_offsets\":[" + std::to_string(offset) + "," +
            std::to_string(end) + "]}";
    offset = end;
  }
  text += "}";
  // Elements begin at a multiple of 64.
  text.resize((8 + text.size() + 63) / 64 * 64 - 8, ' ');
  return text;
}

Expected<int64_t>
divisi::rt::writeSafeTensors(const std::string &path,
                             const std::vector<SafeTensor> &tensors,
                             const SafeTensorBytes &bytes) {
  Expected<std::string> header = makeHeader(tensors);
  if (!header) {
    return header.status().in("'" + path + "'");
  }
  Expected<OutputFile> file = OutputFile::create(path);
  if (!file) {
    return file.status();
  }
  auto size = uint64_t(header->size());
  Status status = file->write(std::as_bytes(std::span(&size, 1)));
  if (status.isOk()) {
    status = file->write(*header);
  }
  int64_t begin = file->offset();
  for (size_t i = 0; i < tensors.size() && status.isOk(); ++i) {
    auto elements = bytes(i);
    status = elements ? file->write(*elements) : elements.status();
  }
  if (status.isOk()) {
    status = file->commit();
  }
  return status.isOk() ? Expected<int64_t>(begin) : status;
}
