//===- MeasuredCluster.cpp - A cluster from what was measured -------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Profile/MeasuredCluster.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cmath>

namespace divisi {

//===----------------------------------------------------------------------===//
// Levels
//===----------------------------------------------------------------------===//

/// How many devices NVLink joins to one unit, if these are as many devices next
/// to each other everywhere; 1: it joins none; 0: it joins them otherwise.
static int64_t linkedUnit(llvm::ArrayRef<DevicePath> paths, int64_t count) {
  auto isLinked = [&](int64_t a, int64_t b) {
    return paths[size_t(a * count + b)] == DevicePath::NvLink;
  };
  // Each device's unit, by its first device; paths may lead over others.
  std::vector<int64_t> unit(size_t(count), 0);
  for (int64_t a = 0; a < count; ++a) {
    unit[size_t(a)] = a;
  }
  for (int64_t pair = 0; pair < count * count; ++pair) {
    int64_t one = unit[size_t(pair / count)],
            other = unit[size_t(pair % count)];
    if (one != other && isLinked(pair / count, pair % count)) {
      std::ranges::replace(unit, std::max(one, other), std::min(one, other));
    }
  }
  int64_t size = llvm::count(unit, 0);
  for (int64_t a = 0; a < count; ++a) {
    if (count % size != 0 || unit[size_t(a)] != a / size * size) {
      return 0;
    }
  }
  return size;
}

static LinkLevel makeLevel(const char *name, Transport transport,
                           int64_t fanout) {
  return {.name = name, .fanout = fanout, .transport = transport};
}

FoundLevels findLevels(llvm::ArrayRef<DevicePath> paths, int64_t count) {
  FoundLevels found;
  if (count == 1) {
    return found;
  }
  DevicePath first = paths[1];
  if (first == DevicePath::Memory) {
    found.levels = {makeLevel("machine", Transport::Memory, count)};
    return found;
  }
  if (first == DevicePath::Unknown) {
    found.levels = {makeLevel("links", LinkLevel().transport, count)};
    return found;
  }
  int64_t unit = linkedUnit(paths, count);
  if (unit == 0) {
    found.notes.push_back(
        "NVLink connects some devices, but not in equal groups of consecutive "
        "devices: all links are treated as PCIe");
    unit = 1;
  }
  if (unit > 1) {
    found.levels.push_back(makeLevel("nvlink", Transport::NvLink, unit));
  }
  if (unit < count) {
    found.levels.push_back(makeLevel("pci", Transport::Pci, count / unit));
  }
  return found;
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

double fourDigits(double number) {
  if (number == 0) {
    return 0;
  }
  double unit = std::pow(10, std::floor(std::log10(std::abs(number))) - 3);
  // Of large units a multiple is exact, of small ones a quotient.
  return unit >= 1 ? std::round(number / unit) * unit
                   : std::round(number / unit) / std::round(1 / unit);
}

static double medianOf(llvm::SmallVector<double, 4> numbers) {
  llvm::sort(numbers);
  return numbers[numbers.size() / 2];
}

/// The messages that one device sends one after the other, through memory.
static double roundsOf(Collective collective, int64_t members) {
  double doublings = std::ceil(std::log2(double(members)));
  return collective == Collective::AllReduce  ? 2 * doublings
         : collective == Collective::AllToAll ? double(members - 1)
                                              : doublings;
}

/// What a member sends of a ring, in bytes.
static double sentBytes(const CollectiveTime &time, int64_t members) {
  double share = double(members - 1) / double(members);
  return (time.collective == Collective::AllReduce ? 2 : 1) * share *
         double(time.bytes);
}

/// The next point of a curve, which takes at least as long as the one before.
static void addPoint(LinkLevel &level, const CollectiveTime &time,
                     int64_t members) {
  const MeasuredRate *before = nullptr;
  if (!level.measured.empty() &&
      level.measured.back().collective == time.collective) {
    before = &level.measured.back();
  }
  double nanoseconds =
      std::max(time.nanoseconds, before ? before->nanoseconds() : 0);
  MeasuredRate point{time.collective, members, time.bytes,
                     fourDigits(1e9 * sentBytes(time, members) / nanoseconds)};
  // Rounding may have made it shorter again.
  while (before && point.nanoseconds() < before->nanoseconds()) {
    point.busBytesPerSecond = fourDigits(point.busBytesPerSecond * 0.999);
  }
  level.measured.push_back(point);
}

/// Of `times`, those of one collective by ascending bytes, the closest that
/// never fall, by absolute distance: what other work has disturbed counts like
/// any other and moves no neighbour. By pooling adjacent violators (Barlow et
/// al., 1972), each pool at its lower median.
static void straighten(llvm::MutableArrayRef<CollectiveTime> times) {
  struct Pool {
    llvm::SmallVector<double, 4> members;
    double median = 0;
  };
  std::vector<Pool> pools;
  for (const CollectiveTime &time : times) {
    pools.push_back({{time.nanoseconds}, time.nanoseconds});
    while (pools.size() > 1 &&
           pools[pools.size() - 2].median > pools.back().median) {
      Pool last = std::move(pools.back());
      pools.pop_back();
      llvm::SmallVector<double, 4> &all = pools.back().members;
      all.append(last.members);
      llvm::sort(all);
      pools.back().median = all[(all.size() - 1) / 2];
    }
  }
  size_t next = 0;
  for (const Pool &pool : pools) {
    for (size_t i = 0; i < pool.members.size(); ++i) {
      times[next++].nanoseconds = pool.median;
    }
  }
}

void fitLevel(LinkLevel &level, int64_t members,
              llvm::ArrayRef<CollectiveTime> measured,
              double peerBytesPerSecond) {
  std::vector<CollectiveTime> times(measured);
  for (size_t begin = 0, end = 0; begin != times.size(); begin = end) {
    while (end != times.size() &&
           times[end].collective == times[begin].collective) {
      ++end;
    }
    straighten(llvm::MutableArrayRef(times).slice(begin, end - begin));
  }
  llvm::SmallVector<double, 4> latencies, rates;
  for (auto [index, time] : llvm::enumerate(times)) {
    bool isFirst = index == 0 || times[index - 1].collective != time.collective;
    bool isLast = index + 1 == times.size() ||
                  times[index + 1].collective != time.collective;
    if (isFirst) {
      latencies.push_back(time.nanoseconds /
                          roundsOf(time.collective, members));
    }
    if (isLast) {
      double start = latencies.back() * roundsOf(time.collective, members);
      // A message that is no longer than an empty one has been disturbed.
      double moving = std::max(time.nanoseconds - start, time.nanoseconds / 10);
      double whole =
          level.transport == Transport::Memory ? moving : time.nanoseconds;
      rates.push_back(1e9 * sentBytes(time, members) / whole);
    }
    addPoint(level, time, members);
  }
  level.bytesPerSecond =
      fourDigits(rates.empty() ? peerBytesPerSecond : medianOf(rates));
  if (level.transport == Transport::NvLink && !rates.empty()) {
    level.peerBytesPerSecond = fourDigits(peerBytesPerSecond);
  }
  if (level.transport == Transport::Memory && !latencies.empty()) {
    level.latencyNanoseconds = int64_t(fourDigits(medianOf(latencies)));
  }
}

std::optional<std::string> noteOfLoad(double load, int64_t processors,
                                      int64_t used) {
  // One process that sleeps now and then is no work.
  constexpr double kQuiet = 0.5;
  auto left = double(std::max<int64_t>(processors - used, 0));
  if (load <= left + kQuiet) {
    return std::nullopt;
  }
  return llvm::formatv(
             "the machine is busy (load {0:f1} of {1} processors, of which {2} "
             "are measured): what other work has disturbed is measured as "
             "slower; profile again when it is idle",
             load, processors, used)
      .str();
}

} // namespace divisi
