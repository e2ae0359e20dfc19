// A scale per channel behind a convolution goes into its weights, with shifts
// on the way. Nothing does that is not known before a run.
// RUN: divisi-opt %s --nn-fold-scales | FileCheck %s

nn.global @w parameter : tensor<8x3x3x3xf32>
nn.global @b parameter : tensor<8xf32>
nn.global @s parameter : tensor<1x8x1x1xf32>
nn.global @rows parameter : tensor<1x1x8x1xf32>
nn.global @trained state : tensor<1x8x1x1xf32>

// CHECK-LABEL: func.func @folded
// CHECK-DAG: %[[W:.*]] = nn.read @w
// CHECK-DAG: %[[S:.*]] = nn.read @s
// CHECK: %[[F:.*]] = nn.reshape %[[S]] : (tensor<1x8x1x1xf32>) -> tensor<8x1x1x1xf32>
// CHECK: %[[V:.*]] = nn.mul %[[W]], %[[F]]
// CHECK: %[[C:.*]] = nn.conv %{{.*}}, %[[V]]
// CHECK: %[[T:.*]] = nn.mul %{{.*}}, %[[S]]
// CHECK: %[[U:.*]] = nn.add %[[T]], %[[S]]
// CHECK: %[[Y:.*]] = nn.add %[[C]], %[[U]]
// CHECK: return %[[Y]]
func.func @folded(%x: tensor<1x3x8x8xf32> {nn.name = "x"})
    -> (tensor<1x8x6x6xf32> {nn.name = "y"}) {
  %w = nn.read @w : tensor<8x3x3x3xf32>
  %b = nn.read @b : tensor<8xf32>
  %s = nn.read @s : tensor<1x8x1x1xf32>
  %c = nn.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64,
      pads_hi = array<i64: 0, 0>, pads_lo = array<i64: 0, 0>,
      strides = array<i64: 1, 1>} : (tensor<1x3x8x8xf32>, tensor<8x3x3x3xf32>)
      -> tensor<1x8x6x6xf32>
  %d = nn.reshape %b : (tensor<8xf32>) -> tensor<8x1x1xf32>
  %0 = nn.add %c, %d : (tensor<1x8x6x6xf32>, tensor<8x1x1xf32>) -> tensor<1x8x6x6xf32>
  %1 = nn.mul %s, %0 : (tensor<1x8x1x1xf32>, tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32>
  %2 = nn.add %1, %s : (tensor<1x8x6x6xf32>, tensor<1x8x1x1xf32>) -> tensor<1x8x6x6xf32>
  return %2 : tensor<1x8x6x6xf32>
}

// Along another dimension; of a state; of a result that others use.
// CHECK-LABEL: func.func @kept
// CHECK: %[[C:.*]] = nn.conv %{{.*}}, %{{.*}} {
// CHECK: %[[A:.*]] = nn.mul %[[C]], %{{.*}}
// CHECK: %[[B:.*]] = nn.mul %[[A]], %{{.*}}
// CHECK: nn.add %[[B]], %[[A]]
func.func @kept(%x: tensor<1x3x10x10xf32> {nn.name = "x"})
    -> (tensor<1x8x8x8xf32> {nn.name = "y"}) {
  %w = nn.read @w : tensor<8x3x3x3xf32>
  %rows = nn.read @rows : tensor<1x1x8x1xf32>
  %t = nn.read @trained : tensor<1x8x1x1xf32>
  %c = nn.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64,
      pads_hi = array<i64: 0, 0>, pads_lo = array<i64: 0, 0>,
      strides = array<i64: 1, 1>} : (tensor<1x3x10x10xf32>, tensor<8x3x3x3xf32>)
      -> tensor<1x8x8x8xf32>
  %0 = nn.mul %c, %rows : (tensor<1x8x8x8xf32>, tensor<1x1x8x1xf32>) -> tensor<1x8x8x8xf32>
  %1 = nn.mul %0, %t : (tensor<1x8x8x8xf32>, tensor<1x8x1x1xf32>) -> tensor<1x8x8x8xf32>
  %2 = nn.add %1, %0 : (tensor<1x8x8x8xf32>, tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32>
  return %2 : tensor<1x8x8x8xf32>
}
