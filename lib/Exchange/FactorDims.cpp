//===- FactorDims.cpp - Dimensions as products of factors -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FactorDims.h"

using namespace divisi;

std::optional<std::vector<DimFactorLayouts>>
divisi::groupFactors(llvm::ArrayRef<FactorLayout> factors,
                     llvm::ArrayRef<int64_t> shape) {
  std::vector<DimFactorLayouts> dims;
  size_t next = 0;
  for (int64_t extent : shape) {
    DimFactorLayouts &dim = dims.emplace_back();
    int64_t product = 1;
    while (next < factors.size() &&
           (product < extent || (dim.empty() && factors[next].extent == 1))) {
      product *= factors[next].extent;
      dim.push_back(factors[next++]);
    }
    if (product != extent) {
      return std::nullopt;
    }
  }
  for (; next < factors.size(); ++next) {
    if (factors[next].extent != 1) {
      return std::nullopt;
    }
  }
  return dims;
}

std::optional<std::vector<DimFactorLayouts>>
divisi::factorDims(llvm::ArrayRef<int64_t> factors, const Layout &layout,
                   llvm::ArrayRef<int64_t> shape) {
  std::vector<FactorLayout> flat;
  for (auto [extent, dim] : llvm::zip(factors, layout.dims)) {
    flat.push_back({extent, dim.axes});
  }
  return groupFactors(flat, shape);
}
