//===- Passes.td - From an imported model to clean nn ------*- tablegen -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_PASSES_IMPORT_PASSES_TD
#define DIVISI_PASSES_IMPORT_PASSES_TD

include "mlir/Pass/PassBase.td"

def FuseAttention : Pass<"nn-fuse-attention", "::mlir::func::FuncOp"> {
  let summary = "recognise attention";
  let description = [{
    Precondition: values are global. Import runs the pass twice. With
    `four-dims`, before dims are unflattened, it takes only attention whose
    tensors have four dims, which fit `nn.attention` as they are; the second
    run, when products have absorbed what they can, takes the rest.

    Effect: softmax(scale * q.k + mask).v, of one element type, becomes
    `nn.attention` if the intermediate values have no other use. Dimensions may
    come in any order and number. The scale may be at q, at k or after their
    product, also at several of them, and may differ per query: queries are then
    multiplied. Keys and values that are repeated for the query heads that share
    them are taken before the repetition. Products may be capped. Masks may be
    added, also before a scale of at most 1; they may be booleans that select
    -inf, or a number of f32 that is so low that products are negligible; such a
    number may also bound masked products from below. Several masks become one,
    in their order. Rows that attend nothing are NaN, unless NaN of the weights
    is replaced by 0. Two layers with a softmax between them, whose keys and
    values are weights, are left unchanged. An existing `nn.attention` takes in
    scales at q and k, and repeated keys and values.

    Each replacement is first evaluated beside the operators that it replaces,
    at extents of a few elements, in the prime field and in f64
    (divisi/Evaluate/Replacement.h). If the results differ, the operators are
    left unchanged, and a remark says so.

    Postcondition: the values are equal up to rounding, if values that are not
    attended are finite.

    ```mlir
    %0 = nn.matmul %q, %k {labels = "bshd,bthd->bhst"} : …
    %1 = nn.mul %0, %c
    %2 = nn.softmax %1 {axis = 3, log = false} : …
    %y = nn.matmul %2, %v {labels = "bhst,bthe->bshe"} : …
    // becomes
    %y = nn.attention %q, %k, %v {labels = "bshd,bthd,bthe->bshe",
        nan = true, scale = 0.125, …} : …
    ```
  }];
  let dependentDialects = ["::divisi::nn::NNDialect"];
  let options = [
    Option<"fourDims", "four-dims", "bool", "false",
           "Only attention whose tensors have four dims">];
  let statistics = [
    Statistic<"numFused", "fused", "Attentions that were found or extended">];
}

def FoldScales : Pass<"nn-fold-scales", "::mlir::ModuleOp"> {
  let summary = "scale weights of convolutions instead of their results";
  let description = [{
    Precondition: values are global.

    Effect: a scale per channel after a convolution, known before any run, is
    folded into the weights if they have no other use; consecutive shifts, and a
    shift that is scaled, become one shift. All of them have to come from
    parameters that no entry updates, of f32 or f64.

    Postcondition: the values are the same up to rounding.

    ```mlir
    %c = nn.conv %x, %w {…}
    %0 = nn.mul %c, %s : (tensor<1x8x7x7xf32>, tensor<1x8x1x1xf32>)
    // becomes
    %f = nn.reshape %s : (tensor<1x8x1x1xf32>) -> tensor<8x1x1x1xf32>
    %v = nn.mul %w, %f
    %c = nn.conv %x, %v {…}
    ```
  }];
  let dependentDialects = ["::divisi::nn::NNDialect"];
}

def MoveCodes : Pass<"nn-move-codes", "::mlir::func::FuncOp"> {
  let summary = "move quantized codes instead of dequantized numbers";
  let description = [{
    Precondition: values are global.

    Effect: operators that move elements or take maxima between a dequantize and
    a quantize of equal scale and zero point work on codes. A transpose or
    reshape moves after the quantize of its result; a transpose moves after a
    dequantize if a product then absorbs it.

    Postcondition: the values are the same.

    ```mlir
    %0 = nn.dequantize %x, %s, %z {axis = 0, block = 1} : …
    %1 = nn.pool_max %0 {…}
    %y = nn.quantize %1, %s, %z {axis = 0, block = 1} : …
    // becomes
    %y = nn.pool_max %x {…}
    ```
  }];
  let dependentDialects = ["::divisi::nn::NNDialect"];
}

def IntegerProducts : Pass<"nn-integer-products", "::mlir::func::FuncOp"> {
  let summary = "multiply quantized numbers in integers";
  let description = [{
    Precondition: dims and labels are final, values are global.

    Effect: a convolution or contraction of tensors of i8 or ui8 that are
    dequantized, or cast minus a zero point, becomes one of integers, followed
    by a dequantize with the product of their scales. Zero points are known and
    one number each; scales differ at most along one dimension that the result
    keeps; weights of a convolution have a zero point of 0, or 128 if they are
    ui8. The left operand of a contraction may have a zero point known only at
    run time. A dequantize of several users is repeated for each; one that is
    added becomes `nn.add_dequantized`.

    Postcondition: sums are exact, and scales are multiplied after them: values
    are equal up to rounding, which may change a code by one step.

    ```mlir
    %0 = nn.dequantize %x, %s, %z {axis = 0, block = 1} : …
    %1 = nn.dequantize %w, %t {axis = 0, block = 1} : …
    %y = nn.conv %0, %1 {…}
    // becomes
    %2 = nn.conv_integer %x, %w {x_zero = 128, …}
    %3 = nn.mul %s, %t
    %y = nn.dequantize %2, %3 {axis = 1, block = 1} : …
    ```
  }];
  let dependentDialects = ["::divisi::nn::NNDialect"];
}

