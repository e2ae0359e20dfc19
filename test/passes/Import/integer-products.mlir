// Products of what is dequantized become products of codes, with the product of
// their scales behind them.
// RUN: divisi-opt %s --nn-integer-products --split-input-file | FileCheck %s

// Zero points of x; one scale for each feature of w.
// CHECK-LABEL: func.func @conv
// CHECK-SAME: %[[X:.*]]: tensor<1x3x8x8xui8>
// CHECK-DAG: %[[W:.*]] = nn.read @w
// CHECK-DAG: %[[T:.*]] = nn.read @t
// CHECK-DAG: %[[S:.*]] = nn.constant dense<5.000000e-01>
// CHECK: %[[F:.*]] = nn.reshape %[[T]] : (tensor<8x1x1x1xf32>) -> tensor<1x8x1x1xf32>
// CHECK: %[[C:.*]] = nn.conv_integer %[[X]], %[[W]] {{.*}}w_zero = 0 : i64, x_zero = 200 : i64
// CHECK: %[[P:.*]] = nn.mul %[[S]], %[[F]]
// CHECK: %[[Y:.*]] = nn.dequantize %[[C]], %[[P]]
// CHECK: return %[[Y]]
nn.global @w parameter : tensor<8x3x3x3xi8>
nn.global @t parameter : tensor<8x1x1x1xf32>
func.func @conv(%x: tensor<1x3x8x8xui8> {nn.name = "x"})
    -> (tensor<1x8x6x6xf32> {nn.name = "y"}) {
  %s = nn.constant dense<0.5> : tensor<1x1x1x1xf32>
  %z = nn.constant dense<200> : tensor<1x1x1x1xui8>
  %n = nn.constant dense<0> : tensor<8x1x1x1xi8>
  %w = nn.read @w : tensor<8x3x3x3xi8>
  %t = nn.read @t : tensor<8x1x1x1xf32>
  %0 = nn.dequantize %x, %s, %z {axis = 0, block = 1} : (tensor<1x3x8x8xui8>, tensor<1x1x1x1xf32>, tensor<1x1x1x1xui8>) -> tensor<1x3x8x8xf32>
  %1 = nn.dequantize %w, %t, %n {axis = 0, block = 1} : (tensor<8x3x3x3xi8>, tensor<8x1x1x1xf32>, tensor<8x1x1x1xi8>) -> tensor<8x3x3x3xf32>
  %y = nn.conv %0, %1 {dilations = array<i64: 1, 1>, groups = 1, pads_hi = array<i64: 0, 0>, pads_lo = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x3x8x8xf32>, tensor<8x3x3x3xf32>) -> tensor<1x8x6x6xf32>
  return %y : tensor<1x8x6x6xf32>
}

// -----

// Scales of two dims of weights stand where the result has these.
// CHECK-LABEL: func.func @contraction
// CHECK-DAG: %[[T:.*]] = nn.read @t
// CHECK: %[[F:.*]] = nn.reshape %[[T]] : (tensor<1x2x4xf32>) -> tensor<1x1x2x4xf32>
// CHECK: %[[C:.*]] = nn.matmul_integer %{{.*}}, %{{.*}} {a_zero = 3 : i64, b_zero = 0 : i64, labels = "bsk,khd->bshd"}
// CHECK: nn.dequantize %[[C]]
nn.global @t parameter : tensor<1x2x4xf32>
func.func @contraction(%x: tensor<2x5x3xi8> {nn.name = "x"},
    %w: tensor<3x2x4xi8> {nn.name = "w"})
    -> (tensor<2x5x2x4xf32> {nn.name = "y"}) {
  %s = nn.constant dense<0.5> : tensor<1x1x1xf32>
  %z = nn.constant dense<3> : tensor<1x1x1xi8>
  %t = nn.read @t : tensor<1x2x4xf32>
  %0 = nn.dequantize %x, %s, %z {axis = 0, block = 1} : (tensor<2x5x3xi8>, tensor<1x1x1xf32>, tensor<1x1x1xi8>) -> tensor<2x5x3xf32>
  %1 = nn.dequantize %w, %t {axis = 1, block = 1} : (tensor<3x2x4xi8>, tensor<1x2x4xf32>) -> tensor<3x2x4xf32>
  %y = nn.matmul %0, %1 {labels = "bsk,khd->bshd"} : (tensor<2x5x3xf32>, tensor<3x2x4xf32>) -> tensor<2x5x2x4xf32>
  return %y : tensor<2x5x2x4xf32>
}

// -----

// Scales along what is summed are no scales of sums.
// CHECK-LABEL: func.func @summed
// CHECK: nn.matmul %
func.func @summed(%x: tensor<5x3xi8> {nn.name = "x"},
    %w: tensor<3x4xi8> {nn.name = "w"}, %t: tensor<3x1xf32> {nn.name = "t"})
    -> (tensor<5x4xf32> {nn.name = "y"}) {
  %s = nn.constant dense<0.5> : tensor<1x1xf32>
  %0 = nn.dequantize %x, %s {axis = 0, block = 1} : (tensor<5x3xi8>, tensor<1x1xf32>) -> tensor<5x3xf32>
  %1 = nn.dequantize %w, %t {axis = 0, block = 1} : (tensor<3x4xi8>, tensor<3x1xf32>) -> tensor<3x4xf32>
  %y = nn.matmul %0, %1 {labels = "mk,kn->mn"} : (tensor<5x3xf32>, tensor<3x4xf32>) -> tensor<5x4xf32>
  return %y : tensor<5x4xf32>
}

