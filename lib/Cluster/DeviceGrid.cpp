//===- DeviceGrid.cpp - Devices along axes, for planning ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Cluster/DeviceGrid.h"

#include "GridWeights.h"
#include "Placement.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <numeric>

namespace divisi {

namespace {
/// A factor of the number of devices, before it has a name.
struct Factor {
  int64_t size;
  AxisRole role;
};
using Factors = llvm::SmallVector<Factor, 4>;

/// Devices of one level with one role.
struct Share {
  int64_t count;
  AxisRole role;
};
using Shares = llvm::SmallVector<Share, 4>;
} // namespace

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

static Status noSuchNumber(int64_t devices, const Cluster &cluster) {
  return makeError(ExitCode::Usage, "the number of devices is ", devices,
                   ", expected 1 to ", cluster.numDevices(),
                   ", which the cluster ", cluster.name, " has");
}

//===----------------------------------------------------------------------===//
// Meshes
//===----------------------------------------------------------------------===//

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

std::optional<int64_t> meshPositions(llvm::StringRef mesh) {
  DeviceGrid grid;
  std::string error;
  return parseMesh(mesh, grid, error) ? std::optional(grid.grid.numPositions())
                                      : std::nullopt;
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

/// The mesh that a user names; degrees of parallelism have to agree with the
/// roles of its axes.
static Expected<DeviceGrid> meshGrid(const Cluster &cluster,
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

//===----------------------------------------------------------------------===//
// All grids
//===----------------------------------------------------------------------===//

namespace {
/// Lists the grids of one number of devices.
class GridMaker {
public:
  GridMaker(const Cluster &cluster, const GridRequest &request, int64_t devices,
            std::vector<DeviceGrid> &grids)
      : cluster_(cluster), request_(request), devices_(devices), grids_(grids) {
  }

  /// All on `placement`. Bounds of 4x3 and of 3x4 parts differ where a
  /// dimension is not divisible; `inAnyOrder` lists both.
  void onLevels(const Placement &placement, bool inAnyOrder);
  /// All on the first devices, whatever they cross.
  void acrossLevels();

private:
  Shares sharesOf(llvm::ArrayRef<int64_t> counts) const;
  void factorShares(llvm::ArrayRef<Share> shares);
  void factorShares(llvm::ArrayRef<Share> shares, size_t axesLeft,
                    Factors &begun);
  void addGrid(llvm::ArrayRef<Factor> factors);

  const Cluster &cluster_;
  const GridRequest &request_;
  int64_t devices_;
  std::vector<DeviceGrid> &grids_;
  llvm::SmallVector<int64_t, 8> order_; ///< DeviceGrid::devices
  bool permutes_ = false; ///< Whether the order of all factors matters.
  bool mixes_ = false;    ///< That of factors of different primes.
};
} // namespace

static size_t mostFactors(llvm::ArrayRef<Share> shares) {
  size_t count = 0;
  for (const Share &share : shares) {
    count += primeFactors(share.count).size();
  }
  return count;
}

/// The outermost level first, data before model.
Shares GridMaker::sharesOf(llvm::ArrayRef<int64_t> counts) const {
  Shares shares;
  int64_t model = request_.tensorParallel.value_or(
      request_.dataParallel ? devices_ / *request_.dataParallel : 1);
  bool hasRoles = request_.tensorParallel || request_.dataParallel;
  for (int64_t count : counts) {
    Shares level = {{count, AxisRole::Any}};
    if (hasRoles) {
      int64_t near = std::gcd(model, count);
      level = {{count / near, AxisRole::Data}, {near, AxisRole::Model}};
      model /= near;
    }
    shares.insert(shares.begin(), level.begin(), level.end());
  }
  llvm::erase_if(shares, [](const Share &share) { return share.count == 1; });
  return shares;
}

void GridMaker::addGrid(llvm::ArrayRef<Factor> factors) {
  DeviceGrid grid;
  grid.grid = nameAxes(factors);
  for (const Factor &factor : factors) {
    grid.roles.push_back(factor.role);
  }
  grid.devices = order_;
  grid.links = GridLinks(cluster_, grid.grid, order_);
  grids_.push_back(std::move(grid));
}

/// Into as many axes as may be.
void GridMaker::factorShares(llvm::ArrayRef<Share> shares) {
  size_t most = size_t(request_.maxAxes.value_or(kMostAxes));
  Factors begun;
  factorShares(shares,
               std::max(shares.size(), std::min(most, mostFactors(shares))),
               begun);
}

/// Gives each share some of the axes that are left, in all ways that use all.
void GridMaker::factorShares(llvm::ArrayRef<Share> shares, size_t axesLeft,
                             Factors &begun) {
  if (shares.empty()) {
    if (axesLeft == 0) {
      addGrid(begun);
    }
    return;
  }
  Share share = shares.front();
  bool permutes =
      permutes_ || (mixes_ && !llvm::all_equal(primeFactors(share.count)));
  size_t begin = begun.size();
  for (size_t parts = 1; parts + shares.size() - 1 <= axesLeft; ++parts) {
    for (llvm::SmallVector<int64_t, 4> sizes :
         factorizations(share.count, parts)) {
      llvm::sort(sizes);
      do {
        for (int64_t size : llvm::reverse(sizes)) {
          begun.push_back({size, share.role});
        }
        factorShares(shares.drop_front(), axesLeft - parts, begun);
        begun.truncate(begin);
      } while (permutes && std::next_permutation(sizes.begin(), sizes.end()));
    }
  }
}

void GridMaker::onLevels(const Placement &placement, bool inAnyOrder) {
  mixes_ = inAnyOrder;
  // Empty if position p is device p.
  if (placement.devices.back() + 1 != devices_) {
    order_ = placement.devices;
  }
  Shares shares = sharesOf(placement.counts);
  factorShares(shares);
}

void GridMaker::acrossLevels() {
  permutes_ = true;
  Shares shares = sharesOf({devices_});
  factorShares(shares);
}

static Status checkDegree(const char *what, std::optional<int64_t> degree,
                          int64_t devices) {
  if (degree && *degree < 1) {
    return makeError(ExitCode::Usage, "the ", what, " size is ", *degree,
                     ", expected at least 1");
  }
  if (degree && devices % *degree != 0) {
    return makeError(ExitCode::Usage, "the ", what, " size ", *degree,
                     " does not divide the number of devices, ", devices);
  }
  return Status();
}

static Status checkDegrees(const GridRequest &request, int64_t devices) {
  std::optional<int64_t> data = request.dataParallel;
  std::optional<int64_t> model = request.tensorParallel;
  if (Status status = checkDegree("data parallel", data, devices);
      !status.isOk()) {
    return status;
  }
  if (Status status = checkDegree("tensor parallel", model, devices);
      !status.isOk()) {
    return status;
  }
  if (data && model && *data * *model != devices) {
    return makeError(ExitCode::Usage, "data parallel size ", *data,
                     " times tensor parallel size ", *model, " is ",
                     *data * *model, ", but there are ", devices, " devices");
  }
  return Status();
}

namespace {
/// The placements that are worth a look, as they are listed.
class Placements {
public:
  explicit Placements(const Cluster &cluster) : cluster_(cluster) {}

  /// Whether one before can do whatever a grid on `placement` can: it has as
  /// many devices of each kind, and no other kind.
  bool isNew(const Placement &placement);

private:
  const Cluster &cluster_;
  /// With the sorted groups of its devices.
  std::vector<std::pair<Placement, llvm::SmallVector<size_t, 8>>> known_;
};
} // namespace

bool Placements::isNew(const Placement &placement) {
  Grid all({{"all", int64_t(placement.devices.size())}});
  llvm::SmallVector<size_t, 8> kinds =
      groupsOf(cluster_, all, placement.devices);
  llvm::sort(kinds);
  bool isNew = llvm::none_of(known_, [&](const auto &finer) {
    return finer.first.contains(placement) &&
           llvm::all_of(
               finer.second,
               [&](size_t kind) { return llvm::is_contained(kinds, kind); }) &&
           std::ranges::includes(finer.second, kinds);
  });
  if (isNew) {
    known_.push_back({placement, kinds});
  }
  return isNew;
}

Expected<std::vector<DeviceGrid>> candidateGrids(const Cluster &cluster,
                                                 const GridRequest &request,
                                                 Precision precision) {
  if (!request.mesh.empty()) {
    Expected<DeviceGrid> grid = meshGrid(cluster, request);
    return grid ? Expected<std::vector<DeviceGrid>>({*grid})
                : Expected<std::vector<DeviceGrid>>(grid.status());
  }
  int64_t devices = request.devices.value_or(cluster.numDevices());
  if (devices < 1 || devices > cluster.numDevices()) {
    return noSuchNumber(devices, cluster);
  }
  if (Status status = checkDegrees(request, devices); !status.isOk()) {
    return status;
  }
  bool hasRoles = request.tensorParallel || request.dataParallel;
  int64_t model = request.tensorParallel.value_or(
      request.dataParallel ? devices / *request.dataParallel : 1);
  std::vector<DeviceGrid> grids;
  // Fewer devices can be better where slow ones are left out.
  Placements placements(cluster);
  std::vector<DevicePool> pools = devicePools(cluster);
  for (int64_t count : deviceCounts(devices)) {
    for (const DevicePool &pool : pools) {
      auto placement = placeEvenly(cluster, pool, count, model);
      GridMaker maker(cluster, request, count, grids);
      if (placement && placements.isNew(*placement)) {
        // Of fewer devices only what is most likely is looked at.
        maker.onLevels(*placement, count == devices);
      } else if (!placement && count == devices && &pool == &pools.front()) {
        maker.acrossLevels();
      }
    }
    // Who names degrees names the number of devices, too.
    if (hasRoles) {
      break;
    }
  }
  addWeighted(cluster, precision, grids);
  return grids;
}

} // namespace divisi
