//===- Passes.td - From strategies to local programs -------*- tablegen -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_PASSES_PARTITION_PASSES_TD
#define DIVISI_PASSES_PARTITION_PASSES_TD

include "mlir/Pass/PassBase.td"

def SPMDPartition : Pass<"spmd-partition", "::mlir::ModuleOp"> {
  let summary = "give every tensor of the entry functions its local type";
  let description = [{
    Precondition: every operator of every entry function has `spmd.split`,
    every argument and result of these functions and every global that they
    read or update has `spmd.place`.

    Effect: operators are kept and take local operands and results in the
    layouts that follow from loops and split. If a value is needed in another
    layout than it has, an `spmd.convert` says so; if on another grid, an
    `spmd.transfer` moves it. A partial value is combined before it leaves its
    grid. A result with a place is converted to it before it is used. `@init`
    stays global. A hash of the entry's computation is recorded as
    `spmd.computes`, for verify-partition.

    Postcondition: all tensors of entry functions carry `#spmd.local`; the
    module records the stage.

    ```mlir
    %1 = nn.matmul %x, %w {labels = "mk,kn->mn", spmd.split = #spmd.split<@g: k@x>} ...
    return %1 : tensor<4x6xf32>           // its place: [*, *]
    // becomes
    %1 = nn.matmul %x, %w {labels = "mk,kn->mn", spmd.split = #spmd.split<@g: k@x>} : ...
      -> tensor<4x6xf32, #spmd.local<(x=2), [*, *] partial sum {x}, 4x6>>
    %2 = spmd.convert %1 {grid = @g} : ...
    return %2 : tensor<4x6xf32, #spmd.local<(x=2), [*, *], 4x6>>
    ```
  }];
  let dependentDialects = ["::divisi::spmd::SPMDDialect"];
  let options = [
    Option<"proves", "proves", "bool", /*default=*/"true",
           "record what the entry computes">];
  let statistics = [
    Statistic<"numConverts", "converts", "Values wanted in another layout">,
    Statistic<"numTransfers", "transfers", "Values wanted on another grid">];
}

def SPMDRoute : Pass<"spmd-route", "::mlir::ModuleOp"> {
  let summary = "replace each convert by the cheapest steps";
  let description = [{
    Precondition: the grids carry the link costs by which the plan was made.

    Effect: each `spmd.convert` becomes the route of ::divisi::Router, the same
    that priced it: collectives and local moves.

    Postcondition: no `spmd.convert` is left.

    ```mlir
    %1 = spmd.convert %0 {grid = @g} : !partial -> !rows
    // becomes
    %1 = spmd.reduce_scatter %0 {grid = @g, axes = ["x"]} : !partial -> !rows
    ```
  }];
  let statistics = [Statistic<"numSteps", "steps", "Steps of all routes">];
}

def VerifyPartition : Pass<"verify-partition", "::mlir::ModuleOp"> {
  let summary = "prove that ranks together compute what the program did";
  let description = [{
    Precondition: the Partition stage has run.

    Effect: none. Using only the operators' loop nests and the boxes that types
    give to each position, with code that nothing else uses (lib/Verify), proves
    that positions hold what their iterations touch, that every element of every
    result is computed once or is partial over exactly the stated axes, that
    moves find their sources, that values have the layouts of their places, that
    all ranks of a collective run the same one in the same order, and that
    results and updates are the same expressions of the same types as before the
    stage, of globals that begin as they did, and callers see the same names
    (`spmd.computes`).

    Postcondition: every tensor of an entry function has `#spmd.local`, no
    `spmd.convert` is left, and running the rank programs gives what the global
    program gives.

    ```mlir
    // error: operand 0: dimension 1 at x=0 is 0:4, but the iterations there touch 0:2
    nn.matmul %rows, %w {labels = "mk,kn->mn", spmd.split = #spmd.split<@g: k@x>} ...
    ```
  }];
}

def SplitRanks : Pass<"split-ranks", "::mlir::ModuleOp"> {
  let summary = "make one function per set of ranks that belong to the same grids";
  let description = [{
    Precondition: converts are routed.

    Effect: numbers the joint operations of ranks (`tag` on collectives and
    transfers, in program order), then makes of every entry one function per set
    of ranks that belong to the same grids, with the operations on these grids
    only. Arguments and results keep their place in the entry's signature
    (`spmd.index`). A transfer loses its operand on ranks outside of the source
    grid, and its result on ranks outside of the target grid.

    Postcondition: every function but `@init` has `spmd.entry` and `spmd.ranks`,
    and each rank is in at most one function per entry.

    ```mlir
    func.func @forward(...)
    // becomes, with grids on the devices 0 and 1, 2, 3
    func.func @forward__0(...) attributes {spmd.entry = "forward", spmd.ranks = array<i32: 0>}
    func.func @forward__1(...) attributes {spmd.entry = "forward", spmd.ranks = array<i32: 1, 2, 3>}
    ```
  }];
  let dependentDialects = ["::divisi::spmd::SPMDDialect"];
  let statistics = [Statistic<"numFunctions", "functions", "Rank sets">];
}

#endif // DIVISI_PASSES_PARTITION_PASSES_TD
