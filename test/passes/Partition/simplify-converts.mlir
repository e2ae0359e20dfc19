// RUN: divisi-opt %s --spmd-simplify-converts | FileCheck %s

spmd.grid @g (x = 2)
!rows = tensor<2x8xf32, #spmd.local<(x=2), [x, *], 4x8>>
!columns = tensor<4x4xf32, #spmd.local<(x=2), [*, x], 4x8>>
!whole = tensor<4x8xf32, #spmd.local<(x=2), [*, *], 4x8>>

// CHECK-LABEL: func.func @share
// CHECK-NEXT: %[[ONE:.*]] = spmd.convert %arg0
// CHECK-NEXT: return %[[ONE]], %[[ONE]]
func.func @share(%0: !rows) -> (!whole, !whole) {
  %1 = spmd.convert %0 {grid = @g} : !rows -> !whole
  %2 = spmd.convert %0 {grid = @g} : !rows -> !whole
  return %1, %2 : !whole, !whole
}

// A stop that nobody else uses is left out.
// CHECK-LABEL: func.func @compose
// CHECK-NEXT: %[[ONE:.*]] = spmd.convert %arg0 {grid = @g} : tensor<2x8xf32, #spmd.local<(x=2), [x, *], 4x8>> -> tensor<4x4xf32
// CHECK-NEXT: return %[[ONE]]
func.func @compose(%0: !rows) -> !columns {
  %1 = spmd.convert %0 {grid = @g} : !rows -> !whole
  %2 = spmd.convert %1 {grid = @g} : !whole -> !columns
  return %2 : !columns
}

// A stop that somebody uses is where the next convert starts.
// CHECK-LABEL: func.func @keep_shared_stop
// CHECK-NEXT: %[[STOP:.*]] = spmd.convert %arg0
// CHECK-NEXT: %[[NEXT:.*]] = spmd.convert %[[STOP]]
// CHECK-NEXT: return %[[STOP]], %[[NEXT]]
func.func @keep_shared_stop(%0: !rows) -> (!whole, !columns) {
  %1 = spmd.convert %0 {grid = @g} : !rows -> !whole
  %2 = spmd.convert %1 {grid = @g} : !whole -> !columns
  return %1, %2 : !whole, !columns
}

// There and back is nothing; nor is what nobody uses.
// CHECK-LABEL: func.func @nothing
// CHECK-NEXT: return %arg0
func.func @nothing(%0: !rows) -> !rows {
  %1 = spmd.convert %0 {grid = @g} : !rows -> !whole
  %2 = spmd.convert %1 {grid = @g} : !whole -> !rows
  %3 = spmd.convert %0 {grid = @g} : !rows -> !columns
  return %2 : !rows
}
