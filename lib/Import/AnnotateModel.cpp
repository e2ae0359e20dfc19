//===- AnnotateModel.cpp - Write a model with annotations -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Import/DeviceAnnotations.h"

#include "ReadModelProto.h"
#include "divisi/Support/OutputFile.h"

#include <algorithm>
#include <filesystem>

using namespace divisi;

/// Metadata of people's: what the node does under a plan.
static constexpr const char *kStrategyMetadata = "divisi.strategy";
/// The oldest IR version that has annotations.
static constexpr int64_t kAnnotatedVersion = 11;

template <typename Entries>
static void setMetadata(Entries &entries, const std::string &key,
                        const std::string &value) {
  auto found =
      std::find_if(entries.begin(), entries.end(),
                   [&](const auto &entry) { return entry.key() == key; });
  auto *entry = found == entries.end() ? entries.Add() : &*found;
  entry->set_key(key);
  entry->set_value(value);
}

template <typename Fields, typename Names>
static void dropOf(Fields &fields, const Names &nameOf,
                   const std::string &name) {
  for (int i = fields.size() - 1; i >= 0; --i) {
    if (nameOf(fields.Get(i)) == name) {
      fields.DeleteSubrange(i, 1);
    }
  }
}

static void write(const TensorSharding &sharding,
                  onnx::ShardingSpecProto &spec) {
  spec.set_tensor_name(sharding.tensor);
  spec.mutable_device()->Assign(sharding.devices.begin(),
                                sharding.devices.end());
  for (const auto &[key, devices] : sharding.groups) {
    auto *group = spec.add_index_to_device_group_map();
    group->set_key(key);
    group->mutable_value()->Assign(devices.begin(), devices.end());
  }
  for (const DimSharding &dim : sharding.dims) {
    auto *sharded = spec.add_sharded_dim();
    sharded->set_axis(dim.axis);
    for (const FactorSharding &factor : dim.factors) {
      auto *simple = sharded->add_simple_sharding();
      simple->set_dim_value(factor.extent);
      simple->set_num_shards(factor.shards);
    }
  }
}

static void write(const NodeDevices &devices, onnx::NodeProto &node) {
  auto *made = node.add_device_configurations();
  made->set_configuration_id(devices.configuration);
  for (const TensorSharding &tensor : devices.tensors) {
    write(tensor, *made->add_sharding_spec());
  }
  if (devices.stage) {
    made->set_pipeline_stage(int32_t(*devices.stage));
  }
  if (!devices.text.empty()) {
    setMetadata(*node.mutable_metadata_props(), kStrategyMetadata,
                devices.text);
  }
}

/// Data in other files is named by the model's folder.
static Status checkFolder(const onnx::ModelProto &proto,
                          const std::string &model, const std::string &path) {
  auto folderOf = [](const std::string &file) {
    std::error_code error;
    auto folder = std::filesystem::path(file).parent_path();
    return std::filesystem::weakly_canonical(folder.empty() ? "." : folder,
                                             error);
  };
  const auto &initializers = proto.graph().initializer();
  bool isElsewhere = std::any_of(
      initializers.begin(), initializers.end(), [](const auto &tensor) {
        return tensor.data_location() == onnx::TensorProto::EXTERNAL;
      });
  return isElsewhere && folderOf(model) != folderOf(path)
             ? makeError(ExitCode::Usage, "'", model,
                         "' has data in files beside it; write '", path,
                         "' to the same folder")
             : Status();
}

Status divisi::writeAnnotations(const std::string &model,
                                const DeviceAnnotations &annotations,
                                const std::string &path) {
  onnx::ModelProto proto;
  Status status = readModelProto(model, proto);
  status = status.isOk() ? checkFolder(proto, model, path) : status;
  if (!status.isOk()) {
    return status;
  }
  const DeviceConfiguration &made = annotations.configuration;
  proto.set_ir_version(std::max(proto.ir_version(), kAnnotatedVersion));
  dropOf(
      *proto.mutable_configuration(),
      [](const auto &each) { return each.name(); }, made.name);
  auto *configuration = proto.add_configuration();
  configuration->set_name(made.name);
  configuration->set_num_devices(int32_t(made.numDevices));
  if (!made.mesh.empty()) {
    setMetadata(*proto.mutable_metadata_props(), kMeshMetadata + made.name,
                made.mesh);
  }
  for (onnx::NodeProto &node : *proto.mutable_graph()->mutable_node()) {
    dropOf(
        *node.mutable_device_configurations(),
        [](const auto &each) { return each.configuration_id(); }, made.name);
  }
  for (const NodeDevices &devices : annotations.nodes) {
    write(devices, *proto.mutable_graph()->mutable_node(int(devices.node)));
  }
  std::string text;
  if (!proto.SerializeToString(&text)) {
    return makeError(ExitCode::Invalid, "'", path,
                     "' would be larger than 2 GiB, which no ONNX file is");
  }
  return writeFile(path, text);
}
