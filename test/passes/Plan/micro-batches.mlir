// RUN: divisi-opt %s --micro-batches="count=2" | FileCheck %s
// RUN: divisi-opt %s --micro-batches="count=2" --write-micro-batches | FileCheck %s --check-prefix=BOTH
// RUN: divisi-opt %s --micro-batches="count=1" | FileCheck %s --check-prefix=ONE

// The first one stands for all. What is no scalar has all batches.
// CHECK-LABEL: func.func @forward(%arg0: tensor<8x3xf32> {nn.name = "x"}, %arg1: tensor<f32>) -> (tensor<8x3xf32> {nn.name = "y"})
// CHECK-SAME: attributes {pipe.micro_batches = 2 : i64}
// CHECK-NEXT: %[[X0:.*]] = nn.slice %arg0 {limits = array<i64: 4, 3>, pipe.each
// CHECK-NEXT: %[[W:.*]] = nn.read @w : tensor<4x3xf32>
// CHECK-NEXT: %[[A0:.*]] = nn.add %[[X0]], %[[W]] {pipe.each}
// CHECK-NEXT: %[[M0:.*]] = nn.mul %[[A0]], %arg1 {pipe.each}
// CHECK-NEXT: %[[Y:.*]] = nn.concat %[[M0]], %[[M0]] {axis = 0 : i64, pipe.join}
// CHECK-NEXT: return %[[Y]]

// Globals and constants are read once.
// BOTH-LABEL: func.func @forward(%arg0: tensor<8x3xf32>
// BOTH-NOT: pipe.{{each|join|micro_batches}}
// BOTH: %[[X0:.*]] = nn.slice %arg0 {limits = array<i64: 4, 3>
// BOTH-NEXT: %[[W:.*]] = nn.read @w
// BOTH-NEXT: %[[A0:.*]] = nn.add %[[X0]], %[[W]]
// BOTH-NEXT: %[[M0:.*]] = nn.mul %[[A0]], %arg1
// BOTH-NEXT: %[[X1:.*]] = nn.slice %arg0
// BOTH-SAME: starts = array<i64: 4, 0>
// BOTH-NEXT: %[[A1:.*]] = nn.add %[[X1]], %[[W]]
// BOTH-NEXT: %[[M1:.*]] = nn.mul %[[A1]], %arg1
// BOTH-NEXT: %[[Y:.*]] = nn.concat %[[M0]], %[[M1]] {axis = 0 : i64}
// BOTH-NEXT: return %[[Y]]

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
