//===- Passes.td - Passes of the Schedule stage ------------*- tablegen -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_PASSES_SCHEDULE_PASSES_TD
#define DIVISI_PASSES_SCHEDULE_PASSES_TD

include "mlir/Pass/PassBase.td"

def ScheduleOverlap : Pass<"schedule-overlap", "::mlir::ModuleOp"> {
  let summary = "order operations so that collectives run beside operators";
  let description = [{
    Precondition: `verify-partition` holds, and `split-ranks` has made one
    function per entry and set of ranks.

    Effect: of several orders of each entry the one that is predicted to take
    least (`divisi/Schedule/ListSchedule.h`) among those whose arenas are at
    most `growth` bytes larger than before. Without the option a copy is lowered
    to see what devices hold: arenas then grow up to the plan's memory limit, or,
    if none was given, by half of what is held, and up to what a device has.
    Collectives come right behind what makes their operands, weights are fetched
    ahead of their use, and operators that need no collective run while there is
    one. Small reductions become one where that is faster
    (`divisi/Schedule/BucketReductions.h`). What ranks do together is numbered
    again. An entry of which no communication can be hidden, or whose
    operations have effects that operands do not tell, stays as it is.

    Postcondition: `verify-partition` holds. The functions that have another
    order have `spmd.overlap`, and the module says what all entries take
    (`divisi.schedule`).

    ```mlir
    %1 = nn.matmul %0, %w : …              // weight's gradient
    %2 = nn.matmul %0, %v : …              // partial
    %3 = spmd.all_reduce %2 {tag = 0} : …
    // becomes
    %2 = nn.matmul %0, %v : …
    %3 = spmd.all_reduce %2 {tag = 0} : …
    %1 = nn.matmul %0, %w : …              // beside the all-reduce
    ```
  }];
  let options = [
    Option<"growth", "growth", "std::optional<int64_t>", "std::nullopt",
      "bytes by which arenas may grow; without, as memory allows">,
  ];
  let dependentDialects = ["::divisi::exec::ExecDialect",
                           "::divisi::spmd::SPMDDialect"];
  let statistics = [
    Statistic<"numOverlapped", "overlapped", "entries with another order">,
    Statistic<"numBuckets", "buckets", "all-reduces of several tensors">,
  ];
}

def FuseOperators : Pass<"fuse-operators", "::mlir::func::FuncOp"> {
  let summary = "say which operators one kernel computes";
  let description = [{
    Precondition: `verify-partition` holds.

    Effect: an operator that can go on with an element of its operand where that
    is made (`divisi/Cost/Fusion.h`) says so: `lower-to-exec` makes one call of
    both, which gets a region, at the place of the last of them. Prices are those
    of fused operators with or without this pass, which `--no-fuse` leaves out.

    What makes the new value of a global from the old one is not fused with the
    maker of another operand: it writes over the old one.

    Postcondition: `spmd.fuse` names operands that have one maker and one use.

    ```mlir
    %0 = nn.matmul %x, %w : …
    %1 = nn.add %0, %b : …
    // becomes
    %0 = nn.matmul %x, %w : …
    %1 = nn.add %0, %b {spmd.fuse = 0 : i64} : …
    ```
  }];
  let dependentDialects = ["::divisi::spmd::SPMDDialect"];
  let statistics = [
    Statistic<"numFused", "fused", "operands made by the kernel that uses them">,
  ];
}

#endif // DIVISI_PASSES_SCHEDULE_PASSES_TD
