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
#include "RouteGraph.h"

#include "llvm/ADT/STLExtras.h"

#include <map>

using namespace llvm;

namespace divisi {

/// A graph of all layouts, which all pairs of them share, has at most so many
/// nodes: three axes in six dimensions. A search prices the square of it.
static constexpr size_t maxNodes = 700;
/// The units of a graph of what differs, which few pairs share.
static constexpr size_t maxUnits = 2;
/// The positions over which an exchange in a graph is priced, at most.
static constexpr int64_t maxGraphPositions = 256;

//===----------------------------------------------------------------------===//
// What differs
//===----------------------------------------------------------------------===//

/// Where a layout has an axis: the dimension, or one of the two below, and the
/// place among that dimension's axes.
static constexpr size_t inPartial = SIZE_MAX, inNothing = SIZE_MAX - 1;
struct AxisPlace {
  size_t dim = inNothing;
  size_t place = 0;
};
static SmallVector<AxisPlace, 8> axisPlaces(const Grid &grid,
                                            const Layout &layout) {
  SmallVector<AxisPlace, 8> places(grid.numAxes());
  for (auto [dim, dimLayout] : enumerate(layout.dims)) {
    for (auto [place, axis] : enumerate(dimLayout.axes)) {
      places[axis.index] = {dim, place};
    }
  }
  for (AxisId axis : layout.partialAxes) {
    places[axis.index].dim = inPartial;
  }
  return places;
}

/// The axes that two sets, both ascending, have in common.
static SmallVector<AxisId, 2> intersection(ArrayRef<AxisId> a,
                                           ArrayRef<AxisId> b) {
  SmallVector<AxisId, 2> result;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(),
                        std::back_inserter(result));
  return result;
}

/// What `from` and `to` have in common: equal dimensions, the outermost axes
/// of others, partial axes of the same kind.
static Layout commonFrame(const Layout &from, const Layout &to) {
  Layout frame = Layout::replicated(from.rank());
  for (auto [a, b, common] : zip_equal(from.dims, to.dims, frame.dims)) {
    if (a == b) {
      common = a;
    } else if (a.bounds.empty() && b.bounds.empty()) {
      auto [end, ignored] = std::mismatch(a.axes.begin(), a.axes.end(),
                                          b.axes.begin(), b.axes.end());
      common.axes.append(a.axes.begin(), end);
    }
  }
  if (from.partialKind == to.partialKind) {
    frame.partialAxes = intersection(from.partialAxes, to.partialAxes);
    frame.partialKind = frame.isPartial() ? from.partialKind : ReduceKind::Sum;
  }
  return frame;
}

/// The axes that are not where both have them, in runs that go together.
/// A run is met where its first axis is met: in `from`, or else in `to`.
static SmallVector<RouteSpace::Unit, 3>
movingUnits(const Grid &grid, const Layout &from, const Layout &to,
            const Layout &frame, bool merge) {
  SmallVector<AxisPlace, 8> source = axisPlaces(grid, from),
                            target = axisPlaces(grid, to),
                            common = axisPlaces(grid, frame);
  SmallVector<AxisId, 8> moving;
  for (const Layout *layout : {&from, &to}) {
    for (const DimLayout &dim : layout->dims) {
      append_range(moving, dim.axes);
    }
    append_range(moving, layout->partialAxes);
  }
  SmallVector<bool> seen(grid.numAxes(), false);
  erase_if(moving, [&](AxisId axis) {
    bool skip = seen[axis.index] || common[axis.index].dim != inNothing;
    seen[axis.index] = true;
    return skip;
  });

  auto follows = [](AxisPlace before, AxisPlace after) {
    return before.dim == after.dim &&
           (before.dim >= inNothing || before.place + 1 == after.place);
  };
  SmallVector<RouteSpace::Unit, 3> units;
  AxisId last;
  for (AxisId axis : moving) {
    bool joins = merge && !units.empty() &&
                 follows(source[last.index], source[axis.index]) &&
                 follows(target[last.index], target[axis.index]);
    if (!joins) {
      units.push_back({{},
                       source[axis.index].dim == inPartial ||
                           target[axis.index].dim == inPartial});
    }
    units.back().axes.push_back(axis);
    last = axis;
  }
  return units;
}

