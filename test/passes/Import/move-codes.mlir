// Between what dequantizes and what would only undo it, codes are moved.
// RUN: divisi-opt %s --nn-move-codes --split-input-file | FileCheck %s

// Codes move, and the largest of them is the largest number; what another
// scale quantizes stays, and so does what another user reads.
// CHECK-LABEL: func.func @moved
// CHECK-SAME: %[[X:.*]]: tensor<1x4x8xui8>
// CHECK: %[[T:.*]] = nn.transpose %[[X]]
// CHECK: %[[P:.*]] = nn.pool_max %[[T]] {{.*}} tensor<1x8x4xui8>
// CHECK: %[[Q:.*]] = nn.quantize
// CHECK: return %[[P]], %[[Q]]
func.func @moved(%x: tensor<1x4x8xui8> {nn.name = "x"})
    -> (tensor<1x8x4xui8> {nn.name = "p"}, tensor<1x4x8xui8> {nn.name = "q"}) {
  %s = nn.constant dense<0.5> : tensor<1x1x1xf32>
  %t = nn.constant dense<0.25> : tensor<1x1x1xf32>
  %z = nn.constant dense<7> : tensor<1x1x1xui8>
  %0 = nn.dequantize %x, %s, %z {axis = 0, block = 1} : (tensor<1x4x8xui8>, tensor<1x1x1xf32>, tensor<1x1x1xui8>) -> tensor<1x4x8xf32>
  %1 = nn.transpose %0 {permutation = array<i64: 0, 2, 1>} : (tensor<1x4x8xf32>) -> tensor<1x8x4xf32>
  %2 = nn.pool_max %1 {kernel = array<i64: 1, 3, 1>, strides = array<i64: 1, 1, 1>, dilations = array<i64: 1, 1, 1>, pads_lo = array<i64: 0, 1, 0>, pads_hi = array<i64: 0, 1, 0>} : (tensor<1x8x4xf32>) -> tensor<1x8x4xf32>
  %p = nn.quantize %2, %s, %z {axis = 0, block = 1} : (tensor<1x8x4xf32>, tensor<1x1x1xf32>, tensor<1x1x1xui8>) -> tensor<1x8x4xui8>
  %q = nn.quantize %0, %t, %z {axis = 0, block = 1} : (tensor<1x4x8xf32>, tensor<1x1x1xf32>, tensor<1x1x1xui8>) -> tensor<1x4x8xui8>
  return %p, %q : tensor<1x8x4xui8>, tensor<1x4x8xui8>
}

// -----

// A product absorbs the transpose before what dequantizes for it.
// CHECK-LABEL: func.func @absorbed
// CHECK: nn.quantize %{{.*}} : (tensor<4x3xf32>
// CHECK: nn.matmul %{{.*}}, %{{.*}} {labels = "mk,nk->mn"
func.func @absorbed(%x: tensor<5x3xi8> {nn.name = "x"},
    %w: tensor<4x3xf32> {nn.name = "w"}) -> (tensor<5x4xf32> {nn.name = "y"}) {
  %s = nn.constant dense<0.5> : tensor<1x1xf32>
  %t = nn.transpose %w {permutation = array<i64: 1, 0>} : (tensor<4x3xf32>) -> tensor<3x4xf32>
  %q = nn.quantize %t, %s {axis = 0, block = 1} : (tensor<3x4xf32>, tensor<1x1xf32>) -> tensor<3x4xi8>
  %0 = nn.dequantize %x, %s {axis = 0, block = 1} : (tensor<5x3xi8>, tensor<1x1xf32>) -> tensor<5x3xf32>
  %1 = nn.dequantize %q, %s {axis = 0, block = 1} : (tensor<3x4xi8>, tensor<1x1xf32>) -> tensor<3x4xf32>
  %y = nn.matmul %0, %1 {labels = "mk,kn->mn"} : (tensor<5x3xf32>, tensor<3x4xf32>) -> tensor<5x4xf32>
  return %y : tensor<5x4xf32>
}

// -----

// Scales and zero points that were reshaped are what they were.
// CHECK-LABEL: func.func @reshaped
// CHECK-SAME: %[[X:.*]]: tensor<4x8xui8>
// CHECK: %[[R:.*]] = nn.reshape %[[X]] : (tensor<4x8xui8>) -> tensor<4x2x4xui8>
// CHECK: return %[[R]]
func.func @reshaped(%x: tensor<4x8xui8> {nn.name = "x"})
    -> (tensor<4x2x4xui8> {nn.name = "y"}) {
  %s = nn.constant dense<0.5> : tensor<1x1xf32>
  %z = nn.constant dense<7> : tensor<1x1xui8>
  %t = nn.reshape %s : (tensor<1x1xf32>) -> tensor<1x1x1xf32>
  %u = nn.reshape %z : (tensor<1x1xui8>) -> tensor<1x1x1xui8>
  %0 = nn.dequantize %x, %s, %z {axis = 0, block = 1} : (tensor<4x8xui8>, tensor<1x1xf32>, tensor<1x1xui8>) -> tensor<4x8xf32>
  %1 = nn.reshape %0 : (tensor<4x8xf32>) -> tensor<4x2x4xf32>
  %y = nn.quantize %1, %t, %u {axis = 0, block = 1} : (tensor<4x2x4xf32>, tensor<1x1x1xf32>, tensor<1x1x1xui8>) -> tensor<4x2x4xui8>
  return %y : tensor<4x2x4xui8>
}

// -----

// Dims of extent 1 on the way are no hindrance.
// CHECK-LABEL: func.func @ones
// CHECK: %[[M:.*]] = nn.mul
// CHECK: %[[Q:.*]] = nn.quantize %[[M]], {{.*}} -> tensor<1x5x2x4xi8>
// CHECK: nn.matmul %{{.*}}, %{{.*}} {labels = "abk,anbk->abn"}
func.func @ones(%x: tensor<1x5x2x4xf32> {nn.name = "x"},
    %a: tensor<1x2x4xf32> {nn.name = "a"})
    -> (tensor<1x2x5xf32> {nn.name = "y"}) {
  %s = nn.constant dense<0.5> : tensor<1x1x1x1xf32>
  %c = nn.constant dense<0.25> : tensor<f32>
  %0 = nn.transpose %x {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x5x2x4xf32>) -> tensor<1x2x5x4xf32>
  %1 = nn.reshape %0 : (tensor<1x2x5x4xf32>) -> tensor<2x5x4xf32>
  %2 = nn.transpose %1 {permutation = array<i64: 0, 2, 1>} : (tensor<2x5x4xf32>) -> tensor<2x4x5xf32>
  %3 = nn.reshape %2 : (tensor<2x4x5xf32>) -> tensor<1x2x4x5xf32>
  %4 = nn.mul %3, %c : (tensor<1x2x4x5xf32>, tensor<f32>) -> tensor<1x2x4x5xf32>
  %5 = nn.quantize %4, %s {axis = 0, block = 1} : (tensor<1x2x4x5xf32>, tensor<1x1x1x1xf32>) -> tensor<1x2x4x5xi8>
  %6 = nn.dequantize %5, %s {axis = 0, block = 1} : (tensor<1x2x4x5xi8>, tensor<1x1x1x1xf32>) -> tensor<1x2x4x5xf32>
  %y = nn.matmul %a, %6 {labels = "abk,abkn->abn"} : (tensor<1x2x4xf32>, tensor<1x2x4x5xf32>) -> tensor<1x2x5xf32>
  return %y : tensor<1x2x5xf32>
}
