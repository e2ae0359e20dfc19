// RUN: divisi-opt %s --split-input-file --nn-unflatten --canonicalize --cse | FileCheck %s

// Tokens [B·S] fall apart into the dims they came from.
// CHECK-LABEL: func @tokens
// CHECK: %[[W:.*]] = nn.read @w
// CHECK: nn.matmul %arg0, %[[W]] {labels = "mak,kn->man"}
// CHECK-SAME: -> tensor<8x16x32xf32>
// CHECK-NOT: nn.reshape
nn.global @w parameter : tensor<64x32xf32>
func.func @tokens(%x: tensor<8x16x64xf32>) -> tensor<8x16x32xf32> {
  %0 = nn.reshape %x : (tensor<8x16x64xf32>) -> tensor<128x64xf32>
  %w = nn.read @w : tensor<64x32xf32>
  %1 = nn.matmul %0, %w {labels = "mk,kn->mn"} : (tensor<128x64xf32>, tensor<64x32xf32>) -> tensor<128x32xf32>
  %2 = nn.reshape %1 : (tensor<128x32xf32>) -> tensor<8x16x32xf32>
  return %2 : tensor<8x16x32xf32>
}

// -----

// A fused projection becomes [3, heads, width], in the weight and bias as well.
// CHECK-DAG: nn.global @w parameter : tensor<6x3x2x4xf32>
// CHECK-DAG: nn.global @b parameter : tensor<3x2x4xf32>
// CHECK-LABEL: func @fused
// CHECK: nn.matmul {{.*}} -> tensor<5x3x2x4xf32>
// CHECK: nn.slice {{.*}} starts = array<i64: 0, 1, 0, 0>
// CHECK-SAME: -> tensor<5x1x2x4xf32>
// CHECK: nn.reshape {{.*}} : (tensor<5x1x2x4xf32>) -> tensor<5x2x4xf32>
nn.global @w parameter : tensor<6x24xf32>
nn.global @b parameter : tensor<24xf32>
func.func @fused(%x: tensor<5x6xf32>) -> tensor<5x2x4xf32> {
  %w = nn.read @w : tensor<6x24xf32>
  %b = nn.read @b : tensor<24xf32>
  %0 = nn.matmul %x, %w {labels = "mk,kn->mn"} : (tensor<5x6xf32>, tensor<6x24xf32>) -> tensor<5x24xf32>
  %1 = nn.add %0, %b : (tensor<5x24xf32>, tensor<24xf32>) -> tensor<5x24xf32>
  %2 = nn.slice %1 {starts = array<i64: 0, 8>, limits = array<i64: 5, 16>, steps = array<i64: 1, 1>} : (tensor<5x24xf32>) -> tensor<5x8xf32>
  %3 = nn.reshape %2 : (tensor<5x8xf32>) -> tensor<5x2x4xf32>
  return %3 : tensor<5x2x4xf32>
}

// -----

// Softmax's own axis stays whole: the reshape stays before it.
// CHECK-LABEL: func @pinned
// CHECK: nn.reshape %arg0 : (tensor<2x3x4xf32>) -> tensor<2x12xf32>
// CHECK: nn.softmax
func.func @pinned(%x: tensor<2x3x4xf32>) -> tensor<2x12xf32> {
  %0 = nn.reshape %x : (tensor<2x3x4xf32>) -> tensor<2x12xf32>
  %1 = nn.softmax %0 {axis = 1 : i64, log = false} : (tensor<2x12xf32>) -> tensor<2x12xf32>
  return %1 : tensor<2x12xf32>
}

// -----

// Axes move behind the new dims; a broadcast operand gets a 1 for each.
// CHECK-LABEL: func @axes
// CHECK: nn.reduce %arg0 {axes = array<i64: 2, 3>, kind = "sum"}
// CHECK-SAME: (tensor<2x3x4x5xf32>) -> tensor<2x3xf32>
func.func @axes(%x: tensor<2x3x4x5xf32>) -> tensor<2x3xf32> {
  %0 = nn.reshape %x : (tensor<2x3x4x5xf32>) -> tensor<6x20xf32>
  %1 = nn.reduce %0 {axes = array<i64: 1>, kind = "sum"} : (tensor<6x20xf32>) -> tensor<6xf32>
  %2 = nn.reshape %1 : (tensor<6xf32>) -> tensor<2x3xf32>
  return %2 : tensor<2x3xf32>
}

