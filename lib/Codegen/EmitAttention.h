//===- EmitAttention.h - Attending in blocks of threads ---------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_CODEGEN_EMITATTENTION_H
#define DIVISI_LIB_CODEGEN_EMITATTENTION_H

#include "divisi/runtime/code/GridAttention.h"

#include "mlir/IR/BuiltinOps.h"

namespace divisi {

/// The kernel of GridAttention.h, in the mapped form (EmitGrid.h). All is
/// computed in f32. A warp has the queries r of its own; a lane has one of the
/// keys that come by, and later on one feature of each tile of them:
///
///   for keys that the block's queries attend, 32 at a time:
///     for parts of 32 of their depth:
///       barrier; shared[key][depth] = k, mine[r][depth] = q; barrier
///       score[r] += q[r] · k[lane]
///     m' = max(m, max of 32 scores); p = exp(score - m')
///     sum, y = both * exp(m - m'); sum += sum of 32 p; mine[r][lane] = p[r]
///     for tiles of 32 features:
///       barrier; shared[key][feature] = v; barrier
///       y[r] += p[r] · v[lane]
///   result = y / sum
void emitKernel(mlir::ModuleOp module, const rt::GridAttention &attention);

} // namespace divisi

#endif // DIVISI_LIB_CODEGEN_EMITATTENTION_H
