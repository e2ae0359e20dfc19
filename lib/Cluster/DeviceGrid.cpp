//===- DeviceGrid.cpp - Devices along axes, for planning ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Cluster/DeviceGrid.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>

namespace divisi {

llvm::SmallVector<int64_t, 4> primeFactors(int64_t number) {
  llvm::SmallVector<int64_t, 4> factors;
  for (int64_t factor = 2; factor * factor <= number; ++factor) {
    for (; number % factor == 0; number /= factor) {
      factors.push_back(factor);
    }
  }
  if (number > 1) {
    factors.push_back(number);
  }
  return factors;
}

LinkCosts linkCosts(const Cluster &cluster, const Grid &grid,
                    llvm::ArrayRef<int64_t> devices) {
  LinkCosts costs;
  costs.memoryBytesPerSecond = cluster.device.memoryBytesPerSecond;
  for (uint32_t axis = 0; axis != grid.numAxes(); ++axis) {
    // How far apart the devices along the axis stand, at worst from the first
    // of a level: the span decides which level joins them.
    int64_t span = 1;
    for (int64_t position : grid.group(0, {AxisId{axis}})) {
      int64_t device = devices.empty() ? position : devices[position];
      int64_t first = devices.empty() ? 0 : devices[0];
      span = std::max(span, std::abs(device - first) + 1);
    }
    costs.axes.push_back(cluster.link(1, span));
  }
  return costs;
}

namespace {
/// A factor of the number of devices, before it has a name.
struct Factor {
  int64_t size;
  AxisRole role;
};
} // namespace

/// Merges the two neighbours of equal role with the least product, until few
/// enough are left or no two have equal roles.
static void mergeFactors(llvm::SmallVectorImpl<Factor> &factors,
                         unsigned maxAxes) {
  while (factors.size() > maxAxes) {
    size_t best = factors.size();
    for (size_t i = 0; i + 1 < factors.size(); ++i) {
      if (factors[i].role == factors[i + 1].role &&
          (best == factors.size() ||
           factors[i].size * factors[i + 1].size <
               factors[best].size * factors[best + 1].size)) {
        best = i;
      }
    }
    if (best == factors.size()) {
      return;
    }
    factors[best].size *= factors[best + 1].size;
    factors.erase(factors.begin() + best + 1);
  }
}

static bool checkDegree(const char *what, std::optional<int64_t> degree,
                        int64_t devices, std::string &error) {
  if (degree && *degree < 1) {
    error = std::string("the ") + what + " size is " + std::to_string(*degree) +
            ", expected at least 1";
    return false;
  }
  if (degree && devices % *degree != 0) {
    error = std::string("the ") + what + " size " + std::to_string(*degree) +
            " does not divide the number of devices, " +
            std::to_string(devices);
    return false;
  }
  return true;
}

/// Data axes, then model axes; or axes for anything.
static bool factorDevices(const GridRequest &request, int64_t devices,
                          llvm::SmallVectorImpl<Factor> &factors,
                          std::string &error) {
  std::optional<int64_t> data = request.dataParallel;
  std::optional<int64_t> model = request.tensorParallel;
  if (!checkDegree("data parallel", data, devices, error) ||
      !checkDegree("tensor parallel", model, devices, error)) {
    return false;
  }
  if (data && model && *data * *model != devices) {
    error = "data parallel size " + std::to_string(*data) +
            " times tensor parallel size " + std::to_string(*model) + " is " +
            std::to_string(*data * *model) + ", but there are " +
            std::to_string(devices) + " devices";
    return false;
  }
  auto add = [&](int64_t number, AxisRole role) {
    llvm::SmallVector<int64_t, 4> primes = primeFactors(number);
    for (int64_t prime : llvm::reverse(primes)) {
      factors.push_back({prime, role});
    }
  };
  if (!data && !model) {
    add(devices, AxisRole::Any);
  } else {
    add(data ? *data : devices / *model, AxisRole::Data);
    add(model ? *model : devices / *data, AxisRole::Model);
  }
  mergeFactors(factors, request.maxAxes);
  return true;
}

static Grid nameAxes(llvm::ArrayRef<Factor> factors) {
  constexpr const char *prefixes[] = {"x", "d", "m"};
  unsigned counts[3] = {};
  llvm::SmallVector<GridAxis, 4> axes;
  for (const Factor &factor : factors) {
    unsigned role = unsigned(factor.role);
    axes.push_back(
        {prefixes[role] + std::to_string(counts[role]++), factor.size});
  }
  return Grid(axes);
}

/// Reads `2x4` or `data=2,model=4`.
static bool parseMesh(llvm::StringRef mesh, DeviceGrid &result,
                      std::string &error) {
  bool named = mesh.contains('=');
  llvm::SmallVector<llvm::StringRef, 4> parts;
  mesh.split(parts, named ? ',' : 'x');
  llvm::SmallVector<GridAxis, 4> axes;
  for (llvm::StringRef part : parts) {
    auto [name, number] =
        named ? part.split('=') : std::pair(llvm::StringRef(), part);
    int64_t size = 0;
    if (number.getAsInteger(10, size) || size < 1) {
      error = "the mesh '" + mesh.str() + "' is not understood at '" +
              part.str() + "'; write for example 2x4 or data=2,model=4";
      return false;
    }
    axes.push_back(
        {named ? name.str() : "x" + std::to_string(axes.size()), size});
    result.roles.push_back(name == "data"    ? AxisRole::Data
                           : name == "model" ? AxisRole::Model
                                             : AxisRole::Any);
  }
  result.grid = Grid(axes);
  if (std::optional<std::string> wrong = result.grid.verify()) {
    error = "the mesh '" + mesh.str() + "' is no grid: " + *wrong;
    return false;
  }
  return true;
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
            std::to_string(model) + ", which is not what is asked for";
    return false;
  }
  return true;
}

/// The mesh decides if there is one; degrees of parallelism then have to agree
/// with the roles of its axes. Otherwise the devices are factored.
std::optional<DeviceGrid> gridFor(const Cluster &cluster,
                                  const GridRequest &request,
                                  std::string &error) {
  DeviceGrid result;
  int64_t devices = request.devices.value_or(cluster.numDevices());
  if (!request.mesh.empty()) {
    if (!parseMesh(request.mesh, result, error)) {
      return std::nullopt;
    }
    int64_t positions = result.grid.numPositions();
    if (request.devices.value_or(positions) != positions) {
      error = "the mesh '" + request.mesh + "' has " +
              std::to_string(positions) + " positions, but " +
              std::to_string(*request.devices) + " devices are asked for";
      return std::nullopt;
    }
    devices = positions;
  }
  if (devices < 1 || devices > cluster.numDevices()) {
    error = "the number of devices is " + std::to_string(devices) +
            ", expected 1 to " + std::to_string(cluster.numDevices()) +
            ", which the cluster " + cluster.name + " has";
    return std::nullopt;
  }
  if (request.mesh.empty()) {
    llvm::SmallVector<Factor, 8> factors;
    if (!factorDevices(request, devices, factors, error)) {
      return std::nullopt;
    }
    result.grid = nameAxes(factors);
    for (const Factor &factor : factors) {
      result.roles.push_back(factor.role);
    }
  } else if (!matchMesh(request, result, error)) {
    return std::nullopt;
  }
  result.links = linkCosts(cluster, result.grid);
  return result;
}

} // namespace divisi
