//===- PipeDialect.td - The language of when ---------------*- tablegen -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_DIALECTS_PIPE_PIPEDIALECT_TD
#define DIVISI_DIALECTS_PIPE_PIPEDIALECT_TD

include "mlir/IR/OpBase.td"

def Pipe_Dialect : Dialect {
  let name = "pipe";
  let cppNamespace = "::divisi::pipe";
  let summary = "when the stages of a pipeline run what";
  let description = [{
    A pipeline is a plan on several grids, its stages; this dialect says in
    which order each of them runs which steps. A step is one phase of one
    micro-batch on one chunk of the model: `1.F2` is the forward phase (F) of
    micro-batch 2 on chunk 1, B its backward phase, which may be the two steps I
    (gradients that the chunk before waits for) and W (gradients of weights).

    It has no operations, only discardable attributes, which it verifies:

    | attribute       | on          | says |
    |-----------------|-------------|------|
    | `pipe.step`     | an operator | the step that it belongs to, as F, I or W (a string: `"1.F2"`) |
    | `pipe.schedule` | an entry    | the order of steps: a dictionary, see below |
    | `pipe.micro_batches` | an entry | how many micro-batches a call takes (an i64): of their operators, those of the first are there |
    | `pipe.each`     | an operator | that each micro-batch has one of its own; on a constant: that it is the number of the micro-batch |
    | `pipe.takes`    | an operator with `pipe.each` | operands that are carried: pairs of an operand and the number of what is carried (array<i64>) |
    | `pipe.gives`    | an operator with `pipe.each` | results that are carried: pairs of a result and that number |
    | `pipe.join`     | an operator | that its operands are one value of each micro-batch, in their order |

    An operator without a step runs when its operands are there, if it joins
    several micro-batches, and else before its first user.

    ```mlir
    func.func @train_step(…) attributes {pipe.schedule = {
      name = "1f1b", micro_batches = 2 : i64,
      stages = array<i64: 0, 1>,     // of the chunks
      order = ["0.F0 0.F1 0.B0 0.B1", // of the stages
               "1.F0 1.B0 1.F1 1.B1"]}} {
      %0 = nn.matmul … {pipe.step = "0.F0"}
      %1 = nn.matmul … {pipe.step = "0.W1"}
    ```

    Whoever edits an order and goes on from the dump gets it: the stage
    Partition begins with the pass `order-steps`.

    A plan says of all micro-batches what it says of the first, so only that one
    is there until Partition, which begins with `write-micro-batches`. What a
    micro-batch gives as carried, the next one takes, in place of the operand
    that is there for the first one:

    ```mlir
    func.func @train_step(…) attributes {pipe.micro_batches = 8 : i64} {
      %zero = nn.constant …
      %0 = nn.slice %x … {pipe.each}          // of x: its first eighth
      %1 = nn.matmul %0, … {pipe.each}
      %sum = nn.add %zero, %1 {pipe.each, pipe.takes = array<i64: 0, 0>,
                               pipe.gives = array<i64: 0, 0>}
      nn.update @s, %sum                      // of all eight
    ```
  }];
  let hasOperationAttrVerify = 1;
  let extraClassDeclaration = [{
    /// The names of the attributes.
    static constexpr ::llvm::StringLiteral kStep = "pipe.step";
    static constexpr ::llvm::StringLiteral kSchedule = "pipe.schedule";
    static constexpr ::llvm::StringLiteral kMicroBatches = "pipe.micro_batches";
    static constexpr ::llvm::StringLiteral kEach = "pipe.each";
    static constexpr ::llvm::StringLiteral kTakes = "pipe.takes";
    static constexpr ::llvm::StringLiteral kGives = "pipe.gives";
    static constexpr ::llvm::StringLiteral kJoin = "pipe.join";
  }];
}

#endif // DIVISI_DIALECTS_PIPE_PIPEDIALECT_TD