// -----

// [4, 6] and [6, 4] have no factors in common places: nothing changes.
// CHECK-LABEL: func @irreconcilable
// CHECK-NEXT: nn.reshape %arg0 : (tensor<4x6xf32>) -> tensor<6x4xf32>
// CHECK-NEXT: nn.neg {{.*}} : (tensor<6x4xf32>) -> tensor<6x4xf32>
func.func @irreconcilable(%x: tensor<4x6xf32>) -> tensor<6x4xf32> {
  %0 = nn.reshape %x : (tensor<4x6xf32>) -> tensor<6x4xf32>
  %1 = nn.neg %0 : (tensor<6x4xf32>) -> tensor<6x4xf32>
  return %1 : tensor<6x4xf32>
}

// -----

// Halves of equal length are concatenated along the factor of two.
// CHECK-LABEL: func @halves
// CHECK: nn.concat {{.*}} {axis = 1 : i64} : (tensor<5x1x2x3xf32>, tensor<5x1x2x3xf32>) -> tensor<5x2x2x3xf32>
func.func @halves(%x: tensor<5x2x3xf32>, %y: tensor<5x6xf32>) -> tensor<5x12xf32> {
  %0 = nn.reshape %x : (tensor<5x2x3xf32>) -> tensor<5x6xf32>
  %1 = nn.concat %0, %y {axis = 1 : i64} : (tensor<5x6xf32>, tensor<5x6xf32>) -> tensor<5x12xf32>
  return %1 : tensor<5x12xf32>
}

// -----

