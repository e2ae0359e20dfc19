//===- SPMDDialect.td - The language of where --------------*- tablegen -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_DIALECTS_SPMD_SPMDDIALECT_TD
#define DIVISI_DIALECTS_SPMD_SPMDDIALECT_TD

include "mlir/IR/OpBase.td"

def SPMD_Dialect : Dialect {
  let name = "spmd";
  let cppNamespace = "::divisi::spmd";
  let summary = "where a program runs";
  let description = [{
    Grids of devices, strategies that say which loop of an operator is split
    over which axis of a grid, tensors that lie on a grid, and the moves
    between layouts.

    Before partitioning a strategy stands in discardable attributes on global
    operators, which this dialect verifies:

    | attribute     | on                                              | type |
    |---------------|-------------------------------------------------|------|
    | `spmd.split`  | an operator with `nn.LoopInterface`             | `#spmd.split` |
    | `spmd.places` | an operator: one place (or `unit`) per result   | array of `#spmd.place` |
    | `spmd.stops`  | `nn` operators                                  | array: per operand `#spmd.place` or unit; users of one value that name the same stop share the way there |
    | `spmd.place`  | `nn.global`, argument or result of an entry     | `#spmd.place` |

    The functions that `split-ranks` makes of an entry have

    | attribute    | on                    | says |
    |--------------|-----------------------|------|
    | `spmd.entry` | the function          | the name of the entry (a string) |
    | `spmd.ranks` | the function          | who runs it (`array<i32>`, ascending) |
    | `spmd.index` | arguments and results | the index in the entry's signature (`i64`) |
    | `spmd.fuse` | a local operator      | the operand which the same kernel makes: the only result, of one use, of an operator before it (i64), by the pass `fuse-operators` |
    | `spmd.overlap` | the function        | that its order was made for collectives to run beside operators (unit), by the stage `schedule` |

    After partitioning every tensor type carries `#spmd.local`, and what moves
    data between layouts is an operation of this dialect.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let extraClassDeclaration = [{
    /// The names of the attributes that carry a strategy.
    static constexpr ::llvm::StringLiteral kSplit = "spmd.split";
    static constexpr ::llvm::StringLiteral kPlace = "spmd.place";
    static constexpr ::llvm::StringLiteral kPlaces = "spmd.places";
    static constexpr ::llvm::StringLiteral kStops = "spmd.stops";
    /// On a local operator: the operand that its kernel makes itself.
    static constexpr ::llvm::StringLiteral kFuse = "spmd.fuse";
    /// On a function made by split-ranks: the entry that it is a part of,
    /// the ranks that run it, and whether collectives run beside operators.
    static constexpr ::llvm::StringLiteral kEntry = "spmd.entry";
    static constexpr ::llvm::StringLiteral kRanks = "spmd.ranks";
    static constexpr ::llvm::StringLiteral kOverlap = "spmd.overlap";
    /// On an entry from the Partition stage on: hashes of what it computes.
    static constexpr ::llvm::StringLiteral kComputes = "spmd.computes";
    /// On its arguments and results: their index in the entry's signature.
    static constexpr ::llvm::StringLiteral kIndex = "spmd.index";

    void registerAttributes();
  }];
}

#endif // DIVISI_DIALECTS_SPMD_SPMDDIALECT_TD
