//===- Passes.td - Passes of the Lower stage ---------------*- tablegen -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_PASSES_LOWER_PASSES_TD
#define DIVISI_PASSES_LOWER_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerToExec : Pass<"lower-to-exec", "::mlir::ModuleOp"> {
  let summary = "turn functions on local tensors into lists of instructions";
  let description = [{
    Precondition: `verify-partition` holds, and `split-ranks` has made one
    function per entry and set of ranks.

    Effect: every such function becomes an `exec.program`, every entry an
    `exec.entry`. An operator becomes an `exec.call` of the kernel of its name
    with unchanged attributes; an operator whose kernel is only a view of its
    operand (a reshape, a contiguous slice) becomes an `exec.view`. Operators that `spmd.fuse` joins
    become one call with a region, at the position of the last.

    Postcondition: of the entries only `exec` ops are left; `@init`, the globals
    and the grids stay. No buffer has an offset yet. The module records the
    stage.

    ```mlir
    %2 = nn.add %0, %1 : (T, T) -> T
    return %2
    // becomes
    %2 = exec.alloc : !exec.buffer<T, @g>
    exec.call "nn.add"(%0, %1) into (%2) {} : …
    exec.output 0 %2
    ```
  }];
  let dependentDialects = ["::divisi::exec::ExecDialect"];
}

def SplitKinds : Pass<"split-kinds", "::mlir::ModuleOp"> {
  let summary = "give each kind of device a separate program";
  let description = [{
    Precondition: programs whose memory is not planned yet.

    Effect: a program that has buffers on a grid with weights, and ranks on
    devices of several kinds (`divisi.cluster`), becomes one for each kind, all
    with the same instructions and tags. Others stay.

    Postcondition: the ranks of each program that was split are of one kind.

    ```mlir
    exec.program @forward__0 entry @forward ranks [0, 1] arena 0 { … }
    // becomes, of an a100 and a v100
    exec.program @forward__0 entry @forward ranks [0] arena 0 { … }
    exec.program @forward__0_v100 entry @forward ranks [1] arena 0 { … }
    ```
  }];
  let statistics = [
    Statistic<"numSplit", "split", "additional programs">,
  ];
}

def PlaceSpaces : Pass<"place-spaces", "::mlir::ModuleOp"> {
  let summary = "place calls in the memory of a device";
  let description = [{
    Precondition: programs whose memory is not planned yet; each buffer is
    written by one instruction.

    Effect: calls that the device has kernels for, on all ranks of the program,
    work in its memory space, as do moves of their results. A value that is read
    in another space than it is written in is copied, once, on the copy queue. A
    fused call without a kernel is split into its parts if there are kernels for
    all of these. A global that no entry updates is read in either space. One
    that is updated is in one space in all programs of the module: on the device
    if runs copy it less often so, else with the host. A collective is in one space on all of its ranks, in all of their programs.
    Calls that the device has no kernels for stay on the host. Values carried by
    a loop are in the space in which the body makes them, values given to the
    body in the one in which it reads them.

    From C++ a backend is asked which calls it takes
    (`divisi/Evaluate/DeviceTarget.h`); here `kernels` lists them.

    Postcondition: all buffers of an instruction are in one memory space, unless
    it is a copy.

    ```mlir
    exec.call "nn.neg"(%x) into (%0) {} : …
    exec.output 0 %0
    // becomes
    exec.copy %x into %d on "copy" : !exec.buffer<T, @g> to !exec.buffer<T, @g, "cuda">
    exec.call "nn.neg"(%d) into (%0) {} : …
    exec.copy %0 into %h on "copy" : !exec.buffer<T, @g, "cuda"> to !exec.buffer<T, @g>
    exec.output 0 %h
    ```
  }];
  let dependentDialects = ["::divisi::exec::ExecDialect"];
  let options = [
    Option<"space", "space", "std::string", "\"\"",
      "The memory space of the device">,
    ListOption<"kernels", "kernels", "std::string",
      "The operators that it has kernels for">,
    Option<"isReached", "reached", "bool", "false",
      "Whether the communicator reaches the device's memory">,
    Option<"report", "report", "bool", "false",
      "Report placements and copies">,
  ];
  let statistics = [
    Statistic<"numOnDevice", "on-device", "calls that work there">,
    Statistic<"numOnHost", "on-host", "calls that the device has no kernels for">,
    Statistic<"numSplit", "split", "fused calls that became their parts">,
    Statistic<"numCopies", "copies", "copies between memory spaces">,
    Statistic<"numCopiedBytes", "copied-bytes", "bytes that they move">,
  ];
}

