//===- Router.cpp - From one layout to another ----------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which question is answered where:
//
//   a small grid                one RouteGraph with all its layouts
//   a larger one                a RouteGraph of what differs; what is common
//                               to both layouts stays as it is, and axes that
//                               go together from one place to another are one
//                               unit
//   much differs on a large one the best of a few routes made by rule
//
//===----------------------------------------------------------------------===//

#include "divisi/Route/Router.h"

#include "CheapestMove.h"
#include "Difference.h"
#include "Renaming.h"
#include "RouteGraph.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"

#include <map>
#include <unordered_map>

using namespace llvm;

namespace divisi {

/// A graph of all layouts, which all pairs of them share, has at most so many
/// nodes: three axes in six dimensions. A search prices the square of it.
static constexpr size_t maxNodes = 700;
/// The units of a graph of what differs, which few pairs share.
static constexpr size_t maxUnits = 2;

//===----------------------------------------------------------------------===//
// Router
//===----------------------------------------------------------------------===//

namespace {
struct PairHash {
  size_t operator()(const std::pair<Layout, Layout> &pair) const {
    return hash_combine(pair.first, pair.second);
  }
};
} // namespace

struct Router::Impl {
  Grid grid;
  StepPrices prices;
  std::map<std::vector<int64_t>, std::unique_ptr<RouteGraph>> graphs;

  /// The graphs for tensors like the last one, by the axes that either end uses
  /// and how partial values combine. Whoever fills a matrix asks for thousands
  /// of routes of one tensor, of which few have explicit bounds.
  struct Recent {
    SmallVector<int64_t, 4> shape;
    int64_t elementBits = 0;
    DenseMap<std::pair<uint64_t, uint64_t>, RouteGraph *> graphs{0};
    /// Of pairs for which no graph of all layouts stands.
    std::unordered_map<std::pair<Layout, Layout>, std::optional<int64_t>,
                       PairHash>
        prices;
  };
  Recent recent;
  TransitionCache transitions;

  std::optional<RouteSpace> space(ArrayRef<int64_t> shape, int64_t elementBits,
                                  const Layout &from, const Layout &to) const;
  std::optional<RouteSpace> wholeSpace(const RouteSpace &base,
                                       const Layout &from,
                                       const Layout &to) const;
  void turnTo(ArrayRef<int64_t> shape, int64_t elementBits);
  RouteGraph *graph(ArrayRef<int64_t> shape, int64_t elementBits,
                    const Layout &from, const Layout &to);
  RouteGraph *findGraph(ArrayRef<int64_t> shape, int64_t elementBits,
                        const Layout &from, const Layout &to);
  std::optional<Route> follow(ArrayRef<int64_t> shape, int64_t elementBits,
                              ArrayRef<const Layout *> path);
  std::optional<Route> routeByRule(ArrayRef<int64_t> shape, int64_t elementBits,
                                   const Layout &from, const Layout &to);
  std::optional<Route> find(ArrayRef<int64_t> shape, int64_t elementBits,
                            const Layout &from, const Layout &to);
  std::optional<int64_t> findPrice(ArrayRef<int64_t> shape, int64_t elementBits,
                                   const Layout &from, const Layout &to);
};

/// The space of all layouts over the axes that either layout uses, when there
/// are few of them and neither layout has a dimension with explicit bounds that
/// could be left alone.
std::optional<RouteSpace> Router::Impl::wholeSpace(const RouteSpace &base,
                                                   const Layout &from,
                                                   const Layout &to) const {
  RouteSpace space = base;
  SmallVector<bool, 8> used(grid.numAxes(), false);
  for (const Layout *layout : {&from, &to}) {
    for (AxisId axis : layout->usedAxes()) {
      used[axis.index] = true;
    }
  }
  for (uint32_t axis = 0; axis < grid.numAxes(); ++axis) {
    if (used[axis]) {
      space.units.push_back({{AxisId{axis}}, true});
    }
  }
  size_t rank = space.shape.size();
  bool sharesBounds =
      any_of(zip_equal(from.dims, to.dims), [](const auto &pair) {
        const auto &[a, b] = pair;
        return a == b && !a.bounds.empty();
      });
  if (sharesBounds || countNodes(space.units.size(), rank) > maxNodes) {
    return std::nullopt;
  }
  space.frame = Layout::replicated(rank);
  for (size_t dim = 0; dim < rank; ++dim) {
    space.dims.push_back(dim);
  }
  return space;
}

/// The space to search for a route in, or nothing if it would be too large.
std::optional<RouteSpace> Router::Impl::space(ArrayRef<int64_t> shape,
                                              int64_t elementBits,
                                              const Layout &from,
                                              const Layout &to) const {
  RouteSpace space;
  space.shape = to_vector<4>(shape);
  space.elementBits = elementBits;
  space.partialKind = from.isPartial() ? from.partialKind : to.partialKind;
  if (auto whole = wholeSpace(space, from, to)) {
    return whole;
  }

  space.frame = commonFrame(from, to);
  space.units = movingUnits(grid, from, to, space.frame, /*merge=*/false);
  if (space.units.size() > maxUnits) {
    space.units = movingUnits(grid, from, to, space.frame, /*merge=*/true);
  }
  SmallVector<size_t, 4> changed;
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    if (from.dims[dim] != to.dims[dim]) {
      changed.push_back(dim);
    }
  }
  if (space.units.size() > maxUnits) {
    return std::nullopt;
  }
  // One of the dimensions that stay may still be passed through.
  space.dims = routeDims(shape, space.frame, changed, changed.size() + 1);
  return space;
}

