// RUN: divisi-opt %s --pass-pipeline='builtin.module(func.func(nn-spell-products))' | FileCheck %s

// Products as rules have them.
// CHECK-LABEL: func @product
// CHECK: %[[Q:.*]] = nn.transpose %arg0 {permutation = array<i64: 0, 2, 1, 3>}
// CHECK: %[[K:.*]] = nn.transpose %arg1 {permutation = array<i64: 0, 2, 3, 1>}
// CHECK: nn.matmul %[[Q]], %[[K]] {labels = "bhsd,bhdt->bhst"}
func.func @product(%q: tensor<2x4x3x5xf32>, %k: tensor<2x6x3x5xf32>) -> tensor<2x3x4x6xf32> {
  %0 = nn.matmul %q, %k {labels = "bshd,bthd->bhst"} : (tensor<2x4x3x5xf32>, tensor<2x6x3x5xf32>) -> tensor<2x3x4x6xf32>
  return %0 : tensor<2x3x4x6xf32>
}

// What is one number everywhere is one, also where others read it.
// CHECK-LABEL: func @numbers
// CHECK: %[[W:.*]] = nn.constant dense<5.000000e-01> : tensor<2x3xf32>
// CHECK: %[[Z:.*]] = nn.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[S:.*]] = nn.select %arg1, %[[Z]], %arg0
// CHECK: %[[H:.*]] = nn.constant dense<5.000000e-01> : tensor<f32>
// CHECK: %[[M:.*]] = nn.mul %[[S]], %[[H]]
// CHECK: return %[[M]], %[[W]]
func.func @numbers(%x: tensor<2x3xf32>, %m: tensor<2x3xi1>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %zero = nn.constant dense<0.0> : tensor<1xf32>
  %half = nn.constant dense<0.5> : tensor<2x3xf32>
  %0 = nn.select %m, %zero, %x : (tensor<2x3xi1>, tensor<1xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = nn.mul %0, %half : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return %1, %half : tensor<2x3xf32>, tensor<2x3xf32>
}

// The result gets its shape of it; different numbers are none.
// CHECK-LABEL: func @no_number
// CHECK: %[[R:.*]] = nn.constant dense<2.000000e+00> : tensor<2x3xf32>
// CHECK: %[[D:.*]] = nn.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00]> : tensor<3xf32>
// CHECK: %[[S:.*]] = nn.mul %arg0, %[[R]]
// CHECK: nn.add %[[S]], %[[D]]
func.func @no_number(%x: tensor<3xf32>) -> tensor<2x3xf32> {
  %rows = nn.constant dense<2.0> : tensor<2x3xf32>
  %different = nn.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %0 = nn.mul %x, %rows : (tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = nn.add %0, %different : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return %1 : tensor<2x3xf32>
}
