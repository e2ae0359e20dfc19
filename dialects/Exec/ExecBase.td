//===- ExecBase.td - The exec dialect ----------------------*- tablegen -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_DIALECTS_EXEC_EXECBASE_TD
#define DIVISI_DIALECTS_EXEC_EXECBASE_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"

def Exec_Dialect : Dialect {
  let name = "exec";
  let summary = "How a sharded program runs: buffers, kernel calls, collectives";
  let description = [{
    The last language of a compilation. One `exec.program` is the list of
    instructions of all ranks that belong to the same grids; it is walked from
    top to bottom, without branches and without allocation. Every value is a
    buffer: an offset in the rank's arena, a global at rest, an input, or a view
    of one of these. Each op is one message of the artifact's schema
    (`runtime/schema/artifact.proto`).
  }];
  let cppNamespace = "::divisi::exec";
  let useDefaultTypePrinterParser = 1;
}

#endif // DIVISI_DIALECTS_EXEC_EXECBASE_TD