// Attention as GPT-2 exports it: the fused projection gets dims for the three
// parts, heads and channels; so do its weights.
// CHECK: nn.global @qkv parameter : tensor<64x3x4x16xf32> from "m.onnx" [0, 49152]
// CHECK: nn.global @bias parameter : tensor<3x4x16xf32>
// CHECK: nn.global @out parameter : tensor<4x16x64xf32>
nn.global @qkv parameter : tensor<64x192xf32> from "m.onnx" [0, 49152]
nn.global @bias parameter : tensor<192xf32>
nn.global @out parameter : tensor<64x64xf32>
// CHECK-LABEL: func.func @attention
// CHECK-DAG: %[[QKV:.*]] = nn.read @qkv
// CHECK-DAG: %[[BIAS:.*]] = nn.read @bias
// CHECK-DAG: %[[OUT:.*]] = nn.read @out
// CHECK: %[[P:.*]] = nn.matmul %arg0, %[[QKV]] {labels = "mak,knbc->manbc"} : (tensor<2x8x64xf32>, tensor<64x3x4x16xf32>) -> tensor<2x8x3x4x16xf32>
// CHECK-NEXT: %[[PB:.*]] = nn.add %[[P]], %[[BIAS]] {nn.scope = "attn"}
// CHECK-NEXT: %[[Q1:.*]] = nn.slice %[[PB]] {limits = array<i64: 2, 8, 1, 4, 16>, starts = array<i64: 0, 0, 0, 0, 0>
// CHECK-NEXT: %[[Q:.*]] = nn.reshape %[[Q1]] : (tensor<2x8x1x4x16xf32>) -> tensor<2x8x4x16xf32>
// CHECK-NEXT: %[[K1:.*]] = nn.slice %[[PB]] {limits = array<i64: 2, 8, 2, 4, 16>, starts = array<i64: 0, 0, 1, 0, 0>
// CHECK-NEXT: %[[K:.*]] = nn.reshape %[[K1]]
// CHECK-NEXT: %[[V1:.*]] = nn.slice %[[PB]] {limits = array<i64: 2, 8, 3, 4, 16>, starts = array<i64: 0, 0, 2, 0, 0>
// CHECK-NEXT: %[[V:.*]] = nn.reshape %[[V1]]
// CHECK-NEXT: %[[S:.*]] = nn.matmul %[[Q]], %[[K]] {labels = "bqhd,bkhd->bhqk"}
// CHECK-NEXT: %[[A:.*]] = nn.softmax %[[S]] {axis = 3
// CHECK-NEXT: %[[C:.*]] = nn.matmul %[[A]], %[[V]] {labels = "bhqk,bkhd->bqhd"}
// CHECK-NEXT: %[[Y:.*]] = nn.matmul %[[C]], %[[OUT]] {labels = "makb,kbn->man"}
// CHECK-NEXT: return %[[Y]]
func.func @attention(%x: tensor<2x8x64xf32>) -> tensor<2x8x64xf32> {
  %w = nn.read @qkv : tensor<64x192xf32>
  %b = nn.read @bias : tensor<192xf32>
  %o = nn.read @out : tensor<64x64xf32>
  %0 = nn.reshape %x : (tensor<2x8x64xf32>) -> tensor<16x64xf32>
  %1 = nn.matmul %0, %w {labels = "mk,kn->mn"} : (tensor<16x64xf32>, tensor<64x192xf32>) -> tensor<16x192xf32>
  %2 = nn.add %1, %b {nn.scope = "attn"} : (tensor<16x192xf32>, tensor<192xf32>) -> tensor<16x192xf32>
  %3 = nn.reshape %2 : (tensor<16x192xf32>) -> tensor<2x8x192xf32>
  %q0 = nn.slice %3 {starts = array<i64: 0, 0, 0>, limits = array<i64: 2, 8, 64>, steps = array<i64: 1, 1, 1>} : (tensor<2x8x192xf32>) -> tensor<2x8x64xf32>
  %k0 = nn.slice %3 {starts = array<i64: 0, 0, 64>, limits = array<i64: 2, 8, 128>, steps = array<i64: 1, 1, 1>} : (tensor<2x8x192xf32>) -> tensor<2x8x64xf32>
  %v0 = nn.slice %3 {starts = array<i64: 0, 0, 128>, limits = array<i64: 2, 8, 192>, steps = array<i64: 1, 1, 1>} : (tensor<2x8x192xf32>) -> tensor<2x8x64xf32>
  %q1 = nn.reshape %q0 : (tensor<2x8x64xf32>) -> tensor<2x8x4x16xf32>
  %k1 = nn.reshape %k0 : (tensor<2x8x64xf32>) -> tensor<2x8x4x16xf32>
  %v1 = nn.reshape %v0 : (tensor<2x8x64xf32>) -> tensor<2x8x4x16xf32>
  %q = nn.transpose %q1 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x8x4x16xf32>) -> tensor<2x4x8x16xf32>
  %k = nn.transpose %k1 {permutation = array<i64: 0, 2, 3, 1>} : (tensor<2x8x4x16xf32>) -> tensor<2x4x16x8xf32>
  %v = nn.transpose %v1 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x8x4x16xf32>) -> tensor<2x4x8x16xf32>
  %s = nn.matmul %q, %k {labels = "bhqd,bhdk->bhqk"} : (tensor<2x4x8x16xf32>, tensor<2x4x16x8xf32>) -> tensor<2x4x8x8xf32>
  %a = nn.softmax %s {axis = 3, log = false} : (tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
  %c = nn.matmul %a, %v {labels = "bhqk,bhkd->bhqd"} : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  %4 = nn.transpose %c {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x4x8x16xf32>) -> tensor<2x8x4x16xf32>
  %5 = nn.reshape %4 : (tensor<2x8x4x16xf32>) -> tensor<16x64xf32>
  %6 = nn.matmul %5, %o {labels = "mk,kn->mn"} : (tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<16x64xf32>
  %7 = nn.reshape %6 : (tensor<16x64xf32>) -> tensor<2x8x64xf32>
  return %7 : tensor<2x8x64xf32>
}

// -----

// Two heads read each head of the keys: the queries' heads come apart as well.
// CHECK: nn.global @q parameter : tensor<16x3x2x4xf32>
// CHECK-LABEL: func @shared_heads
// CHECK: %[[Q:.*]] = nn.matmul %arg0, {{.*}} -> tensor<2x3x2x8x4xf32>
// CHECK: %[[S:.*]] = nn.matmul %[[Q]], %arg1 {{.*}} -> tensor<2x3x2x8x8xf32>
// CHECK: nn.reshape %[[S]] : (tensor<2x3x2x8x8xf32>) -> tensor<2x6x8x8xf32>
nn.global @q parameter : tensor<16x24xf32>
func.func @shared_heads(%x: tensor<2x8x16xf32>, %k: tensor<2x3x8x4xf32>) -> tensor<2x6x8x8xf32> {
  %k1 = nn.reshape %k : (tensor<2x3x8x4xf32>) -> tensor<2x3x1x8x4xf32>
  %k2 = nn.broadcast %k1 {dims = array<i64: 0, 1, 2, 3, 4>} : (tensor<2x3x1x8x4xf32>) -> tensor<2x3x2x8x4xf32>
  %k3 = nn.reshape %k2 : (tensor<2x3x2x8x4xf32>) -> tensor<2x6x8x4xf32>
  %w = nn.read @q : tensor<16x24xf32>
  %q1 = nn.matmul %x, %w {labels = "bse,en->bsn"} : (tensor<2x8x16xf32>, tensor<16x24xf32>) -> tensor<2x8x24xf32>
  %q2 = nn.reshape %q1 : (tensor<2x8x24xf32>) -> tensor<2x8x6x4xf32>
  %q3 = nn.transpose %q2 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x8x6x4xf32>) -> tensor<2x6x8x4xf32>
  %s = nn.matmul %q3, %k3 {labels = "bhqd,bhkd->bhqk"} : (tensor<2x6x8x4xf32>, tensor<2x6x8x4xf32>) -> tensor<2x6x8x8xf32>
  return %s : tensor<2x6x8x8xf32>
}

