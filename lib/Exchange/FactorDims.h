//===- FactorDims.h - Dimensions as products of factors ---------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_EXCHANGE_FACTORDIMS_H
#define DIVISI_LIB_EXCHANGE_FACTORDIMS_H

#include "divisi/Exchange/ModelPlan.h"

namespace divisi {

/// The dimensions of a tensor of `shape`, whose layout on an operator's
/// dimensions, of extents `factors`, is `layout`; nothing if these are no
/// factors of those, in order.
std::optional<std::vector<DimFactorLayouts>>
factorDims(llvm::ArrayRef<int64_t> factors, const Layout &layout,
           llvm::ArrayRef<int64_t> shape);

/// `factors`, of all dimensions one after the other, by the dimensions of
/// `shape`; nothing if they are no factors of these.
std::optional<std::vector<DimFactorLayouts>>
groupFactors(llvm::ArrayRef<FactorLayout> factors,
             llvm::ArrayRef<int64_t> shape);

} // namespace divisi

#endif // DIVISI_LIB_EXCHANGE_FACTORDIMS_H
