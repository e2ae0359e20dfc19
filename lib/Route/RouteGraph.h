//===- RouteGraph.h - The layouts that routes pass through ------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A route passes through layouts that place a few *units* (runs of axes that
// stay together) in a few dimensions, each in every possible way, while all
// else stays as a *frame* says:
//
//   frame [w, *, *], units x and y, dimensions 1 and 2:
//   [w, *, *]  [w, x, *]  [w, x.y, *]  [w, y.x, *]  [w, x, y]  [w, *, *]
//   partial sum {x}  ...
//
// The graph has all these layouts as nodes, and an edge wherever one step
// leads from one to another, as StepRules.h says. Layouts with explicit bounds
// are no nodes, for there is no end of them; they are ends of routes only.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_ROUTE_ROUTEGRAPH_H
#define DIVISI_LIB_ROUTE_ROUTEGRAPH_H

#include "divisi/Layout/DimChange.h"
#include "divisi/Route/StepPrices.h"

#include <memory>
#include <unordered_map>

namespace divisi {

/// Which layouts are the nodes of a graph, and of what tensor.
struct RouteSpace {
  llvm::SmallVector<int64_t, 4> shape; ///< Of the whole tensor.
  int64_t elementBits = 8;             ///< In memory.
  /// What stays. The units' axes are used nowhere in it.
  Layout frame;
  /// How units that are partial combine; the frame's, if that is partial.
  ReduceKind partialKind = ReduceKind::Sum;
  /// Axes that a node uses together, or not at all.
  struct Unit {
    llvm::SmallVector<AxisId, 2> axes; ///< Outermost first.
    bool mayBePartial = false; ///< Whether nodes may be partial over them.
  };
  llvm::SmallVector<Unit, 3> units; ///< What nodes differ in.
  /// The dimensions that units may split, after the frame's axes; ascending.
  /// The frame has no explicit bounds there.
  llvm::SmallVector<size_t, 4> dims;

  /// The same for equal spaces, and different for others.
  std::vector<int64_t> key() const;
};

/// How many layouts a space of `units` units and `dims` dimensions holds when
/// all units may be partial.
size_t countNodes(size_t units, size_t dims);

/// Shortest paths between the layouts of one space, found when asked for.
class RouteGraph {
public:
  /// `grid`, `prices` and `cache` outlive it.
  RouteGraph(const Grid &grid, const StepPrices &prices, TransitionCache &cache,
             RouteSpace space);

  /// The layouts along the shortest path, both ends included, or nothing if
  /// there is none. The ends need not be nodes.
  std::optional<llvm::SmallVector<const Layout *, 4>> path(const Layout &from,
                                                           const Layout &to);

  /// The length of that path.
  std::optional<int64_t> length(const Layout &from, const Layout &to);

private:
  using NodeId = uint32_t;
  static constexpr NodeId none = ~NodeId(0);
  static constexpr int64_t kUnknown = -2;

  /// A layout with what is looked up often.
  struct Node {
    Layout layout;
    /// Per dimension, its DimLayout by the place in dimLayouts_.
    llvm::SmallVector<uint32_t, 4> dims;
  };
  /// Of two paths of equal length, the one of fewer steps is better.
  struct Distance {
    int64_t nanoseconds = INT64_MAX;
    uint32_t steps = 0;
    friend auto operator<=>(const Distance &, const Distance &) = default;
  };
  /// A run of Dijkstra's algorithm that can be taken up again.
  struct Search {
    std::vector<Distance> distance;
    std::vector<NodeId> previous;
    std::vector<NodeId> open;    ///< Not settled, ascending.
    NodeId nearest = none;       ///< Of these, or none if none is reached.
    std::vector<NodeId> settled; ///< Nearest first.
  };
  /// Where a shortest path ends: its length and the node before `to`.
  struct Ending {
    Distance distance;
    NodeId previous = none;
  };

  void enumerate(size_t unit, Layout &layout);
  void findImages();
  NodeId intern(const Layout &layout);
  uint32_t internDim(size_t dim, const DimLayout &layout);
  const DimChange &change(size_t dim, uint32_t from, uint32_t to);
  int64_t priceEdge(NodeId from, NodeId to);
  /// The edges from a node to the nodes, those from another whose axes have
  /// other names.
  struct Edges {
    NodeId from = 0;                            ///< That node.
    const std::vector<NodeId> *image = nullptr; ///< Of each node, beside it.
    std::vector<int64_t> *lengths = nullptr;    ///< By image.
  };
  Edges edgesFrom(NodeId from);
  int64_t priceIn(const Edges &edges, NodeId to);
  int64_t edge(NodeId from, NodeId to);
  int64_t leastInto(NodeId to);
  Search &search(NodeId from);
  void findNearest(Search &search);
  bool settleNext(Search &search, int64_t limit);
  Ending findEnding(NodeId from, NodeId to);

  const Grid &grid_;
  const StepPrices &prices_;
  TransitionCache &cache_;
  RouteSpace space_;
  struct LayoutHash {
    size_t operator()(const Layout &layout) const { return hash_value(layout); }
  };
  std::vector<std::unique_ptr<Node>> nodes_; ///< Ends follow the nodes proper.
  size_t numNodes_ = 0;                      ///< The nodes proper.
  /// By each way to give alike axes other names, the first being to leave them:
  /// per node, which one it becomes.
  std::vector<std::vector<NodeId>> images_;
  /// Per node, by which of these it becomes the least node, and that node.
  struct Least {
    uint32_t image = 0;
    NodeId node = 0;
  };
  std::vector<Least> least_;
  std::unordered_map<Layout, NodeId, LayoutHash> ids_;
  struct DimTable {
    std::vector<DimLayout> layouts;
    std::vector<double> largest; ///< The size of the largest shard.
    /// By pair of layouts, as far as they were asked for.
    std::vector<std::vector<const DimChange *>> changes;
  };
  std::vector<DimTable> dims_;
  /// Of every least node and end: its edges to the nodes; of an end those from
  /// the nodes. Empty where none was asked for yet.
  std::vector<std::vector<int64_t>> edgesFrom_, edgesTo_;
  /// Of every node and end: its shortest edge from a node, or 0 if not known.
  std::vector<int64_t> leastInto_;
  std::unordered_map<NodeId, Search> searches_;
  std::unordered_map<uint64_t, Ending> endings_;
};

} // namespace divisi

#endif // DIVISI_LIB_ROUTE_ROUTEGRAPH_H
