// An annotated operator keeps its form: the annotation names its loops.
// RUN: divisi-opt %s --canonicalize --allow-unregistered-dialect | FileCheck %s

// CHECK-LABEL: @annotated
// CHECK-NEXT: nn.cast
// CHECK-NEXT: nn.transpose
// CHECK-NEXT: nn.matmul
// CHECK-NEXT: nn.transpose
func.func @annotated(%x: tensor<8x4xf32>, %b: tensor<8x16xf32>)
    -> tensor<16x4xf32> {
  %a = nn.cast %x {foreign.split = 0 : i64}
      : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %0 = nn.transpose %a {permutation = array<i64: 1, 0>, foreign.split = 1 : i64}
      : (tensor<8x4xf32>) -> tensor<4x8xf32>
  %1 = nn.matmul %0, %b {labels = "mk,kn->mn", foreign.split = 2 : i64}
      : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %2 = nn.transpose %1 {permutation = array<i64: 1, 0>}
      : (tensor<4x16xf32>) -> tensor<16x4xf32>
  return %2 : tensor<16x4xf32>
}
