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
  // CHECK: exec.view %{{.*}} at 0 :
  %begin = exec.view %0 at 0 : !shard to !shard
  %1 = exec.alloc at 0 : !whole
  // CHECK: exec.collective "all_gather" axes ["x"] tag 0
  exec.collective "all_gather" axes ["x"] tag 0 %v into %1 : !shard into !whole
  // CHECK: exec.transfer from {{.*}} to {{.*}} tag 1 source
  exec.transfer from !whole to !other tag 1 source %1 : !whole
  // CHECK: exec.update @w
  exec.update @w %0 : !shard
  // CHECK: %[[NEW:.*]] = exec.new_global @w
  %new = exec.new_global @w : !shard
  // CHECK: exec.commit{{$}}
  exec.commit
  // CHECK: exec.copy %{{.*}} into %[[NEW]] :
  exec.copy %0 into %new : !shard
}

// Queues and tokens.
// CHECK: exec.program @ordered__0
exec.program @ordered__0 entry @forward ranks [3, 4] arena 128 {
  %a = exec.input 0 : !shard
  %0 = exec.alloc at 0 : !shard
  %1 = exec.alloc at 64 : !whole
  // CHECK: %[[CALL:.*]] = exec.call "nn.neg"(%{{.*}}) into (%{{.*}}) {} on "compute" : ({{.*}}) into ({{.*}}) -> !exec.token
  %called = exec.call "nn.neg"(%a) into (%0) {} on "compute" : (!shard) into (!shard) -> !exec.token
  // CHECK: %[[MET:.*]] = exec.collective "all_gather" axes ["x"] tag 0 %{{.*}} into %{{.*}} on "other" after %[[CALL]] : {{.*}} -> !exec.token
  %met = exec.collective "all_gather" axes ["x"] tag 0 %0 into %1 on "other" after %called : !shard into !whole -> !exec.token
  // CHECK: %[[CUT:.*]] = exec.collective "slice" axes ["x"] tag 0 %{{.*}} into %{{.*}} on "copy" after %[[MET]] : {{.*}} -> !exec.token
  %cut = exec.collective "slice" axes ["x"] tag 0 %1 into %0 on "copy" after %met : !whole into !shard -> !exec.token
  // CHECK: %[[SENT:.*]] = exec.transfer {{.*}} source %{{.*}} : {{.*}} after %[[MET]] -> !exec.token
  %sent = exec.transfer from !whole to !other tag 1 source %1 : !whole after %met -> !exec.token
  // CHECK: %[[OUT:.*]] = exec.output 0 %{{.*}} on "copy" after %[[CUT]], %[[SENT]] : {{.*}} -> !exec.token
  %out = exec.output 0 %0 on "copy" after %cut, %sent : !shard -> !exec.token
  // CHECK: exec.update @w %{{.*}} after %[[OUT]] : {{.*}} -> !exec.token
  %updated = exec.update @w %0 after %out : !shard -> !exec.token
  // CHECK: %[[COMMIT:.*]] = exec.commit on "compute" after %[[OUT]] -> !exec.token
  %commit = exec.commit on "compute" after %out -> !exec.token
  // CHECK: exec.copy %{{.*}} into %{{.*}} on "copy" after %[[COMMIT]] : {{.*}} -> !exec.token
  %copied = exec.copy %a into %0 on "copy" after %commit : !shard -> !exec.token
}

exec.program @forward__1 entry @forward ranks [2] arena 64 {
  %0 = exec.alloc at 0 : !other
  // CHECK: exec.transfer from {{.*}} to {{.*}} tag 1 target
  exec.transfer from !whole to !other tag 1 target %0 : !other
  // CHECK: exec.output 0
  exec.output 0 %0 : !other
}

