//===- Placement.cpp - Where devices of a grid stand ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Placement.h"

#include "divisi/Cluster/DeviceGrid.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <numeric>

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

/// Appends to `all` every way to go on from `begun` with factors of at most
/// `most`.
static void factorize(int64_t number, size_t parts, int64_t most,
                      llvm::SmallVector<int64_t, 4> &begun,
                      std::vector<llvm::SmallVector<int64_t, 4>> &all) {
  if (parts == 0) {
    if (number == 1) {
      all.push_back(begun);
    }
    return;
  }
  for (int64_t factor = std::min(most, number); factor >= 2; --factor) {
    if (number % factor == 0) {
      begun.push_back(factor);
      factorize(number / factor, parts - 1, factor, begun, all);
      begun.pop_back();
    }
  }
}

std::vector<llvm::SmallVector<int64_t, 4>> factorizations(int64_t number,
                                                          size_t parts) {
  std::vector<llvm::SmallVector<int64_t, 4>> all;
  llvm::SmallVector<int64_t, 4> begun;
  factorize(number, parts, number, begun, all);
  return all;
}

llvm::SmallVector<int64_t, 16> deviceCounts(int64_t devices) {
  constexpr int64_t kFew = 16;
  llvm::SmallVector<int64_t, 16> counts = {devices};
  for (int64_t count = devices - 1; count >= 1; --count) {
    llvm::SmallVector<int64_t, 4> primes = primeFactors(count);
    if (devices <= kFew || primes.empty() || primes.back() <= 3) {
      counts.push_back(count);
    }
  }
  return counts;
}

bool Placement::contains(const Placement &other) const {
  return llvm::all_of(llvm::zip_equal(counts, other.counts), [](auto pair) {
    auto [mine, theirs] = pair;
    return mine % theirs == 0;
  });
}

//===----------------------------------------------------------------------===//
// Pools
//===----------------------------------------------------------------------===//

/// The devices of each kind.
static std::vector<DevicePool> kindsOf(const Cluster &cluster) {
  std::vector<DevicePool> kinds;
  llvm::SmallVector<const DeviceKind *, 2> seen;
  for (int64_t device = 0; device != cluster.numDevices(); ++device) {
    const DeviceKind &kind = cluster.kindOf(device);
    size_t index =
        llvm::find_if(seen,
                      [&](const DeviceKind *other) { return *other == kind; }) -
        seen.begin();
    if (index == seen.size()) {
      seen.push_back(&kind);
      kinds.emplace_back();
    }
    kinds[index].push_back(device);
  }
  return kinds;
}

/// One device of each kind after the other, as long as there are any.
static DevicePool byTurns(const std::vector<DevicePool> &kinds, size_t count) {
  DevicePool pool;
  for (size_t turn = 0; pool.size() != count; ++turn) {
    for (const DevicePool &kind : kinds) {
      if (turn < kind.size()) {
        pool.push_back(kind[turn]);
      }
    }
  }
  return pool;
}

/// Appends to `pools` all that begin with `begun` and go on with any kinds of
/// which `taken` is not set.
static void addOrders(const std::vector<DevicePool> &kinds,
                      std::vector<bool> &taken, const DevicePool &begun,
                      std::vector<DevicePool> &pools) {
  for (size_t kind = 0; kind != kinds.size(); ++kind) {
    if (taken[kind]) {
      continue;
    }
    taken[kind] = true;
    DevicePool pool = begun;
    llvm::append_range(pool, kinds[kind]);
    pools.push_back(pool);
    addOrders(kinds, taken, pool, pools);
    taken[kind] = false;
  }
}

std::vector<DevicePool> devicePools(const Cluster &cluster) {
  // The orders of more would be many.
  constexpr size_t kMostKinds = 3;
  DevicePool all(cluster.numDevices());
  std::iota(all.begin(), all.end(), 0);
  std::vector<DevicePool> pools = {all};
  std::vector<DevicePool> kinds = kindsOf(cluster);
  if (kinds.size() == 1) {
    return pools;
  }
  pools.push_back(byTurns(kinds, all.size()));
  if (kinds.size() > kMostKinds) {
    llvm::append_range(pools, kinds);
    return pools;
  }
  std::vector<bool> taken(kinds.size(), false);
  addOrders(kinds, taken, {}, pools);
  return pools;
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

/// Devices that stand next to each other in a grid.
using Run = llvm::SmallVector<int64_t, 8>;

/// Of each unit of `level` that holds so many of `runs`, the first `inside` of
/// them as one.
static std::vector<Run> joinInUnits(const Cluster &cluster, size_t level,
                                    int64_t inside,
                                    const std::vector<Run> &runs) {
  int64_t unitSize = cluster.unitSize(level);
  llvm::MapVector<int64_t, std::vector<const Run *>> units;
  for (const Run &run : runs) {
    std::vector<const Run *> &unit = units[run.front() / unitSize];
    if (int64_t(unit.size()) < inside) {
      unit.push_back(&run);
    }
  }
  std::vector<Run> joined;
  for (auto &[number, unit] : units) {
    if (int64_t(unit.size()) < inside) {
      continue;
    }
    llvm::sort(unit, [](const Run *a, const Run *b) {
      return a->front() < b->front();
    });
    Run &run = joined.emplace_back();
    for (const Run *part : unit) {
      llvm::append_range(run, *part);
    }
  }
  return joined;
}

/// Places `devices` of `runs`, of which each is in one unit of the level below
/// `level`.
static bool place(const Cluster &cluster, size_t level, int64_t devices,
                  std::vector<Run> runs, int64_t model, Placement &placement) {
  if (level == cluster.levels.size()) {
    placement.devices = runs.front();
    return devices == 1;
  }
  int64_t fanout = cluster.levels[level].fanout;
  for (int64_t inside = std::min(fanout, devices); inside >= 1; --inside) {
    bool keepsModel = inside % model == 0 || model % inside == 0;
    if (devices % inside != 0 || !keepsModel) {
      continue;
    }
    std::vector<Run> joined = joinInUnits(cluster, level, inside, runs);
    if (devices / inside > int64_t(joined.size())) {
      continue;
    }
    placement.counts.push_back(inside);
    int64_t rest = std::max<int64_t>(1, model / inside);
    if (place(cluster, level + 1, devices / inside, std::move(joined), rest,
              placement)) {
      return true;
    }
    placement.counts.pop_back();
  }
  return false;
}

std::optional<Placement> placeEvenly(const Cluster &cluster,
                                     const DevicePool &pool, int64_t devices,
                                     int64_t model) {
  if (devices > int64_t(pool.size())) {
    return std::nullopt;
  }
  std::vector<Run> runs;
  for (int64_t device : pool) {
    runs.push_back({device});
  }
  Placement placement;
  if (!place(cluster, 0, devices, std::move(runs), model, placement)) {
    return std::nullopt;
  }
  return placement;
}

} // namespace divisi
