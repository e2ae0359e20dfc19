//===- FactorClasses.cpp - Dims that share their factors ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FactorClasses.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <numeric>

using namespace divisi;

using Node = FactorClasses::Node;

Node FactorClasses::add(int64_t extent) {
  Node node = next();
  parent_.push_back(node);
  classes_.push_back({extent, false, {}});
  return node;
}

Node FactorClasses::find(Node node) const {
  while (parent_[node] != node) {
    node = parent_[node];
  }
  return node;
}

/// The older node becomes the root: chains stay as short as programs are deep.
void FactorClasses::tie(Node a, Node b) {
  a = find(a);
  b = find(b);
  if (a == b) {
    return;
  }
  if (classes_[a].extent != classes_[b].extent) {
    // No operator does this; should one, nothing is taken apart.
    pin(a);
    pin(b);
    return;
  }
  auto [root, child] = std::minmax(a, b);
  parent_[child] = root;
  classes_[root].isPinned |= classes_[child].isPinned;
}

void FactorClasses::addCut(Node whole, Node part, int64_t start,
                           int64_t limit) {
  Pieces &pieces = cuts_.try_emplace(whole).first->second;
  pieces.whole = whole;
  pieces.parts.push_back(part);
  pieces.unit =
      std::gcd(std::gcd(pieces.unit, extent(whole)), std::gcd(start, limit));
}

void FactorClasses::addJoin(Node whole, std::vector<Node> parts) {
  Pieces pieces;
  pieces.whole = whole;
  for (Node part : parts) {
    pieces.unit = std::gcd(pieces.unit, extent(part));
  }
  pieces.parts = std::move(parts);
  joins_.push_back(std::move(pieces));
}

/// Adds a cut if the class can have it; whether it is new.
bool FactorClasses::cut(Node node, int64_t stride) {
  Class &own = classes_[find(node)];
  if (own.isPinned || stride <= 1 || stride >= own.extent ||
      own.extent % stride != 0 || own.cuts.count(stride)) {
    return false;
  }
  for (int64_t other : own.cuts) {
    if (std::max(other, stride) % std::min(other, stride) != 0) {
      return false;
    }
  }
  own.cuts.insert(stride);
  return true;
}

/// Both sides of a reshape number the same elements: a cut of one dim is a
/// place in the flat index, and so a cut of the dim that spans it on the other
/// side.
bool FactorClasses::spread(const std::vector<Member> &group) {
  std::set<int64_t> flat;
  for (const Member &member : group) {
    flat.insert(member.low);
    for (int64_t stride : classes_[find(member.node)].cuts) {
      flat.insert(member.low * stride);
    }
  }
  bool changed = false;
  for (const Member &member : group) {
    for (int64_t at : flat) {
      if (at > member.low && at % member.low == 0) {
        changed |= cut(member.node, at / member.low);
      }
    }
  }
  return changed;
}

/// Cuts below the unit are common to the whole and its parts. Where every part
/// is one unit, the unit is a factor as well: which part.
bool FactorClasses::spread(const Pieces &pieces) {
  std::set<int64_t> shared;
  auto collect = [&](Node node) {
    for (int64_t stride : classes_[find(node)].cuts) {
      if (stride <= pieces.unit && pieces.unit % stride == 0) {
        shared.insert(stride);
      }
    }
  };
  collect(pieces.whole);
  llvm::for_each(pieces.parts, collect);
  bool areUnits = llvm::all_of(
      pieces.parts, [&](Node part) { return extent(part) == pieces.unit; });
  if (!shared.empty() && areUnits) {
    shared.insert(pieces.unit);
  }
  bool changed = false;
  for (int64_t stride : shared) {
    changed |= cut(pieces.whole, stride);
    for (Node part : pieces.parts) {
      changed |= cut(part, stride);
    }
  }
  return changed;
}

/// Cuts are only ever added, and an extent has few divisors, so this ends.
void FactorClasses::spread() {
  for (Class &own : classes_) {
    own.cuts.clear();
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (const std::vector<Member> &group : groups_) {
      changed |= spread(group);
    }
    for (const auto &[whole, pieces] : cuts_) {
      changed |= spread(pieces);
    }
    for (const Pieces &pieces : joins_) {
      changed |= spread(pieces);
    }
  }
}

llvm::SmallVector<int64_t> FactorClasses::factorsOf(Node node) const {
  const Class &own = classes_[find(node)];
  llvm::SmallVector<int64_t> factors;
  int64_t above = own.extent;
  for (int64_t stride : llvm::reverse(own.cuts)) {
    factors.push_back(above / stride);
    above = stride;
  }
  factors.push_back(above);
  return factors;
}
