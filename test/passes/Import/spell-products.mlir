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

// What is made of [t|t] for a product is made of t, and repeated then.
// CHECK-LABEL: func @rounded_tables
// CHECK-DAG: %[[C:.*]] = nn.cos %arg1 : (tensor<5x4xf32>)
// CHECK-DAG: %[[M:.*]] = nn.mul %[[C]], %{{.*}} : (tensor<5x4xf32>, tensor<f32>)
// CHECK-DAG: %[[N:.*]] = nn.cast %[[M]] : (tensor<5x4xf32>) -> tensor<5x4xbf16>
// CHECK-DAG: %[[R:.*]] = nn.reshape %[[N]] : (tensor<5x4xbf16>) -> tensor<1x5x4xbf16>
// CHECK: %[[T:.*]] = nn.concat %[[R]], %[[R]] {axis = 2 : i64}
// CHECK: nn.mul %arg0, %[[T]]
func.func @rounded_tables(%x: tensor<3x5x8xbf16>, %t: tensor<5x4xf32>) -> tensor<3x5x8xbf16> {
  %scale = nn.constant dense<1.25> : tensor<f32>
  %0 = nn.concat %t, %t {axis = 1} : (tensor<5x4xf32>, tensor<5x4xf32>) -> tensor<5x8xf32>
  %1 = nn.cos %0 : (tensor<5x8xf32>) -> tensor<5x8xf32>
  %2 = nn.mul %1, %scale : (tensor<5x8xf32>, tensor<f32>) -> tensor<5x8xf32>
  %3 = nn.cast %2 : (tensor<5x8xf32>) -> tensor<5x8xbf16>
  %4 = nn.reshape %3 : (tensor<5x8xbf16>) -> tensor<1x5x8xbf16>
  %5 = nn.mul %x, %4 : (tensor<3x5x8xbf16>, tensor<1x5x8xbf16>) -> tensor<3x5x8xbf16>
  return %5 : tensor<3x5x8xbf16>
}

// Not where another dim is repeated, or something of another number is added.
// CHECK-LABEL: func @no_tables
// CHECK: nn.cast %{{.*}} : (tensor<10x4xf32>) -> tensor<10x4xbf16>
// CHECK: nn.add %{{.*}}, %arg2 : (tensor<5x8xf32>, tensor<8xf32>)
// CHECK: nn.cast %{{.*}} : (tensor<5x8xf32>) -> tensor<5x8xbf16>
func.func @no_tables(%x: tensor<10x4xbf16>, %t: tensor<5x4xf32>, %b: tensor<8xf32>, %z: tensor<5x8xbf16>) -> (tensor<10x4xbf16>, tensor<5x8xbf16>) {
  %0 = nn.concat %t, %t {axis = 0} : (tensor<5x4xf32>, tensor<5x4xf32>) -> tensor<10x4xf32>
  %1 = nn.cast %0 : (tensor<10x4xf32>) -> tensor<10x4xbf16>
  %2 = nn.mul %x, %1 : (tensor<10x4xbf16>, tensor<10x4xbf16>) -> tensor<10x4xbf16>
  %3 = nn.concat %t, %t {axis = 1} : (tensor<5x4xf32>, tensor<5x4xf32>) -> tensor<5x8xf32>
  %4 = nn.add %3, %b : (tensor<5x8xf32>, tensor<8xf32>) -> tensor<5x8xf32>
  %5 = nn.cast %4 : (tensor<5x8xf32>) -> tensor<5x8xbf16>
  %6 = nn.mul %z, %5 : (tensor<5x8xbf16>, tensor<5x8xbf16>) -> tensor<5x8xbf16>
  return %2, %6 : tensor<10x4xbf16>, tensor<5x8xbf16>
}

// A cast of what is turned is one of the whole that is there.
// CHECK-LABEL: func @wide_halves
// CHECK: %[[W:.*]] = nn.cast %arg0 : (tensor<3x8xbf16>) -> tensor<3x8xf32>
// CHECK-DAG: %[[A:.*]] = nn.slice %[[W]] {limits = array<i64: 3, 4>
// CHECK-DAG: %[[B:.*]] = nn.slice %[[W]] {limits = array<i64: 3, 8>
// CHECK-DAG: %[[N:.*]] = nn.neg %[[B]]
// CHECK: %[[T:.*]] = nn.concat %[[N]], %[[A]] {axis = 1 : i64} : (tensor<3x4xf32>, tensor<3x4xf32>)
// CHECK: nn.mul %[[T]], %arg2
func.func @wide_halves(%x: tensor<3x8xbf16>, %c: tensor<3x8xf32>, %s: tensor<3x8xf32>) -> tensor<3x8xf32> {
  %0 = nn.cast %x : (tensor<3x8xbf16>) -> tensor<3x8xf32>
  %1 = nn.mul %0, %c : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  %2 = nn.slice %x {limits = array<i64: 3, 4>, starts = array<i64: 0, 0>, steps = array<i64: 1, 1>} : (tensor<3x8xbf16>) -> tensor<3x4xbf16>
  %3 = nn.slice %x {limits = array<i64: 3, 8>, starts = array<i64: 0, 4>, steps = array<i64: 1, 1>} : (tensor<3x8xbf16>) -> tensor<3x4xbf16>
  %4 = nn.neg %3 : (tensor<3x4xbf16>) -> tensor<3x4xbf16>
  %5 = nn.concat %4, %2 {axis = 1} : (tensor<3x4xbf16>, tensor<3x4xbf16>) -> tensor<3x8xbf16>
  %6 = nn.cast %5 : (tensor<3x8xbf16>) -> tensor<3x8xf32>
  %7 = nn.mul %6, %s : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  %8 = nn.add %1, %7 : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  return %8 : tensor<3x8xf32>
}
