//===- ReadAnnotations.cpp - A model's annotations of devices -------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReadModelProto.h"

#include <algorithm>

using namespace divisi;

static TensorSharding shardingOf(const onnx::ShardingSpecProto &spec) {
  TensorSharding sharding;
  sharding.tensor = spec.tensor_name();
  sharding.devices = {spec.device().begin(), spec.device().end()};
  for (const auto &group : spec.index_to_device_group_map()) {
    sharding.groups[group.key()] = {group.value().begin(), group.value().end()};
  }
  for (const auto &dim : spec.sharded_dim()) {
    DimSharding &made = sharding.dims.emplace_back();
    made.axis = dim.axis();
    for (const auto &simple : dim.simple_sharding()) {
      made.factors.push_back({simple.has_dim_value() ? simple.dim_value() : 0,
                              simple.num_shards()});
    }
  }
  return sharding;
}

static std::string metadata(const onnx::ModelProto &proto,
                            const std::string &key) {
  for (const auto &entry : proto.metadata_props()) {
    if (entry.key() == key) {
      return entry.value();
    }
  }
  return "";
}

std::optional<AnnotatedModel>
divisi::annotationsIn(const onnx::ModelProto &proto) {
  const auto &nodes = proto.graph().node();
  if (proto.configuration().empty() &&
      std::all_of(nodes.begin(), nodes.end(), [](const auto &node) {
        return node.device_configurations().empty();
      })) {
    return std::nullopt;
  }
  AnnotatedModel model;
  for (const auto &configuration : proto.configuration()) {
    model.configurations.push_back(
        {{configuration.name(), configuration.num_devices(),
          metadata(proto, kMeshMetadata + configuration.name())},
         {}});
  }
  for (int i = 0; i < nodes.size(); ++i) {
    for (const auto &given : nodes[i].device_configurations()) {
      NodeDevices devices;
      devices.node = size_t(i);
      devices.configuration = given.configuration_id();
      for (const auto &spec : given.sharding_spec()) {
        devices.tensors.push_back(shardingOf(spec));
      }
      if (given.has_pipeline_stage()) {
        devices.stage = given.pipeline_stage();
      }
      auto known = std::find_if(
          model.configurations.begin(), model.configurations.end(),
          [&](const DeviceAnnotations &each) {
            return each.configuration.name == devices.configuration;
          });
      (known == model.configurations.end() ? model.strays : known->nodes)
          .push_back(std::move(devices));
    }
  }
  model.outline = outlineOf(proto);
  return model;
}
