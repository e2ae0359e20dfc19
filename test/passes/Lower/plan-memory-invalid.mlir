// RUN: divisi-opt %s --pass-pipeline='builtin.module(plan-memory)' --verify-diagnostics

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