// Memory spaces: a buffer of a device names its own, and each has an arena.
!there = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g, "cuda">
!whole_there = !exec.buffer<tensor<4xf32, #spmd.local<(x=2), [*], 4>>, @g, "cuda">
// CHECK: exec.program @spaces__0 entry @forward ranks [5] arena 64, "cuda" 192, "other" 0 overlap {
exec.program @spaces__0 entry @forward ranks [5] arena 64, "cuda" 192, "other" 0 overlap {
  %a = exec.input 0 : !shard
  // CHECK: exec.global @w : <tensor<{{.*}}>, @g, "cuda">
  %w = exec.global @w : !there
  // CHECK: exec.constant {{.*}} : <tensor<{{.*}}>, @g, "cuda">
  %one = exec.constant dense<1.0> : tensor<4xf32> : !there
  // CHECK: %[[THERE:.*]] = exec.alloc at 0 : <tensor<{{.*}}>, @g, "cuda">
  %0 = exec.alloc at 0 : !there
  // CHECK: exec.copy %{{.*}} into %[[THERE]] on "copy" : !exec.buffer<tensor<{{.*}}>, @g> to !exec.buffer<tensor<{{.*}}>, @g, "cuda"> -> !exec.token
  %copied = exec.copy %a into %0 on "copy" : !shard to !there -> !exec.token
  %1 = exec.alloc at 64 : !there
  // CHECK: exec.call "nn.add"({{.*}}) into ({{.*}}) {} after %{{.*}} workspace 64 at 128 : (!exec.buffer<tensor<{{.*}}>, @g, "cuda">,
  exec.call "nn.add"(%0, %w) into (%1) {} after %copied workspace 64 at 128 : (!there, !there) into (!there)
  %v = exec.view %1 : !there to !there
  %2 = exec.alloc at 0 : !whole_there
  // CHECK: exec.collective "all_gather" {{.*}}, @g, "cuda"> into {{.*}}, @g, "cuda">
  exec.collective "all_gather" axes ["x"] tag 0 %v into %2 : !there into !whole_there
  // What a transfer leads between says nothing of where it lies.
  // CHECK: exec.transfer from {{.*}}, @g> to {{.*}}, @h> tag 1 source %{{.*}} : {{.*}}, @g, "cuda">
  exec.transfer from !whole to !other tag 1 source %2 : !whole_there
}

// Formats, code and regions: what calls say to their kernels.
!blocked = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g format "blocked8" of 32>
!blocked_there = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g, "cuda" format "blocked8" of 32>
!local = tensor<2xf32, #spmd.local<(x=2), [x], 4>>
// CHECK: exec.code @copy for "sm_90" "\7FELF"
exec.code @copy for "sm_90" "\7FELF"
// CHECK: exec.program @calls__0
exec.program @calls__0 entry @forward ranks [5] arena 192, "cuda" 64 {
  %a = exec.input 0 : !shard
  // CHECK: exec.alloc at 0 : <tensor<{{.*}}>, @g format "blocked8" of 32>
  %0 = exec.alloc at 0 : !blocked
  // CHECK: exec.call "nn.neg"({{.*}}) into ({{.*}}) {} code @copy fallback @copy : ({{.*}}) into ({{.*}} format "blocked8" of 32>)
  exec.call "nn.neg"(%a) into (%0) {} code @copy fallback @copy : (!shard) into (!blocked)
  // CHECK: exec.alloc at 0 : <tensor<{{.*}}>, @g, "cuda" format "blocked8" of 32>
  %1 = exec.alloc at 0 : !blocked_there
  %2 = exec.alloc at 64 : !shard
  // CHECK: exec.call "fused"({{.*}}) into ({{.*}}) {} workspace 64 at 128 {
  // CHECK-NEXT: ^bb0(%[[X:.*]]: tensor<{{.*}}, %[[Y:.*]]: tensor<
  // CHECK-NEXT: %[[S:.*]] = nn.add %[[X]], %[[Y]]
  // CHECK-NEXT: %[[R:.*]] = nn.relu %[[S]]
  // CHECK-NEXT: exec.yield %[[R]] :
  // CHECK-NEXT: } : (
  exec.call "fused"(%a, %a) into (%2) {} workspace 64 at 128 {
  ^bb0(%x: !local, %y: !local):
    %s = nn.add %x, %y : (!local, !local) -> !local
    %r = nn.relu %s : (!local) -> !local
    exec.yield %r : !local
  } : (!shard, !shard) into (!shard)
}
