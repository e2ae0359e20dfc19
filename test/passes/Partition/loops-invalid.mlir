// Loops that are not on one grid.
// RUN: divisi-opt %s --spmd-partition --split-ranks --split-input-file --verify-diagnostics

spmd.grid @g (x = 2)
spmd.grid @h (x = 2) devices [2, 3]
func.func private @step(%i: tensor<i64> {spmd.place = #spmd.place<@g: []>},
    %x: tensor<4xf32> {spmd.place = #spmd.place<@h: [x]>}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func @run(%n: tensor<i64> {spmd.place = #spmd.place<@g: []>},
    %x: tensor<4xf32> {spmd.place = #spmd.place<@h: [x]>})
    -> (tensor<4xf32> {spmd.place = #spmd.place<@h: [x]>}) {
  // expected-error @+1 {{has values on @g and @h, expected one grid for all of a loop}}
  %0 = nn.loop @step(%n, %x) max 3 : (tensor<i64>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

spmd.grid @g (x = 2)
spmd.grid @h (x = 2) devices [2, 3]
// expected-error @+1 {{is on 2 grids, expected a loop's body on one}}
func.func private @step(%i: tensor<i64> {spmd.place = #spmd.place<@g: []>},
    %x: tensor<4xf32> {spmd.place = #spmd.place<@g: [x]>}) -> tensor<4xf32> {
  %0 = nn.neg %x {spmd.split = #spmd.split<@h: d0@x>} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @run(%n: tensor<i64> {spmd.place = #spmd.place<@g: []>},
    %x: tensor<4xf32> {spmd.place = #spmd.place<@g: [x]>})
    -> (tensor<4xf32> {spmd.place = #spmd.place<@g: [x]>}) {
  %0 = nn.loop @step(%n, %x) max 3 : (tensor<i64>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
