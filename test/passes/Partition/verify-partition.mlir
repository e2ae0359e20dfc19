// RUN: divisi-opt %s --verify-partition --split-input-file --verify-diagnostics

spmd.grid @g (x = 2)
!rows = tensor<2x4xf32, #spmd.local<(x=2), [x, *], 4x4>>
!whole = tensor<4x4xf32, #spmd.local<(x=2), [*, *], 4x4>>
func.func @forward(%a: !rows {spmd.place = #spmd.place<@g: [x, *]>},
                   %b: !whole {spmd.place = #spmd.place<@g: [*, *]>}) {
  // expected-error @+1 {{operand 0 lies as [x, *], but the split needs [*, x]}}
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
  // expected-error @+1 {{result 0 lies as [], but the split makes [] partial sum {x}}}
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
  // expected-error @+1 {{operand 0 lies on the grid @g, expected @h; a transfer is missing}}
  %0 = nn.neg %a {spmd.split = #spmd.split<@h: d0@x>} : (!half) -> !half
  return
}

// -----

spmd.grid @g (x = 2)
!half = tensor<2xf32, #spmd.local<(x=2), [x], 4>>
!whole = tensor<4xf32, #spmd.local<(x=2), [*], 4>>
func.func @forward(%a: !half {spmd.place = #spmd.place<@g: [x]>}) {
  // expected-error @+1 {{'spmd.convert' op is left; expected steps, run spmd-route}}
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
// expected-error @+1 {{argument 0 lies as [x], but its place is [*]}}
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
  // expected-error @+1 {{operand 0 lies as [x], but its place is [*]}}
  return %a : !half
}

// -----

spmd.grid @g (x = 2)
!half = tensor<2xf32, #spmd.local<(x=2), [x], 4>>
nn.global @w parameter : tensor<4xf32> {spmd.place = #spmd.place<@g: [*]>}
func.func @forward() {
  // expected-error @+1 {{the value of the global lies as [x], but its place is [*]}}
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
