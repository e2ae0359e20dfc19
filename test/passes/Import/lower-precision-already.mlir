// RUN: not divisi-opt %s --nn-lower-precision=precision=bf16 2>&1 | FileCheck %s

// A norm that a model in bf16 computes in f32 is meant to.
// CHECK: error: --precision bf16: the weights of the model are in bf16 already; leave it out
nn.global @w parameter : tensor<8x8xbf16>
nn.global @g parameter : tensor<8xf32>
func.func @forward(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %w = nn.read @w : tensor<8x8xbf16>
  %g = nn.read @g : tensor<8xf32>
  %0 = nn.cast %x : (tensor<2x8xf32>) -> tensor<2x8xbf16>
  %1 = nn.matmul %0, %w {labels = "mk,kn->mn"} : (tensor<2x8xbf16>, tensor<8x8xbf16>) -> tensor<2x8xf32>
  %2 = nn.relu %1 : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %3 = nn.normalize %2 {axes = array<i64: 1>, center = true, epsilon = 1.0e-5 : f64} : (tensor<2x8xf32>) -> tensor<2x8xf32>
  return %3 : tensor<2x8xf32>
}
