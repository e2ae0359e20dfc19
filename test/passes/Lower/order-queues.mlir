// What touches the same bytes as an instruction of another queue comes after it.
// RUN: divisi-opt %s --pass-pipeline='builtin.module(exec.program(order-queues))' | FileCheck %s

spmd.grid @g (x = 2)
spmd.grid @h (z = 1) devices [2]
!t = !exec.buffer<tensor<4xf32, #spmd.local<(x=2), [*], 4>>, @g>
!p = !exec.buffer<tensor<4xf32, #spmd.local<(x=2), [*] partial sum {x}, 4>>, @g>
!h = !exec.buffer<tensor<4xf32, #spmd.local<(z=1), [*], 4>>, @h>
exec.entry @f inputs ["a"] [!t] outputs ["b"] [!t]

// CHECK-LABEL: exec.program @reduce
exec.program @reduce entry @f ranks [0, 1] arena 192 {
  %a = exec.input 0 : !t
  %p = exec.alloc at 0 : !p
  %r = exec.alloc at 64 : !t
  %q = exec.alloc at 128 : !t
  %again = exec.alloc at 0 : !t
  // CHECK: %[[MASK:.*]] = exec.collective "mask"
  exec.collective "mask" axes ["x"] tag 0 %a into %p : !t into !p
  // The sum reads what was masked.
  // CHECK: %[[SUM:.*]] = exec.collective "all_reduce" {{.*}} after %[[MASK]]
  exec.collective "all_reduce" axes ["x"] tag 0 %p into %r : !p into !t
  // Nothing of the sum is in it.
  // CHECK-NOT: after
  // CHECK: exec.call "nn.neg"
  exec.call "nn.neg"(%a) into (%q) {} : (!t) into (!t)
  // It overwrites what the sum still reads.
  // CHECK: exec.call "nn.neg"({{.*}} after %[[SUM]]
  exec.call "nn.neg"(%a) into (%again) {} : (!t) into (!t)
  // Once is enough: one queue runs in order.
  // CHECK-NOT: after
  // CHECK: exec.call "nn.add"
  exec.call "nn.add"(%q, %r) into (%again) {} : (!t, !t) into (!t)
  // What is read through a view is read.
  %v = exec.view %again : !t to !t
  // CHECK: exec.output 0
  exec.output 0 %v : !t
}

// Two queues read, and the one that reads last is behind the other: to come
// after it is enough.
// CHECK-LABEL: exec.program @send
exec.program @send entry @f ranks [0, 1] arena 64 {
  %a = exec.input 0 : !t
  %0 = exec.alloc at 0 : !t
  // CHECK: %[[CALL:.*]] = exec.call "nn.neg"
  exec.call "nn.neg"(%a) into (%0) {} : (!t) into (!t)
  // CHECK: %[[SEND:.*]] = exec.transfer {{.*}} after %[[CALL]]
  %sent = exec.transfer from !t to !h tag 0 source %0 : !t -> !exec.token
  // CHECK: %[[OUT:.*]] = exec.output 0 %{{[0-9]+}} on "copy" after %[[SEND]] :
  exec.output 0 %0 on "copy" after %sent : !t
  // CHECK: exec.call "nn.exp"({{.*}} after %[[OUT]] :
  exec.call "nn.exp"(%a) into (%0) {} : (!t) into (!t)
}

!there = !exec.buffer<tensor<4xf32, #spmd.local<(x=2), [*], 4>>, @g, "cuda">

// Each memory space has an arena of its own, also for workspaces: what is copied
// over one comes after its call, and what lies with the host at the same place
// does not.
// CHECK-LABEL: exec.program @spaces
exec.program @spaces entry @f ranks [0, 1] arena 128, "cuda" 128 {
  %x = exec.input 0 : !t
  %a = exec.alloc at 0 : !there
  // CHECK: %[[CALL:.*]] = exec.call "nn.iota"
  exec.call "nn.iota"() into (%a) {axis = 0 : i64} workspace 64 at 64 : () into (!there)
  %h = exec.alloc at 0 : !t
  %k = exec.alloc at 64 : !t
  // CHECK: exec.copy %{{.*}} into %{{.*}} on "copy" : {{.*}}, @g>{{$}}
  exec.copy %x into %h on "copy" : !t
  // CHECK: exec.copy %{{.*}} into %{{.*}} on "copy" : {{.*}}, @g>{{$}}
  exec.copy %x into %k on "copy" : !t
  %b = exec.alloc at 64 : !there
  // CHECK: exec.copy %{{.*}} into %{{.*}} on "copy" after %[[CALL]] : {{.*}}, "cuda">
  exec.copy %x into %b on "copy" : !t to !there
}
