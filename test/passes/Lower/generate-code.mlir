// Regions become code of a processor, one for all calls of one structure; what
// has no code is left to kernels that run parts.
// RUN: divisi-opt %s --generate-code=level=x86-64-v3 | FileCheck %s
// RUN: divisi-opt %s --generate-code=level=x86-64-v3 > %t.once
// RUN: divisi-opt %s --generate-code=level=x86-64-v3 | diff %t.once -
// Those of other devices have no such processor.
// RUN: sed 's/kind = "cpu"/kind = "h100"/' %s | divisi-opt --generate-code | FileCheck %s --check-prefix=OTHER
// A broken cluster is told.
// RUN: sed 's/count = 2 : i64/count = 0 : i64/' %s | not divisi-opt --generate-code 2>&1 | FileCheck %s --check-prefix=BROKEN
// Code is one more thing to lie in the artifact; memory is planned as without.
// RUN: divisi-opt %s --pass-pipeline='builtin.module(generate-code{level=x86-64-v3},ask-kernels,plan-memory)' | FileCheck %s --check-prefix=PLACED

!x = !exec.buffer<tensor<4x160xf32, #spmd.local<(x=2), [x, *], 7x160>>, @g>
!z = !exec.buffer<tensor<2x160xf32, #spmd.local<(x=2), [x, *], 4x160>>, @g>
!s = !exec.buffer<tensor<4x8xf32, #spmd.local<(x=2), [x, *], 7x8>>, @g>
!ts = tensor<4x8xf32, #spmd.local<(x=2), [x, *], 7x8>>
!tx = tensor<4x160xf32, #spmd.local<(x=2), [x, *], 7x160>>
!tz = tensor<2x160xf32, #spmd.local<(x=2), [x, *], 4x160>>

// BROKEN: the module's attribute 'divisi.cluster'
// OTHER-NOT: rows_
module attributes {divisi.cluster = {name = "two", devices = [
    {count = 2 : i64, kind = "cpu", memory_bytes = 1000000 : i64, memory_bytes_per_second = 1.0e9 : f64, peak_flops_per_second = {f32 = 1.0e9 : f64}}],
    levels = [{name = "l", fanout = 2 : i64, bytes_per_second = 1.0e9 : f64}]}} {

spmd.grid @g (x = 2)
exec.entry @f inputs ["x", "z", "r"] [!x, !z, !s] outputs ["y", "w", "v", "s"] [!x, !z, !x, !s]

// No code is made that not all ranks run.
// CHECK-NOT: exec.code
// CHECK: exec.code @rows_1 for
// CHECK-NEXT: exec.code @rows_0 for "x86_64-linux-rows1:x86-64-v3" "\7FELF
// CHECK-NOT: exec.code
// CHECK: exec.program @f__0
exec.program @f__0 entry @f ranks [0, 1] arena 0 {
  %x = exec.input 0 : !x
  %z = exec.input 1 : !z
  %y = exec.alloc : !x
  // CHECK: exec.call "fused"({{.*}}) into ({{.*}}) {} code @rows_0 {
  // PLACED: exec.call "fused"({{.*}}) into ({{.*}}) {}{{.*}} code @rows_0 {
  exec.call "fused"(%x) into (%y) {} {
  ^bb0(%0: !tx):
    %1 = nn.neg %0 : (!tx) -> !tx
    %2 = nn.normalize %1 {axes = array<i64: 1>, center = true, epsilon = 1.0e-5 : f64} : (!tx) -> !tx
    exec.yield %2 : !tx
  } : (!x) into (!x)
  // Other extents.
  %w = exec.alloc : !z
  // CHECK: exec.call "fused"({{.*}}) into ({{.*}}) {} code @rows_0 {
  exec.call "fused"(%z) into (%w) {} {
  ^bb0(%0: !tz):
    %1 = nn.neg %0 : (!tz) -> !tz
    %2 = nn.normalize %1 {axes = array<i64: 1>, center = true, epsilon = 1.0e-5 : f64} : (!tz) -> !tz
    exec.yield %2 : !tz
  } : (!z) into (!z)
  // No code has sines.
  %v = exec.alloc : !x
  // CHECK: exec.call "fused"({{.*}}) into ({{.*}}) {} {
  exec.call "fused"(%x) into (%v) {} {
  ^bb0(%0: !tx):
    %1 = nn.neg %0 : (!tx) -> !tx
    %2 = nn.sin %1 : (!tx) -> !tx
    exec.yield %2 : !tx
  } : (!x) into (!x)
  // Rows that are too short for it to be faster, on the second rank.
  %r = exec.input 2 : !s
  %s = exec.alloc : !s
  // CHECK: exec.call "fused"({{.*}}) into ({{.*}}) {} {
  exec.call "fused"(%r) into (%s) {} {
  ^bb0(%0: !ts):
    %1 = nn.sigmoid %0 : (!ts) -> !ts
    %2 = nn.sigmoid %1 : (!ts) -> !ts
    exec.yield %2 : !ts
  } : (!s) into (!s)
  // An operator alone is a region, ...
  %t = exec.alloc : !x
  // CHECK: exec.call "fused"(%[[X:.*]]) into ({{.*}}) {} code @rows_1 {
  // CHECK-NEXT: ^bb0(%[[A:.*]]: tensor
  // CHECK-NEXT: %[[B:.*]] = nn.softmax %[[A]] {axis = 1 : i64, log = false}
  // CHECK-NEXT: exec.yield %[[B]]
  exec.call "nn.softmax"(%x) into (%t) {axis = 1 : i64, log = false} : (!x) into (!x)
  // ... but not where no code is made of it.
  %u = exec.alloc : !x
  // CHECK: exec.call "nn.sin"
  exec.call "nn.sin"(%x) into (%u) {} : (!x) into (!x)
  exec.output 0 %y : !x
  exec.output 1 %w : !z
  exec.output 2 %v : !x
  exec.output 3 %s : !s
}
}
