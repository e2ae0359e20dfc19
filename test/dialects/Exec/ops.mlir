// Every op of exec prints what it parses.
// RUN: divisi-opt %s | divisi-opt | FileCheck %s

spmd.grid @g (x = 2)
spmd.grid @h (z = 1) devices [2]
nn.global @w parameter : tensor<4xf32>

!shard = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>
!whole = !exec.buffer<tensor<4xf32, #spmd.local<(x=2), [*], 4>>, @g>
!other = !exec.buffer<tensor<4xf32, #spmd.local<(z=1), [*], 4>>, @h>

// CHECK: exec.entry @forward inputs ["a"] [!exec.buffer<{{.*}}, @g>] outputs ["b"]
exec.entry @forward inputs ["a"] [!shard] outputs ["b"] [!other]

// CHECK: exec.program @forward__0 entry @forward ranks [0, 1] arena 64
exec.program @forward__0 entry @forward ranks [0, 1] arena 64 {
  // CHECK: exec.input 0
  %a = exec.input 0 : !shard
  // CHECK: exec.global @w
  %w = exec.global @w : !shard
  // CHECK: exec.constant dense<1.000000e+00> : tensor<4xf32>
  %one = exec.constant dense<1.0> : tensor<4xf32> : !shard
  // CHECK: exec.alloc at 0
  %0 = exec.alloc at 0 : !shard
  // CHECK: exec.call "nn.add"(%{{.*}}, %{{.*}}) into (%{{.*}}) {}
  exec.call "nn.add"(%a, %one) into (%0) {} : (!shard, !shard) into (!shard)
  // What is made from nothing has no operands.
  // CHECK: exec.call "nn.iota"() into (%{{.*}}) {axis = 0 : i64} : () into (
  exec.call "nn.iota"() into (%0) {axis = 0 : i64} : () into (!shard)
  // CHECK: exec.view
  %v = exec.view %0 : !shard to !shard
  %1 = exec.alloc at 0 : !whole
  // CHECK: exec.collective "all_gather" axes ["x"] tag 0
  exec.collective "all_gather" axes ["x"] tag 0 %v into %1 : !shard into !whole
  // CHECK: exec.transfer from {{.*}} to {{.*}} tag 1 source
  exec.transfer from !whole to !other tag 1 source %1 : !whole
  // CHECK: exec.update @w
  exec.update @w %0 : !shard
}

exec.program @forward__1 entry @forward ranks [2] arena 64 {
  %0 = exec.alloc at 0 : !other
  // CHECK: exec.transfer from {{.*}} to {{.*}} tag 1 target
  exec.transfer from !whole to !other tag 1 target %0 : !other
  // CHECK: exec.output 0
  exec.output 0 %0 : !other
}
