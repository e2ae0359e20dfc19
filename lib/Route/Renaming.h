//===- Renaming.h - Questions that differ in names of axes ------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where axes are alike, routes between layouts are the same but for their
// names. Of all pairs of layouts that differ in nothing else, one is answered:
//
//   (x=2, y=2, z=2), all alike
//   [z, *] -> [*, z]        as   [x, *] -> [*, x]
//   [y, z] -> [y, *]        as   [x, y] -> [x, *]
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_ROUTE_RENAMING_H
#define DIVISI_LIB_ROUTE_RENAMING_H

#include "divisi/Route/Router.h"

namespace divisi {

/// Another name for each axis of a grid, among those alike.
class Renaming {
public:
  /// The one that makes of (from, to) the pair that is answered: alike axes are
  /// named in the order in which dimensions of `from`, then of `to`, mention
  /// them. `alike` is as in StepPrices.
  Renaming(llvm::ArrayRef<uint32_t> alike, const Layout &from,
           const Layout &to);

  /// Whether every axis keeps its name.
  bool isIdentity() const;
  /// `layout` in the new names.
  Layout apply(const Layout &layout) const { return renamed(layout, names_); }
  /// A route between layouts in the new names, in the old ones.
  Route undo(Route route) const;

private:
  AxisNames names_; ///< By the number of an axis.
};

} // namespace divisi

#endif // DIVISI_LIB_ROUTE_RENAMING_H