def LowerPrecision : Pass<"nn-lower-precision", "::mlir::ModuleOp"> {
  let summary = "compute in bf16 or f16 where accuracy allows it";
  let description = [{
    Precondition: whole operators, so that a norm is `nn.normalize`; no `@init`.

    Effect: f32 becomes `precision` in the entries, except where the numbers
    need the range or accuracy of f32; see `divisi/Precision/Precision.h`.
    `keep-f32` names more that stays f32; without `keeps-first`, which training
    leaves out, products that inputs meet first become narrow as others do.

    Postcondition: signatures and globals are unchanged; weights needed in
    `precision` are cast, which `nn-hoist-init` does once. A module attribute
    records the changes.

    ```mlir
    %w = nn.read @w : tensor<8x4xf32>
    %y = nn.matmul %x, %w {labels = "mk,kn->mn"} : …
    // becomes
    %w = nn.read @w : tensor<8x4xf32>
    %0 = nn.cast %w : (tensor<8x4xf32>) -> tensor<8x4xbf16>
    %1 = nn.cast %x : (tensor<2x8xf32>) -> tensor<2x8xbf16>
    %y = nn.matmul %1, %0 {labels = "mk,kn->mn"} : … -> tensor<2x4xf32>
    %2 = nn.cast %y : (tensor<2x4xf32>) -> tensor<2x4xbf16>
    ```
  }];
  let dependentDialects = ["::divisi::nn::NNDialect"];
  let options = [
    Option<"precision", "precision", "std::string", "", "bf16 or f16">,
    ListOption<"keepF32", "keep-f32", "std::string",
               "Names of nodes, scopes, operators and weights that stay f32">,
    Option<"narrowSums", "narrow-sums", "bool", "false",
           "Whether sums of products with weights are narrow, too">,
    Option<"keepsFirst", "keeps-first", "bool", "true",
           "Whether the products that inputs meet first stay f32">];
  let statistics = [
    Statistic<"numNarrowed", "narrowed", "Operators that became narrow">];
}

def SpellProducts : Pass<"nn-spell-products", "::mlir::func::FuncOp"> {
  let summary = "write products in the form that rules expect";
  let description = [{
    Precondition: values are global.

    Effect: the labels of a `nn.matmul` become those of rules, "{b}{m}{k},
    {b}{k}{n}->{b}{m}{n}": batch dims first, summed dims last on the left.
    Transposes of the operands and of the result replace the old labels. A value
    that is added to the operand of a `nn.softmax`, or selects it, gets leading
    dims of extent 1 up to the operand's rank. A constant of equal elements that
    an operator broadcasts becomes one number. Of a factor of a `nn.mul` that
    elementwise operators make of [t|t], the halves are made, and repeated then;
    a cast of [-x2|x1] becomes that of halves of a cast of x that is there.

    Postcondition: the values are equal; canonicalization turns the transposes
    into labels again, and removes dims of extent 1.

    ```mlir
    %0 = nn.matmul %q, %k {labels = "bshd,bthd->bhst"} : …
    // becomes
    %1 = nn.transpose %q {permutation = array<i64: 0, 2, 1, 3>} : …
    %2 = nn.transpose %k {permutation = array<i64: 0, 2, 3, 1>} : …
    %0 = nn.matmul %1, %2 {labels = "bhsd,bhdt->bhst"} : …
    ```
  }];
  let dependentDialects = ["::divisi::nn::NNDialect"];
}

def Unflatten : Pass<"nn-unflatten", "::mlir::ModuleOp"> {
  let summary = "make every needed factor of a dim a separate dim";
  let description = [{
    Precondition: a module of globals and functions, each one list of operators.
    Canonical, so that no reshape is of a reshape.

    Effect: dims that some reshape splits are split wherever loops carry them,
    in globals too; see `divisi/Unflatten/Unflatten.h`.

    Postcondition: signatures and numbers are unchanged; a reshape that does
    more than add or drop extents of 1 remains only where its two sides
    disagree, at arguments and at results. Boxes, and operators annotated by
    another dialect, keep their form.

    ```mlir
    %0 = nn.reshape %x : (tensor<8x16x64xf32>) -> tensor<128x64xf32>
    %1 = nn.matmul %0, %w {labels = "mk,kn->mn"} : …
    %2 = nn.reshape %1 : (tensor<128x32xf32>) -> tensor<8x16x32xf32>
    // becomes
    %2 = nn.matmul %x, %w {labels = "mak,kn->man"} : …
    ```
  }];
  let dependentDialects = ["::divisi::nn::NNDialect"];
  let statistics = [
    Statistic<"numRewritten", "rewritten", "Operators with more dims">];
}

def VerifyImport : Pass<"verify-import", "::mlir::ModuleOp"> {
  let summary = "check the postconditions of Import";
  let description = [{
    Fails unless the module holds globals and functions alone, the functions
    hold `nn` operators and a return, `@init` (if any) has no arguments or
    results, every argument and result of an entry has an `nn.name`, every
    derived global is updated in `@init` exactly once, and every element type
    has kernels. Records on the module that it has passed the stage.
  }];
}

#endif // DIVISI_PASSES_IMPORT_PASSES_TD
