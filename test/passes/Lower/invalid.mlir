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

// -----

// expected-error @below {{has no ranks; run split-ranks first}}
func.func @f__0() attributes {spmd.entry = "f"} {
  return
}

// -----

spmd.grid @g (x = 2)

// expected-error @below {{has an argument or result without place or index; run split-ranks first}}
func.func @f__0(%a: tensor<4xf32, #spmd.local<(x=2), [*], 4>> {spmd.index = 0})
    attributes {spmd.entry = "f", spmd.ranks = array<i32: 0, 1>} {
  return
}

// -----

spmd.grid @g (x = 2)
spmd.grid @h (z = 1) devices [2]
!from = tensor<4xf32, #spmd.local<(x=2), [*], 4>>
!to = tensor<4xf32, #spmd.local<(z=1), [*], 4>>

func.func @f__0(%a: !from {spmd.index = 0, spmd.place = #spmd.place<@g: [*]>})
    attributes {spmd.entry = "f", spmd.ranks = array<i32: 0, 1>} {
  // expected-error @below {{has no tag; run split-ranks first}}
  %0 = spmd.transfer %a from @g to @h : !from -> !to
  return
}

// -----

func.func @f__0() attributes {spmd.entry = "f", spmd.ranks = array<i32: 0, 1>} {
  // expected-error @below {{cannot be lowered: it is neither an operator of nn nor a step of spmd; run verify-partition}}
  func.call @g() : () -> ()
  return
}
func.func private @g()
