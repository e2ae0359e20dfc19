//===- Memory.h - Staying within the limit ----------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Prices bring an assignment near the limit; these two functions do the rest.
// Both expect that the model's prices are zero.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_SEARCH_MEMORY_H
#define DIVISI_LIB_SEARCH_MEMORY_H

#include "Model.h"

namespace divisi::search {

/// Moves single variables to states of less memory, the cheapest per byte that
/// is missing first, until the limit holds. Returns false if none is left.
bool repair(const Model &model, int64_t &work, Assignment &assignment);

/// Moves single variables to cheaper states that keep within the limit until
/// none is left, or `work` is spent.
void descend(const Model &model, int64_t &work, Assignment &assignment);

} // namespace divisi::search

#endif // DIVISI_LIB_SEARCH_MEMORY_H
