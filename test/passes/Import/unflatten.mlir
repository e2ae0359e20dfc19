// RUN: divisi-opt %s --split-input-file --nn-unflatten --canonicalize | FileCheck %s

// Tokens [B·S] fall apart into the dims they came from.
// CHECK-LABEL: func @tokens
// CHECK: %[[W:.*]] = nn.read @w
// CHECK: nn.matmul %arg0, %[[W]] {labels = "mak,kn->man"}
// CHECK-SAME: -> tensor<8x16x32xf32>
// CHECK-NOT: nn.reshape
nn.global @w parameter : tensor<64x32xf32>
func.func @tokens(%x: tensor<8x16x64xf32>) -> tensor<8x16x32xf32> {
  %0 = nn.reshape %x : (tensor<8x16x64xf32>) -> tensor<128x64xf32>
  %w = nn.read @w : tensor<64x32xf32>
  %1 = nn.matmul %0, %w {labels = "mk,kn->mn"} : (tensor<128x64xf32>, tensor<64x32xf32>) -> tensor<128x32xf32>
  %2 = nn.reshape %1 : (tensor<128x32xf32>) -> tensor<8x16x32xf32>
  return %2 : tensor<8x16x32xf32>
}

// -----

// A fused projection becomes [3, heads, width], in the weight and bias as well.
// CHECK-DAG: nn.global @w parameter : tensor<6x3x2x4xf32>
// CHECK-DAG: nn.global @b parameter : tensor<3x2x4xf32>
// CHECK-LABEL: func @fused
// CHECK: nn.matmul {{.*}} -> tensor<5x3x2x4xf32>
// CHECK: nn.slice {{.*}} starts = array<i64: 0, 1, 0, 0>
// CHECK-SAME: -> tensor<5x1x2x4xf32>
// CHECK: nn.reshape {{.*}} : (tensor<5x1x2x4xf32>) -> tensor<5x2x4xf32>
nn.global @w parameter : tensor<6x24xf32>
nn.global @b parameter : tensor<24xf32>
func.func @fused(%x: tensor<5x6xf32>) -> tensor<5x2x4xf32> {
  %w = nn.read @w : tensor<6x24xf32>
  %b = nn.read @b : tensor<24xf32>
  %0 = nn.matmul %x, %w {labels = "mk,kn->mn"} : (tensor<5x6xf32>, tensor<6x24xf32>) -> tensor<5x24xf32>
  %1 = nn.add %0, %b : (tensor<5x24xf32>, tensor<24xf32>) -> tensor<5x24xf32>
  %2 = nn.slice %1 {starts = array<i64: 0, 8>, limits = array<i64: 5, 16>, steps = array<i64: 1, 1>} : (tensor<5x24xf32>) -> tensor<5x8xf32>
  %3 = nn.reshape %2 : (tensor<5x8xf32>) -> tensor<5x2x4xf32>
  return %3 : tensor<5x2x4xf32>
}

// -----

// Softmax's own axis stays whole: the reshape stays before it.
// CHECK-LABEL: func @pinned
// CHECK: nn.reshape %arg0 : (tensor<2x3x4xf32>) -> tensor<2x12xf32>
// CHECK: nn.softmax
func.func @pinned(%x: tensor<2x3x4xf32>) -> tensor<2x12xf32> {
  %0 = nn.reshape %x : (tensor<2x3x4xf32>) -> tensor<2x12xf32>
  %1 = nn.softmax %0 {axis = 1 : i64, log = false} : (tensor<2x12xf32>) -> tensor<2x12xf32>
  return %1 : tensor<2x12xf32>
}

// -----

// Axes move behind the new dims; a broadcast operand gets a 1 for each.
// CHECK-LABEL: func @axes
// CHECK: nn.reduce %arg0 {axes = array<i64: 2, 3>, kind = "sum"}
// CHECK-SAME: (tensor<2x3x4x5xf32>) -> tensor<2x3xf32>
func.func @axes(%x: tensor<2x3x4x5xf32>) -> tensor<2x3xf32> {
  %0 = nn.reshape %x : (tensor<2x3x4x5xf32>) -> tensor<6x20xf32>
  %1 = nn.reduce %0 {axes = array<i64: 1>, kind = "sum"} : (tensor<6x20xf32>) -> tensor<6xf32>
  %2 = nn.reshape %1 : (tensor<6xf32>) -> tensor<2x3xf32>
  return %2 : tensor<2x3xf32>
}

// -----

// [4, 6] and [6, 4] have no factors in common places: nothing changes.
// CHECK-LABEL: func @irreconcilable
// CHECK-NEXT: nn.reshape %arg0 : (tensor<4x6xf32>) -> tensor<6x4xf32>
// CHECK-NEXT: nn.neg {{.*}} : (tensor<6x4xf32>) -> tensor<6x4xf32>
func.func @irreconcilable(%x: tensor<4x6xf32>) -> tensor<6x4xf32> {
  %0 = nn.reshape %x : (tensor<4x6xf32>) -> tensor<6x4xf32>
  %1 = nn.neg %0 : (tensor<6x4xf32>) -> tensor<6x4xf32>
  return %1 : tensor<6x4xf32>
}

// -----

// Halves of equal length are concatenated along the factor of two.
// CHECK-LABEL: func @halves
// CHECK: nn.concat {{.*}} {axis = 1 : i64} : (tensor<5x1x2x3xf32>, tensor<5x1x2x3xf32>) -> tensor<5x2x2x3xf32>
func.func @halves(%x: tensor<5x2x3xf32>, %y: tensor<5x6xf32>) -> tensor<5x12xf32> {
  %0 = nn.reshape %x : (tensor<5x2x3xf32>) -> tensor<5x6xf32>
  %1 = nn.concat %0, %y {axis = 1 : i64} : (tensor<5x6xf32>, tensor<5x6xf32>) -> tensor<5x12xf32>
  return %1 : tensor<5x12xf32>
}
