// RUN: divisi-opt %s --spmd-partition | FileCheck %s

spmd.grid @g (x = 2)
// Equal axes on other devices: the types alone do not tell these grids apart.
spmd.grid @h (x = 2) devices [2, 3]

// Layouts meet in converts; how is not said yet. Attributes stay as they are.
// CHECK-LABEL: func.func @converts(
// CHECK-SAME: %[[X:.*]]: tensor<4x6xf32, #spmd.local<(x=2), [*, *], 4x6>> {spmd.place
// CHECK-SAME: -> (tensor<4x3xf32, #spmd.local<(x=2), [*, x], 4x6>>
// CHECK-NEXT: %[[ROWS:.*]] = spmd.convert %[[X]] {grid = @g}
// CHECK-NEXT: %[[Y:.*]] = nn.softmax %[[ROWS]] {axis = 1 : i64, log = false, spmd.split = #spmd.split<@g: d0@x>}
// CHECK-NEXT: %[[COLUMNS:.*]] = spmd.convert %[[Y]] {grid = @g} : tensor<2x6xf32, #spmd.local<(x=2), [x, *], 4x6>> -> tensor<4x3xf32, #spmd.local<(x=2), [*, x], 4x6>>
// CHECK-NEXT: return %[[COLUMNS]]
func.func @converts(%x: tensor<4x6xf32> {spmd.place = #spmd.place<@g: [*, *]>})
    -> (tensor<4x6xf32> {spmd.place = #spmd.place<@g: [*, x]>}) {
  %y = nn.softmax %x {axis = 1 : i64, log = false, spmd.split = #spmd.split<@g: d0@x>}
    : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return %y : tensor<4x6xf32>
}

// Between grids: combined before it leaves, partial only after it has arrived.
// CHECK-LABEL: func.func @transfers(
// CHECK: %[[SUM:.*]] = nn.reduce
// CHECK-NEXT: %[[WHOLE:.*]] = spmd.convert %[[SUM]] {grid = @g}
// CHECK-SAME: -> tensor<4xf32, #spmd.local<(x=2), [*], 4>>
// CHECK-NEXT: %[[MOVED:.*]] = spmd.transfer %[[WHOLE]] from @g to @h
// CHECK-NEXT: %[[MASKED:.*]] = spmd.convert %[[MOVED]] {grid = @h}
// CHECK-SAME: -> tensor<4xf32, #spmd.local<(x=2), [*] partial sum {x}, 4>>
// CHECK-NEXT: nn.neg %[[MASKED]]
func.func @transfers(%x: tensor<4x6xf32> {spmd.place = #spmd.place<@g: [*, x]>})
    -> (tensor<4xf32> {spmd.place = #spmd.place<@h: [*]>}) {
  %0 = nn.reduce %x {kind = "sum", axes = array<i64: 1>, spmd.split = #spmd.split<@g: d1@x>}
    : (tensor<4x6xf32>) -> tensor<4xf32>
  %1 = nn.neg %0 {spmd.split = #spmd.split<@h: carry sum@x>} : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// All users of a result with a place find it there.
// CHECK-LABEL: func.func @places(
// CHECK: %[[Y:.*]] = nn.neg
// CHECK-NEXT: %[[PLACE:.*]] = spmd.convert %[[Y]]
// CHECK-SAME: -> tensor<4xf32, #spmd.local<(x=2), [*], 4>>
// CHECK-NEXT: nn.exp %[[PLACE]]
// CHECK-NEXT: nn.sin %[[PLACE]]
func.func @places(%x: tensor<4xf32> {spmd.place = #spmd.place<@g: [x]>}) {
  %y = nn.neg %x {spmd.split = #spmd.split<@g: d0@x>, spmd.places = [#spmd.place<@g: [*]>]}
    : (tensor<4xf32>) -> tensor<4xf32>
  %0 = nn.exp %y {spmd.split = #spmd.split<@g>} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = nn.sin %y {spmd.split = #spmd.split<@g>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// Users that name the same stop share the way there, and only they.
// CHECK-LABEL: func.func @stops(
// CHECK-SAME: %[[X:.*]]: tensor<2x6xf32
// CHECK-NEXT: %[[STOP:.*]] = spmd.convert %[[X]]
// CHECK-SAME: -> tensor<4x6xf32, #spmd.local<(x=2), [*, *], 4x6>>
// CHECK-NEXT: nn.exp %[[STOP]]
// CHECK-NEXT: nn.sin %[[STOP]]
// CHECK-NEXT: %[[OWN:.*]] = spmd.convert %[[X]]
// CHECK-NEXT: nn.cos %[[OWN]]
// CHECK-NEXT: %[[COLUMNS:.*]] = spmd.convert %[[STOP]]
// CHECK-SAME: -> tensor<4x3xf32, #spmd.local<(x=2), [*, x], 4x6>>
// CHECK-NEXT: nn.neg %[[COLUMNS]]
func.func @stops(%x: tensor<4x6xf32> {spmd.place = #spmd.place<@g: [x, *]>}) {
  %0 = nn.exp %x {spmd.split = #spmd.split<@g>, spmd.stops = [#spmd.place<@g: [*, *]>]}
    : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %1 = nn.sin %x {spmd.split = #spmd.split<@g>, spmd.stops = [#spmd.place<@g: [*, *]>]}
    : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %2 = nn.cos %x {spmd.split = #spmd.split<@g>} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %3 = nn.neg %x {spmd.split = #spmd.split<@g: d1@x>, spmd.stops = [#spmd.place<@g: [*, *]>]}
    : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}
