// RUN: divisi-opt %s --verify-partition --split-input-file --verify-diagnostics

!count = tensor<i64, #spmd.local<(x=2), []>>
!half = tensor<2xf32, #spmd.local<(x=2), [x], 4>>
spmd.grid @g (x = 2)
func.func @run(%n: !count {spmd.place = #spmd.place<@g: []>},
    %x: !half {spmd.place = #spmd.place<@g: [x]>})
    -> (!half {spmd.place = #spmd.place<@g: [x]>}) {
  // expected-error @+1 {{runs @step, which is not a body of one part}}
  %0 = nn.loop @step(%n, %x) max 3 {spmd.places = [#spmd.place<@g: [x]>]} : (!count, !half) -> !half
  return %0 : !half
}

// -----

!count = tensor<i64, #spmd.local<(x=2), []>>
!half = tensor<2xf32, #spmd.local<(x=2), [x], 4>>
spmd.grid @g (x = 2)
!other = tensor<3xf32, #spmd.local<(x=2), [x], 6>>
func.func private @step(%n: !count {spmd.place = #spmd.place<@g: []>},
    %x: !other {spmd.place = #spmd.place<@g: [x]>})
    -> (!other {spmd.place = #spmd.place<@g: [x]>}) {
  return %x : !other
}
func.func @run(%n: !count {spmd.place = #spmd.place<@g: []>},
    %x: !half {spmd.place = #spmd.place<@g: [x]>})
    -> (!half {spmd.place = #spmd.place<@g: [x]>}) {
  // expected-error @+1 {{has other operands or results than its body @step}}
  %0 = nn.loop @step(%n, %x) max 3 {spmd.places = [#spmd.place<@g: [x]>]} : (!count, !half) -> !half
  return %0 : !half
}

// -----

!count = tensor<i64, #spmd.local<(x=2), []>>
!half = tensor<2xf32, #spmd.local<(x=2), [x], 4>>
spmd.grid @g (x = 2)
spmd.grid @h (x = 2) devices [2, 3]
func.func private @step(%n: !count {spmd.place = #spmd.place<@g: []>},
    %x: !half {spmd.place = #spmd.place<@h: [x]>})
    -> (!half {spmd.place = #spmd.place<@h: [x]>}) {
  return %x : !half
}
func.func @run(%n: !count {spmd.place = #spmd.place<@g: []>},
    %x: !half {spmd.place = #spmd.place<@g: [x]>})
    -> (!half {spmd.place = #spmd.place<@g: [x]>}) {
  // expected-error @+1 {{needs one grid for all arguments of @step}}
  %0 = nn.loop @step(%n, %x) max 3 {spmd.places = [#spmd.place<@g: [x]>]} : (!count, !half) -> !half
  return %0 : !half
}

// -----

// The next iteration would find it elsewhere.
!count = tensor<i64, #spmd.local<(x=2), []>>
!half = tensor<2xf32, #spmd.local<(x=2), [x], 4>>
!whole = tensor<4xf32, #spmd.local<(x=2), [*], 4>>
spmd.grid @g (x = 2)
// expected-error @+1 {{is a body that returns result 0 in another place than argument 1, which it becomes in the next iteration}}
func.func private @step(%n: !count {spmd.place = #spmd.place<@g: []>},
    %x: !half {spmd.place = #spmd.place<@g: [x]>})
    -> (!whole {spmd.place = #spmd.place<@g: [*]>}) {
  %0 = spmd.all_gather %x {grid = @g, axes = ["x"]} : !half -> !whole
  return %0 : !whole
}

// -----

!count = tensor<i64, #spmd.local<(x=2), []>>
!half = tensor<2xf32, #spmd.local<(x=2), [x], 4>>
spmd.grid @g (x = 2)
nn.global @w state : tensor<4xf32> zero {spmd.place = #spmd.place<@g: [x]>}
func.func private @step(%n: !count {spmd.place = #spmd.place<@g: []>},
    %x: !half {spmd.place = #spmd.place<@g: [x]>})
    -> (!half {spmd.place = #spmd.place<@g: [x]>}) {
  // expected-error @+1 {{touches a global or another grid in a body, which is not possible}}
  %0 = nn.read @w : !half
  return %0 : !half
}

// -----

// An operand that does not lie as the argument.
!count = tensor<i64, #spmd.local<(x=2), []>>
!half = tensor<2xf32, #spmd.local<(x=2), [x], 4>>
!whole = tensor<4xf32, #spmd.local<(x=2), [*], 4>>
spmd.grid @g (x = 2)
func.func private @step(%n: !count {spmd.place = #spmd.place<@g: []>},
    %x: !whole {spmd.place = #spmd.place<@g: [*]>}, %y: !half {spmd.place = #spmd.place<@g: [x]>})
    -> (!whole {spmd.place = #spmd.place<@g: [*]>}) {
  return %x : !whole
}
func.func @run(%n: !count {spmd.place = #spmd.place<@g: []>},
    %x: !whole {spmd.place = #spmd.place<@g: [*]>})
    -> (!whole {spmd.place = #spmd.place<@g: [*]>}) {
  // expected-error @+1 {{operand 2: does not have the layout of its place}}
  %0 = nn.loop @step(%n, %x, %x) max 3 {spmd.places = [#spmd.place<@g: [*]>]} : (!count, !whole, !whole) -> !whole
  return %0 : !whole
}
