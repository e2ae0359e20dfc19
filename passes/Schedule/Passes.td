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

    Effect: each entry gets the fastest predicted order
    (`lib/Schedule/ListSchedule.h`) among several orders whose arenas are at
    most `growth` bytes larger than before. Without the option a copy is lowered
    to determine the memory of devices: arenas then grow up to the plan's memory
    limit, or, if none was given, by half of the memory held, and up to that of
    a device. Collectives directly follow the definition of their operands,
    weights are prefetched, and operators that need no collective run beside
    one. Small reductions are bucketed where that is faster
    (`divisi/Schedule/BucketReductions.h`). Joint operations of ranks are
    numbered again. An entry whose communication cannot be hidden, or whose
    operations have effects that operands do not show, is left unchanged.

    Postcondition: `verify-partition` holds. The functions with a new order have
    `spmd.overlap`, and the module has the predicted times of all entries
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
    Option<"ahead", "ahead", "std::optional<int64_t>", "std::nullopt",
      "bytes of weights that may be fetched ahead of their use, less than 0: "
      "the order stays; without, several are tried">,
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

    Effect: an operator that can be fused into its operand's producer
    (`divisi/Cost/Fusion.h`) is marked: `lower-to-exec` makes one call with a
    region of both, at the position of the last of them. Prices are those of
    fused operators with or without this pass, which `--no-fuse` leaves out.

    An operator that makes the new value of a global from the old one is not
    fused with the producer of another operand: it writes over the old value.

    Postcondition: `spmd.fuse` names operands that have one producer and one
    use.

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
