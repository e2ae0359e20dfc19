//===- ShardBytes.h - Bytes of the largest shard ----------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PLAN_SHARDBYTES_H
#define DIVISI_LIB_PLAN_SHARDBYTES_H

#include "dialects/SPMD/SPMD.h"

namespace divisi::plan {

/// Of `value`, as its maker makes it by its strategy; all of it without one.
int64_t shardBytes(mlir::Value value);

/// Of `global`, as it rests; 0 without a place.
int64_t shardBytes(nn::GlobalOp global);

} // namespace divisi::plan

#endif // DIVISI_LIB_PLAN_SHARDBYTES_H
