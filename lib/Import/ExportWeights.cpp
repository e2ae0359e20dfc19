//===- ExportWeights.cpp - Trained weights back to a model ----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Import/ExportWeights.h"

#include "ExternalData.h"
#include "OnnxTypes.h"
#include "ReadModelProto.h"
#include "divisi/Support/GlobalStore.h"
#include "divisi/Support/MappedFile.h"
#include "divisi/Support/OutputFile.h"
#include "divisi/runtime/tensors/SafeTensors.h"
#include "divisi/runtime/tensors/TensorFile.h"

#include "onnx/onnx_pb.h"

#include <cstring>
#include <filesystem>
#include <limits>
#include <memory>
#include <set>

using namespace divisi;
using rt::HostTensor;

namespace {

/// A model that is read again, for its initializers.
class ModelWeights {
public:
  /// Reads the model at `path`, and compares its initializers with `weights`,
  /// which outlives it.
  static Expected<std::unique_ptr<ModelWeights>>
  open(const std::string &path, const NewWeights &weights);

  onnx::ModelProto &proto() { return proto_; }
  auto &initializers() {
    return *proto_.mutable_graph()->mutable_initializer();
  }
  bool isNew(const onnx::TensorProto &tensor) const {
    return weights_.heads.count(tensor.name()) != 0;
  }
  /// The elements that it is to have, in the initializer's shape.
  Expected<HostTensor> read(const onnx::TensorProto &tensor);
  WrittenWeights &written() { return written_; }

private:
  ModelWeights(const std::string &path, const NewWeights &weights)
      : path_(path), weights_(weights), external_(path, store_) {}
  Status compare();
  Expected<HostTensor> readKept(const onnx::TensorProto &tensor);

  std::string path_;
  const NewWeights &weights_;
  onnx::ModelProto proto_;
  GlobalStore store_;
  ExternalData external_;
  WrittenWeights written_;
};

} // namespace

static bool isExternal(const onnx::TensorProto &tensor) {
  return tensor.data_location() == onnx::TensorProto::EXTERNAL;
}

static rt::Dims dimsOf(const onnx::TensorProto &tensor) {
  return {tensor.dims().begin(), tensor.dims().end()};
}

Expected<std::unique_ptr<ModelWeights>>
ModelWeights::open(const std::string &path, const NewWeights &weights) {
  std::unique_ptr<ModelWeights> model(new ModelWeights(path, weights));
  Status status = readModelProto(path, model->proto_);
  if (!status.isOk()) {
    return status;
  }
  status = model->compare();
  return status.isOk()
             ? Expected<std::unique_ptr<ModelWeights>>(std::move(model))
             : status;
}

/// Weights may have another shape, with their elements in the same order.
Status ModelWeights::compare() {
  std::set<std::string> found;
  for (const onnx::TensorProto &tensor : initializers()) {
    std::optional<rt::DType> type = convertType(tensor.data_type());
    auto bytes = type ? rt::checkedBytes(*type, dimsOf(tensor)) : std::nullopt;
    if (type && !bytes) {
      return makeError(ExitCode::Invalid, "'", path_, "': initializer '",
                       tensor.name(), "' has a shape that no tensor has");
    }
    auto head = weights_.heads.find(tensor.name());
    if (head == weights_.heads.end()) {
      ++written_.kept;
      continue;
    }
    const auto &[ownType, dims, isNeeded] = head->second;
    if (type != ownType ||
        *bytes != rt::numElements(dims) * rt::byteWidth(ownType)) {
      return makeError(ExitCode::Invalid, "the weight '", tensor.name(),
                       "' is ", rt::describe(ownType, dims), ", and in '",
                       path_, "' ", onnxTypeName(tensor.data_type()), " of ",
                       bytes.value_or(0), " bytes; is it of another model?");
    }
    found.insert(tensor.name());
  }
  written_.replaced = int64_t(found.size());
  for (const auto &[name, head] : weights_.heads) {
    if (found.count(name)) {
      continue;
    }
    if (head.isNeeded || found.empty()) {
      return makeError(ExitCode::Invalid, "'", path_, "' has no initializer '",
                       name, "'; is the weight of another model?");
    }
    written_.unused.push_back(name);
  }
  return {};
}