def FuseWeightGradients : Pass<"fuse-weight-gradients", "::mlir::ModuleOp"> {
  let summary = "make one call of a convolution's gradient by its weights";
  let description = [{
    Precondition: programs whose memory is not planned yet; each buffer is
    written by one instruction.

    Effect: a convolution of an operand and a gradient, in both of which images
    and channels are swapped, becomes one call where a library of the host has a
    kernel for that, which swaps nothing; with the swap of the result, if that is
    behind it, and not a collective, which sums the parts of devices. Only
    kernels of this build are asked: a module for devices other than CPUs
    (`divisi.cluster`) is left unchanged.

    ```mlir
    exec.call "nn.transpose"(%x) into (%a) {permutation = array<i64: 1, 0, 2, 3>}
    exec.call "nn.transpose"(%dy) into (%b) {permutation = array<i64: 1, 0, 2, 3>}
    exec.call "nn.conv"(%a, %b) into (%c) {…}
    exec.call "nn.transpose"(%c) into (%dw) {permutation = array<i64: 1, 0, 2, 3>}
    // becomes, where there is such a kernel
    exec.call "fused"(%x, %dy) into (%dw) {} {…}
    ```
  }];
  let dependentDialects = ["::divisi::exec::ExecDialect",
                           "::divisi::nn::NNDialect"];
  let statistics = [
    Statistic<"numFused", "fused", "calls that were made">,
  ];
}

def JoinAttention : Pass<"join-attention", "::mlir::ModuleOp"> {
  let summary = "make one call of what belongs to one attention";
  let description = [{
    Precondition: programs whose memory is not planned yet; each buffer is
    written by one instruction.

    Effect: an attention and the logarithm of the sums that it divides by
    (`nn.attention_lse` of the same queries, keys and mask) become one call, and
    so do the gradients of one attention by queries, keys and values
    (`nn.attention_gradient` of the same operands), where a library of the host
    has a kernel for all of them: products that they have in common are made
    once. Only kernels of this build are asked: a module for devices other than
    CPUs (`divisi.cluster`) is left unchanged.

    ```mlir
    exec.call "nn.attention_gradient"(%q, %k, %v, …) into (%dq) {of = "q", …}
    exec.call "nn.attention_gradient"(%q, %k, %v, …) into (%dk) {of = "k", …}
    exec.call "nn.attention_gradient"(%q, %k, %v, …) into (%dv) {of = "v", …}
    // becomes, where there is such a kernel
    exec.call "fused"(%q, %k, %v, …) into (%dq, %dk, %dv) {} {…}
    ```
  }];
  let dependentDialects = ["::divisi::exec::ExecDialect",
                           "::divisi::nn::NNDialect"];
  let statistics = [
    Statistic<"numJoined", "joined", "calls that were made">,
  ];
}

def ChooseFormats : Pass<"choose-formats", "::mlir::ModuleOp"> {
  let summary = "store tensors with channels last where kernels prefer it";
  let description = [{
    Precondition: programs whose memory is not planned yet; each buffer is
    written by one instruction.

    Effect: host buffers get the format `channels_last` if the host's kernels
    then save more reordering than packing costs: instructions that do not take
    the format, views, inputs and outputs among them, read and write row-major
    bytes. A view of some bytes becomes a call of `nn.slice` where its source or
    result gets the format. Only kernels of this build are asked: a module for devices other than
    CPUs (`divisi.cluster`) is left unchanged.

    ```mlir
    exec.call "nn.conv"(%x, %w) into (%y) {…} : …
    exec.output 0 %y
    // becomes, where that is worth it
    exec.call "nn.conv"(%x, %w) into (%y) {…}
      : … into (!exec.buffer<T, @g format "channels_last" of 802816>)
    exec.call "pack"(%y) into (%p) {} : …
    exec.output 0 %p
    ```
  }];
  let dependentDialects = ["::divisi::exec::ExecDialect"];
  let statistics = [
    Statistic<"numFormatted", "formatted", "buffers whose channels come last">,
    Statistic<"numPacks", "packs", "calls that pack or unpack">,
  ];
}

