// RUN: divisi-opt %s --verify-partition --split-input-file --verify-diagnostics

spmd.grid @g (x = 2)
!rows = tensor<2x4xf32, #spmd.local<(x=2), [x, *], 4x4>>
!whole = tensor<4x4xf32, #spmd.local<(x=2), [*, *], 4x4>>
func.func @forward(%a: !rows {spmd.place = #spmd.place<@g: [x, *]>},
                   %b: !whole {spmd.place = #spmd.place<@g: [*, *]>}) {
  // expected-error @+1 {{operand 0: dimension 0 at x=0 is 0:2, but the iterations there touch 0:4}}
  %0 = nn.matmul %a, %b {labels = "mk,kn->mn", spmd.split = #spmd.split<@g: k@x>}
    : (!rows, !whole) -> !whole
  return
}

// -----

// The result of a split sum is partial, whatever its type says.
spmd.grid @g (x = 2)
!half = tensor<2xf32, #spmd.local<(x=2), [x], 4>>
!scalar = tensor<f32, #spmd.local<(x=2), []>>
func.func @forward(%a: !half {spmd.place = #spmd.place<@g: [x]>}) {
  // expected-error @+1 {{result 0: is partial over {}, but the split leaves summands over {x}}}
  %0 = nn.reduce %a {kind = "sum", axes = array<i64: 0>, spmd.split = #spmd.split<@g: d0@x>}
    : (!half) -> !scalar
  return
}

// -----

// Equal types on other devices.
spmd.grid @g (x = 2)
spmd.grid @h (x = 2) devices [2, 3]
!half = tensor<2xf32, #spmd.local<(x=2), [x], 4>>
func.func @forward(%a: !half {spmd.place = #spmd.place<@g: [x]>}) {
  // expected-error @+1 {{operand 0 is on the grid @g, expected @h; a transfer is missing}}
  %0 = nn.neg %a {spmd.split = #spmd.split<@h: d0@x>} : (!half) -> !half
  return
}

// -----

spmd.grid @g (x = 2)
!half = tensor<2xf32, #spmd.local<(x=2), [x], 4>>
!whole = tensor<4xf32, #spmd.local<(x=2), [*], 4>>
func.func @forward(%a: !half {spmd.place = #spmd.place<@g: [x]>}) {
  // expected-error @+1 {{'spmd.convert' op remains; expected steps, run spmd-route}}
  %0 = spmd.convert %a {grid = @g} : !half -> !whole
  return
}

// -----

spmd.grid @g (x = 2)
// expected-error @+1 {{argument 0 has type 'tensor<4xf32>', expected a tensor with #spmd.local}}
func.func @forward(%a: tensor<4xf32> {spmd.place = #spmd.place<@g: [x]>}) {
  return
}

// -----

!half = tensor<2xf32, #spmd.local<(x=2), [x], 4>>
// expected-error @+1 {{argument 0 has no place; expected spmd.place}}
func.func @forward(%a: !half) {
  return
}

// -----

spmd.grid @g (x = 2)
!half = tensor<2xf32, #spmd.local<(x=2), [x], 4>>
// expected-error @+1 {{argument 0: does not have the layout of its place: dimension 0 at x=0 is 0:2, expected 0:4}}
func.func @forward(%a: !half {spmd.place = #spmd.place<@g: [*]>}) {
  return
}

// -----

spmd.grid @g (x = 3)
!half = tensor<2xf32, #spmd.local<(x=2), [x], 4>>
// expected-error @+1 {{expected it to lie on (x=3)}}
func.func @forward(%a: !half {spmd.place = #spmd.place<@g: [x]>}) {
  return
}

// -----

spmd.grid @g (x = 2)
!half = tensor<2xf32, #spmd.local<(x=2), [x], 4>>
func.func @forward(%a: !half {spmd.place = #spmd.place<@g: [x]>})
    -> (!half {spmd.place = #spmd.place<@g: [*]>}) {
  // expected-error @+1 {{operand 0: does not have the layout of its place: dimension 0 at x=0 is 0:2, expected 0:4}}
  return %a : !half
}

// -----

spmd.grid @g (x = 2)
!half = tensor<2xf32, #spmd.local<(x=2), [x], 4>>
nn.global @w parameter : tensor<4xf32> {spmd.place = #spmd.place<@g: [*]>}
func.func @forward() {
  // expected-error @+1 {{the value of the global: does not have the layout of its place: dimension 0 at x=0 is 0:2, expected 0:4}}
  %0 = nn.read @w : !half
  return
}

// -----

spmd.grid @g (x = 2)
!half = tensor<2xf32, #spmd.local<(x=2), [x], 4>>
func.func @forward(%a: !half {spmd.place = #spmd.place<@g: [x]>}) {
  // expected-error @+1 {{has lost its strategy; expected spmd.split}}
  %0 = nn.neg %a : (!half) -> !half
  return
}

// -----

func.func @forward() {
  // expected-error @+1 {{may not exist after partitioning; expected operators of 'nn' and moves of 'spmd'}}
  call @forward() : () -> ()
  return
}

// -----

// Summands may not enter: nobody outside has them.
spmd.grid @g (x = 2)
!sum = tensor<4xf32, #spmd.local<(x=2), [*] partial sum {x}, 4>>
// expected-error @+1 {{argument 0: its place is partial; arguments, results and globals hold the value, not summands of it}}
func.func @forward(%a: !sum {spmd.place = #spmd.place<@g: [*] partial sum {x}>}) {
  return
}

// -----

spmd.grid @g (x = 2)
!sum = tensor<4xf32, #spmd.local<(x=2), [*] partial sum {x}, 4>>
// expected-error @+1 {{argument 0: is partial, and its place is not}}
func.func @forward(%a: !sum {spmd.place = #spmd.place<@g: [*]>}) {
  return
}

// -----

// Computed when the program was whole.
spmd.grid @g (x = 2)
!half = tensor<2xf32, #spmd.local<(x=2), [x], 4>>
// expected-error @+1 {{does not compute the same as the program before partitioning, first in result 0; if this is intended, edit the program before the partition stage, or drop spmd.computes}}
func.func @forward(%a: !half {spmd.place = #spmd.place<@g: [x]>})
    -> (!half {spmd.place = #spmd.place<@g: [x]>})
    attributes {spmd.computes = array<i64: 1>} {
  return %a : !half
}

// -----

spmd.grid @g (x = 2)
!half = tensor<2xf32, #spmd.local<(x=2), [x], 4>>
!whole = tensor<4xf32, #spmd.local<(x=2), [*], 4>>
func.func @f0(%a: !half {spmd.place = #spmd.place<@g: [x]>})
    attributes {spmd.entry = "f", spmd.ranks = array<i32: 0, 1>} {
  // expected-error @+1 {{has no tag; run split-ranks first}}
  %0 = spmd.all_gather %a {grid = @g, axes = ["x"]} : !half -> !whole
  return
}

// -----

spmd.grid @g (x = 2)
!half = tensor<2xf32, #spmd.local<(x=2), [x], 4>>
!whole = tensor<4xf32, #spmd.local<(x=2), [*], 4>>
func.func @f0(%a: !half {spmd.place = #spmd.place<@g: [x]>})
    attributes {spmd.entry = "f", spmd.ranks = array<i32: 0, 1>} {
  %0 = spmd.all_gather %a {grid = @g, axes = ["x"], tag = 4 : i64} : !half -> !whole
  // expected-error @+1 {{has the tag 4 after the tag 4; ranks that do them in another order would wait for each other}}
  %1 = spmd.all_gather %a {grid = @g, axes = ["x"], tag = 4 : i64} : !half -> !whole
  return
}

// -----

spmd.grid @g (x = 2)
!half = tensor<2xf32, #spmd.local<(x=2), [x], 4>>
func.func @f0(%a: !half {spmd.place = #spmd.place<@g: [x]>})
    attributes {spmd.entry = "f", spmd.ranks = array<i32: 0>} {
  return
}
// expected-error @+1 {{is one of several functions of its entry, but has no ranks; run split-ranks}}
func.func @f1(%a: !half {spmd.place = #spmd.place<@g: [x]>})
    attributes {spmd.entry = "f"} {
  return
}

// -----

spmd.grid @g (x = 2)
!half = tensor<2xf32, #spmd.local<(x=2), [x], 4>>
func.func @f0(%a: !half {spmd.place = #spmd.place<@g: [x]>})
    attributes {spmd.entry = "f", spmd.ranks = array<i32: 0, 1>} {
  return
}
// expected-error @+1 {{is for the rank 1, which has another function already}}
func.func @f1(%a: !half {spmd.place = #spmd.place<@g: [x]>})
    attributes {spmd.entry = "f", spmd.ranks = array<i32: 1>} {
  return
}

// -----

spmd.grid @g (x = 2)
!half = tensor<2xf32, #spmd.local<(x=2), [x], 4>>
// expected-error @+1 {{runs on the grid @g, of which not all ranks of its function are}}
func.func @f0(%a: !half {spmd.place = #spmd.place<@g: [x]>})
    attributes {spmd.entry = "f", spmd.ranks = array<i32: 1, 2>} {
  return
}

// -----

// Rank 1 gathers what rank 0 takes apart.
spmd.grid @g (x = 2)
!half = tensor<2xf32, #spmd.local<(x=2), [x], 4>>
!whole = tensor<4xf32, #spmd.local<(x=2), [*], 4>>
func.func @f0(%a: !half {spmd.place = #spmd.place<@g: [x]>})
    attributes {spmd.entry = "f", spmd.ranks = array<i32: 0>} {
  // expected-note @+1 {{the other operation is here}}
  %0 = spmd.all_gather %a {grid = @g, axes = ["x"], tag = 0 : i64} : !half -> !whole
  return
}
func.func @f1(%a: !half {spmd.place = #spmd.place<@g: [x]>})
    attributes {spmd.entry = "f", spmd.ranks = array<i32: 1>} {
  // expected-error @+1 {{differs from the operation of other ranks with the tag 0}}
  %0 = spmd.exchange %a {grid = @g, axes = ["x"], tag = 0 : i64} : !half -> !whole
  return
}

// -----

spmd.grid @g (x = 2)
!half = tensor<2xf32, #spmd.local<(x=2), [x], 4>>
!whole = tensor<4xf32, #spmd.local<(x=2), [*], 4>>
func.func @f0(%a: !half {spmd.place = #spmd.place<@g: [x]>, spmd.index = 0 : i64},
              %b: !half {spmd.place = #spmd.place<@g: [x]>, spmd.index = 1 : i64})
    attributes {spmd.entry = "f", spmd.ranks = array<i32: 0>} {
  %0 = spmd.all_gather %a {grid = @g, axes = ["x"], tag = 0 : i64} : !half -> !whole
  return
}
func.func @f1(%a: !half {spmd.place = #spmd.place<@g: [x]>, spmd.index = 0 : i64},
              %b: !half {spmd.place = #spmd.place<@g: [x]>, spmd.index = 1 : i64})
    attributes {spmd.entry = "f", spmd.ranks = array<i32: 1>} {
  // expected-error @+1 {{moves another value than other ranks with the tag 0}}
  %0 = spmd.all_gather %b {grid = @g, axes = ["x"], tag = 0 : i64} : !half -> !whole
  return
}

// -----

// Rank 1 does not come.
spmd.grid @g (x = 2)
!half = tensor<2xf32, #spmd.local<(x=2), [x], 4>>
!whole = tensor<4xf32, #spmd.local<(x=2), [*], 4>>
func.func @f0(%a: !half {spmd.place = #spmd.place<@g: [x]>})
    attributes {spmd.entry = "f", spmd.ranks = array<i32: 0>} {
  // expected-error @+1 {{takes all devices of its grid, but not all of their functions have this tag 0}}
  %0 = spmd.all_gather %a {grid = @g, axes = ["x"], tag = 0 : i64} : !half -> !whole
  return
}

// -----

spmd.grid @a (x = 1)
spmd.grid @b (x = 1) devices [1]
!whole = tensor<4xf32, #spmd.local<(x=1), [*], 4>>
func.func @f0(%a: !whole {spmd.place = #spmd.place<@a: [*]>})
    attributes {spmd.entry = "f", spmd.ranks = array<i32: 0>} {
  // expected-error @+1 {{has an end on ranks outside of the grid there, or lacks one on ranks inside}}
  %0 = spmd.transfer %a from @a to @b {tag = 0 : i64} : !whole -> !whole
  return
}

// -----

spmd.grid @a (x = 1)
spmd.grid @b (x = 1) devices [1]
!whole = tensor<4xf32, #spmd.local<(x=1), [*], 4>>
func.func @f1() attributes {spmd.entry = "f", spmd.ranks = array<i32: 1>} {
  // expected-error @+1 {{waits for a transfer that no rank of its source sends}}
  %0 = spmd.transfer from @a to @b {tag = 0 : i64} : !whole -> !whole
  return
}

// -----

spmd.grid @g (x = 2)
!whole = tensor<4xf32, #spmd.local<(x=2), [*], 4>>
func.func @f0(%a: !whole {spmd.place = #spmd.place<@g: [*]>, spmd.index = 0 : i64})
    -> (!whole {spmd.place = #spmd.place<@g: [*]>, spmd.index = 0 : i64})
    attributes {spmd.entry = "f", spmd.ranks = array<i32: 0>} {
  return %a : !whole
}
func.func @f1(%a: !whole {spmd.place = #spmd.place<@g: [*]>, spmd.index = 1 : i64})
    -> (!whole {spmd.place = #spmd.place<@g: [*]>, spmd.index = 0 : i64})
    attributes {spmd.entry = "f", spmd.ranks = array<i32: 1>} {
  // expected-error @+1 {{operand 0 is returned as result 0, as which other ranks return another value}}
  return %a : !whole
}

// -----

spmd.grid @g (x = 2)
!whole = tensor<4xf32, #spmd.local<(x=2), [*], 4>>
nn.global @m state : tensor<4xf32> zero {spmd.place = #spmd.place<@g: [*]>}
func.func @f0(%a: !whole {spmd.place = #spmd.place<@g: [*]>, spmd.index = 0 : i64})
    attributes {spmd.entry = "f", spmd.ranks = array<i32: 0>} {
  nn.update @m, %a : !whole
  return
}
func.func @f1(%a: !whole {spmd.place = #spmd.place<@g: [*]>, spmd.index = 1 : i64})
    attributes {spmd.entry = "f", spmd.ranks = array<i32: 1>} {
  // expected-error @+1 {{writes another value than other ranks do}}
  nn.update @m, %a : !whole
  return
}

// -----

// Rank 1 keeps the old state.
spmd.grid @g (x = 2)
!whole = tensor<4xf32, #spmd.local<(x=2), [*], 4>>
nn.global @m state : tensor<4xf32> zero {spmd.place = #spmd.place<@g: [*]>}
func.func @f0(%a: !whole {spmd.place = #spmd.place<@g: [*]>})
    attributes {spmd.entry = "f", spmd.ranks = array<i32: 0>} {
  // expected-error @+1 {{takes all devices of its grid, but not all of their functions have this update of m}}
  nn.update @m, %a : !whole
  return
}

// -----

// The two call one argument by two names.
spmd.grid @a (x = 1) devices [0]
spmd.grid @b (x = 1) devices [1]
!a = tensor<4xf32, #spmd.local<(x=1), [*], 4>>
func.func @f0(%0: !a {nn.name = "x", spmd.index = 0 : i64, spmd.place = #spmd.place<@a: [*]>})
    attributes {spmd.entry = "f", spmd.ranks = array<i32: 0>} {
  return
}
// expected-error @+1 {{argument 0 is argument 0 of the entry, whose name or type differs on other ranks}}
func.func @f1(%0: !a {nn.name = "y", spmd.index = 0 : i64, spmd.place = #spmd.place<@b: [*]>})
    attributes {spmd.entry = "f", spmd.ranks = array<i32: 1>} {
  return
}

// -----

// As it was, but for the name of the argument, and for a state that is new.
spmd.grid @g (x = 2)
!half = tensor<2xf32, #spmd.local<(x=2), [x], 4>>
// expected-error @+1 {{does not compute the same as the program before partitioning, first in the names and types of arguments and results; if this}}
func.func @forward(%a: !half {nn.name = "y", spmd.place = #spmd.place<@g: [x]>})
    -> (!half {spmd.place = #spmd.place<@g: [x]>})
    attributes {spmd.computes = array<i64: 61131687239002496, -5460859040082319404, -3624103598669865132>} {
  return %a : !half
}

// -----

spmd.grid @g (x = 2)
!half = tensor<2xf32, #spmd.local<(x=2), [x], 4>>
nn.global @m state : tensor<4xf32> zero
// expected-error @+1 {{does not compute the same as the program before partitioning, first in the globals, @init, or which entries there are; if this}}
func.func @forward(%a: !half {nn.name = "x", spmd.place = #spmd.place<@g: [x]>})
    -> (!half {spmd.place = #spmd.place<@g: [x]>})
    attributes {spmd.computes = array<i64: 61131687239002496, -5460859040082319404, -3624103598669865132>} {
  return %a : !half
}
