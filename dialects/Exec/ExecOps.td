//===- ExecOps.td - Operations of the exec dialect ---------*- tablegen -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_DIALECTS_EXEC_EXECOPS_TD
#define DIVISI_DIALECTS_EXEC_EXECOPS_TD

include "dialects/Exec/ExecCallOps.td"
include "dialects/Exec/ExecPrograms.td"

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

def Exec_InputOp : Exec_BufferOp<"input"> {
  let summary = "an input of the entry, each rank's box of it";
  let description = [{
    In the memory space of a device it is one of a body, whose loop has it there.

    Example:
    ```mlir
    %x = exec.input 0 : !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>
    ```
  }];
  let arguments = (ins I64Attr:$index);
  let assemblyFormat = "$index attr-dict `:` type($buffer)";
}

def Exec_GlobalOp : Exec_BufferOp<"global"> {
  let summary = "a global at rest, each rank's box of it";
  let description = [{
    In the memory space of a device it is a copy of one that nobody updates,
    made when the program is loaded; `exec.constant` likewise. One that some
    program updates rests in one memory space, which all programs of the module
    name.

    Example:
    ```mlir
    %w = exec.global @w : !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$global);
  let assemblyFormat = "$global attr-dict `:` type($buffer)";
}

def Exec_NewGlobalOp : Exec_BufferOp<"new_global"> {
  let summary = "the bytes of a global at rest, for its new value";
  let description = [{
    Each rank's box of the global, as `exec.global` has it with the old value.
    What writes it replaces the global, and comes after the program's
    `exec.commit`; what reads the old value comes before that.

    Example:
    ```mlir
    %v = exec.new_global @w : !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$global);
  let results = (outs Exec_PlainBuffer:$buffer);
  let assemblyFormat = "$global attr-dict `:` type($buffer)";
}

def Exec_ConstantOp : Exec_BufferOp<"constant"> {
  let summary = "a small constant; stored in the artifact like a global";
  let description = [{
    **Constraints**
    - (C1) The value has the global shape and element type of the buffer, or
      that is of the field.

    Example:
    ```mlir
    %c = exec.constant dense<1.0> : tensor<4xf32> : !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>
    ```
  }];
  let arguments = (ins ElementsAttr:$value);
  let assemblyFormat = "$value attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}

def Exec_AllocOp : Exec_BufferOp<"alloc"> {
  let summary = "bytes of the rank's arena";
  let description = [{
    The offset is absent until memory is planned.

    **Constraints**
    - (C1) The offset is a multiple of 64 and not negative.

    Example:
    ```mlir
    %0 = exec.alloc : !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>
    ```
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$offset);
  let results = (outs Exec_BufferType:$buffer);
  let assemblyFormat = "(`at` $offset^)? attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}

def Exec_ViewOp : Exec_BufferOp<"view"> {
  let summary = "the same bytes, or some of them, as a tensor of another shape";
  let description = [{
    Every rank's box of the result has the elements of its box of the source
    from byte `offset` on, which is 0 if absent, in the same order: a reshape or
    a slice that costs nothing.

    **Constraints**
    - (C1) Source and result have equal element types, grids and memory spaces.
    - (C2) The offset is a multiple of 64 and not negative.
    - (C3) Every rank's box of the result ends within its box of the source.

    Example:
    ```mlir
    %v = exec.view %x : !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>
      to !exec.buffer<tensor<2x1xf32, #spmd.local<(x=2), [x, *], 4x1>>, @g>
    ```
  }];
  let arguments = (ins Exec_PlainBuffer:$source, OptionalAttr<I64Attr>:$offset);
  let assemblyFormat = [{
    $source (`at` $offset^)? attr-dict `:` type($source) `to` type($buffer)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

def Exec_CollectiveOp : Exec_InstructionOp<"collective"> {
  let summary = "one step between two layouts on a grid";
  let description = [{
    `kind` is the mnemonic of the op in `spmd`. What moves follows from the two
    layouts; `axes` name the positions that take part. Tags are equal on all
    ranks that take part, and stand once in a program.

    **Constraints**
    - (C1) The kind is one of `spmd`'s steps, and legal between the layouts.
    - (C2) Source and result lie on the same grid.
    - (C3) Source and result lie in one memory space.
    - (C4) Source and result have one format.

    Example:
    ```mlir
    exec.collective "all_gather" axes ["x"] tag 0 %x into %y
      : !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>
      into !exec.buffer<tensor<4xf32, #spmd.local<(x=2), [*], 4>>, @g>
    ```
  }];
  let arguments = !con((ins StrAttr:$kind, StrArrayAttr:$axes, I64Attr:$tag,
      Exec_BufferType:$source, Exec_BufferType:$target), order);
  let assemblyFormat = [{
    $kind `axes` $axes `tag` $tag $source `into` $target
    (`on` $queue^)? (`after` $after^)? attr-dict
    `:` type($source) `into` type($target) (`->` type($done)^)?
  }];
  let hasVerifier = 1;
}

def Exec_TransferOp : Exec_InstructionOp<"transfer",
    [AttrSizedOperandSegments]> {
  let summary = "a tensor from one grid to another";
  let description = [{
    Ranks outside of the source grid have no source, ranks outside of the
    target grid no target; `from` and `to` say both types on all of them.

    **Constraints**
    - (C1) There is a source, a target, or both, of the types `from` and `to`
      but for the memory space.
    - (C2) Both types have the same global shape and element type.
    - (C3) Source and target lie in one memory space.

    Example:
    ```mlir
    exec.transfer from !exec.buffer<tensor<4xf32, #spmd.local<(x=2), [*], 4>>, @g>
      to !exec.buffer<tensor<4xf32, #spmd.local<(z=3), [*], 4>>, @h>
      tag 1 source %y : !exec.buffer<tensor<4xf32, #spmd.local<(x=2), [*], 4>>, @g>
    ```
  }];
  let arguments = !con((ins TypeAttrOf<Exec_HostBuffer>:$from,
      TypeAttrOf<Exec_HostBuffer>:$to, I64Attr:$tag,
      Optional<Exec_PlainBuffer>:$source, Optional<Exec_PlainBuffer>:$target),
      order);
  let assemblyFormat = [{
    `from` $from `to` $to `tag` $tag
    (`source` $source^ `:` type($source))?
    (`target` $target^ `:` type($target))?
    (`on` $queue^)? (`after` $after^)? attr-dict (`->` type($done)^)?
  }];
  let hasVerifier = 1;
}

def Exec_LoopOp : Exec_InstructionOp<"loop", [AttrSizedOperandSegments]> {
  let summary = "runs the programs of a body many times";
  let description = [{
    Each rank runs its program of the entry `body`, as often as `count` says:
    the same on all of them, and at most `max` times. Inputs of the body are the
    iteration, what is carried, and what is given. `outputs` have what is carried
    at the end; in between, iterations read and write `outputs` and `spares` by
    turns. `arena` is that of the body's program, and `device_arena` its one in
    the memory space of a device, absent until memory is planned.

    All that is before it in the list has ended when it begins, and all behind
    it begins when it has ended: on every queue.

    **Constraints**
    - (C1) Carried buffers, outputs and spares have the same types.
    - (C2) The body is an `exec.entry` of the module that is one.
    - (C3) The count lies with the host. All else lies where the programs of the
      body have it.

    Example:
    ```mlir
    exec.loop @step times %n max 24 carries (%x) given () into (%y) spare (%z)
      : !exec.buffer<tensor<i64, #spmd.local<(x=2), []>>, @g>,
        (!exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>), (),
        (!exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>),
        (!exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>)
    ```
  }];
  let arguments = !con((ins FlatSymbolRefAttr:$body, I64Attr:$max,
      Exec_HostBuffer:$count, Variadic<Exec_PlainBuffer>:$carried,
      Variadic<Exec_PlainBuffer>:$given, Variadic<Exec_PlainBuffer>:$outputs,
      Variadic<Exec_PlainBuffer>:$spares, Optional<Exec_HostBuffer>:$arena,
      Optional<Exec_PlainBuffer>:$device_arena), order);
  let assemblyFormat = [{
    $body `times` $count `max` $max `carries` ` ` `(` $carried `)`
    `given` ` ` `(` $given `)` `into` ` ` `(` $outputs `)`
    `spare` ` ` `(` $spares `)` (`arena` $arena^ `:` type($arena))?
    (`device_arena` $device_arena^ `:` type($device_arena))?
    (`on` $queue^)? (`after` $after^)? attr-dict `:` type($count) `,`
    custom<TypeList>(type($carried)) `,` custom<TypeList>(type($given)) `,`
    custom<TypeList>(type($outputs)) `,` custom<TypeList>(type($spares))
    (`->` type($done)^)?
  }];
  let hasVerifier = 1;
}

def Exec_OutputOp : Exec_InstructionOp<"output"> {
  let summary = "hands a buffer to the caller as an output of the entry";
  let description = [{
    In the memory space of a device it is one of a body, as `exec.input` is.

    Example:
    ```mlir
    exec.output 0 %y : !exec.buffer<tensor<4xf32, #spmd.local<(x=2), [*], 4>>, @g>
    ```
  }];
  let arguments = !con((ins I64Attr:$index, Exec_PlainBuffer:$source), order);
  let assemblyFormat = [{
    $index $source (`on` $queue^)? (`after` $after^)? attr-dict
    `:` type($source) (`->` type($done)^)?
  }];
}

def Exec_CopyOp : Exec_InstructionOp<"copy"> {
  let summary = "copies a buffer to another place, also to another memory space";
  let description = [{
    **Constraints**
    - (C1) Source and target have one type, but for the memory space.
    - (C2) From one memory space to another it leads on queue `copy`, and from
      or to the host.

    Example:
    ```mlir
    exec.copy %x into %y on "copy"
      : !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>
      to !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g, "cuda">
    ```
  }];
  let arguments = !con((ins Exec_PlainBuffer:$source, Exec_PlainBuffer:$target),
      order);
  let assemblyFormat = [{
    $source `into` $target (`on` $queue^)? (`after` $after^)? attr-dict
    `:` custom<CopyTypes>(type($source), type($target)) (`->` type($done)^)?
  }];
  let hasVerifier = 1;
}

def Exec_CommitOp : Exec_InstructionOp<"commit"> {
  let summary = "all ranks of the entry come here before globals are written";
  let description = [{
    Either all ranks pass it or none does. A run that fails before it has
    changed nothing. It stands on `compute`, so that all calls before it have
    ended, and with them the checks of indices. What writes a global comes after
    it, which is why it counts as reading all of them that the program writes.

    Example:
    ```mlir
    exec.commit
    ```
  }];
  let arguments = order;
  let assemblyFormat = [{
    (`on` $queue^)? (`after` $after^)? attr-dict (`->` type($done)^)?
  }];
}

def Exec_UpdateOp : Exec_InstructionOp<"update"> {
  let summary = "makes a buffer the value of a global for the next run";
  let description = [{
    Takes effect when all ranks have ended the program; reads of the global
    before that give the old value. `write-globals` replaces it: by the call
    that computes the value, writing `exec.new_global`, or by a copy.

    Example:
    ```mlir
    exec.update @w %x : !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>
    ```
  }];
  let arguments = !con((ins FlatSymbolRefAttr:$global,
      Exec_PlainBuffer:$source), order);
  let assemblyFormat = [{
    $global $source (`on` $queue^)? (`after` $after^)? attr-dict
    `:` type($source) (`->` type($done)^)?
  }];
}

#endif // DIVISI_DIALECTS_EXEC_EXECOPS_TD
