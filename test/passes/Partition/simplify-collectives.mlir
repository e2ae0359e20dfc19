// RUN: divisi-opt %s --spmd-simplify-collectives | FileCheck %s

spmd.grid @g (x = 2)
spmd.grid @h (z = 3) devices [2, 3, 4]
!rows = tensor<2x8xf32, #spmd.local<(x=2), [x, *], 4x8>>
!columns = tensor<4x4xf32, #spmd.local<(x=2), [*, x], 4x8>>
!whole = tensor<4x8xf32, #spmd.local<(x=2), [*, *], 4x8>>
!sum = tensor<4x8xf32, #spmd.local<(x=2), [*, *] partial sum {x}, 4x8>>
!other = tensor<4x8xf32, #spmd.local<(z=3), [*, *], 4x8>>

// CHECK-LABEL: func.func @reduce_scatter
// CHECK-NEXT: %[[ROWS:.*]] = spmd.reduce_scatter %arg0 {axes = ["x"], grid = @g}
// CHECK-NEXT: return %[[ROWS]]
func.func @reduce_scatter(%0: !sum) -> !rows {
  %1 = spmd.all_reduce %0 {grid = @g, axes = ["x"]} : !sum -> !whole
  %2 = spmd.slice %1 {grid = @g, axes = ["x"]} : !whole -> !rows
  return %2 : !rows
}

// Sliced twice alike: sharing comes first, then there is one user.
// CHECK-LABEL: func.func @shared_slice
// CHECK-NEXT: %[[ROWS:.*]] = spmd.reduce_scatter %arg0
// CHECK-NEXT: return %[[ROWS]], %[[ROWS]]
func.func @shared_slice(%0: !sum) -> (!rows, !rows) {
  %1 = spmd.all_reduce %0 {grid = @g, axes = ["x"]} : !sum -> !whole
  %2 = spmd.slice %1 {grid = @g, axes = ["x"]} : !whole -> !rows
  %3 = spmd.slice %1 {grid = @g, axes = ["x"]} : !whole -> !rows
  return %2, %3 : !rows, !rows
}

// The whole is wanted too: slicing it is cheaper than a second collective.
// CHECK-LABEL: func.func @keep_used_all_reduce
// CHECK-NEXT: %[[WHOLE:.*]] = spmd.all_reduce %arg0
// CHECK-NEXT: %[[ROWS:.*]] = spmd.slice %[[WHOLE]]
// CHECK-NEXT: return %[[WHOLE]], %[[ROWS]]
func.func @keep_used_all_reduce(%0: !sum) -> (!whole, !rows) {
  %1 = spmd.all_reduce %0 {grid = @g, axes = ["x"]} : !sum -> !whole
  %2 = spmd.slice %1 {grid = @g, axes = ["x"]} : !whole -> !rows
  return %1, %2 : !whole, !rows
}

// Gathered and sliced back; the gather dies with its last user.
// CHECK-LABEL: func.func @cancel
// CHECK-NEXT: return %arg0
func.func @cancel(%0: !rows) -> !rows {
  %1 = spmd.all_gather %0 {grid = @g, axes = ["x"]} : !rows -> !whole
  %2 = spmd.slice %1 {grid = @g, axes = ["x"]} : !whole -> !rows
  return %2 : !rows
}

// CHECK-LABEL: func.func @keep_other_slice
// CHECK-NEXT: spmd.all_gather
// CHECK-NEXT: spmd.slice
func.func @keep_other_slice(%0: !rows) -> !columns {
  %1 = spmd.all_gather %0 {grid = @g, axes = ["x"]} : !rows -> !whole
  %2 = spmd.slice %1 {grid = @g, axes = ["x"]} : !whole -> !columns
  return %2 : !columns
}

// CHECK-LABEL: func.func @share
// CHECK-NEXT: %[[SENT:.*]] = spmd.transfer %arg0 from @g to @h
// CHECK-NEXT: return %[[SENT]], %[[SENT]]
func.func @share(%0: !rows) -> (!other, !other) {
  %1 = spmd.transfer %0 from @g to @h : !rows -> !other
  %2 = spmd.transfer %0 from @g to @h : !rows -> !other
  return %1, %2 : !other, !other
}

// CHECK-LABEL: func.func @dead
// CHECK-NEXT: return
func.func @dead(%0: !rows) {
  %1 = spmd.all_gather %0 {grid = @g, axes = ["x"]} : !rows -> !whole
  %2 = spmd.transfer %1 from @g to @h : !whole -> !other
  return
}
