// RUN: divisi-opt %s --isolate-bodies --fold-micro-batches | FileCheck %s
// RUN: divisi-opt %s --isolate-bodies --fold-micro-batches --write-micro-batches | FileCheck %s --check-prefix=ALL

// What depends on no iteration is there once; a sum stands behind its summand.
// CHECK-LABEL: func.func @train_step
// CHECK-SAME: attributes {pipe.micro_batches = 3 : i64}
// CHECK-DAG: %[[ZERO:.*]] = nn.constant dense<0.000000e+00> : tensor<4xf32>
// CHECK-DAG: %[[M:.*]] = nn.read @m
// CHECK: %[[I:.*]] = nn.constant {pipe.each} dense<0> : tensor<i64>
// CHECK-NEXT: %[[X:.*]] = nn.slice %arg0 {limits = array<i64: 4>, pipe.each
// CHECK-NEXT: %[[H:.*]] = nn.neg %arg1 :
// CHECK-NEXT: %[[Y:.*]] = nn.mul %[[X]], %[[H]] {pipe.each}
// CHECK-NEXT: %[[S:.*]] = nn.add %[[ZERO]], %[[Y]] {pipe.each, pipe.gives = array<i64: 0, 0>, pipe.takes = array<i64: 0, 0>}
// CHECK-NEXT: %[[F:.*]] = nn.cast %[[I]] {pipe.each}
// CHECK-NEXT: %[[T:.*]] = nn.mul %[[M]], %[[F]] {pipe.each, pipe.takes = array<i64: 0, 1>}
// CHECK-NEXT: %[[N:.*]] = nn.sub %[[T]], %[[Y]] {pipe.each, pipe.gives = array<i64: 0, 1>}
// CHECK-NEXT: nn.update @m, %[[N]]
// CHECK-NEXT: return %[[S]]

// The sum begins with the first summand; each takes what the one before gives.
// It says which step each operator belongs to, that no kernel has two of them.
// ALL-NOT: pipe.{{each|takes|gives|micro_batches}}
// ALL: %[[M:.*]] = nn.read @m
// ALL: %[[I0:.*]] = nn.constant {pipe.step = "0.F0"} dense<0> : tensor<i64>
// ALL: %[[Y0:.*]] = nn.mul
// ALL-NOT: nn.add
// ALL: %[[F0:.*]] = nn.cast %[[I0]]
// ALL: %[[T0:.*]] = nn.mul %[[M]], %[[F0]]
// ALL: %[[N0:.*]] = nn.sub %[[T0]], %[[Y0]]
// ALL: %[[I1:.*]] = nn.constant {pipe.step = "0.F1"} dense<1> : tensor<i64>
// ALL: nn.slice %arg0 {limits = array<i64: 8>, pipe.step = "0.F1", starts = array<i64: 4>
// ALL: %[[Y1:.*]] = nn.mul
// ALL: %[[S1:.*]] = nn.add %[[Y0]], %[[Y1]] {pipe.step = "0.F1"}
// ALL: %[[T1:.*]] = nn.mul %[[N0]],
// ALL: %[[N1:.*]] = nn.sub %[[T1]], %[[Y1]]
// ALL: %[[I2:.*]] = nn.constant {pipe.step = "0.F2"} dense<2> : tensor<i64>
// ALL: nn.slice %arg0 {limits = array<i64: 12>, pipe.step = "0.F2", starts = array<i64: 8>
// ALL: %[[Y2:.*]] = nn.mul
// ALL: %[[S2:.*]] = nn.add %[[S1]], %[[Y2]]
// ALL: %[[T2:.*]] = nn.mul %[[N1]],
// ALL: %[[N2:.*]] = nn.sub %[[T2]], %[[Y2]]
// ALL: nn.update @m, %[[N2]]
// ALL: return %[[S2]]
nn.global @m state : tensor<4xf32> zero
func.func private @step(%i: tensor<i64>, %sum: tensor<4xf32>, %m: tensor<4xf32>,
    %rows: tensor<3x4xf32>, %s: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    attributes {nn.micro_batches} {
  %x = nn.gather %rows, %i {axis = 0 : i64, batch_dims = 0 : i64}
      : (tensor<3x4xf32>, tensor<i64>) -> tensor<4xf32>
  %h = nn.neg %s : (tensor<4xf32>) -> tensor<4xf32>
  %y = nn.mul %x, %h : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %f = nn.cast %i : (tensor<i64>) -> tensor<f32>
  %t = nn.mul %m, %f : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %n = nn.sub %t, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %0 = nn.add %sum, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0, %n : tensor<4xf32>, tensor<4xf32>
}
func.func @train_step(%a: tensor<12xf32>, %s: tensor<4xf32>) -> tensor<4xf32> {
  %m = nn.read @m : tensor<4xf32>
  %n = nn.constant dense<3> : tensor<i64>
  %zero = nn.constant dense<0.0> : tensor<4xf32>
  %rows = nn.reshape %a : (tensor<12xf32>) -> tensor<3x4xf32>
  %0:2 = nn.loop @step(%n, %zero, %m, %rows, %s) max 3
      : (tensor<i64>, tensor<4xf32>, tensor<4xf32>, tensor<3x4xf32>, tensor<4xf32>)
      -> (tensor<4xf32>, tensor<4xf32>)
  nn.update @m, %0#1 : tensor<4xf32>
  return %0#0 : tensor<4xf32>
}
