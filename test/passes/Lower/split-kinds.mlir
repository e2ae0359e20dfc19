// Where shards follow weights, each kind of devices has a program of its own,
// whose arena is no larger than its shards; the ranks meet in one collective.
// RUN: divisi-opt %s --pass-pipeline='builtin.module(split-kinds,plan-memory,verify-lower)' | FileCheck %s
// Of one kind, all ranks share a program.
// RUN: sed 's/kind = "b"/kind = "a"/; s/name = "ab"/name = "aa"/' %s | divisi-opt --pass-pipeline='builtin.module(split-kinds,plan-memory,verify-lower)' | FileCheck %s --check-prefix=ALIKE
// A broken cluster is told.
// RUN: sed 's/count = 1 : i64/count = 0 : i64/' %s | not divisi-opt --split-kinds 2>&1 | FileCheck %s --check-prefix=BROKEN

!part = !exec.buffer<tensor<96xf32, #spmd.local<(x=3:[6,1,1]), [x], 128>>, @g>
!whole = !exec.buffer<tensor<128xf32, #spmd.local<(x=3:[6,1,1]), [*], 128>>, @g>
!same = !exec.buffer<tensor<128xf32, #spmd.local<(x=3), [*], 128>>, @h>

// BROKEN: the module's attribute 'divisi.cluster'
module attributes {divisi.cluster = {name = "ab", devices = [
    {count = 1 : i64, kind = "a", memory_bytes = 1000 : i64, memory_bytes_per_second = 1.0e9 : f64, peak_flops_per_second = {f32 = 1.0e9 : f64}},
    {count = 2 : i64, kind = "b", memory_bytes = 1000 : i64, memory_bytes_per_second = 1.0e9 : f64, peak_flops_per_second = {f32 = 1.0e9 : f64}}],
    levels = [{name = "l", fanout = 3 : i64, bytes_per_second = 1.0e9 : f64}]}} {

spmd.grid @g (x = 3:[6,1,1])

// 96, 16 and 16 rows.
// CHECK: exec.program @f__0 entry @f ranks [0] arena 896
// CHECK: exec.collective "all_gather" axes ["x"] tag 0
// CHECK: exec.program @f__0_b entry @f ranks [1, 2] arena 576
// CHECK: exec.collective "all_gather" axes ["x"] tag 0
// CHECK: exec.program @even__0 entry @even ranks [0, 1, 2]
// CHECK-NOT: exec.program
// ALIKE: exec.program @f__0 entry @f ranks [0, 1, 2]
// ALIKE: exec.program @even__0
// ALIKE-NOT: exec.program
exec.entry @f inputs ["x"] [!part] outputs ["y"] [!whole]
exec.program @f__0 entry @f ranks [0, 1, 2] arena 0 {
  %x = exec.input 0 : !part
  %0 = exec.alloc : !part
  exec.call "nn.neg"(%x) into (%0) {} : (!part) into (!part)
  %1 = exec.alloc : !whole
  exec.collective "all_gather" axes ["x"] tag 0 %0 into %1 : !part into !whole
  exec.output 0 %1 : !whole
}

spmd.grid @h (x = 3)
exec.entry @even inputs ["x"] [!same] outputs ["y"] [!same]
exec.program @even__0 entry @even ranks [0, 1, 2] arena 0 {
  %x = exec.input 0 : !same
  %0 = exec.alloc : !same
  exec.call "nn.neg"(%x) into (%0) {} : (!same) into (!same)
  exec.output 0 %0 : !same
}
}