def WriteGlobals : Pass<"write-globals", "::mlir::ModuleOp"> {
  let summary = "write new values of globals in place";
  let description = [{
    Precondition: programs with `exec.update`, whose memory is not planned yet.

    Effect: a call or collective that computes the new value of a global writes
    it in place if all readers of the old value come before it in the list, or
    the kernel may write its result over that operand: of calls in a device's
    memory the device that the pass is made for is asked. Other values are
    copied, or fetched, at the end of the list. If an entry updates a global, all of its
    programs get an `exec.commit` before the first of these writes; if it has
    several programs, after all joint steps of ranks, so that no rank waits at
    the commit for one that waits for it.

    Postcondition: no `exec.update` is left.

    ```mlir
    %w = exec.global @w
    %v = exec.alloc
    exec.call "nn.sub"(%w, %r) into (%v) {}
    exec.update @w %v
    // becomes
    %w = exec.global @w
    %v = exec.new_global @w
    exec.commit
    exec.call "nn.sub"(%w, %r) into (%v) {}
    ```
  }];
  let dependentDialects = ["::divisi::exec::ExecDialect"];
  let statistics = [
    Statistic<"numInPlace", "in-place", "new values written in place">,
    Statistic<"numCopied", "copied", "new values copied there">,
  ];
}

def WriteCarried : Pass<"write-carried", "::mlir::ModuleOp"> {
  let summary = "write what loops carry over the values before";
  let description = [{
    Precondition: no instruction of a list is moved any more.

    Effect: in the programs of bodies, a buffer that is given for the next
    iteration becomes an `exec.input` with `exec.new_value`, if a call makes it that may write it
    over the value that the iteration got and is the last to read that. Where
    all programs of a body do so, the spare of the loop is its output.

    ```mlir
    %s = exec.input 2
    %v = exec.alloc
    exec.call "nn.insert"(%s, %r, %i) into (%v) {…}
    exec.output 1 %v
    // becomes
    %s = exec.input 2
    %v = exec.input 2 {exec.new_value}
    exec.call "nn.insert"(%s, %r, %i) into (%v) {…}
    exec.output 1 %v
    ```
  }];
  let dependentDialects = ["::divisi::exec::ExecDialect"];
  let statistics = [
    Statistic<"numInPlace", "in-place", "carried values written in place">,
  ];
}

def GenerateCode : Pass<"generate-code", "::mlir::ModuleOp"> {
  let summary = "generate native code for regions";
  let description = [{
    Precondition: programs whose memory is not planned yet.

    Effect: a call with a region that can be compiled (`divisi/Codegen`), equal
    on all ranks of the program and long enough to be faster, names its code,
    and so does a call of a single operator, which becomes a region. Calls whose
    regions differ only in extents name the same code. Other calls are left to
    kernels that run the parts of regions, and so is a module for devices other
    than CPUs (`divisi.cluster`). A call in the memory of a device whose kernels
    take code names a kernel (`GridCode.h`), unless the device has its own
    kernel; if that is a library's, which may be unable to compute the call, the
    call names a kernel for the library's part as its fallback.

    ```mlir
    exec.call "fused"(%x) into (%y) {} { … }
    // becomes
    exec.code @rows_0 for "x86_64-linux-rows1:x86-64-v3" "\7FELF…"
    exec.call "fused"(%x) into (%y) {} code @rows_0 { … }
    ```
  }];
  let dependentDialects = ["::divisi::exec::ExecDialect",
      "::divisi::nn::NNDialect"];
  let options = [
    Option<"level", "level", "std::string", "\"x86-64-v3\"",
      "The processor: a level of the x86-64 psABI, v3 or v4; empty: none">,
    Option<"deviceTarget", "device-target", "std::string", "\"\"",
      "The target of code for calls in device memory; empty: no code">,
  ];
  let statistics = [
    Statistic<"numCalls", "calls", "calls that name code">,
    Statistic<"numFallbacks", "fallbacks", "calls that name a fallback">,
    Statistic<"numCodes", "codes", "codes that were made">,
    Statistic<"numBytes", "bytes", "their bytes">,
  ];
}

