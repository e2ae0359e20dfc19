// RUN: divisi-opt %s --divisi-partition | FileCheck %s
// RUN: divisi-opt %s --divisi-partition | divisi-opt --verify-partition | FileCheck %s

spmd.grid @g (x = 2)
spmd.grid @q (x = 2, y = 2)
spmd.grid @t (z = 3)

nn.global @w1 parameter : tensor<8x16xf32> {spmd.place = #spmd.place<@g: [*, x]>}
nn.global @w2 parameter : tensor<16x8xf32> {spmd.place = #spmd.place<@g: [x, *]>}
nn.global @m state : tensor<4x8xf32> zero {spmd.place = #spmd.place<@g: [x, *]>}
nn.global @table parameter : tensor<10x4xf32> {spmd.place = #spmd.place<@t: [z, *]>}

// Megatron's pair: a column split, then a row split, and one all-reduce.
// CHECK-LABEL: func.func @pair__0(
// CHECK-SAME: spmd.index = 0 : i64
// CHECK-SAME: attributes {spmd.computes = array<i64: {{[-0-9, ]+}}>, spmd.entry = "pair", spmd.ranks = array<i32: 0, 1>}
// CHECK: %[[H:.*]] = nn.matmul %arg0
// CHECK-SAME: -> tensor<4x8xf32, #spmd.local<(x=2), [*, x], 4x16>>
// CHECK-NEXT: %[[A:.*]] = nn.relu %[[H]]
// CHECK-NEXT: %[[SUM:.*]] = nn.matmul %[[A]]
// CHECK-SAME: -> tensor<4x8xf32, #spmd.local<(x=2), [*, *] partial sum {x}, 4x8>>
// CHECK-NEXT: %[[Y:.*]] = spmd.all_reduce %[[SUM]] {axes = ["x"], grid = @g, tag = 0 : i64}
// CHECK-NEXT: return %[[Y]] : tensor<4x8xf32, #spmd.local<(x=2), [*, *], 4x8>>
func.func @pair(%x: tensor<4x8xf32> {spmd.place = #spmd.place<@g: [*, *]>})
    -> (tensor<4x8xf32> {spmd.place = #spmd.place<@g: [*, *]>}) {
  %w1 = nn.read @w1 : tensor<8x16xf32>
  %w2 = nn.read @w2 : tensor<16x8xf32>
  %h = nn.matmul %x, %w1 {labels = "mk,kn->mn", spmd.split = #spmd.split<@g: n@x>}
    : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %a = nn.relu %h {spmd.split = #spmd.split<@g: d1@x>} : (tensor<4x16xf32>) -> tensor<4x16xf32>
  %y = nn.matmul %a, %w2 {labels = "mk,kn->mn", spmd.split = #spmd.split<@g: k@x>}
    : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// A partial result that is wanted split needs a reduce-scatter, no all-reduce.
// CHECK-LABEL: func.func @scatter__0(
// CHECK-NOT: spmd.all_reduce
// CHECK: spmd.reduce_scatter %{{.*}} {axes = ["x"], grid = @g, tag = 0 : i64}
// CHECK-SAME: -> tensor<2x8xf32, #spmd.local<(x=2), [x, *], 4x8>>
// CHECK-NEXT: nn.update @m
// CHECK-NEXT: return
func.func @scatter(%a: tensor<4x16xf32> {spmd.place = #spmd.place<@g: [*, x]>}) {
  %w2 = nn.read @w2 : tensor<16x8xf32>
  %y = nn.matmul %a, %w2 {labels = "mk,kn->mn", spmd.split = #spmd.split<@g: k@x>}
    : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  nn.update @m, %y : tensor<4x8xf32>
  return
}

// Two sums are added before they are combined; the bias counts once.
// CHECK-LABEL: func.func @carry__0(
// CHECK: %[[A:.*]] = nn.matmul
// CHECK-NEXT: %[[B:.*]] = nn.matmul
// CHECK-NEXT: %[[AB:.*]] = nn.add %[[A]], %[[B]]
// CHECK-NEXT: %[[BIAS:.*]] = spmd.mask %arg1 {axes = ["x"], grid = @g}
// CHECK-SAME: -> tensor<8xf32, #spmd.local<(x=2), [*] partial sum {x}, 8>>
// CHECK-NEXT: %[[SUM:.*]] = nn.add %[[AB]], %[[BIAS]]
// CHECK-NEXT: spmd.all_reduce %[[SUM]]
// CHECK-NEXT: return
func.func @carry(%a: tensor<4x16xf32> {spmd.place = #spmd.place<@g: [*, x]>},
                 %b: tensor<8xf32> {spmd.place = #spmd.place<@g: [*]>})
    -> (tensor<4x8xf32> {spmd.place = #spmd.place<@g: [*, *]>}) {
  %w2 = nn.read @w2 : tensor<16x8xf32>
  %0 = nn.matmul %a, %w2 {labels = "mk,kn->mn", spmd.split = #spmd.split<@g: k@x>}
    : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  %1 = nn.matmul %a, %w2 {labels = "mk,kn->mn", spmd.split = #spmd.split<@g: k@x>}
    : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  %2 = nn.add %0, %1 {spmd.split = #spmd.split<@g: carry sum@x>}
    : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = nn.add %2, %b {spmd.split = #spmd.split<@g: carry sum@x>}
    : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return %3 : tensor<4x8xf32>
}

// A convolution split in space moves one row to each neighbour, nothing else.
// CHECK-LABEL: func.func @halo__0(
// CHECK-NEXT: %[[X:.*]] = spmd.exchange %arg0 {axes = ["x"], grid = @g, tag = 0 : i64}
// CHECK-SAME: -> tensor<1x3x5x8xf32, #spmd.local<(x=2), [*, *, x{0:5, 3:8}, *], 1x3x8x8>>
// CHECK-NEXT: %[[Y:.*]] = nn.conv %[[X]], %arg1
// CHECK-SAME: pads_lo = array<i64: 1, 1>
// CHECK-NEXT: return %[[Y]]
func.func @halo(%x: tensor<1x3x8x8xf32> {spmd.place = #spmd.place<@g: [*, *, x, *]>},
                %w: tensor<4x3x3x3xf32> {spmd.place = #spmd.place<@g: [*, *, *, *]>})
    -> (tensor<1x4x8x8xf32> {spmd.place = #spmd.place<@g: [*, *, x, *]>}) {
  %y = nn.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
    pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>, groups = 1 : i64,
    spmd.split = #spmd.split<@g: o0@x>}
    : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x8x8xf32>
  return %y : tensor<1x4x8x8xf32>
}

// 7 rows on 3 devices: 3, 3 and 1.
// CHECK-LABEL: func.func @uneven__0(
// CHECK: nn.relu %arg0
// CHECK-SAME: -> tensor<3x4xf32, #spmd.local<(z=3), [z, *], 7x4>>
// CHECK-NEXT: spmd.all_to_all %{{.*}} {axes = ["z"], grid = @t, tag = 0 : i64}
// CHECK-SAME: -> tensor<7x2xf32, #spmd.local<(z=3), [*, z], 7x4>>
func.func @uneven(%x: tensor<7x4xf32> {spmd.place = #spmd.place<@t: [z, *]>})
    -> (tensor<7x4xf32> {spmd.place = #spmd.place<@t: [*, z]>}) {
  %y = nn.relu %x {spmd.split = #spmd.split<@t: d0@z>} : (tensor<7x4xf32>) -> tensor<7x4xf32>
  return %y : tensor<7x4xf32>
}

// Every device looks up the rows of the vocabulary that it holds.
// CHECK-LABEL: func.func @vocabulary__0(
// CHECK: nn.read @table : tensor<4x4xf32, #spmd.local<(z=3), [z, *], 10x4>>
// CHECK-NEXT: %[[SUM:.*]] = nn.gather
// CHECK-SAME: -> tensor<5x4xf32, #spmd.local<(z=3), [*, *] partial sum {z}, 5x4>>
// CHECK-NEXT: spmd.all_reduce %[[SUM]]
func.func @vocabulary(%i: tensor<5xi64> {spmd.place = #spmd.place<@t: [*]>})
    -> (tensor<5x4xf32> {spmd.place = #spmd.place<@t: [*, *]>}) {
  %e = nn.read @table : tensor<10x4xf32>
  %y = nn.gather %e, %i {axis = 0 : i64, batch_dims = 0 : i64, spmd.split = #spmd.split<@t: v@z>}
    : (tensor<10x4xf32>, tensor<5xi64>) -> tensor<5x4xf32>
  return %y : tensor<5x4xf32>
}

// A flattened dimension (b s) is split by b's axis, then by that of s.
// CHECK-LABEL: func.func @flatten__0(
// CHECK-NEXT: %[[Y:.*]] = nn.reshape %arg0
// CHECK-SAME: (tensor<1x3x4xf32, #spmd.local<(x=2, y=2), [x, y, *], 2x6x4>>)
// CHECK-SAME: -> tensor<3x4xf32, #spmd.local<(x=2, y=2), [x.y, *], 12x4>>
// CHECK-NEXT: return %[[Y]]
func.func @flatten(%x: tensor<2x6x4xf32> {spmd.place = #spmd.place<@q: [x, y, *]>})
    -> (tensor<12x4xf32> {spmd.place = #spmd.place<@q: [x.y, *]>}) {
  %y = nn.reshape %x {spmd.split = #spmd.split<@q: f0@x, f1@y>}
    : (tensor<2x6x4xf32>) -> tensor<12x4xf32>
  return %y : tensor<12x4xf32>
}

// Both users want what lies at the identity point: one all-reduce.
// CHECK-LABEL: func.func @identity_point__0(
// CHECK: %[[SUM:.*]] = nn.matmul
// CHECK-NEXT: %[[Y:.*]] = spmd.all_reduce %[[SUM]]
// CHECK-NEXT: nn.relu %[[Y]]
// CHECK-NEXT: nn.tanh %[[Y]]
// CHECK-NEXT: return
func.func @identity_point(%a: tensor<4x16xf32> {spmd.place = #spmd.place<@g: [*, x]>})
    -> (tensor<4x8xf32> {spmd.place = #spmd.place<@g: [*, *]>},
        tensor<4x8xf32> {spmd.place = #spmd.place<@g: [*, *]>}) {
  %w2 = nn.read @w2 : tensor<16x8xf32>
  %y = nn.matmul %a, %w2 {labels = "mk,kn->mn", spmd.split = #spmd.split<@g: k@x>,
    spmd.places = [#spmd.place<@g: [*, *]>]}
    : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  %0 = nn.relu %y {spmd.split = #spmd.split<@g>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = nn.tanh %y {spmd.split = #spmd.split<@g>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0, %1 : tensor<4x8xf32>, tensor<4x8xf32>
}

// @init runs once on the host, as it is.
// CHECK-LABEL: func.func @init()
// CHECK-NEXT: nn.read @w1 : tensor<8x16xf32>
func.func @init() {
  %w = nn.read @w1 : tensor<8x16xf32>
  return
}