Expected<HostTensor> ModelWeights::readKept(const onnx::TensorProto &tensor) {
  if (!isExternal(tensor)) {
    std::string text = tensor.SerializeAsString();
    return rt::parseOnnxTensor(std::as_bytes(std::span(text)));
  }
  std::optional<rt::DType> type = convertType(tensor.data_type());
  auto needed = type ? rt::checkedBytes(*type, dimsOf(tensor)) : std::nullopt;
  if (!needed) {
    return makeError(ExitCode::Unsupported, "it is ",
                     onnxTypeName(tensor.data_type()));
  }
  std::map<std::string, std::string> entries;
  for (const auto &entry : tensor.external_data()) {
    entries[entry.key()] = entry.value();
  }
  auto range = external_.locate(tensor.name(), entries, *needed);
  auto bytes = range ? store_.bytes(*range)
                     : Expected<std::span<const std::byte>>(range.status());
  return bytes ? HostTensor::copyOf(*type, dimsOf(tensor), *bytes)
               : bytes.status();
}

Expected<HostTensor> ModelWeights::read(const onnx::TensorProto &tensor) {
  if (!isNew(tensor)) {
    auto kept = readKept(tensor);
    return kept ? std::move(kept)
                : kept.status().in("'" + path_ + "': initializer '" +
                                   tensor.name() + "'");
  }
  auto given = weights_.read(tensor.name());
  return given
             ? HostTensor::copyOf(given->type(), dimsOf(tensor), given->bytes())
             : given;
}

//===----------------------------------------------------------------------===//
// ONNX
//===----------------------------------------------------------------------===//

/// Moves the elements to the end of `data`, which is called `name`.
static Status writeExternal(onnx::TensorProto &tensor, const HostTensor &value,
                            OutputFile &data, const std::string &name) {
  constexpr int64_t alignment = 4096;
  int64_t offset = (data.offset() + alignment - 1) / alignment * alignment;
  Status status = data.padTo(offset);
  if (status.isOk()) {
    status = data.write(value.bytes());
  }
  tensor.clear_external_data();
  const std::pair<const char *, std::string> entries[] = {
      {"location", name},
      {"offset", std::to_string(offset)},
      {"length", std::to_string(value.byteSize())}};
  for (const auto &[key, text] : entries) {
    auto *entry = tensor.add_external_data();
    entry->set_key(key);
    entry->set_value(text);
  }
  return status;
}

/// The elements within the message, which has no others.
static void writeWithin(onnx::TensorProto &tensor, const HostTensor &value) {
  onnx::TensorProto plain;
  plain.set_name(tensor.name());
  plain.set_doc_string(tensor.doc_string());
  plain.set_data_type(tensor.data_type());
  *plain.mutable_dims() = tensor.dims();
  plain.set_raw_data(value.data(), size_t(value.byteSize()));
  tensor = std::move(plain);
}

/// New elements for the initializers that have some, and a file for those that
/// had one.
static Status replaceAll(ModelWeights &model, std::optional<OutputFile> &data,
                         const std::string &dataPath) {
  std::string name = std::filesystem::path(dataPath).filename().string();
  for (onnx::TensorProto &tensor : model.initializers()) {
    if (!isExternal(tensor) && !model.isNew(tensor)) {
      continue;
    }
    auto value = model.read(tensor);
    if (!value) {
      return value.status();
    }
    if (!isExternal(tensor)) {
      writeWithin(tensor, *value);
      continue;
    }
    if (!data) {
      auto file = OutputFile::create(dataPath);
      if (!file) {
        return file.status();
      }
      data.emplace(std::move(*file));
    }
    Status status = writeExternal(tensor, *value, *data, name);
    if (!status.isOk()) {
      return status;
    }
  }
  return data ? data->commit() : Status();
}

Expected<WrittenWeights> divisi::writeOnnxWeights(const std::string &model,
                                                  const NewWeights &weights,
                                                  const std::string &path) {
  auto opened = ModelWeights::open(model, weights);
  if (!opened) {
    return opened.status();
  }
  std::optional<OutputFile> data;
  Status status = replaceAll(**opened, data, path + ".data");
  if (!status.isOk()) {
    return status;
  }
  std::string text;
  if (!(*opened)->proto().SerializeToString(&text)) {
    return makeError(ExitCode::Invalid, "'", path,
                     "' would be larger than 2 GiB, which no ONNX file is");
  }
  status = writeFile(path, text);
  return status.isOk() ? Expected((*opened)->written()) : status;
}

