//===- ArenaPlanner.cpp - Offsets for buffers that live for a while -------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Memory/ArenaPlanner.h"

#include "divisi/Support/CheckedMath.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <random>

using namespace divisi;

namespace {

/// A placed block: its bytes, and when it lives.
struct Placed {
  int64_t begin, end;
  size_t from, to;
};

/// Placed blocks by when they live. Each level divides the time into stretches
/// that are four times as long as those of the one before, and a block is where
/// it fits into two of them: so that a short query meets few others than those
/// that live then.
class PlacedBlocks {
public:
  /// Of times from 0 to before `end`.
  explicit PlacedBlocks(size_t end);

  void clear();
  void insert(const Placed &block);

  /// The lowest gap of `size` bytes between those that live during [from, to).
  int64_t lowestGap(int64_t size, size_t from, size_t to);

private:
  using Stretch = std::vector<Placed>; ///< By their first bytes.

  /// Those of a stretch that are not looked at yet.
  struct Rest {
    Stretch::const_iterator next, end;
  };

  static constexpr size_t kShortest = 32, kFactor = 4;

  std::vector<std::vector<Stretch>> levels_;
  std::vector<Rest> rests_; ///< Of a query; kept for its memory.
};

/// Places blocks in one order or another. What it looks at while it does is
/// counted, so that a search has an end that does not depend on the machine.
class Placer {
public:
  Placer(std::span<const ArenaBlock> blocks, std::span<const int64_t> sizes);

  /// Each block at its lowest gap, one after the other; what is empty at 0.
  ArenaPlan place(std::span<const size_t> order);

  int64_t work = 0; ///< Blocks that live at the same time, of all placed ones.

private:
  /// When a block lives, among the times at which one begins or ends.
  struct Life {
    size_t from, to;
  };

  /// Whether block `i` takes bytes at some time: else nothing is in its way.
  bool lives(size_t i) const {
    return sizes_[i] != 0 && blocks_[i].begin < blocks_[i].end;
  }
  void numberTimes();
  void countNeighbours();

  std::span<const ArenaBlock> blocks_;
  std::span<const int64_t> sizes_;
  std::vector<Life> lives_;
  std::vector<int64_t> numNeighbours_; ///< Alive at the same time.
  PlacedBlocks placed_;
};

} // namespace

PlacedBlocks::PlacedBlocks(size_t end) {
  for (size_t length = kShortest;; length *= kFactor) {
    levels_.emplace_back(end / length + 1);
    if (length >= end) {
      break;
    }
  }
}

void PlacedBlocks::clear() {
  for (std::vector<Stretch> &level : levels_) {
    for (Stretch &stretch : level) {
      stretch.clear();
    }
  }
}

void PlacedBlocks::insert(const Placed &block) {
  size_t level = 0, length = kShortest;
  while (length < block.to - block.from) {
    ++level;
    length *= kFactor;
  }
  for (size_t i = block.from / length; i <= (block.to - 1) / length; ++i) {
    Stretch &stretch = levels_[level][i];
    stretch.insert(std::upper_bound(stretch.begin(), stretch.end(), block,
                                    [](const Placed &a, const Placed &b) {
                                      return a.begin < b.begin;
                                    }),
                   block);
  }
}

/// Whatever lies in [offset, offset + size) moves the offset to its end, until
/// nothing does. What has been looked at lies below from then on.
int64_t PlacedBlocks::lowestGap(int64_t size, size_t from, size_t to) {
  rests_.clear();
  size_t length = kShortest;
  for (const std::vector<Stretch> &level : levels_) {
    for (size_t i = from / length; i <= (to - 1) / length; ++i) {
      if (!level[i].empty()) {
        rests_.push_back({level[i].begin(), level[i].end()});
      }
    }
    length *= kFactor;
  }
  int64_t offset = 0;
  for (bool moves = true; moves;) {
    moves = false;
    for (Rest &rest : rests_) {
      for (; rest.next != rest.end && rest.next->begin < offset + size;
           ++rest.next) {
        const Placed &other = *rest.next;
        if (other.end > offset && other.from < to && from < other.to) {
          offset = other.end;
          moves = true;
        }
      }
    }
  }
  return offset;
}

Placer::Placer(std::span<const ArenaBlock> blocks,
               std::span<const int64_t> sizes)
    : blocks_(blocks), sizes_(sizes), lives_(blocks.size()),
      numNeighbours_(blocks.size()), placed_(2 * blocks.size() + 1) {
  numberTimes();
  countNeighbours();
}

