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

    Between calls, elements may have another order, a format whose name kernels
    know. It takes so many bytes for the largest box.

    Examples: `!exec.buffer<tensor<2x8xf32, #spmd.local<(x=2), [x, *], 4x8>>, @g>`,
    `!exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g, "cuda">`,
    `!exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g format "blocked8" of 32>`
  }];
  let parameters = (ins "::mlir::RankedTensorType":$tensor,
      "::mlir::FlatSymbolRefAttr":$grid,
      StringRefParameter<"the memory space; empty: the host's", "\"\"">:$space,
      StringRefParameter<"the format; empty: row-major", "\"\"">:$format,
      DefaultValuedParameter<"int64_t", "0">:$formatBytes);
  let builders = [TypeBuilder<(ins "::mlir::RankedTensorType":$tensor,
      "::mlir::FlatSymbolRefAttr":$grid), [{
    return $_get($_ctxt, tensor, grid, "", "", 0);
  }]>, TypeBuilder<(ins "::mlir::RankedTensorType":$tensor,
      "::mlir::FlatSymbolRefAttr":$grid, "::llvm::StringRef":$space), [{
    return $_get($_ctxt, tensor, grid, space, "", 0);
  }]>];
  let assemblyFormat = [{
    `<` $tensor `,` $grid (`,` $space^)? (`format` $format^ `of` $formatBytes)?
    `>`
  }];
  let extraClassDeclaration = [{
    /// Whether it lies with the host.
    bool isOnHost() const { return getSpace().empty(); }
    /// Whether its elements are row-major.
    bool isPlain() const { return getFormat().empty(); }
    /// The same in another memory space; "": with the host.
    BufferType inSpace(::llvm::StringRef space) const;
    /// Bytes of the largest box, or nothing if they do not fit in an int64_t.
    std::optional<int64_t> byteSize() const;
  }];
  let genVerifyDecl = 1;
}

def Exec_PlainBuffer : Type<And<[Exec_BufferType.predicate,
    CPred<"::llvm::cast<::divisi::exec::BufferType>($_self).isPlain()">]>,
    "buffer in row-major order", "::divisi::exec::BufferType">;

def Exec_HostBuffer : Type<And<[Exec_PlainBuffer.predicate,
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
