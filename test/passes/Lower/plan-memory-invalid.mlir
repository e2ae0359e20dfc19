// RUN: divisi-opt %s --pass-pipeline='builtin.module(plan-memory)' --split-input-file --verify-diagnostics

!huge = !exec.buffer<tensor<1152921504606846976xf32, #spmd.local<(x=1), [*], 1152921504606846976>>, @g>
exec.entry @forward inputs [] [] outputs [] []
// Three buffers of 2^62 bytes each, all alive in the last call.
// expected-error @below {{needs more memory than 2^63 bytes}}
exec.program @p entry @forward ranks [0] arena 0 {
  %0 = exec.alloc : !huge
  %1 = exec.alloc : !huge
  %2 = exec.alloc : !huge
  exec.call "nn.iota"() into (%0) {axis = 0 : i64} : () into (!huge)
  exec.call "nn.iota"() into (%1) {axis = 0 : i64} : () into (!huge)
  exec.call "nn.add"(%0, %1) into (%2) {} : (!huge, !huge) into (!huge)
  exec.call "nn.add"(%0, %1) into (%2) {} : (!huge, !huge) into (!huge)
}

// -----

!i = !exec.buffer<tensor<i64, #spmd.local<(x=2), []>>, @g>
!there = !exec.buffer<tensor<8xi64, #spmd.local<(x=2), [*], 8>>, @g, "cuda">
!elsewhere = !exec.buffer<tensor<8xi64, #spmd.local<(x=2), [*], 8>>, @g, "other">
exec.entry @f inputs ["n"] [!i] outputs [] []
exec.entry @step body inputs ["i"] [!i] outputs [] []
exec.program @f__0 entry @f ranks [0, 1] arena 0 {
  %n = exec.input 0 : !i
  // expected-error @below {{runs a body that works on devices of two kinds}}
  exec.loop @step times %n max 3 carries () given () into () spare ()
    : !i, (), (), (), ()
}
exec.program @step__0 entry @step ranks [0] arena 0 {
  %0 = exec.alloc : !there
  exec.call "nn.iota"() into (%0) {axis = 0 : i64} : () into (!there)
}
exec.program @step__1 entry @step ranks [1] arena 0 {
  %0 = exec.alloc : !elsewhere
  exec.call "nn.iota"() into (%0) {axis = 0 : i64} : () into (!elsewhere)
}
