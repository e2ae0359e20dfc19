// RUN: divisi-opt %s --verify-plan --split-input-file --verify-diagnostics

// An operator without a strategy.
spmd.grid @g (x = 2)
func.func @forward(%x: tensor<4xf32> {spmd.place = #spmd.place<@g: [*]>})
    -> (tensor<4xf32> {spmd.place = #spmd.place<@g: [*]>}) {
  // expected-error @below {{'nn.relu' op has no strategy; run the planner or annotate it with spmd.split}}
  %y = nn.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// A global without a place.
spmd.grid @g (x = 2)
// expected-error @below {{'nn.global' op global @w has no place; run the planner or annotate it with spmd.place}}
nn.global @w parameter : tensor<4xf32>
func.func @forward() -> (tensor<4xf32> {spmd.place = #spmd.place<@g: [*]>}) {
  %w = nn.read @w : tensor<4xf32>
  return %w : tensor<4xf32>
}

// -----

// A value cannot rest as a sum that is not summed.
spmd.grid @g (x = 2)
// expected-error @below {{'func.func' op argument 0 is stored as a partial sum; places hold whole values}}
func.func @forward(%x: tensor<4xf32> {spmd.place = #spmd.place<@g: [*] partial sum {x}>})
    -> (tensor<4xf32> {spmd.place = #spmd.place<@g: [*]>}) {
  return %x : tensor<4xf32>
}

// -----

// Grids that overlap in part.
// expected-note @below {{the other grid is here}}
spmd.grid @g (x = 2) devices [0, 1]
// expected-error @below {{'spmd.grid' op shares some but not all devices with @g; grids must be disjoint, or one within the other}}
spmd.grid @h (y = 2) devices [1, 2]
