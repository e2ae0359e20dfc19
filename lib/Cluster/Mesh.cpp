//===- Mesh.cpp - The grid that a user names ------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Mesh.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace divisi {

Status noSuchNumber(int64_t devices, const Cluster &cluster) {
  return makeError(ExitCode::Usage, "the number of devices is ", devices,
                   ", expected 1 to ", cluster.numDevices(),
                   ", which the cluster ", cluster.name, " has");
}

/// Splits at commas that stand in no brackets.
static llvm::SmallVector<llvm::StringRef, 4> splitMesh(llvm::StringRef mesh) {
  llvm::SmallVector<llvm::StringRef, 4> parts;
  size_t begin = 0, depth = 0;
  for (auto [index, c] : llvm::enumerate(mesh)) {
    depth += c == '[' ? 1 : c == ']' && depth > 0 ? -1 : 0;
    if (c == ',' && depth == 0) {
      parts.push_back(mesh.slice(begin, index));
      begin = index + 1;
    }
  }
  parts.push_back(mesh.drop_front(begin));
  return parts;
}

/// Reads `4` or `4:[3,3,1,1]`.
static bool parseSize(llvm::StringRef text, GridAxis &axis) {
  auto [number, weights] = text.split(':');
  if (number.getAsInteger(10, axis.size) || axis.size < 1) {
    return false;
  }
  if (!text.contains(':')) {
    return true;
  }
  if (!weights.consume_front("[") || !weights.consume_back("]")) {
    return false;
  }
  return llvm::all_of(llvm::split(weights, ','), [&](llvm::StringRef weight) {
    return !weight.getAsInteger(10, axis.weights.emplace_back());
  });
}

/// Reads `2x4` or `data=2,model=4`.
static bool parseMesh(llvm::StringRef mesh, DeviceGrid &result,
                      std::string &error) {
  bool named = mesh.contains('=');
  llvm::SmallVector<llvm::StringRef, 4> parts;
  if (named) {
    parts = splitMesh(mesh);
  } else {
    mesh.split(parts, 'x');
  }
  llvm::SmallVector<GridAxis, 4> axes;
  for (llvm::StringRef part : parts) {
    auto [name, number] =
        named ? part.split('=') : std::pair(llvm::StringRef(), part);
    GridAxis axis;
    if (!parseSize(number, axis)) {
      error = "the mesh '" + mesh.str() + "' is not understood at '" +
              part.str() + "'; write for example 2x4 or data=2,model=4";
      return false;
    }
    axis.name = named ? name.str() : "x" + std::to_string(axes.size());
    axes.push_back(std::move(axis));
    result.roles.push_back(name == "data"    ? AxisRole::Data
                           : name == "model" ? AxisRole::Model
                                             : AxisRole::Any);
  }
  result.grid = Grid(axes);
  if (std::optional<std::string> wrong = result.grid.verify()) {
    error = "the mesh '" + mesh.str() + "' is not a valid grid: " + *wrong;
    return false;
  }
  return true;
}

std::optional<Grid> meshGrid(llvm::StringRef mesh) {
  std::string error;
  DeviceGrid result;
  return parseMesh(mesh, result, error) ? std::optional(result.grid)
                                        : std::nullopt;
}

std::string meshText(const Grid &grid) {
  std::string text;
  for (const GridAxis &axis : grid.axes()) {
    text += (text.empty() ? "" : ",") + axis.name + "=" + axis.sizeText();
  }
  return text;
}

std::optional<int64_t> meshPositions(llvm::StringRef mesh) {
  std::optional<Grid> grid = meshGrid(mesh);
  return grid ? std::optional(grid->numPositions()) : std::nullopt;
}

/// The roles that --mesh leaves open come from the sizes asked for.
static bool matchMesh(const GridRequest &request, DeviceGrid &result,
                      std::string &error) {
  if (!request.dataParallel && !request.tensorParallel) {
    return true;
  }
  int64_t data = 1, model = 1;
  for (auto [axis, role] : llvm::zip(result.grid.axes(), result.roles)) {
    (role == AxisRole::Data ? data : model) *= axis.size;
    if (role == AxisRole::Any) {
      error = "the mesh '" + request.mesh +
              "' does not say which axes are for data and which for the "
              "model; write for example data=2,model=4";
      return false;
    }
  }
  if (request.dataParallel.value_or(data) != data ||
      request.tensorParallel.value_or(model) != model) {
    error = "the mesh '" + request.mesh + "' has data parallel size " +
            std::to_string(data) + " and tensor parallel size " +
            std::to_string(model) + ", which differs from the requested sizes";
    return false;
  }
  return true;
}

Expected<DeviceGrid> meshGrid(const Cluster &cluster,
                              const GridRequest &request) {
  DeviceGrid result;
  std::string error;
  if (!parseMesh(request.mesh, result, error)) {
    return Status(ExitCode::Usage, error);
  }
  int64_t positions = result.grid.numPositions();
  if (request.devices.value_or(positions) != positions) {
    return makeError(ExitCode::Usage, "the mesh '", request.mesh, "' has ",
                     positions, " positions, but ", *request.devices,
                     " devices are requested");
  }
  if (positions > cluster.numDevices()) {
    return noSuchNumber(positions, cluster);
  }
  if (!matchMesh(request, result, error)) {
    return Status(ExitCode::Usage, error);
  }
  result.links = GridLinks(cluster, result.grid);
  return result;
}

} // namespace divisi
