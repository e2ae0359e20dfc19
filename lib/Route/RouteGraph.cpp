//===- RouteGraph.cpp - The layouts that routes pass through --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Dijkstra's algorithm ("A note on two problems in connexion with graphs",
// 1959) in its form for dense graphs: almost any layout leads to any other by
// an exchange. Edges are priced when the search comes by, and it goes no
// further than a path can still be shorter: whoever ends at a layout has to get
// into it.
//
//===----------------------------------------------------------------------===//

#include "RouteGraph.h"

#include "CheapestMove.h"
#include "Renaming.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

using namespace llvm;

namespace divisi {

/// Lengths stand before lists, so that no two spaces run together.
std::vector<int64_t> RouteSpace::key() const {
  std::vector<int64_t> key;
  auto addAxes = [&](ArrayRef<AxisId> axes) {
    key.push_back(int64_t(axes.size()));
    for (AxisId axis : axes) {
      key.push_back(axis.index);
    }
  };
  key.push_back(int64_t(shape.size()));
  append_range(key, shape);
  key.push_back(elementBits);
  key.push_back(int64_t(partialKind));
  for (const DimLayout &dim : frame.dims) {
    addAxes(dim.axes);
    key.push_back(int64_t(dim.bounds.size()));
    for (Interval bound : dim.bounds) {
      key.push_back(bound.begin);
      key.push_back(bound.end);
    }
  }
  addAxes(frame.partialAxes);
  for (const Unit &unit : units) {
    addAxes(unit.axes);
    key.push_back(unit.mayBePartial);
  }
  key.push_back(int64_t(units.size()));
  append_range(key, dims);
  return key;
}

size_t countNodes(size_t units, size_t dims) {
  // Units join one after another: the k-th that splits has dims + k places.
  // ways[k]: so far, with k units splitting.
  std::vector<size_t> ways = {1};
  for (size_t unit = 0; unit < units; ++unit) {
    std::vector<size_t> more(ways.size() + 1, 0);
    for (size_t k = 0; k < ways.size(); ++k) {
      more[k] += 2 * ways[k];
      more[k + 1] += (dims + k) * ways[k];
    }
    ways = std::move(more);
  }
  size_t total = 0;
  for (size_t count : ways) {
    total += count;
  }
  return total;
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

RouteGraph::RouteGraph(const Grid &grid, const StepPrices &prices,
                       TransitionCache &cache, RouteSpace space)
    : grid_(grid), prices_(prices), cache_(cache), space_(std::move(space)),
      dims_(space_.shape.size()) {
  Layout layout = space_.frame;
  enumerate(0, layout);
  numNodes_ = nodes_.size();
  findImages();
}

/// An edge is as long as the one between what its ends become by other names of
/// alike axes, so only those from least nodes are priced.
void RouteGraph::findImages() {
  // Of more units there are too many orders, and they may have several axes.
  constexpr size_t kMost = 4;
  SmallVector<AxisId, 8> axes;
  bool isWhole = space_.frame == Layout::replicated(space_.shape.size()) &&
                 space_.units.size() <= kMost;
  for (const RouteSpace::Unit &unit : space_.units) {
    isWhole &= unit.axes.size() == 1 && unit.mayBePartial;
    append_range(axes, unit.axes);
  }
  if (!isWhole) {
    axes.clear();
  }
  for (const auto &names : waysToRename(prices_.alike, axes)) {
    std::vector<NodeId> &image = images_.emplace_back();
    for (NodeId node = 0; node != numNodes_; ++node) {
      image.push_back(images_.size() == 1
                          ? node
                          : ids_.at(renamed(nodes_[node]->layout, names)));
    }
  }
  for (NodeId node = 0; node != numNodes_; ++node) {
    auto least = llvm::min_element(images_, [&](const auto &a, const auto &b) {
      return a[node] < b[node];
    });
    least_.push_back({uint32_t(least - images_.begin()), (*least)[node]});
  }
}

/// Puts the units from `unit` on everywhere.
void RouteGraph::enumerate(size_t unit, Layout &layout) {
  if (unit == space_.units.size()) {
    Layout node = layout;
    llvm::sort(node.partialAxes);
    node.partialKind = node.isPartial() ? space_.partialKind : ReduceKind::Sum;
    intern(node);
    return;
  }
  const RouteSpace::Unit &placed = space_.units[unit];
  enumerate(unit + 1, layout);
  for (size_t dim : space_.dims) {
    auto &axes = layout.dims[dim].axes;
    auto before = axes;
    for (size_t place = space_.frame.dims[dim].axes.size();
         place <= before.size(); ++place) {
      // Not between the axes of another unit: those stay together.
      bool splitsUnit = any_of(space_.units, [&](const auto &other) {
        return other.axes.size() > 1 && place > 0 && place < before.size() &&
               is_contained(other.axes, before[place - 1]) &&
               is_contained(other.axes, before[place]);
      });
      if (splitsUnit) {
        continue;
      }
      axes = before;
      axes.insert(axes.begin() + place, placed.axes.begin(), placed.axes.end());
      enumerate(unit + 1, layout);
    }
    axes = before;
  }
  if (placed.mayBePartial) {
    auto before = layout.partialAxes;
    append_range(layout.partialAxes, placed.axes);
    enumerate(unit + 1, layout);
    layout.partialAxes = before;
  }
}

uint32_t RouteGraph::internDim(size_t dim, const DimLayout &layout) {
  DimTable &table = dims_[dim];
  for (auto [id, known] : llvm::enumerate(table.layouts)) {
    if (known == layout) {
      return uint32_t(id);
    }
  }
  table.layouts.push_back(layout);
  table.changes.emplace_back();
  table.largest.push_back(double(layout.largest(grid_, space_.shape[dim])));
  return uint32_t(table.layouts.size() - 1);
}

RouteGraph::NodeId RouteGraph::intern(const Layout &layout) {
  auto [entry, isNew] = ids_.try_emplace(layout, NodeId(nodes_.size()));
  if (isNew) {
    auto node = std::make_unique<Node>();
    node->layout = layout;
    for (auto [dim, dimLayout] : llvm::enumerate(layout.dims)) {
      node->dims.push_back(internDim(dim, dimLayout));
    }
    nodes_.push_back(std::move(node));
    edgesFrom_.emplace_back();
    edgesTo_.emplace_back();
    leastInto_.push_back(0);
  }
  return entry->second;
}

//===----------------------------------------------------------------------===//
// Edges
//===----------------------------------------------------------------------===//

const DimChange &RouteGraph::change(size_t dim, uint32_t from, uint32_t to) {
  DimTable &table = dims_[dim];
  std::vector<const DimChange *> &changes = table.changes[from];
  if (changes.size() <= to) {
    changes.resize(table.layouts.size(), nullptr);
  }
  const DimChange *&slot = changes[to];
  if (!slot) {
    slot = &cache_.change(grid_, space_.shape[dim], table.layouts[from],
                          table.layouts[to]);
  }
  return *slot;
}

/// An edge's length, negative if no step leads from one to the other.
int64_t RouteGraph::priceEdge(NodeId from, NodeId to) {
  const Node &source = *nodes_[from], &target = *nodes_[to];
  // The quick way out of half of all pairs.
  bool samePartial = source.layout.partialAxes == target.layout.partialAxes;
  Transition transition;
  transition.from = &source.layout;
  transition.to = &target.layout;
  for (size_t dim = 0; dim < source.dims.size(); ++dim) {
    if (source.dims[dim] == target.dims[dim]) {
      transition.unchangedElements *= dims_[dim].largest[source.dims[dim]];
      continue;
    }
    if (!samePartial && !transition.changes.empty()) {
      return -1;
    }
    transition.changes.push_back(
        {dim, &change(dim, source.dims[dim], target.dims[dim])});
  }
  auto best = cheapestMove(prices_, transition, space_.elementBits);
  return best ? best->second.nanoseconds : -1;
}

/// Those to nodes, kUnknown until they are asked for.
RouteGraph::Edges RouteGraph::edgesFrom(NodeId from) {
  Edges edges = {from, &images_.front()};
  if (from < numNodes_) {
    edges.image = &images_[least_[from].image];
    edges.from = least_[from].node;
  }
  edges.lengths = &edgesFrom_[edges.from];
  if (edges.lengths->empty()) {
    edges.lengths->assign(numNodes_, kUnknown);
  }
  return edges;
}

/// priceEdge to a node, remembered.
int64_t RouteGraph::priceIn(const Edges &edges, NodeId to) {
  NodeId image = (*edges.image)[to];
  int64_t &length = (*edges.lengths)[image];
  if (length == kUnknown) {
    length = priceEdge(edges.from, image);
  }
  return length;
}

/// priceEdge, remembered unless it is of two ends.
int64_t RouteGraph::edge(NodeId from, NodeId to) {
  if (from == to || (from >= numNodes_ && to >= numNodes_)) {
    return from == to ? -1 : priceEdge(from, to);
  }
  if (to < numNodes_) {
    return priceIn(edgesFrom(from), to);
  }
  std::vector<int64_t> &edgesTo = edgesTo_[to];
  if (edgesTo.empty()) {
    edgesTo.assign(numNodes_, kUnknown);
  }
  int64_t &length = edgesTo[from];
  if (length == kUnknown) {
    length = priceEdge(from, to);
  }
  return length;
}

int64_t RouteGraph::leastInto(NodeId to) {
  if (to < numNodes_) {
    to = least_[to].node;
  }
  if (leastInto_[to] == 0) {
    int64_t least = INT64_MAX;
    for (NodeId from = 0; from < numNodes_; ++from) {
      if (int64_t length = edge(from, to); length >= 0) {
        least = std::min(least, length);
      }
    }
    leastInto_[to] = least;
    for (NodeId node = 0; to < numNodes_ && node < numNodes_; ++node) {
      if (least_[node].node == to) {
        leastInto_[node] = least;
      }
    }
  }
  return leastInto_[to];
}

//===----------------------------------------------------------------------===//
// Search
//===----------------------------------------------------------------------===//

/// A start that is no node has only edges out of it, which are its first
/// distances.
RouteGraph::Search &RouteGraph::search(NodeId from) {
  auto [entry, isNew] = searches_.try_emplace(from);
  Search &search = entry->second;
  if (!isNew) {
    return search;
  }
  search.distance.resize(numNodes_);
  search.previous.assign(numNodes_, none);
  search.open.resize(numNodes_);
  std::iota(search.open.begin(), search.open.end(), 0);
  if (from < numNodes_) {
    search.distance[from] = {0, 0};
    search.nearest = from;
    return search;
  }
  for (NodeId to = 0; to < numNodes_; ++to) {
    if (int64_t length = edge(from, to); length >= 0) {
      search.distance[to] = {length, 1};
      search.previous[to] = from;
    }
  }
  findNearest(search);
  return search;
}

/// Of equally near ones the first, so nothing depends on earlier questions.
void RouteGraph::findNearest(Search &search) {
  search.nearest = none;
  Distance least;
  for (NodeId node : search.open) {
    if (search.distance[node] < least) {
      least = search.distance[node];
      search.nearest = node;
    }
  }
}

/// Settles the nearest node, if there is one and it is no farther than `limit`.
bool RouteGraph::settleNext(Search &search, int64_t limit) {
  NodeId settled = search.nearest;
  if (settled == none || search.distance[settled].nanoseconds > limit) {
    return false;
  }
  search.open.erase(llvm::lower_bound(search.open, settled));
  search.settled.push_back(settled);
  Distance base = search.distance[settled];
  Edges edges = edgesFrom(settled);
  const NodeId *image = edges.image->data();
  int64_t *lengths = edges.lengths->data();
  const int64_t *leastInto = leastInto_.data();
  search.nearest = none;
  Distance least;
  for (NodeId to : search.open) {
    Distance &distance = search.distance[to];
    // Before an edge is priced that cannot help.
    if (base.nanoseconds <= distance.nanoseconds - leastInto[to]) {
      int64_t &length = lengths[image[to]];
      if (length == kUnknown) {
        length = priceEdge(edges.from, image[to]);
      }
      Distance through = {base.nanoseconds + length, base.steps + 1};
      if (length >= 0 && through < distance) {
        distance = through;
        search.previous[to] = settled;
      }
    }
    if (distance < least) {
      least = distance;
      search.nearest = to;
    }
  }
  return true;
}

RouteGraph::Ending RouteGraph::findEnding(NodeId from, NodeId to) {
  int64_t least = leastInto(to);
  Search &search = this->search(from);
  if (to < numNodes_) {
    const Distance &distance = search.distance[to];
    while (settleNext(search, distance.nanoseconds - least)) {
    }
    return {distance, search.previous[to]};
  }
  auto [entry, isNew] = endings_.try_emplace(uint64_t(from) << 32 | to);
  Ending &best = entry->second;
  if (!isNew) {
    return best;
  }
  if (int64_t direct = from < numNodes_ ? -1 : edge(from, to); direct >= 0) {
    best = {{direct, 1}, from};
  }
  // One last step from a node, until none that is as far can help.
  for (size_t index = 0;; ++index) {
    int64_t limit = best.distance.nanoseconds - least;
    if (index == search.settled.size() && !settleNext(search, limit)) {
      break;
    }
    NodeId node = search.settled[index];
    Distance distance = search.distance[node];
    if (distance.nanoseconds > limit) {
      break;
    }
    if (int64_t last = edge(node, to); last >= 0) {
      best = std::min(best,
                      {{distance.nanoseconds + last, distance.steps + 1}, node},
                      [](const Ending &a, const Ending &b) {
                        return a.distance < b.distance;
                      });
    }
  }
  return best;
}

std::optional<int64_t> RouteGraph::length(const Layout &from,
                                          const Layout &to) {
  Ending ending = findEnding(intern(from), intern(to));
  if (ending.distance.nanoseconds == INT64_MAX) {
    return std::nullopt;
  }
  return ending.distance.nanoseconds;
}

std::optional<SmallVector<const Layout *, 4>>
RouteGraph::path(const Layout &from, const Layout &to) {
  NodeId first = intern(from), last = intern(to);
  Ending ending = findEnding(first, last);
  if (ending.distance.nanoseconds == INT64_MAX) {
    return std::nullopt;
  }
  SmallVector<const Layout *, 4> path = {&nodes_[last]->layout};
  const Search &search = searches_[first];
  for (NodeId node = ending.previous; node != none;
       node = node == first ? none : search.previous[node]) {
    path.push_back(&nodes_[node]->layout);
  }
  std::reverse(path.begin(), path.end());
  return path;
}

} // namespace divisi
