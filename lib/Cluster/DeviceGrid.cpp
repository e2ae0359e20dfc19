//===- DeviceGrid.cpp - Devices along axes, for planning ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Cluster/DeviceGrid.h"

#include "GridWeights.h"
#include "Mesh.h"
#include "Placement.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace divisi {

static constexpr size_t kAcross = SIZE_MAX;

namespace {
/// A factor of the number of devices, before it has a name.
struct Factor {
  int64_t size;
  AxisRole role;
  size_t level; ///< Of the links along it; kAcross: of several.
};
using Factors = llvm::SmallVector<Factor, 4>;

/// Devices of one level with one role.
struct Share {
  int64_t count;
  AxisRole role;
  size_t level;
};
using Shares = llvm::SmallVector<Share, 4>;
} // namespace

static bool hasRoles(const GridRequest &request) {
  return request.tensorParallel || request.dataParallel;
}

/// How many devices lie along all model axes.
static int64_t modelDegree(const GridRequest &request, int64_t devices) {
  return request.tensorParallel.value_or(
      request.dataParallel ? devices / *request.dataParallel : 1);
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

//===----------------------------------------------------------------------===//
// All grids
//===----------------------------------------------------------------------===//

/// Whether the axes of `coarse`, of which the first is made up to `part`, are
/// those of `fine`, some of them merged and some not used.
static bool refines(llvm::ArrayRef<Factor> fine, llvm::ArrayRef<Factor> coarse,
                    int64_t part = 1) {
  if (coarse.empty() || fine.empty()) {
    return coarse.empty();
  }
  const Factor &axis = fine.front(), &whole = coarse.front();
  int64_t left = whole.size / part;
  if (axis.level == whole.level && axis.role == whole.role &&
      left % axis.size == 0) {
    bool isMade = left == axis.size;
    if (refines(fine.drop_front(), coarse.drop_front(isMade ? 1 : 0),
                isMade ? 1 : part * axis.size)) {
      return true;
    }
  }
  return refines(fine.drop_front(), coarse, part);
}

namespace {
/// Grids as they are listed, and the factors of each.
struct GridList {
  std::vector<DeviceGrid> grids;
  std::vector<Factors> factors;
};

/// Lists the grids of one number of devices.
class GridMaker {
public:
  /// `isMore`: those that DeviceGrid::isMore tells of, unless one that is
  /// listed, and has kMostAxes axes only if they have, refines them.
  GridMaker(const Cluster &cluster, const GridRequest &request, int64_t devices,
            GridList &list, bool isMore = false)
      : cluster_(cluster), request_(request), devices_(devices), list_(list),
        isMore_(isMore), permutes_(isMore) {}

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
  GridList &list_;
  bool isMore_;
  llvm::SmallVector<int64_t, 8> order_; ///< DeviceGrid::devices
  bool permutes_;      ///< Whether the order of all factors matters.
  bool mixes_ = false; ///< That of factors of different primes.
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
  int64_t model = modelDegree(request_, devices_);
  for (auto [number, count] : llvm::enumerate(counts)) {
    Shares level = {{count, AxisRole::Any, number}};
    if (hasRoles(request_)) {
      int64_t near = std::gcd(model, count);
      level = {{count / near, AxisRole::Data, number},
               {near, AxisRole::Model, number}};
      model /= near;
    }
    shares.insert(shares.begin(), level.begin(), level.end());
  }
  llvm::erase_if(shares, [](const Share &share) { return share.count == 1; });
  return shares;
}

void GridMaker::addGrid(llvm::ArrayRef<Factor> factors) {
  // On most axes routes are not searched among all layouts: one with fewer may
  // have better plans.
  bool hasFewer = factors.size() < size_t(kMostAxes);
  if (isMore_ && llvm::any_of(list_.factors, [&](const Factors &fine) {
        bool isSearched = !hasFewer || fine.size() < size_t(kMostAxes);
        return isSearched && refines(fine, factors);
      })) {
    return;
  }
  list_.factors.emplace_back(factors);
  DeviceGrid grid;
  grid.isMore = isMore_;
  grid.grid = nameAxes(factors);
  for (const Factor &factor : factors) {
    grid.roles.push_back(factor.role);
  }
  grid.devices = order_;
  grid.links = GridLinks(cluster_, grid.grid, order_);
  list_.grids.push_back(std::move(grid));
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
          begun.push_back({size, share.role, share.level});
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
  for (Share &share : shares) {
    share.level = kAcross;
  }
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

/// Lists what is left out of those of `devices` and fewer, all of one kind.
static void addMore(const Cluster &cluster, const GridRequest &request,
                    int64_t devices, GridList &list) {
  DevicePool pool = devicePools(cluster).front();
  int64_t model = modelDegree(request, devices);
  for (int64_t count = devices; count >= 1; --count) {
    GridMaker maker(cluster, request, count, list, /*isMore=*/true);
    if (auto placement = placeEvenly(cluster, pool, count, model)) {
      maker.onLevels(*placement, /*inAnyOrder=*/true);
    } else {
      maker.acrossLevels();
    }
    if (hasRoles(request)) {
      break;
    }
  }
}

/// The same on fewer axes and on as many as may be: a search looks at the
/// former first, which are solved sooner.
static void addMoreByAxes(const Cluster &cluster, const GridRequest &request,
                          int64_t devices, GridList &list) {
  GridRequest fewer = request;
  fewer.maxAxes = kMostAxes - 1;
  if (request.maxAxes.value_or(kMostAxes) >= kMostAxes) {
    addMore(cluster, fewer, devices, list);
  }
  addMore(cluster, request, devices, list);
}

/// Whether there are not too many of those that addMore lists.
static bool listsMore(const Cluster &cluster, int64_t devices) {
  constexpr int64_t kMostForMore = 64;
  return !cluster.hasKinds() && devices <= kMostForMore;
}

/// Lists those of which DeviceGrid::isMore does not tell, without weights.
static GridList likelyGrids(const Cluster &cluster, const GridRequest &request,
                            int64_t devices) {
  GridList list;
  // Fewer devices can be better where slow ones are left out.
  Placements placements(cluster);
  std::vector<DevicePool> pools = devicePools(cluster);
  int64_t model = modelDegree(request, devices);
  for (int64_t count : deviceCounts(devices)) {
    for (const DevicePool &pool : pools) {
      auto placement = placeEvenly(cluster, pool, count, model);
      GridMaker maker(cluster, request, count, list);
      if (placement && placements.isNew(*placement)) {
        // Of fewer devices only what is most likely is looked at.
        maker.onLevels(*placement, count == devices);
      } else if (!placement && count == devices && &pool == &pools.front()) {
        maker.acrossLevels();
      }
    }
    // Who names degrees names the number of devices, too.
    if (hasRoles(request)) {
      break;
    }
  }
  return list;
}

bool leavesUnlisted(const Cluster &cluster, const GridRequest &request) {
  int64_t devices = request.devices.value_or(cluster.numDevices());
  if (!request.mesh.empty() || listsMore(cluster, devices)) {
    return false;
  }
  // Numbers of devices with other prime factors, or unequal parts.
  if (!hasRoles(request) || cluster.hasKinds()) {
    return devices > 1;
  }
  GridList list = likelyGrids(cluster, request, devices);
  size_t count = list.grids.size();
  addMore(cluster, request, devices, list);
  return list.grids.size() > count;
}

Expected<std::vector<DeviceGrid>> candidateGrids(const Cluster &cluster,
                                                 const GridRequest &request,
                                                 Precision precision,
                                                 bool withMore) {
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
  GridList list = likelyGrids(cluster, request, devices);
  if (withMore && listsMore(cluster, devices)) {
    addMoreByAxes(cluster, request, devices, list);
  }
  addWeighted(cluster, precision, list.grids);
  return std::move(list.grids);
}

} // namespace divisi