def AskKernels : Pass<"ask-kernels", "::mlir::ModuleOp"> {
  let summary = "ask kernels for the scratch memory that their calls want";
  let description = [{
    Precondition: programs whose memory is not planned yet; globals that are
    updated have an `exec.new_global`.

    Effect: a call gets the workspace of the kernel that a session uses by
    default, with one thread, on the rank that needs most. Only kernels of this
    build are asked, and those of a device that the pass is made for: in a
    module for devices other than CPUs (`divisi.cluster`) no host call has a
    workspace.

    ```mlir
    exec.call "nn.conv"(%x, %w) into (%y) {…}
    // becomes
    exec.call "nn.conv"(%x, %w) into (%y) {…} workspace 802816
    ```
  }];
  let dependentDialects = ["::divisi::exec::ExecDialect"];
  let statistics = [
    Statistic<"numWorkspaces", "workspaces", "calls that want scratch memory">,
  ];
}

def PlanMemory : Pass<"plan-memory", "::mlir::ModuleOp"> {
  let summary = "assign every buffer an offset in the arena";
  let description = [{
    Precondition: buffers without offsets.

    Effect: a result takes its operand's bytes if the kernel allows it and the
    operand is dead; all others are placed by lifetime
    (`divisi/Memory/ArenaPlanner.h`), including workspaces of calls, which live
    as long as their call. The arena of a body is a buffer of the program with
    the loop, live while the loop runs.

    Each memory space has its own arena.

    Postcondition: every `exec.alloc` and every workspace has an offset, and the
    program the sizes of its arenas. No bytes are shared by buffers that are
    live at the same time, except a result over its operand, which its call
    declares (`over`).
  }];
  let dependentDialects = ["::divisi::exec::ExecDialect"];
  let statistics = [
    Statistic<"numInPlace", "in-place", "results written over an operand">,
  ];
}

def OrderQueues : Pass<"order-queues", "::divisi::exec::ProgramOp"> {
  let summary = "order instructions of different queues";
  let description = [{
    Precondition: every buffer is placed, and the program is correct in the
    order of its list.

    Effect: an instruction that touches bytes which an instruction of another
    queue has touched before it, one of them writing, comes after that
    instruction; edges that follow from queue order and other edges are left out
    (`divisi/Memory/NeededOrder.h`).

    Postcondition: the program is correct in every order that its queues and
    `after` allow.

    ```mlir
    exec.call "nn.relu"(%x) into (%p) {} : …
    exec.collective "all_reduce" axes ["x"] tag 0 %p into %r : …
    // becomes
    %0 = exec.call "nn.relu"(%x) into (%p) {} : … -> !exec.token
    exec.collective "all_reduce" axes ["x"] tag 0 %p into %r after %0 : …
    ```
  }];
  let dependentDialects = ["::divisi::exec::ExecDialect"];
  let statistics = [
    Statistic<"numEdges", "edges", "instructions that others come after">,
  ];
}

def VerifyLower : Pass<"verify-lower", "::mlir::ModuleOp"> {
  let summary = "check that a module can be emitted";
  let description = [{
    Checks the postconditions of the stage: apart from globals, grids and
    `@init` there are only entries and programs; every buffer is placed; every
    input and output of an entry exists; the ranks of an entry's programs are
    disjoint; no update is left to `write-globals`; a global that is updated is
    in one memory space in all programs. Whether queues and `after` order all conflicting
    accesses is checked when the artifact is written
    (`divisi/runtime/verify/Verify.h`).
  }];
}

#endif // DIVISI_PASSES_LOWER_PASSES_TD