// -----

// A convolution keeps its dims; what follows it has them too.
// CHECK-LABEL: func @convolution
// CHECK: nn.conv
// CHECK: nn.normalize {{.*}} : (tensor<2x6x5x5xf32>)
// CHECK-NEXT: return
func.func @convolution(%x: tensor<2x3x5x5xf32>, %w: tensor<6x3x1x1xf32>) -> tensor<2x6x5x5xf32> {
  %0 = nn.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 0, 0>, pads_hi = array<i64: 0, 0>, groups = 1} : (tensor<2x3x5x5xf32>, tensor<6x3x1x1xf32>) -> tensor<2x6x5x5xf32>
  %1 = nn.reshape %0 : (tensor<2x6x5x5xf32>) -> tensor<2x6x25xf32>
  %2 = nn.normalize %1 {axes = array<i64: 1>, center = true, epsilon = 1.0e-5 : f64} : (tensor<2x6x25xf32>) -> tensor<2x6x25xf32>
  %3 = nn.reshape %2 : (tensor<2x6x25xf32>) -> tensor<2x6x5x5xf32>
  return %3 : tensor<2x6x5x5xf32>
}

// -----

// Pixels move from channels to places: the factors stay dims until the result.
// CHECK-LABEL: func @pixel_shuffle
// CHECK-NEXT: %[[F:.*]] = nn.reshape %arg0 : (tensor<2x12x5x5xf32>) -> tensor<2x3x2x2x5x5xf32>
// CHECK-NEXT: %[[T:.*]] = nn.transpose %[[F]] {permutation = array<i64: 0, 1, 4, 2, 5, 3>}
// CHECK-NEXT: %[[N:.*]] = nn.neg %[[T]] : (tensor<2x3x5x2x5x2xf32>)
// CHECK-NEXT: nn.reshape %[[N]] {{.*}} -> tensor<2x3x10x10xf32>
func.func @pixel_shuffle(%x: tensor<2x12x5x5xf32>) -> tensor<2x3x10x10xf32> {
  %0 = nn.reshape %x : (tensor<2x12x5x5xf32>) -> tensor<2x3x2x2x5x5xf32>
  %1 = nn.transpose %0 {permutation = array<i64: 0, 1, 4, 2, 5, 3>} : (tensor<2x3x2x2x5x5xf32>) -> tensor<2x3x5x2x5x2xf32>
  %2 = nn.reshape %1 : (tensor<2x3x5x2x5x2xf32>) -> tensor<2x3x10x10xf32>
  %3 = nn.neg %2 : (tensor<2x3x10x10xf32>) -> tensor<2x3x10x10xf32>
  return %3 : tensor<2x3x10x10xf32>
}

// -----

