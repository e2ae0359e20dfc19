//===- StepSimulator.h - Steps carried out on real numbers ------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Holds a tensor of integers at all positions of a grid and carries out steps
// element by element. It knows what a step is from its definition alone: who
// talks (`axes`), and what everybody holds before and after (boxes).
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_ROUTE_STEPSIMULATOR_H
#define DIVISI_TEST_ROUTE_STEPSIMULATOR_H

#include "divisi/Route/Router.h"

#include <map>
#include <random>
#include <vector>

namespace divisi::test {

class StepSimulator {
public:
  using Index = std::vector<int64_t>;
  using Local = std::map<Index, int64_t>;

  /// A random tensor that lies as `layout` says.
  StepSimulator(const Grid &grid, llvm::ArrayRef<int64_t> shape,
                const Layout &layout, uint32_t seed);

  /// Carries `step` out. Returns what is impossible about it, or nothing.
  std::string apply(const Step &step);

  /// What is wrong with the values now, or nothing: every position must hold
  /// its box, and partial values must combine to the tensor.
  std::string check() const;

private:
  static int64_t combine(ReduceKind kind, int64_t a, int64_t b);
  static std::vector<Index> indices(llvm::ArrayRef<Interval> box);
  std::vector<Index> boxIndices(const Layout &layout, int64_t position) const;

  const Grid &grid_;
  llvm::SmallVector<int64_t, 4> shape_;
  Layout layout_;
  Local global_;
  std::vector<Local> locals_; ///< By position.
};

} // namespace divisi::test

#endif // DIVISI_TEST_ROUTE_STEPSIMULATOR_H
