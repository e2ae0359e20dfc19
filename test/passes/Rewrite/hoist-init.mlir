// RUN: divisi-opt %s --split-input-file --nn-hoist-init --canonicalize | FileCheck %s

// What comes from a parameter alone is computed once.
// CHECK: nn.global @w.derived derived : tensor<4xf32>
// CHECK-LABEL: func @init
// CHECK: %[[S:.*]] = nn.sqrt
// CHECK: nn.update @w.derived, %[[S]]
// CHECK-LABEL: func @forward
// CHECK: %[[D:.*]] = nn.read @w.derived
// CHECK-NOT: nn.sqrt
// CHECK: nn.mul %arg0, %[[D]]
nn.global @w parameter : tensor<4xf32>
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %w = nn.read @w : tensor<4xf32>
  %0 = nn.sqrt %w : (tensor<4xf32>) -> tensor<4xf32>
  %1 = nn.mul %x, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// A parameter that the entry updates is another one in each step.
// CHECK-NOT: func @init
// CHECK: nn.sqrt
nn.global @w parameter : tensor<4xf32>
func.func @step(%x: tensor<4xf32>) -> tensor<4xf32> {
  %w = nn.read @w : tensor<4xf32>
  %0 = nn.sqrt %w : (tensor<4xf32>) -> tensor<4xf32>
  nn.update @w, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Repeating is cheaper than storing.
// CHECK-NOT: func @init
// CHECK: nn.broadcast
nn.global @w parameter : tensor<4xf32>
func.func @grows() -> tensor<8x4xf32> {
  %w = nn.read @w : tensor<4xf32>
  %0 = nn.broadcast %w {dims = array<i64: 1>} : (tensor<4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

// A reshape of all that is read is the global's own shape.
// CHECK: nn.global @b parameter : tensor<1x4x1xf32>
// CHECK-NOT: nn.reshape
nn.global @b parameter : tensor<4xf32>
func.func @adopts(%x: tensor<2x4x3xf32>) -> tensor<2x4x3xf32> {
  %b = nn.read @b : tensor<4xf32>
  %0 = nn.reshape %b : (tensor<4xf32>) -> tensor<1x4x1xf32>
  %1 = nn.add %x, %0 : (tensor<2x4x3xf32>, tensor<1x4x1xf32>) -> tensor<2x4x3xf32>
  return %1 : tensor<2x4x3xf32>
}
