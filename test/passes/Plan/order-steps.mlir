// RUN: divisi-opt %s --pass-pipeline="builtin.module(func.func(order-steps))" | FileCheck %s
// RUN: divisi-opt %s --pass-pipeline="builtin.module(func.func(order-steps,order-steps))" | FileCheck %s

// Steps in their order; %w before its first user; the sum of both micro-batches
// as soon as both are there; the new value of the global last.
// CHECK-LABEL: func.func @train_step
// CHECK: nn.slice %arg0
// CHECK-SAME: pipe.step = "0.F0"
// CHECK-NEXT: nn.relu {{.*}} {pipe.step = "0.F0"}
// CHECK-NEXT: nn.slice %arg0
// CHECK-SAME: pipe.step = "0.F1"
// CHECK-NEXT: nn.relu {{.*}} {pipe.step = "0.F1"}
// CHECK-NEXT: nn.read @w
// CHECK-NEXT: %[[G1:.*]] = nn.mul {{.*}} {pipe.step = "0.W1"}
// CHECK-NEXT: %[[G0:.*]] = nn.mul {{.*}} {pipe.step = "0.W0"}
// CHECK-NEXT: %[[SUM:.*]] = nn.add %[[G0]], %[[G1]]
// CHECK-NEXT: nn.update @w, %[[SUM]]
// CHECK-NEXT: return
nn.global @w state : tensor<4xf32> zero
func.func @train_step(%x: tensor<8xf32>) -> tensor<4xf32> attributes {
    pipe.schedule = {name = "mine", micro_batches = 2 : i64,
                     stages = array<i64: 0>,
                     order = ["0.F0 0.F1 0.B1 0.B0"]}} {
  %w = nn.read @w : tensor<4xf32>
  %x0 = nn.slice %x {starts = array<i64: 0>, limits = array<i64: 4>, steps = array<i64: 1>, pipe.step = "0.F0"} : (tensor<8xf32>) -> tensor<4xf32>
  %h0 = nn.relu %x0 {pipe.step = "0.F0"} : (tensor<4xf32>) -> tensor<4xf32>
  %g0 = nn.mul %h0, %w {pipe.step = "0.W0"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %x1 = nn.slice %x {starts = array<i64: 4>, limits = array<i64: 8>, steps = array<i64: 1>, pipe.step = "0.F1"} : (tensor<8xf32>) -> tensor<4xf32>
  %h1 = nn.relu %x1 {pipe.step = "0.F1"} : (tensor<4xf32>) -> tensor<4xf32>
  %g1 = nn.mul %h1, %w {pipe.step = "0.W1"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %s = nn.add %g0, %g1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  nn.update @w, %s : tensor<4xf32>
  return %h0 : tensor<4xf32>
}

// What needs a later step comes behind that.
// CHECK-LABEL: func.func @late
// CHECK: %[[A:.*]] = nn.relu %arg0 {pipe.step = "1.F0"}
// CHECK-NEXT: nn.exp %[[A]] {pipe.step = "0.F0"}
func.func @late(%x: tensor<4xf32>) -> tensor<4xf32> attributes {
    pipe.schedule = {name = "stream", micro_batches = 1 : i64,
                     stages = array<i64: 0, 1>, order = ["0.F0", "1.F0"]}} {
  %a = nn.relu %x {pipe.step = "1.F0"} : (tensor<4xf32>) -> tensor<4xf32>
  %b = nn.exp %a {pipe.step = "0.F0"} : (tensor<4xf32>) -> tensor<4xf32>
  return %b : tensor<4xf32>
}