void Placer::numberTimes() {
  std::vector<int64_t> times;
  for (const ArenaBlock &block : blocks_) {
    times.push_back(block.begin);
    times.push_back(block.end);
  }
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  auto numberOf = [&](int64_t time) {
    return size_t(std::lower_bound(times.begin(), times.end(), time) -
                  times.begin());
  };
  for (size_t i = 0; i < blocks_.size(); ++i) {
    lives_[i] = {numberOf(blocks_[i].begin), numberOf(blocks_[i].end)};
  }
}

void Placer::countNeighbours() {
  std::vector<int64_t> begins, ends;
  for (size_t i = 0; i < blocks_.size(); ++i) {
    if (lives(i)) {
      begins.push_back(blocks_[i].begin);
      ends.push_back(blocks_[i].end);
    }
  }
  std::sort(begins.begin(), begins.end());
  std::sort(ends.begin(), ends.end());
  for (size_t i = 0; i < blocks_.size(); ++i) {
    if (lives(i)) {
      auto begun =
          std::lower_bound(begins.begin(), begins.end(), blocks_[i].end);
      auto ended = std::upper_bound(ends.begin(), ends.end(), blocks_[i].begin);
      numNeighbours_[i] = (begun - begins.begin()) - (ended - ends.begin()) - 1;
    }
  }
}

ArenaPlan Placer::place(std::span<const size_t> order) {
  ArenaPlan plan;
  plan.offsets.assign(sizes_.size(), 0);
  placed_.clear();
  for (size_t block : order) {
    if (sizes_[block] == 0) {
      continue;
    }
    auto [from, to] = lives_[block];
    int64_t &offset = plan.offsets[block];
    if (lives(block)) { // else nothing is in its way
      offset = placed_.lowestGap(sizes_[block], from, to);
      placed_.insert({offset, offset + sizes_[block], from, to});
    }
    work += numNeighbours_[block];
    plan.bytes = std::max(plan.bytes, offset + sizes_[block]);
  }
  return plan;
}

/// The largest sum of `sizes` that live at once.
static std::optional<int64_t>
largestLiveSum(std::span<const ArenaBlock> blocks,
               const std::vector<int64_t> &sizes) {
  std::map<int64_t, int64_t> changes;
  std::optional<int64_t> total = 0;
  for (size_t i = 0; i < blocks.size(); ++i) {
    // Bounds every sum below.
    total = checkedAdd(*total, sizes[i]);
    if (!total) {
      return std::nullopt;
    }
    changes[blocks[i].begin] += sizes[i];
    changes[blocks[i].end] -= sizes[i];
  }
  int64_t live = 0, largest = 0;
  for (auto [time, change] : changes) {
    live += change;
    largest = std::max(largest, live);
  }
  return largest;
}

/// The orders to begin with: by falling size, by falling size times duration,
/// by beginning, by falling duration.
static std::vector<std::vector<size_t>>
firstOrders(std::span<const ArenaBlock> blocks,
            std::span<const int64_t> sizes) {
  auto duration = [&](size_t i) {
    return double(blocks[i].end) - double(blocks[i].begin);
  };
  std::vector<size_t> plain(blocks.size());
  std::iota(plain.begin(), plain.end(), 0);
  std::vector<std::vector<size_t>> orders(4, plain);
  auto sort = [](std::vector<size_t> &order, auto key) {
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return key(a) < key(b); });
  };
  sort(orders[0], [&](size_t i) { return -sizes[i]; });
  sort(orders[1], [&](size_t i) { return -double(sizes[i]) * duration(i); });
  sort(orders[2],
       [&](size_t i) { return std::pair(blocks[i].begin, -sizes[i]); });
  sort(orders[3], [&](size_t i) { return -duration(i); });
  return orders;
}

/// One of the blocks that stick out above `bytes`, and now and then another,
/// come first the next time.
static std::vector<size_t> promote(std::vector<size_t> order,
                                   const ArenaPlan &plan,
                                   std::span<const int64_t> sizes,
                                   int64_t bytes, std::minstd_rand &random) {
  std::vector<size_t> high;
  for (size_t at = 0; at < order.size(); ++at) {
    if (plan.offsets[order[at]] + sizes[order[at]] > bytes) {
      high.push_back(at);
    }
  }
  auto bringForward = [&](size_t at) {
    size_t to = random() % (at + 1);
    std::rotate(order.begin() + to, order.begin() + at, order.begin() + at + 1);
  };
  bringForward(high[random() % high.size()]);
  if (random() % 2 == 0) {
    bringForward(random() % order.size());
  }
  return order;
}

