//===- Passes.td - From a model to its training step -------*- tablegen -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_PASSES_TRAIN_PASSES_TD
#define DIVISI_PASSES_TRAIN_PASSES_TD

include "mlir/Pass/PassBase.td"

def Train : Pass<"nn-train", "::mlir::ModuleOp"> {
  let summary = "make a training step of the entry";
  let description = [{
    Precondition: clean `nn`, as Import leaves it. The module's attribute
    `divisi.train`, which `--train` notes at import, says which loss and which
    optimizer there are, and `nn.trained` on globals what is trained; without
    the note nothing happens.

    Effect: the entry becomes `@train_step`: it takes the labels, too, returns
    the loss instead of its outputs, and updates the trained globals and the
    optimizer's states, which are new globals that begin as zeros. An operator
    that has no gradient, and through which one would go, is an error.

    Postcondition: the note is gone. Gradients are operators named after their
    node, `linear.grad`; what none needs is left for canonicalization.

    ```mlir
    module attributes {divisi.train = {loss = "mse", optimizer = "sgd", …}} {
    nn.global @w parameter : tensor<3x4xf32> from … {nn.trained}
    func.func @forward(%x) -> (tensor<2x4xf32> {nn.name = "y"}) {
      %w = nn.read @w
      %y = nn.matmul %x, %w {labels = "bi,io->bo"}
      return %y
    // becomes
    func.func @train_step(%x, %t {nn.name = "labels"})
        -> (tensor<f32> {nn.name = "loss"}) {
      …
      %dw = nn.matmul %x, %dy {labels = "bi,bo->io"}
      …
      nn.update @w, %new
      return %loss
    ```
  }];
  let dependentDialects = ["::divisi::nn::NNDialect"];
}

def WriteAttention : Pass<"write-attention", "::mlir::ModuleOp"> {
  let summary = "write gradients of attention as products and sums";
  let description = [{
    Precondition: clean `nn`.

    Effect: `nn.attention_lse` and `nn.attention_gradient` become products, sums
    and functions of single elements, on tensors with the products of all
    queries and keys: of heads with more than `widest` elements in a row. So
    devices that have no kernel for these (GPUs, of wide heads) run them, and
    plans price what runs. With `apart`, gradients that are left get `nn.apart`:
    no kernel makes several of an attention, so each is priced as if it stood
    alone.

    ```mlir
    %dv = nn.attention_gradient %q, %k, %v, %dy, %lse, %delta {of = "v", …}
    // becomes
    %z = nn.matmul %q, %k {labels = "bhgsd,bhtd->bhgst"}
    …
    %p = nn.exp %d
    %dv = nn.matmul %p, %dy {labels = "bhgst,bhgse->bhte"}
    ```
  }];
  let dependentDialects = ["::divisi::nn::NNDialect"];
  let options = [
    Option<"widest", "widest", "int64_t", "0",
           "leave heads of up to so many elements as they are">,
    Option<"apart", "apart", "bool", "false",
           "say of gradients that are left that each has a kernel of its own">,
  ];
  let statistics = [
    Statistic<"numWritten", "written", "operators that were written">,
  ];
}

#endif // DIVISI_PASSES_TRAIN_PASSES_TD
