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

// -----

// What grows on the way to what does not is stored by nobody.
// CHECK: nn.global @w.derived derived : tensor<8x8xf32>
// CHECK-LABEL: func @init
// CHECK: nn.matmul
// CHECK: nn.add
// CHECK-LABEL: func @adapts
// CHECK: %[[D:.*]] = nn.read @w.derived
// CHECK-NOT: nn.add
// CHECK: nn.matmul %arg0, %[[D]]
nn.global @w parameter : tensor<8x8xf32>
nn.global @a parameter : tensor<8x1xf32>
nn.global @b parameter : tensor<1x8xf32>
func.func @adapts(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %w = nn.read @w : tensor<8x8xf32>
  %a = nn.read @a : tensor<8x1xf32>
  %b = nn.read @b : tensor<1x8xf32>
  %0 = nn.matmul %a, %b {labels = "mk,kn->mn"} : (tensor<8x1xf32>, tensor<1x8xf32>) -> tensor<8x8xf32>
  %1 = nn.add %w, %0 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = nn.matmul %x, %1 {labels = "mk,kn->mn"} : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
  return %2 : tensor<2x8xf32>
}

// -----

// The product alone would be stored: its factors have fewer elements.
// CHECK-NOT: func @init
// CHECK: nn.sqrt
nn.global @a parameter : tensor<8x1xf32>
nn.global @b parameter : tensor<1x8xf32>
func.func @stays() -> tensor<8x8xf32> {
  %a = nn.read @a : tensor<8x1xf32>
  %b = nn.read @b : tensor<1x8xf32>
  %0 = nn.matmul %a, %b {labels = "mk,kn->mn"} : (tensor<8x1xf32>, tensor<1x8xf32>) -> tensor<8x8xf32>
  %1 = nn.sqrt %0 : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}

// -----

// What is wanted and what grows read the same: the first is stored.
// CHECK: nn.global @w.derived derived : tensor<8x8xf32>
// CHECK-LABEL: func @both
// CHECK-DAG: nn.matmul
// CHECK-DAG: nn.read @w.derived
nn.global @w parameter : tensor<8x8xf32>
nn.global @a parameter : tensor<8x1xf32>
nn.global @b parameter : tensor<1x8xf32>
func.func @both() -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %w = nn.read @w : tensor<8x8xf32>
  %a = nn.read @a : tensor<8x1xf32>
  %b = nn.read @b : tensor<1x8xf32>
  %0 = nn.matmul %a, %b {labels = "mk,kn->mn"} : (tensor<8x1xf32>, tensor<1x8xf32>) -> tensor<8x8xf32>
  %1 = nn.add %w, %0 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0, %1 : tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

// What is made of a derived value is made of what that is; nobody needs both.
// CHECK-NOT: @w.derived derived
// CHECK: nn.global @w.derived.derived derived : tensor<4xf32>
// CHECK-NOT: @w.derived derived
// CHECK-LABEL: func @init
// CHECK: %[[S:.*]] = nn.sqrt
// CHECK-NOT: nn.read @w.derived
// CHECK: %[[E:.*]] = nn.exp %[[S]]
// CHECK: nn.update @w.derived.derived, %[[E]]
// CHECK-NOT: nn.update
// CHECK-LABEL: func @forward
// CHECK: %[[D:.*]] = nn.read @w.derived.derived
// CHECK: nn.mul %arg0, %[[D]]
nn.global @w parameter : tensor<4xf32>
nn.global @w.derived derived : tensor<4xf32>
func.func @init() {
  %w = nn.read @w : tensor<4xf32>
  %0 = nn.sqrt %w : (tensor<4xf32>) -> tensor<4xf32>
  nn.update @w.derived, %0 : tensor<4xf32>
  return
}
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %w = nn.read @w.derived : tensor<4xf32>
  %0 = nn.exp %w : (tensor<4xf32>) -> tensor<4xf32>
  %1 = nn.mul %x, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
