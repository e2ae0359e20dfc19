// RUN: divisi-opt %s --apply-rules=always --canonicalize --cse | FileCheck %s

// x/2 · (1 + erf(x/√2)).
// CHECK-LABEL: func @erf_gelu
// CHECK-NEXT: %[[Y:.*]] = nn.gelu %arg0 {approximate = "none"}
// CHECK-NEXT: return %[[Y]]
func.func @erf_gelu(%x: tensor<4xf32>) -> tensor<4xf32> {
  %root = nn.constant dense<1.41421354> : tensor<f32>
  %half = nn.constant dense<0.5> : tensor<f32>
  %one = nn.constant dense<1.0> : tensor<f32>
  %0 = nn.div %x, %root : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = nn.erf %0 : (tensor<4xf32>) -> tensor<4xf32>
  %2 = nn.add %1, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %3 = nn.mul %x, %2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = nn.mul %3, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %4 : tensor<4xf32>
}

// Where an exporter has reshaped to a matrix and back, x comes in two ranks.
// CHECK-LABEL: func @tanh_gelu_of_two_ranks
// CHECK-NEXT: %[[X:.*]] = nn.reshape %arg0
// CHECK-NEXT: %[[Y:.*]] = nn.gelu %[[X]] {approximate = "tanh"}
// CHECK-NEXT: return %[[Y]]
func.func @tanh_gelu_of_two_ranks(%m: tensor<2x4xf32>) -> tensor<1x2x4xf32> {
  %half = nn.constant dense<0.5> : tensor<f32>
  %one = nn.constant dense<1.0> : tensor<f32>
  %three = nn.constant dense<3.0> : tensor<f32>
  %cubic = nn.constant dense<4.471500e-02> : tensor<f32>
  %root = nn.constant dense<0.797884583> : tensor<f32>
  %x = nn.reshape %m : (tensor<2x4xf32>) -> tensor<1x2x4xf32>
  %0 = nn.mul %x, %half : (tensor<1x2x4xf32>, tensor<f32>) -> tensor<1x2x4xf32>
  %1 = nn.pow %x, %three : (tensor<1x2x4xf32>, tensor<f32>) -> tensor<1x2x4xf32>
  %2 = nn.mul %1, %cubic : (tensor<1x2x4xf32>, tensor<f32>) -> tensor<1x2x4xf32>
  %3 = nn.add %m, %2 : (tensor<2x4xf32>, tensor<1x2x4xf32>) -> tensor<1x2x4xf32>
  %4 = nn.mul %3, %root : (tensor<1x2x4xf32>, tensor<f32>) -> tensor<1x2x4xf32>
  %5 = nn.tanh %4 : (tensor<1x2x4xf32>) -> tensor<1x2x4xf32>
  %6 = nn.add %5, %one : (tensor<1x2x4xf32>, tensor<f32>) -> tensor<1x2x4xf32>
  %7 = nn.mul %0, %6 : (tensor<1x2x4xf32>, tensor<1x2x4xf32>) -> tensor<1x2x4xf32>
  return %7 : tensor<1x2x4xf32>
}

// The same values in other dims are another tensor.
// CHECK-LABEL: func @not_gelu_of_two_shapes
// CHECK-NOT: nn.gelu
// CHECK: nn.erf
func.func @not_gelu_of_two_shapes(%m: tensor<4x2x4xf32>) -> tensor<2x4x4xf32> {
  %root = nn.constant dense<1.41421354> : tensor<f32>
  %half = nn.constant dense<0.5> : tensor<f32>
  %one = nn.constant dense<1.0> : tensor<f32>
  %x = nn.reshape %m : (tensor<4x2x4xf32>) -> tensor<2x4x4xf32>
  %y = nn.reshape %m : (tensor<4x2x4xf32>) -> tensor<2x1x4x4xf32>
  %z = nn.slice %y {starts = array<i64: 0, 0, 0, 0>, limits = array<i64: 1, 1, 4, 4>, steps = array<i64: 1, 1, 1, 1>} : (tensor<2x1x4x4xf32>) -> tensor<1x1x4x4xf32>
  %w = nn.reshape %z : (tensor<1x1x4x4xf32>) -> tensor<4x4xf32>
  %0 = nn.div %w, %root : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
  %1 = nn.erf %0 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = nn.add %1, %one : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
  %3 = nn.mul %x, %2 : (tensor<2x4x4xf32>, tensor<4x4xf32>) -> tensor<2x4x4xf32>
  %4 = nn.mul %3, %half : (tensor<2x4x4xf32>, tensor<f32>) -> tensor<2x4x4xf32>
  return %4 : tensor<2x4x4xf32>
}

