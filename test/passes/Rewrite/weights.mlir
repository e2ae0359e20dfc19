// What is done to results is done to weights: once, not in every run.
// RUN: divisi-opt %s "--apply-rules=names=imported-batch-norm-and-bias-into-conv,imported-batch-norm-into-conv,merge-adapter,merge-scaled-adapter,merge-scaled-adapter-behind-bias,sum-rows-before-multiplying" | FileCheck %s

nn.global @kernel parameter : tensor<6x4x3x3xf32>
nn.global @bias parameter : tensor<1x6x1x1xf32>
nn.global @factor parameter : tensor<1x6x1x1xf32>
nn.global @shift parameter : tensor<1x6x1x1xf32>
nn.global @w parameter : tensor<64x64xf32>
nn.global @down parameter : tensor<64x4xf32>
nn.global @up parameter : tensor<4x64xf32>
nn.global @scale parameter : tensor<f32>
nn.global @by_head parameter : tensor<4x16x64xf32>
nn.global @down_by_head parameter : tensor<4x16x8xf32>
nn.global @up_of_heads parameter : tensor<8x64xf32>
nn.global @offset parameter : tensor<64xf32>

// A batch norm as it is imported, behind a convolution with a bias.
// CHECK-LABEL: func.func @normalized
// CHECK-DAG: %[[K:.*]] = nn.read @kernel
// CHECK: %[[S:.*]] = nn.mul %[[K]], %{{.*}} : (tensor<6x4x3x3xf32>, tensor<6x1x1x1xf32>)
// CHECK: %[[C:.*]] = nn.conv %{{.*}}, %[[S]]
// CHECK: %[[Y:.*]] = nn.add %[[C]], %{{.*}} : (tensor<2x6x6x6xf32>, tensor<1x6x1x1xf32>)
// CHECK-NEXT: return %[[Y]]
func.func @normalized(%x: tensor<2x4x8x8xf32> {nn.name = "x"})
    -> (tensor<2x6x6x6xf32> {nn.name = "y"}) {
  %k = nn.read @kernel : tensor<6x4x3x3xf32>
  %b = nn.read @bias : tensor<1x6x1x1xf32>
  %f = nn.read @factor : tensor<1x6x1x1xf32>
  %o = nn.read @shift : tensor<1x6x1x1xf32>
  %0 = nn.conv %x, %k {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 0, 0>, pads_hi = array<i64: 0, 0>, groups = 1 : i64} : (tensor<2x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<2x6x6x6xf32>
  %1 = nn.add %0, %b : (tensor<2x6x6x6xf32>, tensor<1x6x1x1xf32>) -> tensor<2x6x6x6xf32>
  %2 = nn.mul %1, %f : (tensor<2x6x6x6xf32>, tensor<1x6x1x1xf32>) -> tensor<2x6x6x6xf32>
  %3 = nn.add %2, %o : (tensor<2x6x6x6xf32>, tensor<1x6x1x1xf32>) -> tensor<2x6x6x6xf32>
  return %3 : tensor<2x6x6x6xf32>
}

// The same without bias.
// CHECK-LABEL: func.func @scaled
// CHECK: nn.mul %{{.*}} : (tensor<6x4x3x3xf32>, tensor<6x1x1x1xf32>)
// CHECK: %[[C:.*]] = nn.conv
// CHECK-NEXT: return %[[C]]
func.func @scaled(%x: tensor<2x4x8x8xf32> {nn.name = "x"})
    -> (tensor<2x6x6x6xf32> {nn.name = "y"}) {
  %k = nn.read @kernel : tensor<6x4x3x3xf32>
  %f = nn.read @factor : tensor<1x6x1x1xf32>
  %0 = nn.conv %x, %k {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 0, 0>, pads_hi = array<i64: 0, 0>, groups = 1 : i64} : (tensor<2x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<2x6x6x6xf32>
  %1 = nn.mul %0, %f : (tensor<2x6x6x6xf32>, tensor<1x6x1x1xf32>) -> tensor<2x6x6x6xf32>
  return %1 : tensor<2x6x6x6xf32>
}

// The same behind a bias, where a product sums over heads.
// CHECK-LABEL: func.func @biased
// CHECK: nn.matmul %{{.*}} {labels = {{.*}}} : (tensor<4x16x8xf32>, tensor<8x64xf32>)
// CHECK: nn.mul %{{.*}} : (tensor<4x16x64xf32>, tensor<f32>)
// CHECK: %[[Y:.*]] = nn.matmul %{{.*}} : (tensor<16x4x16xf32>, tensor<4x16x64xf32>)
// CHECK-NOT: nn.matmul
// CHECK: %[[Z:.*]] = nn.add %[[Y]], %{{.*}} : (tensor<16x64xf32>, tensor<64xf32>)
// CHECK-NEXT: return %[[Z]]
func.func @biased(%x: tensor<16x4x16xf32> {nn.name = "x"})
    -> (tensor<16x64xf32> {nn.name = "y"}) {
  %w = nn.read @by_head : tensor<4x16x64xf32>
  %v = nn.read @down_by_head : tensor<4x16x8xf32>
  %u = nn.read @up_of_heads : tensor<8x64xf32>
  %b = nn.read @offset : tensor<64xf32>
  %c = nn.read @scale : tensor<f32>
  %0 = nn.matmul %x, %w {labels = "mhk,hkn->mn"} : (tensor<16x4x16xf32>, tensor<4x16x64xf32>) -> tensor<16x64xf32>
  %1 = nn.add %0, %b : (tensor<16x64xf32>, tensor<64xf32>) -> tensor<16x64xf32>
  %2 = nn.matmul %x, %v {labels = "mhk,hka->ma"} : (tensor<16x4x16xf32>, tensor<4x16x8xf32>) -> tensor<16x8xf32>
  %3 = nn.matmul %2, %u {labels = "ma,an->mn"} : (tensor<16x8xf32>, tensor<8x64xf32>) -> tensor<16x64xf32>
  %4 = nn.mul %3, %c : (tensor<16x64xf32>, tensor<f32>) -> tensor<16x64xf32>
  %5 = nn.add %1, %4 : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
  return %5 : tensor<16x64xf32>
}

// An adapter of low rank: x w + ((x v) u) c is one product in every run.
// CHECK-LABEL: func.func @adapted
// CHECK: nn.matmul %{{.*}} : (tensor<64x4xf32>, tensor<4x64xf32>)
// CHECK: %[[Z:.*]] = nn.matmul %{{.*}} : (tensor<16x64xf32>, tensor<64x64xf32>)
// CHECK-NOT: nn.matmul
// CHECK: nn.matmul %{{.*}} : (tensor<64x4xf32>, tensor<4x64xf32>)
// CHECK: nn.mul %{{.*}} : (tensor<64x64xf32>, tensor<f32>)
// CHECK: %[[Y:.*]] = nn.matmul %[[Z]], %{{.*}} : (tensor<16x64xf32>, tensor<64x64xf32>)
// CHECK-NEXT: return %[[Y]]
func.func @adapted(%x: tensor<16x64xf32> {nn.name = "x"})
    -> (tensor<16x64xf32> {nn.name = "y"}) {
  %w = nn.read @w : tensor<64x64xf32>
  %v = nn.read @down : tensor<64x4xf32>
  %u = nn.read @up : tensor<4x64xf32>
  %c = nn.read @scale : tensor<f32>
  %0 = nn.matmul %x, %w {labels = "mk,kn->mn"} : (tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<16x64xf32>
  %1 = nn.matmul %x, %v {labels = "mk,ka->ma"} : (tensor<16x64xf32>, tensor<64x4xf32>) -> tensor<16x4xf32>
  %2 = nn.matmul %1, %u {labels = "ma,an->mn"} : (tensor<16x4xf32>, tensor<4x64xf32>) -> tensor<16x64xf32>
  %3 = nn.add %0, %2 : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
  %4 = nn.matmul %3, %w {labels = "mk,kn->mn"} : (tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<16x64xf32>
  %5 = nn.matmul %3, %v {labels = "mk,ka->ma"} : (tensor<16x64xf32>, tensor<64x4xf32>) -> tensor<16x4xf32>
  %6 = nn.matmul %5, %u {labels = "ma,an->mn"} : (tensor<16x4xf32>, tensor<4x64xf32>) -> tensor<16x64xf32>
  %7 = nn.mul %6, %c : (tensor<16x64xf32>, tensor<f32>) -> tensor<16x64xf32>
  %8 = nn.add %4, %7 : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
  return %8 : tensor<16x64xf32>
}

// The sum is over a dim between the batch and the product.
// CHECK-LABEL: func.func @summed
// CHECK: %[[S:.*]] = nn.reduce %{{.*}} {axes = array<i64: 1>, kind = "sum"} : (tensor<2x8x64xf32>) -> tensor<2x64xf32>
// CHECK: nn.matmul %[[S]]
func.func @summed(%x: tensor<2x8x64xf32> {nn.name = "x"})
    -> (tensor<2x64xf32> {nn.name = "y"}) {
  %w = nn.read @w : tensor<64x64xf32>
  %0 = nn.matmul %x, %w {labels = "bsk,kn->bsn"} : (tensor<2x8x64xf32>, tensor<64x64xf32>) -> tensor<2x8x64xf32>
  %1 = nn.reduce %0 {axes = array<i64: 1>, kind = "sum"} : (tensor<2x8x64xf32>) -> tensor<2x64xf32>
  return %1 : tensor<2x64xf32>
}
