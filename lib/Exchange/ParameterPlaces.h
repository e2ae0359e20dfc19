//===- ParameterPlaces.h - Where parameters rest ----------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_EXCHANGE_PARAMETERPLACES_H
#define DIVISI_LIB_EXCHANGE_PARAMETERPLACES_H

#include "divisi/Exchange/ModelPlan.h"

namespace divisi {

/// Where the initializers of the model rest, in the order of the globals. One
/// that only @init reads lies as what is made of it, where that moves elements
/// alone. `gridNumber` says which grid a symbol is.
std::vector<TensorLayout>
parameterPlaces(mlir::ModuleOp planned, const ModelOutline &outline,
                llvm::function_ref<size_t(llvm::StringRef)> gridNumber);

} // namespace divisi

#endif // DIVISI_LIB_EXCHANGE_PARAMETERPLACES_H
