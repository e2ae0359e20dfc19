//===- EmitAttention.h - Attending in blocks of threads ---------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_CODEGEN_EMITATTENTION_H
#define DIVISI_LIB_CODEGEN_EMITATTENTION_H

#include "divisi/runtime/code/GridAttentionGradient.h"

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
///
/// Of the logarithm there are no values: result = m + log(sum).
void emitKernel(mlir::ModuleOp module, const rt::GridAttention &attention);

/// The kernel of GridAttentionGradient.h. A warp has the rows r of the result,
/// which are queries (s) or keys (t); a lane has one of the other side's rows
/// that come by, and later on one column of each tile of 32:
///
///   for heads of queries that share a row, for rows that come by, 32 at a
///   time:
///     c = q[s] . k[t] * scale; p = exp(c + mask - lse[s])
///     w = p of values, else scale * p * (dy[s] . v[t] - delta[s])
///     result[r] += w[r][lane] * (k of queries, q of keys, dy of values)
///
/// On tensor cores w is rounded to the elements' type before it is multiplied.
void emitKernel(mlir::ModuleOp module,
                const rt::GridAttentionGradient &gradient);

} // namespace divisi

#endif // DIVISI_LIB_CODEGEN_EMITATTENTION_H