// Another factor under erf is another function.
// CHECK-LABEL: func @not_gelu
// CHECK-NOT: nn.gelu
// CHECK: nn.erf
func.func @not_gelu(%x: tensor<4xf32>) -> tensor<4xf32> {
  %root = nn.constant dense<1.5> : tensor<f32>
  %half = nn.constant dense<0.5> : tensor<f32>
  %one = nn.constant dense<1.0> : tensor<f32>
  %0 = nn.div %x, %root : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = nn.erf %0 : (tensor<4xf32>) -> tensor<4xf32>
  %2 = nn.add %1, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %3 = nn.mul %x, %2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = nn.mul %3, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %4 : tensor<4xf32>
}

// x / √(mean(x²) + ε).
// CHECK-LABEL: func @rms
// CHECK-NEXT: nn.normalize %arg0 {axes = array<i64: 1>, center = false
func.func @rms(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %two = nn.constant dense<2.0> : tensor<f32>
  %count = nn.constant dense<4.0> : tensor<f32>
  %eps = nn.constant dense<1.0e-6> : tensor<f32>
  %0 = nn.pow %x, %two : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %1 = nn.reduce %0 {axes = array<i64: 1>, kind = "sum"} : (tensor<2x4xf32>) -> tensor<2xf32>
  %2 = nn.reshape %1 : (tensor<2xf32>) -> tensor<2x1xf32>
  %3 = nn.div %2, %count : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %4 = nn.add %3, %eps : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %5 = nn.sqrt %4 : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %6 = nn.div %x, %5 : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  return %6 : tensor<2x4xf32>
}

// A divisor that is not the number of elements makes no mean.
// CHECK-LABEL: func @not_rms
// CHECK-NOT: nn.normalize
// CHECK: nn.sqrt
func.func @not_rms(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %count = nn.constant dense<3.0> : tensor<f32>
  %eps = nn.constant dense<1.0e-6> : tensor<f32>
  %0 = nn.mul %x, %x : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = nn.reduce %0 {axes = array<i64: 1>, kind = "sum"} : (tensor<2x4xf32>) -> tensor<2xf32>
  %2 = nn.reshape %1 : (tensor<2xf32>) -> tensor<2x1xf32>
  %3 = nn.div %2, %count : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %4 = nn.add %3, %eps : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %5 = nn.sqrt %4 : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %6 = nn.div %x, %5 : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  return %6 : tensor<2x4xf32>
}

// ONNX defines a leaky ReLU by a comparison; rounding keeps the order.
// CHECK-LABEL: func @leaky_relu
// CHECK: %[[PART:.*]] = nn.mul
// CHECK-NEXT: %[[ONE:.*]] = nn.max %arg0, %[[PART]]
// CHECK-NEXT: return %[[ONE]], %[[ONE]]
func.func @leaky_relu(%x: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %slope = nn.constant dense<0.01> : tensor<f32>
  %zero = nn.constant dense<0.0> : tensor<f32>
  %0 = nn.compare %x, %zero {predicate = "lt"} : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xi1>
  %1 = nn.mul %slope, %x : (tensor<f32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = nn.select %0, %1, %x : (tensor<2x4xi1>, tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %3 = nn.compare %x, %zero {predicate = "ge"} : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xi1>
  %4 = nn.select %3, %x, %1 : (tensor<2x4xi1>, tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %2, %4 : tensor<2x4xf32>, tensor<2x4xf32>
}

// The larger one is something else where the slope is above 1, the comparison
// with another number, or the choice the other way round.
// CHECK-LABEL: func @not_leaky_relu
// CHECK-NOT: nn.max
// CHECK: return
func.func @not_leaky_relu(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %steep = nn.constant dense<2.0> : tensor<f32>
  %slope = nn.constant dense<0.01> : tensor<f32>
  %one = nn.constant dense<1.0> : tensor<f32>
  %zero = nn.constant dense<0.0> : tensor<f32>
  %0 = nn.compare %x, %zero {predicate = "lt"} : (tensor<4xf32>, tensor<f32>) -> tensor<4xi1>
  %1 = nn.mul %x, %steep : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %2 = nn.select %0, %1, %x : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = nn.compare %x, %one {predicate = "lt"} : (tensor<4xf32>, tensor<f32>) -> tensor<4xi1>
  %4 = nn.mul %x, %slope : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %5 = nn.select %3, %4, %x : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %6 = nn.select %0, %x, %4 : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2, %5, %6 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

nn.global @angles parameter : tensor<4xf32>

// What is the same in every run costs nothing, and of two ways to write it the
// one of fewer operators stands.
// CHECK-LABEL: func @known_times_one
// CHECK: %[[A:.*]] = nn.read @angles
// CHECK: %[[C:.*]] = nn.cos %[[A]]
// CHECK: nn.mul %{{.*}}, %[[C]]
func.func @known_times_one(%x: tensor<4xf32> {nn.name = "x"}) -> (tensor<4xf32> {nn.name = "y"}) {
  %one = nn.constant dense<1.0> : tensor<f32>
  %a = nn.read @angles : tensor<4xf32>
  %0 = nn.cos %a : (tensor<4xf32>) -> tensor<4xf32>
  %1 = nn.mul %0, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %2 = nn.mul %x, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}
