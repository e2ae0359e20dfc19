// What place-spaces refuses.
// RUN: divisi-opt %s --place-spaces='space=cuda' --split-input-file --verify-diagnostics

!t = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>
exec.entry @f inputs [] [] outputs [] []
exec.program @written_twice entry @f ranks [0, 1] arena 0 {
  %0 = exec.input 0 : !t
  %1 = exec.alloc : !t
  exec.call "nn.neg"(%0) into (%1) {} : (!t) into (!t)
  // expected-error @below {{writes a buffer that an instruction before it writes; place-spaces comes after lower-to-exec}}
  exec.call "nn.exp"(%0) into (%1) {} : (!t) into (!t)
}

// -----

!there = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g, "cuda">
exec.entry @f inputs [] [] outputs [] []
exec.program @placed_twice entry @f ranks [0, 1] arena 0 {
  // expected-error @below {{lies in memory space 'cuda' already; place-spaces runs once}}
  %0 = exec.alloc : !there
}
