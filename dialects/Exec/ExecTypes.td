//===- ExecTypes.td - Types of the exec dialect ------------*- tablegen -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_DIALECTS_EXEC_EXECTYPES_TD
#define DIVISI_DIALECTS_EXEC_EXECTYPES_TD

include "dialects/Exec/ExecBase.td"

def Exec_BufferType : TypeDef<Exec_Dialect, "Buffer"> {
  let mnemonic = "buffer";
  let summary = "the bytes that each rank of a grid holds of a tensor";
  let description = [{
    The tensor is local: its shape is the largest box of any rank, and its
    encoding says the global shape and the layout. A rank uses the bytes of its
    own box, dense and row-major, from the buffer's begin.

    They lie with the host, or in the memory space of the rank's device that is
    named behind the grid.

    Examples: `!exec.buffer<tensor<2x8xf32, #spmd.local<(x=2), [x, *], 4x8>>, @g>`,
    `!exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g, "cuda">`
  }];
  let parameters = (ins "::mlir::RankedTensorType":$tensor,
      "::mlir::FlatSymbolRefAttr":$grid,
      StringRefParameter<"the memory space; empty: the host's", "\"\"">:$space);
  let builders = [TypeBuilder<(ins "::mlir::RankedTensorType":$tensor,
      "::mlir::FlatSymbolRefAttr":$grid), [{
    return $_get($_ctxt, tensor, grid, "");
  }]>];
  let assemblyFormat = "`<` $tensor `,` $grid (`,` $space^)? `>`";
  let extraClassDeclaration = [{
    /// Whether it lies with the host.
    bool isOnHost() const { return getSpace().empty(); }
    /// The same in another memory space; "": with the host.
    BufferType inSpace(::llvm::StringRef space) const;
    /// Bytes of the largest box, or nothing if they do not fit in an int64_t.
    std::optional<int64_t> byteSize() const;
  }];
  let genVerifyDecl = 1;
}

def Exec_HostBuffer : Type<And<[Exec_BufferType.predicate,
    CPred<"::llvm::cast<::divisi::exec::BufferType>($_self).isOnHost()">]>,
    "buffer in the memory of the host", "::divisi::exec::BufferType">;

def Exec_TokenType : TypeDef<Exec_Dialect, "Token"> {
  let mnemonic = "token";
  let summary = "that an instruction has ended";
  let description = [{
    What takes the token of an instruction begins when that has ended; for a
    collective: when the result is there and the source may be overwritten.

    Example: `!exec.token`
  }];
}

#endif // DIVISI_DIALECTS_EXEC_EXECTYPES_TD
