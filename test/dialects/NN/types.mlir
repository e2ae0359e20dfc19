// Element types that store only, and the field, which stands for real numbers.
// RUN: divisi-opt %s | divisi-opt | FileCheck %s
// RUN: divisi-opt %s --mlir-print-op-generic | divisi-opt | FileCheck %s

// CHECK: nn.global @w parameter : tensor<4x8xi4> from "model.onnx" [0, 32]
nn.global @w parameter : tensor<4x8xi4> from "model.onnx" [0, 32]
// CHECK: nn.global @state state : tensor<4x8xf8E4M3FN> zero
nn.global @state state : tensor<4x8xf8E4M3FN> zero
// CHECK: nn.global @field parameter : tensor<4x8x!nn.field>{{$}}
nn.global @field parameter : tensor<4x8x!nn.field>

// CHECK-LABEL: @stored
func.func @stored(%i: tensor<2xi64>, %u: tensor<4x8xf8E4M3FN>)
    -> tensor<2x8xf32> {
  // CHECK: nn.read @w : tensor<4x8xi4>
  %w = nn.read @w : tensor<4x8xi4>
  // CHECK: nn.gather {{.*}} -> tensor<2x8xi4>
  %rows = nn.gather %w, %i {axis = 0, batch_dims = 0}
      : (tensor<4x8xi4>, tensor<2xi64>) -> tensor<2x8xi4>
  // CHECK: nn.constant dense<[-8, 7]> : tensor<2xi4>
  %c = nn.constant dense<[-8, 7]> : tensor<2xi4>
  // CHECK: nn.constant dense<15> : tensor<2xui4>
  %d = nn.constant dense<15> : tensor<2xui4>
  // CHECK: nn.constant dense<[4.480000e+02, -1.250000e-01]> : tensor<2xf8E4M3FN>
  %e = nn.constant dense<[448.0, -0.125]> : tensor<2xf8E4M3FN>
  // CHECK: nn.constant dense<[-2, 1]> : tensor<2xi2>
  %c2 = nn.constant dense<[-2, 1]> : tensor<2xi2>
  // CHECK: nn.constant dense<3> : tensor<2xui2>
  %d2 = nn.constant dense<3> : tensor<2xui2>
  // CHECK: nn.constant dense<[6.000000e+00, -5.000000e-01]> : tensor<2xf4E2M1FN>
  %e4 = nn.constant dense<[6.0, -0.5]> : tensor<2xf4E2M1FN>
  // CHECK: nn.constant dense<[2.400000e+02, -1.250000e-01]> : tensor<2xf8E4M3FNUZ>
  %eu = nn.constant dense<[240.0, -0.125]> : tensor<2xf8E4M3FNUZ>
  // CHECK: nn.constant dense<[5.734400e+04, -1.250000e-01]> : tensor<2xf8E5M2FNUZ>
  %fu = nn.constant dense<[57344.0, -0.125]> : tensor<2xf8E5M2FNUZ>
  // CHECK: nn.constant dense<[2.000000e+00, 1.250000e-01]> : tensor<2xf8E8M0FNU>
  %p2 = nn.constant dense<[2.0, 0.125]> : tensor<2xf8E8M0FNU>
  // CHECK: nn.cast {{.*}} {saturate = false} : {{.*}} -> tensor<2xf8E8M0FNU>
  %q2 = nn.cast %eu {saturate = false}
      : (tensor<2xf8E4M3FNUZ>) -> tensor<2xf8E8M0FNU>
  // CHECK: nn.scatter {{.*}} -> tensor<4x8xf8E4M3FN>
  %s = nn.read @state : tensor<4x8xf8E4M3FN>
  %v = nn.slice %u {starts = array<i64: 0, 0>, limits = array<i64: 2, 8>,
      steps = array<i64: 1, 1>} : (tensor<4x8xf8E4M3FN>) -> tensor<2x8xf8E4M3FN>
  %t = nn.scatter %s, %i, %v {batch_dims = 0, kind = "set"}
      : (tensor<4x8xf8E4M3FN>, tensor<2xi64>, tensor<2x8xf8E4M3FN>)
      -> tensor<4x8xf8E4M3FN>
  nn.update @state, %t : tensor<4x8xf8E4M3FN>
  // CHECK: nn.cast {{.*}} {saturate = false} : {{.*}} -> tensor<4x8xf8E5M2>
  %n = nn.cast %t {saturate = false}
      : (tensor<4x8xf8E4M3FN>) -> tensor<4x8xf8E5M2>
  // CHECK: nn.cast %{{[^{]*}} : (tensor<2x8xi4>) -> tensor<2x8xf32>
  %y = nn.cast %rows : (tensor<2x8xi4>) -> tensor<2x8xf32>
  return %y : tensor<2x8xf32>
}

// CHECK-LABEL: @over_the_field
func.func @over_the_field(%x: tensor<4x8x!nn.field>) -> tensor<4x4x!nn.field> {
  %w = nn.read @field : tensor<4x8x!nn.field>
  // CHECK: nn.constant dense<5.000000e-01> : tensor<8xf64> -> tensor<8x!nn.field>
  %c = nn.constant dense<0.5> : tensor<8xf64> -> tensor<8x!nn.field>
  // CHECK: nn.constant dense<[1, -2]> : tensor<2xi64> -> tensor<2x!nn.field>
  %d = nn.constant dense<[1, -2]> : tensor<2xi64> -> tensor<2x!nn.field>
  // CHECK: nn.add {{.*}} -> tensor<4x8x!nn.field>
  %s = nn.add %x, %c : (tensor<4x8x!nn.field>, tensor<8x!nn.field>)
      -> tensor<4x8x!nn.field>
  // CHECK: nn.softmax
  %p = nn.softmax %s {axis = 1, log = false}
      : (tensor<4x8x!nn.field>) -> tensor<4x8x!nn.field>
  // CHECK: nn.matmul
  %y = nn.matmul %p, %w {labels = "mk,nk->mn"}
      : (tensor<4x8x!nn.field>, tensor<4x8x!nn.field>) -> tensor<4x4x!nn.field>
  return %y : tensor<4x4x!nn.field>
}
