//===- KeptRouters.h - Routers for problems to come -------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Most of the time that a problem takes to build goes into routes. Grids whose
// axes stand in another order have other strategies, but each route on one of
// them is a route on the other, by other names:
//
//   (x0=2, x1=4, x2=2)    [x1, x0]  ->  [x0, x1]
//   (x0=2, x1=2, x2=4)    [x2, x0]  ->  [x0, x2]
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PLAN_KEPTROUTERS_H
#define DIVISI_LIB_PLAN_KEPTROUTERS_H

#include "LayoutPool.h"

#include "divisi/Cluster/GridLinks.h"
#include "divisi/Route/Router.h"

#include <memory>
#include <mutex>

namespace divisi::plan {

/// A router for tensors of one class, with what it has found so far.
struct ClassRouter {
  std::unique_ptr<Router> router;         ///< Of the grid that has `links`.
  std::shared_ptr<const GridLinks> links; ///< Of its grid.
  /// Per axis of whoever has taken it, the axis of its grid.
  llvm::SmallVector<uint32_t, 6> names;

  /// Whether every axis has its own name: steps, too, are those of its grid.
  bool isOwn() const;
};

/// Lends routers, to many threads.
class KeptRouters {
public:
  /// One for the tensors of `tensor` on a grid of `links`, of a cluster that is
  /// always the same: a kept one, else a new one for `prices` on that grid.
  ClassRouter take(const std::shared_ptr<const GridLinks> &links,
                   const StepPrices &prices, const TensorClass &tensor);
  /// Keeps one that take() gave.
  void give(ClassRouter router, const TensorClass &tensor);

private:
  std::mutex mutex_;
  /// By shape and bits.
  std::map<std::pair<llvm::SmallVector<int64_t, 4>, int64_t>,
           std::vector<ClassRouter>>
      kept_;
};

} // namespace divisi::plan

#endif // DIVISI_LIB_PLAN_KEPTROUTERS_H
