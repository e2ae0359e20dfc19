// RUN: not divisi-opt %s --nn-lower-precision=precision=bf16 2>&1 | FileCheck %s

// What a loop carries has one type.
// CHECK: error: --precision: 'step' is run by an nn.loop or nn.if, whose values cannot change their types; leave it out
func.func private @step(%i: tensor<i64>, %x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = nn.matmul %x, %x {labels = "mk,kn->mn"} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
func.func @forward(%n: tensor<i64>, %x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = nn.loop @step(%n, %x) max 3 : (tensor<i64>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
