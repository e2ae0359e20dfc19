// RUN: divisi-opt %s --micro-batches="count=2" | FileCheck %s
// RUN: divisi-opt %s --micro-batches="count=1" | FileCheck %s --check-prefix=ONE

// What is no scalar has all batches; globals and constants are read once.
// CHECK-LABEL: func.func @forward(%arg0: tensor<8x3xf32> {nn.name = "x"}, %arg1: tensor<f32>) -> (tensor<8x3xf32> {nn.name = "y"})
// CHECK-NEXT: %[[X0:.*]] = nn.slice %arg0
// CHECK-SAME: limits = array<i64: 4, 3>
// CHECK-NEXT: %[[W:.*]] = nn.read @w
// CHECK-NEXT: %[[A0:.*]] = nn.add %[[X0]], %[[W]]
// CHECK-NEXT: %[[M0:.*]] = nn.mul %[[A0]], %arg1
// CHECK-NEXT: %[[X1:.*]] = nn.slice %arg0
// CHECK-SAME: starts = array<i64: 4, 0>
// CHECK-NEXT: %[[A1:.*]] = nn.add %[[X1]], %[[W]]
// CHECK-NEXT: %[[M1:.*]] = nn.mul %[[A1]], %arg1
// CHECK-NEXT: %[[Y:.*]] = nn.concat %[[M0]], %[[M1]] {axis = 0 : i64}
// CHECK-NEXT: return %[[Y]]

// ONE-LABEL: func.func @forward(%arg0: tensor<4x3xf32>
// ONE-NOT: nn.slice
nn.global @w parameter : tensor<4x3xf32>
func.func @forward(%x: tensor<4x3xf32> {nn.name = "x"}, %s: tensor<f32>)
    -> (tensor<4x3xf32> {nn.name = "y"}) {
  %w = nn.read @w : tensor<4x3xf32>
  %a = nn.add %x, %w : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %m = nn.mul %a, %s : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
  return %m : tensor<4x3xf32>
}