/// The axes that `layout` uses, if they are few and no bounds are explicit.
static std::optional<uint64_t> plainAxes(const Layout &layout) {
  uint64_t axes = 0;
  bool isPlain = true;
  auto add = [&](AxisId axis) {
    isPlain &= axis.index < 32;
    axes |= uint64_t(1) << (axis.index % 64);
  };
  for (const DimLayout &dim : layout.dims) {
    isPlain &= dim.bounds.empty();
    for (AxisId axis : dim.axes) {
      add(axis);
    }
  }
  for (AxisId axis : layout.partialAxes) {
    add(axis);
  }
  return isPlain ? std::optional(axes) : std::nullopt;
}

/// Forgets what is recent where it is of other tensors.
void Router::Impl::turnTo(ArrayRef<int64_t> shape, int64_t elementBits) {
  if (ArrayRef(recent.shape) != shape || recent.elementBits != elementBits) {
    recent.shape = to_vector<4>(shape);
    recent.elementBits = elementBits;
    recent.graphs.clear();
    recent.prices.clear();
  }
}

/// Whether a graph of all layouts answers.
static bool isOfFew(const Layout &from, const Layout &to) {
  std::optional<uint64_t> source = plainAxes(from), target = plainAxes(to);
  return source && target &&
         countNodes(llvm::popcount(*source | *target), from.rank()) <= maxNodes;
}

RouteGraph *Router::Impl::graph(ArrayRef<int64_t> shape, int64_t elementBits,
                                const Layout &from, const Layout &to) {
  std::optional<uint64_t> source = plainAxes(from), target = plainAxes(to);
  if (!source || !target) {
    return findGraph(shape, elementBits, from, to);
  }
  turnTo(shape, elementBits);
  uint64_t axes = *source | *target;
  auto kind = uint64_t(from.isPartial() ? from.partialKind : to.partialKind);
  if (RouteGraph *known = recent.graphs.lookup({axes, kind})) {
    return known;
  }
  RouteGraph *found = findGraph(shape, elementBits, from, to);
  // A space of some of the layouts depends on more than on these.
  if (isOfFew(from, to)) {
    recent.graphs[{axes, kind}] = found;
  }
  return found;
}

RouteGraph *Router::Impl::findGraph(ArrayRef<int64_t> shape,
                                    int64_t elementBits, const Layout &from,
                                    const Layout &to) {
  std::optional<RouteSpace> space = this->space(shape, elementBits, from, to);
  if (!space) {
    return nullptr;
  }
  auto &graph = graphs[space->key()];
  if (!graph) {
    graph = std::make_unique<RouteGraph>(grid, prices, transitions,
                                         std::move(*space));
  }
  return graph.get();
}

/// The cheapest steps along `path`, or nothing where none leads on. Equal
/// neighbours on the path are one.
std::optional<Route> Router::Impl::follow(ArrayRef<int64_t> shape,
                                          int64_t elementBits,
                                          ArrayRef<const Layout *> path) {
  Route route;
  const Layout *current = path.front();
  for (const Layout *next : path.drop_front()) {
    if (*next == *current) {
      continue;
    }
    auto best = cheapestMove(
        prices, transitions.between(grid, shape, *current, *next), elementBits);
    if (!best) {
      return std::nullopt;
    }
    auto &[move, price] = *best;
    route.steps.push_back(
        {move.kind, move.axes, *next, price.nanoseconds, price.bytes});
    route.nanoseconds += price.nanoseconds;
    current = next;
  }
  return route;
}

/// `layout` with `axes` partial.
static Layout withPartial(const Layout &layout, ArrayRef<AxisId> axes,
                          ReduceKind kind) {
  Layout result = layout;
  result.partialAxes.assign(axes.begin(), axes.end());
  result.partialKind = axes.empty() ? ReduceKind::Sum : kind;
  return result;
}

/// Finishes in one dimension after another those axes of `layout` that are
/// partial there, are not to stay so, and split that dimension of `to`.
static SmallVector<Layout, 4> scatterPartial(const Layout &layout,
                                             const Layout &to,
                                             ArrayRef<AxisId> staying) {
  SmallVector<Layout, 4> stages;
  Layout current = layout;
  for (size_t dim = 0; dim < to.rank(); ++dim) {
    ArrayRef<AxisId> now = current.dims[dim].axes, then = to.dims[dim].axes;
    if (now.size() >= then.size() || then.take_front(now.size()) != now) {
      continue;
    }
    ArrayRef<AxisId> more = then.drop_front(now.size());
    if (!all_of(more, [&](AxisId axis) {
          return is_contained(current.partialAxes, axis) &&
                 !is_contained(staying, axis);
        })) {
      continue;
    }
    erase_if(current.partialAxes,
             [&](AxisId axis) { return is_contained(more, axis); });
    current = withPartial(current, current.partialAxes, layout.partialKind);
    current.dims[dim] = to.dims[dim];
    stages.push_back(current);
  }
  return stages;
}