// A global has one shape. The first demand wins, and the rows of a table stay
// whole; a reshape stays where the second reader wants them otherwise.
// CHECK-LABEL: nn.global @tied parameter : tensor<12x2x3xf32>
// CHECK-LABEL: func @tied_weights
// CHECK: %[[W:.*]] = nn.read @tied : tensor<12x2x3xf32>
// CHECK: nn.gather %[[W]], %arg0 {axis = 0 : i64, batch_dims = 0 : i64}
// CHECK-SAME: -> tensor<4x2x3xf32>
// CHECK: nn.neg {{.*}} : (tensor<12x2x3xf32>)
// CHECK: nn.reshape {{.*}} : (tensor<12x2x3xf32>) -> tensor<3x4x3x2xf32>
nn.global @tied parameter : tensor<12x6xf32>
func.func @tied_weights(%i: tensor<4xi64>) -> (tensor<4x2x3xf32>, tensor<3x4x3x2xf32>) {
  %w = nn.read @tied : tensor<12x6xf32>
  %0 = nn.gather %w, %i {axis = 0, batch_dims = 0} : (tensor<12x6xf32>, tensor<4xi64>) -> tensor<4x6xf32>
  %1 = nn.reshape %0 : (tensor<4x6xf32>) -> tensor<4x2x3xf32>
  %v = nn.read @tied : tensor<12x6xf32>
  %2 = nn.neg %v : (tensor<12x6xf32>) -> tensor<12x6xf32>
  %3 = nn.reshape %2 : (tensor<12x6xf32>) -> tensor<3x4x3x2xf32>
  return %1, %3 : tensor<4x2x3xf32>, tensor<3x4x3x2xf32>
}

// -----

// Windows and borders along one dim let the other one come apart.
// CHECK-LABEL: func @windows
// CHECK: nn.pad %arg0 {hi = array<i64: 0, 0, 1>, lo = array<i64: 0, 0, 0>
// CHECK: nn.pool_max {{.*}} {dilations = array<i64: 1, 1, 1>, kernel = array<i64: 1, 1, 2>
// CHECK-SAME: -> tensor<2x3x5xf32>
// CHECK-NOT: nn.reshape
func.func @windows(%x: tensor<2x3x5xf32>) -> tensor<2x3x5xf32> {
  %0 = nn.reshape %x : (tensor<2x3x5xf32>) -> tensor<6x5xf32>
  %1 = nn.pad %0 {lo = array<i64: 0, 0>, hi = array<i64: 0, 1>, value = 0.0 : f64} : (tensor<6x5xf32>) -> tensor<6x6xf32>
  %2 = nn.pool_max %1 {kernel = array<i64: 1, 2>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 0, 0>, pads_hi = array<i64: 0, 0>} : (tensor<6x6xf32>) -> tensor<6x5xf32>
  %3 = nn.reshape %2 : (tensor<6x5xf32>) -> tensor<2x3x5xf32>
  return %3 : tensor<2x3x5xf32>
}

// -----

// One constant for two readers: softmax pins the dim of one of them alone.
// CHECK-LABEL: func @shared_constant
// CHECK-NOT: nn.reshape
func.func @shared_constant(%x: tensor<2x3xf32>, %y: tensor<6xf32>) -> (tensor<2x3xf32>, tensor<6xf32>) {
  %c = nn.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]> : tensor<6xf32>
  %0 = nn.reshape %x : (tensor<2x3xf32>) -> tensor<6xf32>
  %1 = nn.add %0, %c : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xf32>
  %2 = nn.reshape %1 : (tensor<6xf32>) -> tensor<2x3xf32>
  %3 = nn.add %y, %c : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xf32>
  %4 = nn.softmax %3 {axis = 0, log = false} : (tensor<6xf32>) -> tensor<6xf32>
  return %2, %4 : tensor<2x3xf32>, tensor<6xf32>
}

// -----

