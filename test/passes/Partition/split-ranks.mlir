// RUN: divisi-opt %s --split-ranks --split-input-file --verify-diagnostics | FileCheck %s

// Four ranks and a part of them: the ranks of both grids run one function with
// everything, the others what happens on all.
spmd.grid @all (x = 2, y = 2)
spmd.grid @part (y = 2) devices [2, 3]
!all = tensor<2xf32, #spmd.local<(x=2, y=2), [x], 4>>
!sum = tensor<4xf32, #spmd.local<(x=2, y=2), [*] partial sum {x}, 4>>
!whole = tensor<4xf32, #spmd.local<(x=2, y=2), [*], 4>>
!part = tensor<2xf32, #spmd.local<(y=2), [y], 4>>

// CHECK-LABEL: func.func @forward__0(
// CHECK-SAME: %[[X:.*]]: tensor<2xf32, #spmd.local<(x=2, y=2), [x], 4>> {nn.name = "x", spmd.index = 1 : i64
// CHECK-SAME: -> (tensor<4xf32, #spmd.local<(x=2, y=2), [*], 4>> {spmd.index = 0 : i64
// CHECK-SAME: attributes {spmd.entry = "forward", spmd.ranks = array<i32: 0, 1>}
// CHECK-NEXT: %[[G:.*]] = spmd.all_gather %[[X]] {axes = ["x"], grid = @all, tag = 0 : i64}
// CHECK-NEXT: spmd.transfer %[[G]] from @all to @part {tag = 1 : i64}
// CHECK-NEXT: %[[M:.*]] = spmd.mask %[[G]] {axes = ["x"], grid = @all} :
// CHECK-NEXT: %[[R:.*]] = spmd.all_reduce %[[M]] {axes = ["x"], grid = @all, tag = 2 : i64}
// CHECK-NEXT: return %[[R]]

// CHECK-LABEL: func.func @forward__1(
// CHECK-SAME: spmd.index = 0 : i64
// CHECK-SAME: spmd.index = 1 : i64
// CHECK-SAME: attributes {spmd.entry = "forward", spmd.ranks = array<i32: 2, 3>}
// CHECK-NEXT: spmd.all_gather
// CHECK-NEXT: %[[T:.*]] = spmd.transfer %{{.*}} from @all to @part {tag = 1 : i64}
// CHECK-NEXT: nn.add %arg0, %[[T]]
// CHECK-NEXT: spmd.mask
// CHECK-NEXT: spmd.all_reduce
// CHECK-NEXT: return %{{.*}}, %{{.*}} :
// CHECK-NOT: func.func
func.func @forward(%p: !part {nn.name = "p", spmd.place = #spmd.place<@part: [y]>},
                   %x: !all {nn.name = "x", spmd.place = #spmd.place<@all: [x]>})
    -> (!whole {spmd.place = #spmd.place<@all: [*]>}, !part {spmd.place = #spmd.place<@part: [y]>}) {
  %0 = spmd.all_gather %x {grid = @all, axes = ["x"]} : !all -> !whole
  %1 = spmd.transfer %0 from @all to @part : !whole -> !part
  %2 = nn.add %p, %1 {spmd.split = #spmd.split<@part: d0@y>} : (!part, !part) -> !part
  %3 = spmd.mask %0 {grid = @all, axes = ["x"]} : !whole -> !sum
  %4 = spmd.all_reduce %3 {grid = @all, axes = ["x"]} : !sum -> !whole
  return %4, %2 : !whole, !part
}

// -----

// Grids that share no device: each rank has only its end of a transfer.
spmd.grid @a (one = 1) devices [0]
spmd.grid @b (z = 3) devices [1, 2, 3]
!a = tensor<4xf32, #spmd.local<(one=1), [*], 4>>
!b = tensor<2xf32, #spmd.local<(z=3), [z], 4>>
nn.global @w parameter : tensor<4xf32> {spmd.place = #spmd.place<@a: [*]>}
nn.global @m state : tensor<4xf32> zero {spmd.place = #spmd.place<@b: [z]>}

// CHECK-LABEL: func.func @forward__0()
// CHECK-SAME: spmd.ranks = array<i32: 0>
// CHECK-NEXT: %[[W:.*]] = nn.read @w
// CHECK-NEXT: spmd.transfer %[[W]] from @a to @b {tag = 0 : i64}
// CHECK-NEXT: return

// CHECK-LABEL: func.func @forward__1()
// CHECK-SAME: spmd.ranks = array<i32: 1, 2, 3>
// CHECK-NEXT: %[[W:.*]] = spmd.transfer from @a to @b {tag = 0 : i64}
// CHECK-NEXT: nn.update @m, %[[W]]
// CHECK-NEXT: return
func.func @forward() {
  %0 = nn.read @w : !a
  %1 = spmd.transfer %0 from @a to @b : !a -> !b
  nn.update @m, %1 : !b
  return
}

// -----

func.func @forward(%x: tensor<4xf32>) {
  // expected-error @-1 {{argument 0 has no place; expected spmd.place}}
  return
}

// -----

spmd.grid @g (x = 2)
func.func @forward(%x: tensor<4xf32> {spmd.place = #spmd.place<@g: [*]>}) {
  // expected-error @+1 {{'nn.neg' op is on no grid, so no rank would run it; run spmd-partition and spmd-route first}}
  %0 = nn.neg %x : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// A conversion has a grid, and no steps yet.
spmd.grid @g (x = 2)
!rows = tensor<2x4xf32, #spmd.local<(x=2), [x, *], 4x4>>
!columns = tensor<4x2xf32, #spmd.local<(x=2), [*, x], 4x4>>
func.func @forward(%x: !rows {spmd.place = #spmd.place<@g: [x, *]>}) {
  // expected-error @+1 {{is on no grid, so no rank would run it; run spmd-partition and spmd-route first}}
  %0 = spmd.convert %x {grid = @g} : !rows -> !columns
  return
}

// -----

// A transfer was forgotten.
spmd.grid @a (x = 2)
spmd.grid @b (x = 2) devices [2, 3]
!half = tensor<2xf32, #spmd.local<(x=2), [x], 4>>
func.func @forward(%x: !half {spmd.place = #spmd.place<@a: [x]>}) {
  // expected-error @+1 {{makes a value that is used on another grid; a transfer is missing, see verify-partition}}
  %0 = nn.neg %x {spmd.split = #spmd.split<@a: d0@x>} : (!half) -> !half
  // expected-note @+1 {{it is used here}}
  %1 = nn.neg %0 {spmd.split = #spmd.split<@b: d0@x>} : (!half) -> !half
  return
}

// -----

spmd.grid @g (x = 2)
func.func private @forward__0()
// expected-error @+1 {{needs the name 'forward__0' for a part, but it is taken; rename}}
func.func @forward(%x: tensor<4xf32> {spmd.place = #spmd.place<@g: [*]>}) {
  return
}
