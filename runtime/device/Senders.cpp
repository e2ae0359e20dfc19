//===- Senders.cpp - Who sends what of a move -----------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/device/Senders.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <numeric>
#include <utility>

using namespace divisi;
using namespace divisi::rt;

//===----------------------------------------------------------------------===//
// Sharing out
//===----------------------------------------------------------------------===//

/// Into how many runs of neighbours `sizes` fall, none larger than `most`.
static size_t countRuns(std::span<const int64_t> sizes, int64_t most) {
  size_t runs = 1;
  int64_t load = 0;
  for (int64_t size : sizes) {
    if (load + size > most) {
      ++runs;
      load = 0;
    }
    load += size;
  }
  return runs;
}

/// Runs of neighbours, the largest as small as can be; returns how large it is.
static int64_t shareRuns(std::span<const int64_t> sizes, size_t holders,
                         std::vector<size_t> &holderOf) {
  int64_t least = *std::max_element(sizes.begin(), sizes.end());
  int64_t most = std::accumulate(sizes.begin(), sizes.end(), int64_t(0));
  while (least < most) {
    int64_t middle = least + (most - least) / 2;
    if (countRuns(sizes, middle) <= holders) {
      most = middle;
    } else {
      least = middle + 1;
    }
  }
  size_t holder = 0;
  int64_t load = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (load + sizes[i] > most) {
      ++holder;
      load = 0;
    }
    load += sizes[i];
    holderOf[i] = holder;
  }
  return most;
}

/// The largest first, each to the one who has least.
static int64_t shareLargest(std::span<const int64_t> sizes, size_t holders,
                            std::vector<size_t> &holderOf) {
  std::vector<size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(
      order, [&](size_t a, size_t b) { return sizes[a] > sizes[b]; });
  std::vector<int64_t> loads(holders);
  for (size_t i : order) {
    auto least = std::ranges::min_element(loads);
    *least += sizes[i];
    holderOf[i] = static_cast<size_t>(least - loads.begin());
  }
  return *std::ranges::max_element(loads);
}

std::vector<size_t> divisi::rt::shareOut(std::span<const int64_t> sizes,
                                         size_t holders) {
  assert(holders > 0 && "nobody has it");
  std::vector<size_t> runs(sizes.size()), largest(sizes.size());
  if (holders == 1 || sizes.empty()) {
    return runs;
  }
  int64_t most = shareRuns(sizes, holders, runs);
  return most <= shareLargest(sizes, holders, largest) ? runs : largest;
}

//===----------------------------------------------------------------------===//
// A move
//===----------------------------------------------------------------------===//

static bool overlap(const Box &a, const Box &b) {
  for (size_t d = 0; d < a.rank(); ++d) {
    if (std::max(a.begin[d], b.begin[d]) >= std::min(a.end[d], b.end[d])) {
      return false;
    }
  }
  return true;
}

/// Takes what lies in `cut` out of `pieces`.
static void cutOut(std::vector<Box> &pieces, const Box &cut) {
  if (std::ranges::none_of(
          pieces, [&](const Box &piece) { return overlap(piece, cut); })) {
    return;
  }
  std::vector<Box> rest;
  for (const Box &piece : pieces) {
    subtract(piece, cut, rest);
  }
  std::swap(pieces, rest);
}

static int64_t countOf(const std::vector<Box> &pieces) {
  int64_t count = 0;
  for (const Box &piece : pieces) {
    count += piece.count();
  }
  return count;
}

Senders::Senders(std::span<const MoveParty> parties)
    : parties_(parties.begin(), parties.end()), shardOf_(parties.size()) {
  std::map<std::pair<Dims, Dims>, size_t> known;
  for (size_t i = 0; i < parties_.size(); ++i) {
    const Box *box = parties_[i].source;
    if (!box || box->empty()) {
      parties_[i].source = nullptr;
      continue;
    }
    auto [at, isNew] =
        known.try_emplace({box->begin, box->end}, shards_.size());
    if (isNew) {
      for (const Shard &other : shards_) {
        areDisjoint_ = areDisjoint_ && !overlap(*other.box, *box);
      }
      shards_.push_back({box, {}});
    }
    shards_[at->second].holders.push_back(i);
    shardOf_[i] = at->second;
  }
}

/// What `to`, which wants something, wants of a shard.
std::vector<Box> Senders::wanted(size_t to, size_t shard) const {
  const Box &result = *parties_[to].result, &box = *shards_[shard].box;
  if (!overlap(result, box)) {
    return {};
  }
  std::vector<Box> pieces = {intersect(result, box)};
  if (parties_[to].source) {
    cutOut(pieces, *parties_[to].source);
  }
  for (size_t i = 0; i < shard && !areDisjoint_ && !pieces.empty(); ++i) {
    cutOut(pieces, *shards_[i].box);
  }
  return pieces;
}

/// Who of the holders of a shard sends `to` what it wants of it.
size_t Senders::senderOf(size_t to, Shard &shard) {
  if (shard.holders.size() == 1) {
    return shard.holders.front();
  }
  if (!std::exchange(shard.isShared, true)) {
    std::vector<size_t> receivers;
    std::vector<int64_t> sizes;
    for (size_t i = 0; i < parties_.size(); ++i) {
      const Box *result = parties_[i].result;
      if (result && !result->empty()) {
        int64_t size =
            countOf(wanted(i, static_cast<size_t>(&shard - shards_.data())));
        if (size > 0) {
          sizes.push_back(size);
          receivers.push_back(i);
        }
      }
    }
    shard.senderOf.assign(parties_.size(), shard.holders.front());
    std::vector<size_t> holderOf = shareOut(sizes, shard.holders.size());
    for (size_t i = 0; i < receivers.size(); ++i) {
      shard.senderOf[receivers[i]] = shard.holders[holderOf[i]];
    }
  }
  return shard.senderOf[to];
}

std::vector<Box> Senders::pieces(size_t from, size_t to) {
  const Box *source = parties_[from].source, *result = parties_[to].result;
  if (!source || !result || result->empty() || !overlap(*source, *result)) {
    return {};
  }
  if (from == to) {
    return {intersect(*source, *result)};
  }
  size_t shard = shardOf_[from];
  std::vector<Box> pieces = wanted(to, shard);
  return !pieces.empty() && senderOf(to, shards_[shard]) == from
             ? std::move(pieces)
             : std::vector<Box>();
}

Received Senders::received(size_t to) {
  Received received;
  const Box *result = parties_[to].result;
  if (!result || result->empty()) {
    return received;
  }
  int64_t count = 0;
  auto add = [&](size_t sender, std::vector<Box> pieces) {
    count += countOf(pieces);
    for (Box &piece : pieces) {
      received.pieces.push_back({sender, std::move(piece)});
    }
  };
  if (parties_[to].source) {
    add(to, pieces(to, to));
  }
  for (size_t shard = 0; shard < shards_.size(); ++shard) {
    std::vector<Box> pieces = wanted(to, shard);
    if (!pieces.empty()) {
      add(senderOf(to, shards_[shard]), std::move(pieces));
    }
  }
  received.isWhole = count == result->count();
  return received;
}
