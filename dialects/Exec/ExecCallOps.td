//===- ExecCallOps.td - Kernel calls of the exec dialect ---*- tablegen -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_DIALECTS_EXEC_EXECCALLOPS_TD
#define DIVISI_DIALECTS_EXEC_EXECCALLOPS_TD

include "dialects/Exec/ExecOpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Exec_CallOp : Exec_InstructionOp<"call", [AttrSizedOperandSegments]> {
  let summary = "one kernel call";
  let description = [{
    `callee` is the name of the `nn` operator; `config` are its attributes,
    unchanged from the global program: a kernel learns from the buffers' layouts
    which box of the operator it computes.

    `over` are pairs of an operand and a result that lies at its place: all that
    there are, once memory is planned. `workspace` are bytes of the arena that
    the kernel uses while it runs; a kernel that wants more than is planned gets
    memory beside the arena when the artifact is loaded.

    The callee `fused` has a region: operators on local tensors of the call's
    grid that one kernel computes together (`exec.yield` has an example). What
    they pass to each other is in no buffer.

    `code` are the bytes that its kernel runs, of a backend that knows their
    target; without, a kernel is the backend's own. `fallback` are those that do
    the part of a library that may turn out to have nothing for it.

    **Constraints**
    - (C1) `over` has pairs of an input and an output of the call.
    - (C2) The workspace has at least one byte, and an offset as `exec.alloc`.
    - (C3) All buffers lie in one memory space: that of the kernel, and of the
      workspace.
    - (C4) `fused`, and no other callee, has a region. Its arguments have the
      types of the inputs, and it yields the outputs: different results of its
      operators, of which none reads a global or runs a body.
    - (C5) `code` and `fallback` are each an `exec.code` of the module.

    Example:
    ```mlir
    exec.call "nn.neg"(%x) into (%y) {} workspace 64
      : (!exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>)
      into (!exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>)
    ```
  }];
  let regions = (region MaxSizedRegion<1>:$body);
  let arguments = !con((ins StrAttr:$callee, Variadic<Exec_BufferType>:$inputs,
      Variadic<Exec_BufferType>:$outputs, DictionaryAttr:$config), order,
      (ins OptionalAttr<DenseI64ArrayAttr>:$over,
      OptionalAttr<I64Attr>:$workspace,
      OptionalAttr<I64Attr>:$workspace_offset,
      OptionalAttr<FlatSymbolRefAttr>:$code,
      OptionalAttr<FlatSymbolRefAttr>:$fallback));
  let assemblyFormat = [{
    $callee `(` $inputs `)` `into` ` ` `(` $outputs `)` $config
    (`on` $queue^)? (`after` $after^)? (`over` $over^)?
    (`workspace` $workspace^ (`at` $workspace_offset^)?)? (`code` $code^)?
    (`fallback` $fallback^)? ($body^)? attr-dict `:`
    custom<TypeList>(type($inputs)) `into` custom<TypeList>(type($outputs))
    (`->` type($done)^)?
  }];
  // Of which nothing more is known yet.
  let builders = [
    OpBuilder<(ins "::llvm::StringRef":$callee, "::mlir::ValueRange":$inputs,
                   "::mlir::ValueRange":$outputs,
                   "::mlir::DictionaryAttr":$config), [{
      build($_builder, $_state, ::mlir::Type(), callee, inputs, outputs, config,
            ::mlir::StringAttr(), ::mlir::ValueRange(),
            ::mlir::DenseI64ArrayAttr(), ::mlir::IntegerAttr(),
            ::mlir::IntegerAttr(), ::mlir::FlatSymbolRefAttr(),
            ::mlir::FlatSymbolRefAttr());
    }]>];
  let extraClassDeclaration = [{
    /// The memory space that it works in; "": the host's.
    ::llvm::StringRef getSpace();
    /// Whether it has a region.
    bool isFused() { return !getBody().empty(); }
  }];
  let hasVerifier = 1;
}

def Exec_CodeOp : Exec_Op<"code", [Symbol]> {
  let summary = "what kernels of a target run";
  let description = [{
    Bytes that are a section of the artifact, beside their SHA-256. `target` is
    what they were made for, as a backend calls it.

    Example:
    ```mlir
    exec.code @copy for "sm_90" "\7FELF"
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$target,
      StrAttr:$bytes);
  let assemblyFormat = "$sym_name `for` $target $bytes attr-dict";
}

def Exec_YieldOp : Exec_Op<"yield", [Pure, Terminator, HasParent<"CallOp">]> {
  let summary = "what a fused call computes";
  let description = [{
    Example:
    ```mlir
    %x = exec.alloc : !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>
    %y = exec.alloc : !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>
    exec.call "fused"(%x) into (%y) {} {
    ^bb0(%0: tensor<2xf32, #spmd.local<(x=2), [x], 4>>):
      %1 = nn.neg %0 : (tensor<2xf32, #spmd.local<(x=2), [x], 4>>)
        -> tensor<2xf32, #spmd.local<(x=2), [x], 4>>
      %2 = nn.exp %1 : (tensor<2xf32, #spmd.local<(x=2), [x], 4>>)
        -> tensor<2xf32, #spmd.local<(x=2), [x], 4>>
      exec.yield %2 : tensor<2xf32, #spmd.local<(x=2), [x], 4>>
    } : (!exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>)
      into (!exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>)
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

#endif // DIVISI_DIALECTS_EXEC_EXECCALLOPS_TD
