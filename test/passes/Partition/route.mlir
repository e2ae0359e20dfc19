// RUN: divisi-opt %s --spmd-route --split-input-file --verify-diagnostics | FileCheck %s

spmd.grid @g (x = 2, y = 2)
!rows = tensor<2x8xf32, #spmd.local<(x=2, y=2), [x, *], 4x8>>
!columns = tensor<4x4xf32, #spmd.local<(x=2, y=2), [*, x], 4x8>>
!sum = tensor<2x8xf32, #spmd.local<(x=2, y=2), [x, *] partial sum {y}, 4x8>>
!tiles = tensor<2x4xf32, #spmd.local<(x=2, y=2), [x, y], 4x8>>

// CHECK-LABEL: func.func @routes
// CHECK-NEXT: %[[A:.*]] = spmd.all_to_all %arg0 {axes = ["x"], grid = @g}
// CHECK-NEXT: %[[B:.*]] = spmd.reduce_scatter %arg1 {axes = ["y"], grid = @g}
// CHECK-NEXT: %[[C:.*]] = spmd.slice %arg0 {axes = ["y"], grid = @g}
// CHECK-NEXT: return %[[A]], %[[B]], %[[C]]
func.func @routes(%0: !rows, %1: !sum) -> (!columns, !tiles, !tiles) {
  %2 = spmd.convert %0 {grid = @g} : !rows -> !columns
  %3 = spmd.convert %1 {grid = @g} : !sum -> !tiles
  %4 = spmd.convert %0 {grid = @g} : !rows -> !tiles
  return %2, %3, %4 : !columns, !tiles, !tiles
}

// Several steps: each starts where the last has ended.
// CHECK-LABEL: func.func @chain
// CHECK-NEXT: %[[A:.*]] = spmd.all_to_all %arg0 {axes = ["x"], grid = @g}
// CHECK-SAME: -> tensor<4x4xf32, #spmd.local<(x=2, y=2), [*, x] partial sum {y}, 4x8>>
// CHECK-NEXT: %[[B:.*]] = spmd.all_reduce %[[A]] {axes = ["y"], grid = @g}
// CHECK-NEXT: return %[[B]]
func.func @chain(%0: !sum) -> !columns {
  %1 = spmd.convert %0 {grid = @g} : !sum -> !columns
  return %1 : !columns
}

// -----

spmd.grid @g (x = 2)
!whole = tensor<4xf32, #spmd.local<(x=2), [*], 4>>
!max = tensor<4xf32, #spmd.local<(x=2), [*] partial prod {x}, 4>>
func.func @impossible(%0: !whole) -> !max {
  // expected-error @+1 {{no collectives go from [*] to [*] partial prod {x}}}
  %1 = spmd.convert %0 {grid = @g} : !whole -> !max
  return %1 : !max
}
