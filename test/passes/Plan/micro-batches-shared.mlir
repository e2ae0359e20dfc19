// What has no batch is an argument of the entry as it was, and is read whole.
// RUN: divisi-opt %s --micro-batches="count=2" --write-micro-batches | FileCheck %s

// CHECK-LABEL: func.func @forward(%arg0: tensor<8x3xf32> {nn.name = "x"}, %arg1: tensor<1x3xf32> {nn.name = "mask", nn.shared})
// CHECK: %[[X0:.*]] = nn.slice %arg0 {limits = array<i64: 4, 3>
// CHECK: nn.add %[[X0]], %arg1
// CHECK: %[[X1:.*]] = nn.slice %arg0
// CHECK: nn.add %[[X1]], %arg1
func.func @forward(%x: tensor<4x3xf32> {nn.name = "x"},
                   %mask: tensor<1x3xf32> {nn.name = "mask", nn.shared})
    -> (tensor<4x3xf32> {nn.name = "y"}) {
  %y = nn.add %x, %mask : (tensor<4x3xf32>, tensor<1x3xf32>) -> tensor<4x3xf32>
  return %y : tensor<4x3xf32>
}