// -----

// What ONNX's MatMulInteger is imported as.
// CHECK-LABEL: func.func @cast
// CHECK: %[[C:.*]] = nn.matmul_integer %{{.*}}, %{{.*}} {a_zero = 7 : i64, b_zero = 0 : i64
// CHECK: return %[[C]]
func.func @cast(%x: tensor<5x3xui8> {nn.name = "x"},
    %w: tensor<3x4xi8> {nn.name = "w"}) -> (tensor<5x4xi32> {nn.name = "y"}) {
  %z = nn.constant dense<7> : tensor<i32>
  %0 = nn.cast %x : (tensor<5x3xui8>) -> tensor<5x3xi32>
  %1 = nn.sub %0, %z : (tensor<5x3xi32>, tensor<i32>) -> tensor<5x3xi32>
  %2 = nn.cast %w : (tensor<3x4xi8>) -> tensor<3x4xi32>
  %y = nn.matmul %1, %2 {labels = "mk,kn->mn"} : (tensor<5x3xi32>, tensor<3x4xi32>) -> tensor<5x4xi32>
  return %y : tensor<5x4xi32>
}

// -----

// What quantizes dynamically: zero point and scale are known when it runs.
// CHECK-LABEL: func.func @dynamic
// CHECK-SAME: %[[X:.*]]: tensor<5x3xui8>{{.*}}, %[[Z:.*]]: tensor<ui8>{{.*}}, %[[S:.*]]: tensor<f32>
// CHECK: %[[C:.*]] = nn.matmul_integer %[[X]], %{{.*}}, %[[Z]] {a_zero = 0 : i64, b_zero = 0 : i64
// CHECK: %[[T:.*]] = nn.reshape %[[S]] : (tensor<f32>) -> tensor<1x1xf32>
// CHECK: nn.dequantize %[[C]], %[[T]]
func.func @dynamic(%x: tensor<5x3xui8> {nn.name = "x"},
    %z: tensor<ui8> {nn.name = "z"}, %s: tensor<f32> {nn.name = "s"},
    %w: tensor<3x4xi8> {nn.name = "w"}) -> (tensor<5x4xf32> {nn.name = "y"}) {
  %0 = nn.cast %x : (tensor<5x3xui8>) -> tensor<5x3xi32>
  %1 = nn.cast %z : (tensor<ui8>) -> tensor<i32>
  %2 = nn.sub %0, %1 : (tensor<5x3xi32>, tensor<i32>) -> tensor<5x3xi32>
  %3 = nn.cast %w : (tensor<3x4xi8>) -> tensor<3x4xi32>
  %4 = nn.matmul %2, %3 {labels = "mk,kn->mn"} : (tensor<5x3xi32>, tensor<3x4xi32>) -> tensor<5x4xi32>
  %5 = nn.cast %4 : (tensor<5x4xi32>) -> tensor<5x4xf32>
  %y = nn.mul %5, %s : (tensor<5x4xf32>, tensor<f32>) -> tensor<5x4xf32>
  return %y : tensor<5x4xf32>
}

// -----

// Of two that are added, the one that others read, too, is added in codes; each
// user of a dequantize has its own.
// CHECK-LABEL: func.func @sum
// CHECK-SAME: %[[R:.*]]: tensor<4x8xui8>
// CHECK: %[[D:.*]] = nn.dequantize %[[R]]
// CHECK: %[[Q:.*]] = nn.quantize
// CHECK: %[[A:.*]] = nn.dequantize %[[Q]]
// CHECK: %[[Y:.*]] = nn.add_dequantized %[[A]], %[[R]]
// CHECK: nn.relu %[[D]]
func.func @sum(%r: tensor<4x8xui8> {nn.name = "r"},
    %x: tensor<4x8xf32> {nn.name = "x"})
    -> (tensor<4x8xf32> {nn.name = "y"}, tensor<4x8xf32> {nn.name = "z"}) {
  %s = nn.constant dense<0.5> : tensor<1x1xf32>
  %0 = nn.dequantize %r, %s {axis = 0, block = 1} : (tensor<4x8xui8>, tensor<1x1xf32>) -> tensor<4x8xf32>
  %q = nn.quantize %x, %s {axis = 0, block = 1} : (tensor<4x8xf32>, tensor<1x1xf32>) -> tensor<4x8xui8>
  %1 = nn.dequantize %q, %s {axis = 0, block = 1} : (tensor<4x8xui8>, tensor<1x1xf32>) -> tensor<4x8xf32>
  %y = nn.add %0, %1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %z = nn.relu %0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %y, %z : tensor<4x8xf32>, tensor<4x8xf32>
}
