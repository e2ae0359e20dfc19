// What verify-lower refuses: a module that cannot be emitted.
// RUN: divisi-opt %s --verify-lower --split-input-file --verify-diagnostics

// expected-error @below {{cannot be emitted; run lower-to-exec first}}
func.func @forward__0() attributes {spmd.entry = "forward", spmd.ranks = array<i32: 0>} {
  return
}

// -----

!shard = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>
exec.entry @forward inputs [] [] outputs [] []
exec.program @p entry @forward ranks [0, 1] arena 0 {
  // expected-error @below {{has no offset; run plan-memory first}}
  %0 = exec.alloc : !shard
}

// -----

!shard = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>
exec.entry @forward inputs ["a"] [!shard] outputs [] []
exec.program @p entry @forward ranks [0, 1] arena 0 {
  // expected-error @below {{is not input 1 of @forward}}
  %0 = exec.input 1 : !shard
}

// -----

// What lies with a device is one of a body.
!shard = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>
!there = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g, "cuda">
exec.entry @forward inputs ["a"] [!shard] outputs [] []
exec.program @p entry @forward ranks [0, 1] arena 0 {
  // expected-error @below {{is not input 0 of @forward}}
  %0 = exec.input 0 : !there
}

// -----

!shard = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>
!whole = !exec.buffer<tensor<4xf32, #spmd.local<(x=2), [*], 4>>, @g>
exec.entry @forward inputs ["a"] [!shard] outputs ["b"] [!whole]
exec.program @p entry @forward ranks [0, 1] arena 0 {
  %0 = exec.input 0 : !shard
  // expected-error @below {{is not output 0 of @forward}}
  exec.output 0 %0 : !shard
}

// -----

!shard = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>
exec.entry @forward inputs ["a"] [!shard] outputs [] []
exec.program @p entry @forward ranks [0, 1] arena 0 {
  %0 = exec.input 0 : !shard
  // expected-error @below {{is not an instruction of an artifact; run write-globals first}}
  exec.update @w %0 : !shard
}

// -----

exec.entry @forward inputs [] [] outputs [] []
exec.program @p entry @forward ranks [0, 1] arena 0 {
}
// expected-error @below {{runs on rank 1, which another program of @forward has already}}
exec.program @q entry @forward ranks [1] arena 0 {
}

// -----

!shard = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>
// expected-error @below {{has 1 outputs, but its programs make 0}}
exec.entry @forward inputs [] [] outputs ["b"] [!shard]
exec.program @p entry @forward ranks [0, 1] arena 0 {
}

// -----

// Two entries may run on the same ranks, and @init stays a function.
exec.entry @a inputs [] [] outputs [] []
exec.entry @b inputs [] [] outputs [] []
exec.program @a__0 entry @a ranks [0] arena 0 {
}
exec.program @b__0 entry @b ranks [0] arena 0 {
}
func.func @init() {
  return
}

// -----

!t = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>
exec.entry @forward inputs ["a"] [!t] outputs [] []
exec.program @p entry @forward ranks [0, 1] arena 64 {
  %0 = exec.input 0 : !t
  %1 = exec.alloc at 0 : !t
  // expected-error @below {{has no place for its workspace; run plan-memory first}}
  exec.call "nn.neg"(%0) into (%1) {} workspace 64 : (!t) into (!t)
}

// -----

!shard = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>
!there = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g, "cuda">
exec.entry @forward inputs [] [] outputs [] []
exec.program @p entry @forward ranks [0, 1] arena 0 {
  %0 = exec.global @w : !there
}
exec.entry @step inputs [] [] outputs [] []
exec.program @q entry @step ranks [0, 1] arena 0 {
  // expected-error @below {{is in memory space 'host', and 'cuda' has this global, which is updated, already}}
  %0 = exec.new_global @w : !shard
}
