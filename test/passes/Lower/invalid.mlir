// What lower-to-exec and verify-lower refuse.
// RUN: divisi-opt %s --lower-to-exec --split-input-file --verify-diagnostics

// expected-error @below {{belongs to no set of ranks; run split-ranks first}}
func.func @whole() {
  return
}

// -----

spmd.grid @g (x = 2)

func.func @f__0() attributes {spmd.entry = "f", spmd.ranks = array<i32: 0, 1>} {
  // expected-error @below {{has no strategy; run the partition stage first}}
  %0 = nn.iota {axis = 0} : () -> tensor<4xi64, #spmd.local<(x=2), [*], 4>>
  return
}

// -----

spmd.grid @g (x = 2)
nn.global @w parameter : tensor<4xf32>

func.func @f__0() attributes {spmd.entry = "f", spmd.ranks = array<i32: 0, 1>} {
  // expected-error @below {{reads a global without a place}}
  %0 = nn.read @w : tensor<4xf32, #spmd.local<(x=2), [*], 4>>
  return
}
