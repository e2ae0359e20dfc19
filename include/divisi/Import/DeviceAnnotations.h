//===- DeviceAnnotations.h - ONNX's notes of devices ------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ONNX's multi-device annotations (IR version 11 and later) as plain data: a
// model names configurations of devices, and a node says how its tensors are
// sharded over the devices of one.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_IMPORT_DEVICEANNOTATIONS_H
#define DIVISI_IMPORT_DEVICEANNOTATIONS_H

#include "divisi/Import/ModelOutline.h"
#include "divisi/Support/Status.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace divisi {

/// One factor of a dimension: SimpleShardedDimProto.
struct FactorSharding {
  int64_t extent = 0; ///< 0: not said, or a symbol.
  int64_t shards = 1; ///< Into how many parts it is divided.
};

/// A dimension that is sharded: ShardedDimProto.
struct DimSharding {
  int64_t axis = 0;                    ///< In [-rank, rank).
  std::vector<FactorSharding> factors; ///< Their product is the extent.
};

/// How a tensor lies: ShardingSpecProto. Shards are numbered row-major over
/// `dims` in their order; `devices` has the one of each, or a key of `groups`.
struct TensorSharding {
  std::string tensor;           ///< An input or output of the node.
  std::vector<int64_t> devices; ///< By the number of the shard.
  std::map<int64_t, std::vector<int64_t>> groups; ///< Devices with replicas.
  std::vector<DimSharding> dims; ///< None: every device has all of it.
};

/// What a node says of one configuration: NodeDeviceConfigurationProto.
struct NodeDevices {
  size_t node = 0;                     ///< In the graph, by its number.
  std::string configuration;           ///< By its name.
  std::vector<TensorSharding> tensors; ///< Those of which it says something.
  std::optional<int64_t> stage;        ///< Of a pipeline.
  /// For people, who see it where a model is shown; written, not read.
  std::string text;
};

/// Devices that a model is annotated for: DeviceConfigurationProto.
struct DeviceConfiguration {
  std::string name;       ///< Unique in a model.
  int64_t numDevices = 1; ///< Numbered from 0.
  std::string mesh;       ///< `data=2,model=4`: metadata; else empty.
};

/// All that a model says of one configuration.
struct DeviceAnnotations {
  DeviceConfiguration configuration; ///< Which one.
  std::vector<NodeDevices> nodes;    ///< In the order of the graph.
};

/// A model with annotations: all of its configurations.
struct AnnotatedModel {
  ModelOutline outline;                          ///< Without inferred shapes.
  std::vector<DeviceAnnotations> configurations; ///< As the model has them.
  /// What nodes say of configurations that the model does not have.
  std::vector<NodeDevices> strays;
};

/// The prefix of the model's metadata that has DeviceConfiguration::mesh.
inline constexpr const char *kMeshMetadata = "divisi.mesh.";

/// Writes the model at `model` with these annotations to `path`: what the model
/// said of a configuration of that name is replaced, all else stays. Fails with
/// File; Invalid for what is no model; Usage where the model has data in other
/// files, which it names by its folder, and `path` is in another.
Status writeAnnotations(const std::string &model,
                        const DeviceAnnotations &annotations,
                        const std::string &path);

} // namespace divisi

#endif // DIVISI_IMPORT_DEVICEANNOTATIONS_H