// A strategy names loops, a place dims: both keep their operator or global.
// CHECK-LABEL: func @annotated
// CHECK: nn.matmul {{.*}} {labels = "mk,kn->mn"
spmd.grid @g (x = 2)
nn.global @w parameter : tensor<6x4xf32> {spmd.place = #spmd.place<@g: [x, *]>}
func.func @annotated(%x: tensor<5x2x3xf32>) -> tensor<5x4xf32> {
  %w = nn.read @w : tensor<6x4xf32>
  %0 = nn.reshape %x : (tensor<5x2x3xf32>) -> tensor<5x6xf32>
  %1 = nn.matmul %0, %w {labels = "mk,kn->mn", spmd.split = #spmd.split<@g: k@x>} : (tensor<5x6xf32>, tensor<6x4xf32>) -> tensor<5x4xf32>
  return %1 : tensor<5x4xf32>
}

// -----

// Kernels take 16 dims: what would have more stays, and nothing else does.
// CHECK-LABEL: func @many_dims
// CHECK: nn.neg {{.*}} : (tensor<131072xf32>)
// CHECK: nn.neg {{.*}} : (tensor<2x3xf32>)
func.func @many_dims(%x: tensor<2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2xf32>, %y: tensor<2x3xf32>) -> (tensor<131072xf32>, tensor<2x3xf32>) {
  %0 = nn.reshape %x : (tensor<2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2xf32>) -> tensor<131072xf32>
  %1 = nn.neg %0 : (tensor<131072xf32>) -> tensor<131072xf32>
  %2 = nn.reshape %y : (tensor<2x3xf32>) -> tensor<6xf32>
  %3 = nn.neg %2 : (tensor<6xf32>) -> tensor<6xf32>
  %4 = nn.reshape %3 : (tensor<6xf32>) -> tensor<2x3xf32>
  return %1, %4 : tensor<131072xf32>, tensor<2x3xf32>
}

// -----

// Other types pass by.
// CHECK-LABEL: func @other_types
// CHECK: return {{.*}}, %arg1, %arg2 : tensor<6xf32>, i32, tensor<?xf32>
func.func @other_types(%x: tensor<2x3xf32>, %i: i32, %d: tensor<?xf32>) -> (tensor<6xf32>, i32, tensor<?xf32>) {
  %0 = nn.reshape %x : (tensor<2x3xf32>) -> tensor<6xf32>
  %1 = nn.neg %0 : (tensor<6xf32>) -> tensor<6xf32>
  return %1, %i, %d : tensor<6xf32>, i32, tensor<?xf32>
}

// -----

// A window makes more than one index from a dim of extent 1, as from others.
// CHECK-LABEL: func @grown
// CHECK: nn.pad %arg0 {{.*}} -> tensor<4x3xf32>
// CHECK: nn.reshape {{.*}} : (tensor<4x3xf32>) -> tensor<2x2x3xf32>
func.func @grown(%x: tensor<1x3xf32>) -> tensor<2x2x3xf32> {
  %0 = nn.pad %x {lo = array<i64: 1, 0>, hi = array<i64: 2, 0>, value = 0.0 : f64} : (tensor<1x3xf32>) -> tensor<4x3xf32>
  %1 = nn.reshape %0 : (tensor<4x3xf32>) -> tensor<2x2x3xf32>
  return %1 : tensor<2x2x3xf32>
}

// -----

// Scales of blocks stay whole along their axis where the other falls into heads.
// CHECK-DAG: nn.global @w parameter : tensor<32x2x3xi4>
// CHECK-DAG: nn.global @s parameter : tensor<2x2x3xf32>
// CHECK-LABEL: func @blocks
// CHECK: nn.dequantize {{.*}} {axis = 0 : i64, block = 16 : i64} : (tensor<32x2x3xi4>, tensor<2x2x3xf32>) -> tensor<32x2x3xf32>
// CHECK: nn.matmul {{.*}} -> tensor<5x2x3xf32>
nn.global @w parameter : tensor<32x6xi4>
nn.global @s parameter : tensor<2x6xf32>
func.func @blocks(%x: tensor<5x32xf32>) -> tensor<5x2x3xf32> {
  %w = nn.read @w : tensor<32x6xi4>
  %s = nn.read @s : tensor<2x6xf32>
  %0 = nn.dequantize %w, %s {axis = 0, block = 16} : (tensor<32x6xi4>, tensor<2x6xf32>) -> tensor<32x6xf32>
  %1 = nn.matmul %x, %0 {labels = "mk,kn->mn"} : (tensor<5x32xf32>, tensor<32x6xf32>) -> tensor<5x6xf32>
  %2 = nn.reshape %1 : (tensor<5x6xf32>) -> tensor<5x2x3xf32>
  return %2 : tensor<5x2x3xf32>
}