/// Two routes that always exist if any does: finish what is partial, exchange
/// boxes, mask; and the same with reduce-scatters where they fit.
std::optional<Route> Router::Impl::routeByRule(ArrayRef<int64_t> shape,
                                               int64_t elementBits,
                                               const Layout &from,
                                               const Layout &to) {
  SmallVector<AxisId, 2> staying = commonFrame(from, to).partialAxes;
  auto finish = [&](SmallVectorImpl<Layout> &stages) {
    const Layout &now = stages.empty() ? from : stages.back();
    Layout reduced = withPartial(now, staying, from.partialKind);
    stages.push_back(reduced);
    stages.push_back(withPartial(to, staying, from.partialKind));
  };
  SmallVector<Layout, 4> plain, scattered = scatterPartial(from, to, staying);
  finish(plain);
  finish(scattered);

  std::optional<Route> best;
  for (const SmallVector<Layout, 4> &stages : {plain, scattered}) {
    SmallVector<const Layout *, 8> path = {&from};
    for (const Layout &stage : stages) {
      path.push_back(&stage);
    }
    path.push_back(&to);
    std::optional<Route> route = follow(shape, elementBits, path);
    if (route && (!best || route->nanoseconds < best->nanoseconds)) {
      best = route;
    }
  }
  std::optional<Route> direct = follow(shape, elementBits, {&from, &to});
  return direct && (!best || direct->nanoseconds <= best->nanoseconds) ? direct
                                                                       : best;
}

Router::Router(Grid grid, StepPrices prices)
    : impl_(new Impl{std::move(grid), std::move(prices), {}}) {}

Router::~Router() = default;

const Grid &Router::grid() const { return impl_->grid; }

/// Whether the layouts differ in partial axes and in explicit bounds. A graph
/// has no layout with such bounds, so finishing the partial axes first, or
/// masking last, is left to the rules.
static bool needsRules(const Layout &from, const Layout &to) {
  bool samePartial =
      from.partialAxes == to.partialAxes && from.partialKind == to.partialKind;
  return !samePartial &&
         any_of(zip_equal(from.dims, to.dims), [](const auto &pair) {
           const auto &[a, b] = pair;
           return a != b && !(a.bounds.empty() && b.bounds.empty());
         });
}

/// Where both a search and the rules have an answer, the cheaper one counts.
std::optional<Route> Router::Impl::find(ArrayRef<int64_t> shape,
                                        int64_t elementBits, const Layout &from,
                                        const Layout &to) {
  RouteGraph *graph = this->graph(shape, elementBits, from, to);
  std::optional<Route> byRule, searched;
  if (!graph || needsRules(from, to)) {
    byRule = routeByRule(shape, elementBits, from, to);
  }
  if (graph) {
    if (auto path = graph->path(from, to)) {
      searched = follow(shape, elementBits, *path);
    }
  }
  bool takeRule =
      byRule && (!searched || byRule->nanoseconds < searched->nanoseconds);
  return takeRule ? byRule : searched;
}

std::optional<Route> Router::route(ArrayRef<int64_t> shape, int64_t elementBits,
                                   const Layout &from, const Layout &to) {
  if (from == to) {
    return Route();
  }
  Renaming renaming(impl_->prices.alike, from, to);
  if (renaming.isIdentity()) {
    return impl_->find(shape, elementBits, from, to);
  }
  std::optional<Route> route =
      impl_->find(shape, elementBits, renaming.apply(from), renaming.apply(to));
  return route ? std::optional(renaming.undo(std::move(*route))) : route;
}

std::optional<int64_t> Router::Impl::findPrice(ArrayRef<int64_t> shape,
                                               int64_t elementBits,
                                               const Layout &from,
                                               const Layout &to) {
  if (isOfFew(from, to)) {
    return graph(shape, elementBits, from, to)->length(from, to);
  }
  turnTo(shape, elementBits);
  auto [known, isNew] = recent.prices.try_emplace({from, to});
  if (isNew) {
    RouteGraph *graph = this->graph(shape, elementBits, from, to);
    if (graph && !needsRules(from, to)) {
      known->second = graph->length(from, to);
    } else if (auto route = find(shape, elementBits, from, to)) {
      known->second = route->nanoseconds;
    }
  }
  return known->second;
}

std::optional<int64_t> Router::price(ArrayRef<int64_t> shape,
                                     int64_t elementBits, const Layout &from,
                                     const Layout &to) {
  if (from == to) {
    return 0;
  }
  Renaming renaming(impl_->prices.alike, from, to);
  return renaming.isIdentity()
             ? impl_->findPrice(shape, elementBits, from, to)
             : impl_->findPrice(shape, elementBits, renaming.apply(from),
                                renaming.apply(to));
}

} // namespace divisi
