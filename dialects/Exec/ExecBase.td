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
    instructions of all ranks that belong to the same grids; it runs without
    branches and without allocation. Every value is a buffer (an offset in the
    rank's arena, a global at rest, an input, or a view of one of these) or a
    token, which says that an instruction has ended. Each op is one message of
    the artifact's schema (`runtime/schema/artifact.proto`).

    Instructions stand on queues, which run side by side and each in the order
    of the list. Order between queues is said by tokens:

    ```mlir
    %0 = exec.call "nn.matmul"(%x, %w) into (%p) {…} : … -> !exec.token
    %1 = exec.collective "all_reduce" axes ["x"] tag 0 %p into %r after %0
      : … -> !exec.token                               // on queue g.x
    exec.call "nn.matmul"(%x, %v) into (%q) {…} : …    // while that goes on
    exec.call "nn.add"(%q, %r) into (%y) {…} after %1 : …
    ```

    A buffer lies with the host, or in the memory space of a device, which its
    type names. A kernel works in one of them; between them lead copies.

    ```mlir
    %d = exec.alloc : !exec.buffer<T, @g, "cuda">
    exec.copy %x into %d on "copy" : !exec.buffer<T, @g> to !exec.buffer<T, @g, "cuda">
    ```
  }];
  let cppNamespace = "::divisi::exec";
  let useDefaultTypePrinterParser = 1;
  let extraClassDeclaration = [{
    /// The callee of calls that have a region.
    static constexpr ::llvm::StringLiteral kFused = "fused";
  }];
}

class Exec_Op<string mnemonic, list<Trait> traits = []>
    : Op<Exec_Dialect, mnemonic, traits>;

#endif // DIVISI_DIALECTS_EXEC_EXECBASE_TD
