// RUN: divisi-opt %s --divisi-partition | FileCheck %s

spmd.grid @g (x = 2, y = 3)

// A dimension of size 1 is read by every shard, a missing one too.
// CHECK-LABEL: func.func @broadcast__0(
// CHECK-NEXT: %[[B:.*]] = spmd.slice %arg1 {axes = ["y"], grid = @g}
// CHECK-NEXT: nn.mul %arg0, %[[B]]
// CHECK-SAME: (tensor<3x1x3xf32, #spmd.local<(x=2, y=3), [x, *, y], 5x1x7>>, tensor<4x3xf32, #spmd.local<(x=2, y=3), [*, y], 4x7>>)
// CHECK-SAME: -> tensor<3x4x3xf32, #spmd.local<(x=2, y=3), [x, *, y], 5x4x7>>
func.func @broadcast(%a: tensor<5x1x7xf32> {spmd.place = #spmd.place<@g: [x, *, y]>},
                     %b: tensor<4x7xf32> {spmd.place = #spmd.place<@g: [*, *]>})
    -> (tensor<5x4x7xf32> {spmd.place = #spmd.place<@g: [x, *, y]>}) {
  %0 = nn.mul %a, %b {spmd.split = #spmd.split<@g: d0@x, d2@y>}
    : (tensor<5x1x7xf32>, tensor<4x7xf32>) -> tensor<5x4x7xf32>
  return %0 : tensor<5x4x7xf32>
}

// What is made from nothing is made in place; attributes stay global.
// CHECK-LABEL: func.func @made__0(
// CHECK-NEXT: %[[R:.*]] = nn.iota {{.*}}axis = 0 : i64{{.*}} -> tensor<2x6xi64, #spmd.local<(x=2, y=3), [y, *], 6x6>>
// CHECK-NEXT: %[[C:.*]] = nn.constant {{.*}} dense<[0, 1, 2, 3, 4, 5]> : tensor<6xi64> -> tensor<6xi64, #spmd.local<(x=2, y=3), [*], 6>>
// CHECK-NEXT: %[[MASK:.*]] = nn.compare %[[C]], %[[R]]
// CHECK-NEXT: return %[[MASK]] : tensor<2x6xi1,
func.func @made() -> (tensor<6x6xi1> {spmd.place = #spmd.place<@g: [y, *]>}) {
  %r = nn.iota {axis = 0 : i64, spmd.split = #spmd.split<@g: d0@y>} : () -> tensor<6x6xi64>
  %c = nn.constant {spmd.split = #spmd.split<@g>} dense<[0, 1, 2, 3, 4, 5]> : tensor<6xi64>
  %0 = nn.compare %c, %r {predicate = "le", spmd.split = #spmd.split<@g: d0@y>}
    : (tensor<6xi64>, tensor<6x6xi64>) -> tensor<6x6xi1>
  return %0 : tensor<6x6xi1>
}

// A reversed slice reads from the end, a pad reads nothing outside of the
// tensor, a shard of a concat may read nothing of one operand.
// CHECK-LABEL: func.func @windows__0(
// CHECK-NEXT: %[[X:.*]] = spmd.exchange %arg0
// CHECK-SAME: -> tensor<5x6xf32, #spmd.local<(x=2, y=3), [x{5:10, 1:4}, *], 10x6>>
// CHECK-NEXT: %[[S:.*]] = nn.slice %[[X]]
// CHECK-NEXT: %[[SP:.*]] = spmd.exchange %[[S]]
// CHECK-SAME: -> tensor<3x6xf32, #spmd.local<(x=2, y=3), [y{0:1, 1:4, 4:5}, *], 5x6>>
// CHECK-NEXT: %[[P:.*]] = nn.pad %[[SP]]
// CHECK-NEXT: %[[P0:.*]] = spmd.exchange %[[P]]
// CHECK-SAME: -> tensor<6x2xf32, #spmd.local<(x=2, y=3), [x{0:6, 6:7}, y], 7x6>>
// CHECK-NEXT: %[[S1:.*]] = spmd.exchange %[[S]]
// CHECK-SAME: -> tensor<5x2xf32, #spmd.local<(x=2, y=3), [x{0:0, 0:5}, y], 5x6>>
// CHECK-NEXT: nn.concat %[[P0]], %[[S1]]
// CHECK-SAME: -> tensor<6x2xf32, #spmd.local<(x=2, y=3), [x, y], 12x6>>
func.func @windows(%x: tensor<10x6xf32> {spmd.place = #spmd.place<@g: [x, y]>})
    -> (tensor<12x6xf32> {spmd.place = #spmd.place<@g: [x, y]>}) {
  %s = nn.slice %x {starts = array<i64: 9, 0>, limits = array<i64: -1, 6>, steps = array<i64: -2, 1>,
    spmd.split = #spmd.split<@g: d0@x>} : (tensor<10x6xf32>) -> tensor<5x6xf32>
  %p = nn.pad %s {lo = array<i64: 2, 0>, hi = array<i64: 0, 0>, value = 0.0 : f64,
    spmd.split = #spmd.split<@g: d0@y>} : (tensor<5x6xf32>) -> tensor<7x6xf32>
  %c = nn.concat %p, %s {axis = 0 : i64, spmd.split = #spmd.split<@g: d0@x, d1@y>}
    : (tensor<7x6xf32>, tensor<5x6xf32>) -> tensor<12x6xf32>
  return %c : tensor<12x6xf32>
}

// Other reductions leave other partial values.
// CHECK-LABEL: func.func @maximum__0(
// CHECK: %[[MAX:.*]] = nn.reduce
// CHECK-SAME: -> tensor<2xf32, #spmd.local<(x=2, y=3), [y] partial max {x}, 5>>
// CHECK-NEXT: spmd.all_reduce %[[MAX]] {axes = ["x"], grid = @g, tag = 0 : i64}
func.func @maximum(%x: tensor<7x5xf32> {spmd.place = #spmd.place<@g: [x, y]>})
    -> (tensor<5xf32> {spmd.place = #spmd.place<@g: [y]>}) {
  %0 = nn.reduce %x {kind = "max", axes = array<i64: 0>, spmd.split = #spmd.split<@g: d0@x, d1@y>}
    : (tensor<7x5xf32>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}
