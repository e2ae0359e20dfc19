//===- ExecPrograms.td - Entries and their programs --------*- tablegen -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_DIALECTS_EXEC_EXECPROGRAMS_TD
#define DIVISI_DIALECTS_EXEC_EXECPROGRAMS_TD

include "dialects/Exec/ExecBase.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/CommonAttrConstraints.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"

def Exec_EntryOp : Exec_Op<"entry", [Symbol]> {
  let summary = "what a caller passes to a program and gets from it";
  let description = [{
    The names, global types and layouts of the inputs and outputs of an entry
    function. All programs of the entry share them. An entry that is a `body` is
    not for users: an `exec.loop` runs it. Its input 0 is the iteration, output
    i becomes input i + 1 of the next, and it touches no globals but constants.

    **Constraints**
    - (C1) There are as many names as types.
    - (C2) Inputs and outputs lie with the host; those of a body are said so, and
      its programs may have them in the memory space of a device.

    Example:
    ```mlir
    exec.entry @forward
      inputs ["x"] [!exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>]
      outputs ["y"] [!exec.buffer<tensor<4xf32, #spmd.local<(x=2), [*], 4>>, @g>]
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$input_names,
      TypeArrayAttr:$input_types, StrArrayAttr:$output_names,
      TypeArrayAttr:$output_types, UnitAttr:$is_body);
  let assemblyFormat = [{
    $sym_name (`body` $is_body^)? `inputs` $input_names $input_types
    `outputs` $output_names $output_types attr-dict
  }];
  let hasVerifier = 1;
}

def Exec_ProgramOp : Exec_Op<"program", [Symbol, IsolatedFromAbove,
    NoTerminator, SingleBlock, NoRegionArguments]> {
  let summary = "the instructions of all ranks that belong to the same grids";
  let description = [{
    Runs for one entry. `arena` is the number of bytes that a rank needs for
    all buffers of `exec.alloc` with the host, and then for those in each memory
    space of a device (`arena 64, "cuda" 128`); 0 until memory is planned. Where
    the axes of a grid have weights, ranks of different kinds of devices have programs of
    their own, each with its arena. `overlap` says that the list was made for
    collectives to run beside calls: what they use is then not used again
    before some call waits for them anyway.

    **Constraints**
    - (C1) The ranks ascend, and there is at least one.
    - (C2) The entry is an `exec.entry` of the module.
    - (C3) Once memory is planned, every `exec.alloc` lies inside of the arena
      of its memory space, and every workspace.
    - (C4) Arenas of devices are of memory spaces that are not the host's, and
      not negative.
    - (C5) Buffers of a body lie with the host, and in one memory space beside.

    Example:
    ```mlir
    exec.program @forward__0 entry @forward ranks [0, 1] arena 64 {
      %x = exec.input 0 : !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>
      %y = exec.alloc at 0 : !exec.buffer<tensor<4xf32, #spmd.local<(x=2), [*], 4>>, @g>
      exec.collective "all_gather" axes ["x"] tag 0 %x into %y : !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g> into !exec.buffer<tensor<4xf32, #spmd.local<(x=2), [*], 4>>, @g>
      exec.output 0 %y : !exec.buffer<tensor<4xf32, #spmd.local<(x=2), [*], 4>>, @g>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, FlatSymbolRefAttr:$entry,
      DenseI64ArrayAttr:$ranks, I64Attr:$arena_bytes,
      OptionalAttr<DictionaryAttr>:$device_arenas,
      UnitAttr:$overlap);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `entry` $entry `ranks` $ranks `arena`
    custom<Arenas>($arena_bytes, $device_arenas) (`overlap` $overlap^)? attr-dict-with-keyword $body
  }];
  let extraClassDeclaration = [{
    /// The most bytes that one of its ranks has of a buffer of `type`; nothing
    /// if an int64_t does not count them.
    std::optional<int64_t> bytesOf(::divisi::exec::BufferType type);
    /// The arenas that are not the host's, by memory space.
    ::mlir::ArrayRef<::mlir::NamedAttribute> deviceArenas();
    /// The bytes of the arena in a memory space; "": the host's.
    int64_t arenaBytesIn(::llvm::StringRef space);
  }];
  let hasVerifier = 1;
}

#endif // DIVISI_DIALECTS_EXEC_EXECPROGRAMS_TD
