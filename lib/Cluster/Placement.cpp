//===- Placement.cpp - Where devices of a grid stand ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Placement.h"

#include "divisi/Cluster/DeviceGrid.h"

#include "llvm/ADT/STLExtras.h"

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

/// Places `devices` on the levels from `level` on, of whose units (devices, for
/// the first) the first `available` are there.
static bool place(const Cluster &cluster, size_t level, int64_t devices,
                  int64_t available, int64_t model, Placement &placement) {
  if (level == cluster.levels.size()) {
    return devices == 1;
  }
  int64_t fanout = cluster.levels[level].fanout;
  for (int64_t inside = std::min(fanout, devices); inside >= 1; --inside) {
    bool keepsModel = inside % model == 0 || model % inside == 0;
    if (devices % inside != 0 || !keepsModel) {
      continue;
    }
    // The last unit may be partly there.
    int64_t units = available / fanout + (available % fanout >= inside);
    if (devices / inside > units) {
      continue;
    }
    placement.counts.push_back(inside);
    int64_t rest = std::max<int64_t>(1, model / inside);
    if (place(cluster, level + 1, devices / inside, units, rest, placement)) {
      return true;
    }
    placement.counts.pop_back();
  }
  return false;
}

std::optional<Placement> placeEvenly(const Cluster &cluster, int64_t devices,
                                     int64_t model) {
  Placement placement;
  if (!place(cluster, 0, devices, cluster.numDevices(), model, placement)) {
    return std::nullopt;
  }
  return placement;
}

llvm::SmallVector<int64_t, 8> devicesOf(const Cluster &cluster,
                                        const Placement &placement) {
  llvm::SmallVector<int64_t, 8> devices = {0};
  for (size_t level = placement.counts.size(); level-- > 0;) {
    int64_t stride = level == 0 ? 1 : cluster.unitSize(level - 1);
    llvm::SmallVector<int64_t, 8> finer;
    for (int64_t device : devices) {
      for (int64_t unit = 0; unit < placement.counts[level]; ++unit) {
        finer.push_back(device + unit * stride);
      }
    }
    devices = std::move(finer);
  }
  bool isPlain = devices.back() + 1 == int64_t(devices.size());
  return isPlain ? llvm::SmallVector<int64_t, 8>() : devices;
}

} // namespace divisi