namespace {
/// An order, and where its blocks come to lie.
struct Ordered {
  std::vector<size_t> order;
  ArenaPlan plan;
};
} // namespace

/// What becomes of `best` when blocks that stick out are placed earlier, as
/// long as that is no worse.
static void improve(Placer &placer, std::span<const int64_t> sizes,
                    int64_t lowerBound, int64_t work, Ordered &best) {
  std::minstd_rand random;
  int64_t end = placer.work + work;
  while (best.plan.bytes > lowerBound && placer.work < end) {
    std::vector<size_t> other =
        promote(best.order, best.plan, sizes, lowerBound, random);
    if (ArenaPlan plan = placer.place(other); plan.bytes <= best.plan.bytes) {
      best = {std::move(other), std::move(plan)};
    }
  }
}

// Well below a second.
static constexpr int64_t kWork = 20'000'000;

/// From coarse to fine: the large blocks are ordered first, which is soon done
/// as they are few, and smaller ones, in the order of `rest`, find their places
/// between them.
static Ordered orderBySize(Placer &placer, std::span<const int64_t> sizes,
                           int64_t lowerBound, std::vector<size_t> rest) {
  // A block is large if it has more than one in so many parts of the arena.
  constexpr int64_t kParts[] = {8, 32, 128, 512, INT64_MAX};
  Ordered best;
  for (int64_t parts : kParts) {
    std::vector<size_t> left;
    for (size_t block : rest) {
      bool isLarge = parts == INT64_MAX || sizes[block] > lowerBound / parts;
      (isLarge ? best.order : left).push_back(block);
    }
    rest = std::move(left);
    best.plan = placer.place(best.order);
    improve(placer, sizes, lowerBound, kWork / 10, best);
  }
  return best;
}

/// The better of that and of the best of the first orders, improved; the first
/// of these that needs no more than `enough`.
static ArenaPlan search(std::span<const ArenaBlock> blocks,
                        std::span<const int64_t> sizes, int64_t lowerBound,
                        int64_t enough) {
  Placer placer(blocks, sizes);
  std::vector<std::vector<size_t>> orders = firstOrders(blocks, sizes);
  for (size_t i = 0; enough >= lowerBound && i < orders.size(); ++i) {
    if (ArenaPlan plan = placer.place(orders[i]); plan.bytes <= enough) {
      return plan;
    }
  }
  Ordered coarse = orderBySize(placer, sizes, lowerBound, orders.front());
  std::optional<Ordered> best;
  for (std::vector<size_t> &order : orders) {
    ArenaPlan plan = placer.place(order);
    if (!best || plan.bytes < best->plan.bytes) {
      best = {std::move(order), std::move(plan)};
    }
  }
  if (coarse.plan.bytes > lowerBound) {
    improve(placer, sizes, lowerBound, kWork / 2, *best);
  }
  return coarse.plan.bytes < best->plan.bytes ? coarse.plan : best->plan;
}

/// Each block with its padding.
static std::optional<std::vector<int64_t>>
paddedSizes(std::span<const ArenaBlock> blocks, int64_t alignment) {
  std::vector<int64_t> sizes;
  for (const ArenaBlock &block : blocks) {
    std::optional<int64_t> padded = checkedAdd(block.bytes, alignment - 1);
    if (!padded) {
      return std::nullopt;
    }
    sizes.push_back(*padded / alignment * alignment);
  }
  return sizes;
}

std::optional<int64_t> divisi::leastArena(std::span<const ArenaBlock> blocks,
                                          int64_t alignment) {
  std::optional<std::vector<int64_t>> sizes = paddedSizes(blocks, alignment);
  return sizes ? largestLiveSum(blocks, *sizes) : std::nullopt;
}

std::optional<ArenaPlan> divisi::planArena(std::span<const ArenaBlock> blocks,
                                           int64_t alignment, int64_t enough) {
  std::optional<std::vector<int64_t>> sizes = paddedSizes(blocks, alignment);
  // The sum bounds every offset, which therefore cannot overflow.
  std::optional<int64_t> largest =
      sizes ? largestLiveSum(blocks, *sizes) : std::nullopt;
  if (!largest) {
    return std::nullopt;
  }
  ArenaPlan plan = search(blocks, *sizes, *largest, enough);
  plan.lowerBound = *largest;
  return plan;
}