/// `changed` and, up to `count`, the largest of the other dimensions that are
/// free of explicit bounds.
static SmallVector<size_t, 4> routeDims(ArrayRef<int64_t> shape,
                                        const Layout &frame,
                                        ArrayRef<size_t> changed,
                                        size_t count) {
  SmallVector<size_t, 4> dims = to_vector<4>(changed);
  SmallVector<size_t, 8> others;
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    if (!is_contained(changed, dim) && frame.dims[dim].bounds.empty()) {
      others.push_back(dim);
    }
  }
  llvm::stable_sort(others,
                    [&](size_t a, size_t b) { return shape[a] > shape[b]; });
  for (size_t dim : others) {
    if (dims.size() >= count) {
      break;
    }
    dims.push_back(dim);
  }
  llvm::sort(dims);
  return dims;
}

//===----------------------------------------------------------------------===//
// Router
//===----------------------------------------------------------------------===//

struct Router::Impl {
  Grid grid;
  StepPrices prices;
  std::map<std::vector<int64_t>, std::unique_ptr<RouteGraph>> graphs;

  std::optional<RouteSpace> space(ArrayRef<int64_t> shape, int64_t elementBits,
                                  const Layout &from, const Layout &to) const;
  std::optional<RouteSpace> wholeSpace(const RouteSpace &base,
                                       const Layout &from,
                                       const Layout &to) const;
  RouteGraph *graph(ArrayRef<int64_t> shape, int64_t elementBits,
                    const Layout &from, const Layout &to);
  std::optional<Route> follow(ArrayRef<int64_t> shape, int64_t elementBits,
                              ArrayRef<const Layout *> path) const;
  std::optional<Route> routeByRule(ArrayRef<int64_t> shape, int64_t elementBits,
                                   const Layout &from, const Layout &to) const;
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
  if (sharesBounds || countNodes(space.units.size(), rank) > maxNodes ||
      grid.numPositions() > maxGraphPositions) {
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
  int64_t positions = 1;
  for (const RouteSpace::Unit &unit : space.units) {
    positions *= grid.product(unit.axes);
  }
  SmallVector<size_t, 4> changed;
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    if (from.dims[dim] != to.dims[dim]) {
      changed.push_back(dim);
    }
  }
  if (positions > maxGraphPositions || space.units.size() > maxUnits) {
    return std::nullopt;
  }
  // One of the dimensions that stay may still be passed through.
  space.dims = routeDims(shape, space.frame, changed, changed.size() + 1);
  return space;
}

RouteGraph *Router::Impl::graph(ArrayRef<int64_t> shape, int64_t elementBits,
                                const Layout &from, const Layout &to) {
  std::optional<RouteSpace> space = this->space(shape, elementBits, from, to);
  if (!space) {
    return nullptr;
  }
  auto &graph = graphs[space->key()];
  if (!graph) {
    graph = std::make_unique<RouteGraph>(grid, prices, std::move(*space));
  }
  return graph.get();
}

/// The cheapest steps along `path`, or nothing where none leads on. Equal
/// neighbours on the path are one.
std::optional<Route> Router::Impl::follow(ArrayRef<int64_t> shape,
                                          int64_t elementBits,
                                          ArrayRef<const Layout *> path) const {
  Route route;
  const Layout *current = path.front();
  for (const Layout *next : path.drop_front()) {
    if (*next == *current) {
      continue;
    }
    OwnedTransition transition(grid, shape, *current, *next);
    auto best = cheapestMove(prices, *transition, elementBits);
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
                                               const Layout &to) const {
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
std::optional<Route> Router::route(ArrayRef<int64_t> shape, int64_t elementBits,
                                   const Layout &from, const Layout &to) {
  if (from == to) {
    return Route();
  }
  RouteGraph *graph = impl_->graph(shape, elementBits, from, to);
  std::optional<Route> byRule, searched;
  if (!graph || needsRules(from, to)) {
    byRule = impl_->routeByRule(shape, elementBits, from, to);
  }
  if (graph) {
    if (auto path = graph->path(from, to)) {
      searched = impl_->follow(shape, elementBits, *path);
    }
  }
  bool takeRule =
      byRule && (!searched || byRule->nanoseconds < searched->nanoseconds);
  return takeRule ? byRule : searched;
}

std::optional<int64_t> Router::price(ArrayRef<int64_t> shape,
                                     int64_t elementBits, const Layout &from,
                                     const Layout &to) {
  if (from == to) {
    return 0;
  }
  RouteGraph *graph = impl_->graph(shape, elementBits, from, to);
  if (graph && !needsRules(from, to)) {
    return graph->length(from, to);
  }
  std::optional<Route> route = this->route(shape, elementBits, from, to);
  return route ? std::optional(route->nanoseconds) : std::nullopt;
}

} // namespace divisi
