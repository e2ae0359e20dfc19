//===- SpellTables.h - Rotary tables as rules have them ---------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_PASSES_IMPORT_SPELLTABLES_H
#define DIVISI_PASSES_IMPORT_SPELLTABLES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace divisi {

/// Writes what rotary embeddings multiply in the form that rules expect,
/// wherever casts and scales stand between:
///
///   x * cast([t|t])                →  x * [cast(t)|cast(t)]
///   cast([-x2|x1]) * s             →  [-y2|y1] * s, of y = cast(x)
///
/// The first holds for all that elementwise operators make of [t|t]; the second
/// where the cast keeps all numbers and x is cast to that type elsewhere, too.
void spellTables(mlir::func::FuncOp function);

} // namespace divisi

#endif // DIVISI_PASSES_IMPORT_SPELLTABLES_H
