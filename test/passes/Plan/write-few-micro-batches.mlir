// RUN: divisi-opt %s --micro-batches=count=5 --write-micro-batches=most=2 | FileCheck %s
// RUN: divisi-opt %s --micro-batches=count=2 --write-micro-batches=most=2 | FileCheck %s --check-prefix=ALL

// Of five micro-batches the first two are there; what joins all takes the
// second one for those behind it.
// CHECK-LABEL: func.func @forward
// CHECK: nn.slice %{{.*}} {limits = array<i64: 2, 2>, pipe.step = "0.F0", starts = array<i64: 0, 0>
// CHECK: %[[A:.*]] = nn.relu
// CHECK: nn.slice %{{.*}} {limits = array<i64: 4, 2>, pipe.step = "0.F1", starts = array<i64: 2, 0>
// CHECK: %[[B:.*]] = nn.relu
// CHECK-NOT: nn.slice
// CHECK: nn.concat %[[A]], %[[B]], %[[B]], %[[B]], %[[B]]

// Two stand for themselves.
// ALL: nn.slice
// ALL: %[[A:.*]] = nn.relu
// ALL: nn.slice
// ALL: %[[B:.*]] = nn.relu
// ALL: nn.concat %[[A]], %[[B]] {
func.func @forward(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %0 = nn.relu %x : (tensor<2x2xf32>) -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}