//===----------------------------------------------------------------------===//
// Safetensors
//===----------------------------------------------------------------------===//

/// `/h.0/fc/MatMul` -> `h.0.fc.weight`; empty where it is no such name.
static std::string layerName(const onnx::NodeProto &node) {
  std::string name = node.name();
  size_t end = name.rfind('/');
  if (!name.starts_with('/') || end == 0 || end == std::string::npos ||
      !name.substr(end + 1).starts_with("MatMul")) {
    return "";
  }
  // Modules within modules: `/h/h.0/fc` names the last of them whole.
  std::vector<std::string> parts;
  for (size_t begin = 1; begin < end;) {
    size_t next = name.find('/', begin);
    std::string part = name.substr(begin, next - begin);
    if (!parts.empty() && part.starts_with(parts.back() + ".")) {
      parts.back() = part;
    } else {
      parts.push_back(part);
    }
    begin = next + 1;
  }
  std::string layer;
  for (const std::string &part : parts) {
    layer += part + ".";
  }
  return layer + "weight";
}

/// What exporters have renamed, and transposed for it: initializer -> name.
static std::map<std::string, std::string> layersOf(ModelWeights &model) {
  std::set<std::string> taken;
  std::map<std::string, int64_t> ranks;
  for (const onnx::TensorProto &tensor : model.initializers()) {
    taken.insert(tensor.name());
    ranks[tensor.name()] = tensor.dims_size();
  }
  std::map<std::string, std::string> names;
  for (const onnx::NodeProto &node : model.proto().graph().node()) {
    if (node.op_type() != "MatMul" || node.input_size() != 2) {
      continue;
    }
    const std::string &weight = node.input(1);
    std::string name = layerName(node);
    if (weight.starts_with("onnx::MatMul_") && ranks[weight] == 2 &&
        !name.empty() && !names.count(weight) && taken.insert(name).second) {
      names[weight] = name;
    }
  }
  return names;
}

/// Rows as columns.
static Expected<HostTensor> transposed(const HostTensor &matrix) {
  int64_t rows = matrix.dims()[0], columns = matrix.dims()[1];
  int64_t width = rt::byteWidth(matrix.type());
  auto result = HostTensor::allocate(matrix.type(), {columns, rows});
  for (int64_t r = 0; result && r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      std::memcpy(result->data() + (c * rows + r) * width,
                  matrix.data() + (r * columns + c) * width, size_t(width));
    }
  }
  return result;
}

Expected<WrittenWeights> divisi::writeSafeWeights(const std::string &path,
                                                  const NewWeights &weights,
                                                  const std::string &to) {
  auto opened = ModelWeights::open(path, weights);
  if (!opened) {
    return opened.status();
  }
  ModelWeights &model = **opened;
  std::map<std::string, std::string> layers = layersOf(model);
  std::vector<rt::SafeTensor> tensors;
  for (const onnx::TensorProto &tensor : model.initializers()) {
    std::optional<rt::DType> type = convertType(tensor.data_type());
    if (!type) {
      return makeError(ExitCode::Unsupported, "'", path, "': initializer '",
                       tensor.name(), "' is ",
                       onnxTypeName(tensor.data_type()));
    }
    tensors.push_back({tensor.name(), *type, dimsOf(tensor)});
    rt::SafeTensor &row = tensors.back();
    if (auto layer = layers.find(tensor.name()); layer != layers.end()) {
      row.name = layer->second;
      std::swap(row.dims[0], row.dims[1]);
      model.written().renamed.emplace_back(tensor.name(), row.name);
    }
  }
  HostTensor held;
  auto begin = rt::writeSafeTensors(
      to, tensors, [&](size_t i) -> Expected<std::span<const std::byte>> {
        const onnx::TensorProto &tensor = model.initializers()[int(i)];
        auto value = model.read(tensor);
        if (value && layers.count(tensor.name())) {
          value = transposed(*value);
        }
        if (!value) {
          return value.status();
        }
        held = std::move(*value);
        return std::as_const(held).bytes();
      });
  return begin ? Expected(model.written()) : begin.status();
}
