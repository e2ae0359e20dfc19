// The new value of a global is written where it rests, behind a commit, unless
// the old one is still needed.
// RUN: divisi-opt %s --write-globals --split-input-file | FileCheck %s
// RUN: divisi-opt %s --pass-pipeline='builtin.module(write-globals,plan-memory,exec.program(order-queues),verify-lower)' --split-input-file | FileCheck %s --check-prefix=PLACED

spmd.grid @g ()
nn.global @m state : tensor<16xf32> zero {spmd.place = #spmd.place<@g: [*]>}
nn.global @w state : tensor<16xf32> zero {spmd.place = #spmd.place<@g: [*]>}
!t = !exec.buffer<tensor<16xf32, #spmd.local<(), [*], 16>>, @g>
exec.entry @f inputs ["x"] [!t] outputs ["y"] [!t]

// The old value is read before, and by the call itself, which may write over
// it. The commit comes before the first that writes.
// CHECK-LABEL: exec.program @in_place
// PLACED-LABEL: exec.program @in_place entry @f ranks [0] arena 64
exec.program @in_place entry @f ranks [0] arena 0 {
  %x = exec.input 0 : !t
  %m = exec.global @m : !t
  // CHECK: exec.call "nn.mul"
  %a = exec.alloc : !t
  exec.call "nn.mul"(%m, %x) into (%a) {} : (!t, !t) into (!t)
  // CHECK: %[[M:.*]] = exec.new_global @m
  // CHECK-NEXT: exec.commit
  // CHECK-NEXT: exec.call "nn.add"(%{{.*}}, %{{.*}}) into (%[[M]])
  %v = exec.alloc : !t
  exec.call "nn.add"(%m, %a) into (%v) {} : (!t, !t) into (!t)
  // Others read the new value there.
  // CHECK-NEXT: exec.output 0 %[[M]]
  exec.output 0 %v : !t
  // CHECK-NOT: exec.update
  // CHECK-NOT: exec.copy
  exec.update @m %v : !t
}

// -----

spmd.grid @g ()
nn.global @m state : tensor<16xf32> zero {spmd.place = #spmd.place<@g: [*]>}
nn.global @w state : tensor<16xf32> zero {spmd.place = #spmd.place<@g: [*]>}
!t = !exec.buffer<tensor<16xf32, #spmd.local<(), [*], 16>>, @g>
exec.entry @f inputs ["x"] [!t] outputs ["y"] [!t]

// Somebody reads the old value later: the new one is copied at the end.
// CHECK-LABEL: exec.program @read_later
exec.program @read_later entry @f ranks [0] arena 0 {
  %x = exec.input 0 : !t
  %m = exec.global @m : !t
  %v = exec.alloc : !t
  // CHECK: %[[V:.*]] = exec.alloc
  // CHECK: exec.call "nn.neg"
  exec.call "nn.neg"(%x) into (%v) {} : (!t) into (!t)
  exec.update @m %v : !t
  // CHECK-NEXT: exec.output 0
  exec.output 0 %m : !t
  // CHECK-NEXT: exec.commit
  // CHECK-NEXT: %[[M:.*]] = exec.new_global @m
  // CHECK-NEXT: exec.copy %[[V]] into %[[M]]
}

// -----

spmd.grid @g ()
nn.global @m state : tensor<16xf32> zero {spmd.place = #spmd.place<@g: [*]>}
!t = !exec.buffer<tensor<16xf32, #spmd.local<(), [*], 16>>, @g>
exec.entry @f inputs ["x"] [!t] outputs [] []

// The call reads the old value twice, and could read what it has written.
// CHECK-LABEL: exec.program @read_twice
exec.program @read_twice entry @f ranks [0] arena 0 {
  %m = exec.global @m : !t
  %v = exec.alloc : !t
  // CHECK: exec.call "nn.add"
  exec.call "nn.add"(%m, %m) into (%v) {} : (!t, !t) into (!t)
  // CHECK: exec.copy
  exec.update @m %v : !t
}

// -----

spmd.grid @g ()
nn.global @a state : tensor<4x4xf32> zero {spmd.place = #spmd.place<@g: [*, *]>}
!t = !exec.buffer<tensor<4x4xf32, #spmd.local<(), [*, *], 4x4>>, @g>
exec.entry @f inputs [] [] outputs [] []

// A kernel that cannot write over its operand.
// CHECK-LABEL: exec.program @no_leave
exec.program @no_leave entry @f ranks [0] arena 0 {
  %a = exec.global @a : !t
  %v = exec.alloc : !t
  // CHECK: exec.call "nn.matmul"
  exec.call "nn.matmul"(%a, %a) into (%v) {labels = "ij,jk->ik"} : (!t, !t) into (!t)
  // CHECK: exec.copy
  exec.update @a %v : !t
}

// -----

spmd.grid @g ()
nn.global @m state : tensor<16xf32> zero {spmd.place = #spmd.place<@g: [*]>}
nn.global @w state : tensor<16xf32> zero {spmd.place = #spmd.place<@g: [*]>}
!t = !exec.buffer<tensor<16xf32, #spmd.local<(), [*], 16>>, @g>
exec.entry @f inputs ["x"] [!t] outputs [] []

// Each becomes what the other was: the old values are kept before the commit.
// What becomes what it was is copied over itself, which is nothing.
// CHECK-LABEL: exec.program @swap
exec.program @swap entry @f ranks [0] arena 0 {
  // CHECK: %[[M:.*]] = exec.global @m
  // CHECK-NEXT: %[[W:.*]] = exec.global @w
  %m = exec.global @m : !t
  %w = exec.global @w : !t
  // CHECK-NEXT: %[[KEPT_W:.*]] = exec.alloc
  // CHECK-NEXT: exec.copy %[[W]] into %[[KEPT_W]]
  // CHECK-NEXT: %[[KEPT_M:.*]] = exec.alloc
  // CHECK-NEXT: exec.copy %[[M]] into %[[KEPT_M]]
  // CHECK-NEXT: exec.commit
  // CHECK-NEXT: %[[NEW_M:.*]] = exec.new_global @m
  // CHECK-NEXT: exec.copy %[[KEPT_W]] into %[[NEW_M]]
  // CHECK-NEXT: %[[NEW_W:.*]] = exec.new_global @w
  // CHECK-NEXT: exec.copy %[[KEPT_M]] into %[[NEW_W]]
  exec.update @m %w : !t
  exec.update @w %m : !t
}

// -----

spmd.grid @g ()
nn.global @m state : tensor<16xf32> zero {spmd.place = #spmd.place<@g: [*]>}
nn.global @w state : tensor<16xf32> zero {spmd.place = #spmd.place<@g: [*]>}
!t = !exec.buffer<tensor<16xf32, #spmd.local<(), [*], 16>>, @g>
exec.entry @f inputs ["x"] [!t] outputs [] []

// One value for two globals: it is written to the first, and copied from there.
// An input is copied.
// CHECK-LABEL: exec.program @two_of_one
exec.program @two_of_one entry @f ranks [0] arena 0 {
  %x = exec.input 0 : !t
  // CHECK: %[[M:.*]] = exec.new_global @m
  // CHECK-NEXT: exec.commit
  // CHECK-NEXT: exec.call "nn.neg"(%{{.*}}) into (%[[M]])
  %v = exec.alloc : !t
  exec.call "nn.neg"(%x) into (%v) {} : (!t) into (!t)
  // CHECK-NEXT: %[[W:.*]] = exec.new_global @w
  // CHECK-NEXT: exec.copy %[[M]] into %[[W]]
  exec.update @m %v : !t
  exec.update @w %v : !t
}

// -----

spmd.grid @g () devices [0]
spmd.grid @h () devices [1]
nn.global @m state : tensor<16xf32> zero {spmd.place = #spmd.place<@g: [*]>}
!t = !exec.buffer<tensor<16xf32, #spmd.local<(), [*], 16>>, @g>
!h = !exec.buffer<tensor<16xf32, #spmd.local<(), [*], 16>>, @h>
exec.entry @f inputs ["x"] [!t] outputs ["y"] [!h]

// Of several programs all commit, behind what they do together: rank 1 comes
// there when it has what rank 0 sends.
// CHECK-LABEL: exec.program @sends
exec.program @sends entry @f ranks [0] arena 0 {
  %x = exec.input 0 : !t
  // CHECK: exec.call "nn.neg"
  // CHECK-NEXT: exec.transfer
  // CHECK-NEXT: exec.commit
  // CHECK-NEXT: exec.new_global
  // CHECK-NEXT: exec.copy
  %v = exec.alloc : !t
  exec.call "nn.neg"(%x) into (%v) {} : (!t) into (!t)
  exec.transfer from !t to !h tag 0 source %v : !t
  exec.update @m %v : !t
}
// CHECK-LABEL: exec.program @receives
exec.program @receives entry @f ranks [1] arena 0 {
  // CHECK: exec.transfer
  // CHECK-NEXT: exec.output
  // CHECK-NEXT: exec.commit
  %y = exec.alloc : !h
  exec.transfer from !t to !h tag 0 target %y : !h
  exec.output 0 %y : !h
}

// -----

spmd.grid @g (x = 2)
nn.global @w parameter : tensor<4xf32> {spmd.place = #spmd.place<@g: [x]>}
!shard = !exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>
!whole = !exec.buffer<tensor<4xf32, #spmd.local<(x=2), [*], 4>>, @g>
exec.entry @f inputs ["x"] [!shard] outputs ["y"] [!whole]

// On another queue, what still reads the old value ends before it is written
// over.
// PLACED-LABEL: exec.program @gathered
exec.program @gathered entry @f ranks [0, 1] arena 0 {
  %x = exec.input 0 : !shard
  %w = exec.global @w : !shard
  %y = exec.alloc : !whole
  // PLACED: %[[GATHER:.*]] = exec.collective "all_gather"
  exec.collective "all_gather" axes ["x"] tag 0 %w into %y : !shard into !whole
  // PLACED: exec.commit
  %v = exec.alloc : !shard
  // PLACED-NEXT: exec.call "nn.neg"({{.*}} after %[[GATHER]]
  exec.call "nn.neg"(%x) into (%v) {} : (!shard) into (!shard)
  exec.update @w %v : !shard
  exec.output 0 %y : !whole
}

// -----

spmd.grid @g ()
spmd.grid @h (z = 1) devices [1]
nn.global @m state : tensor<16xf32> zero {spmd.place = #spmd.place<@g: [*]>}
!t = !exec.buffer<tensor<16xf32, #spmd.local<(), [*], 16>>, @g>
!there = !exec.buffer<tensor<16xf32, #spmd.local<(), [*], 16>>, @g, "cuda">
!h = !exec.buffer<tensor<16xf32, #spmd.local<(z=1), [*], 16>>, @h>
exec.entry @f inputs ["x"] [!t] outputs ["y"] [!h]

// Where a new value comes from a device before ranks meet for the last time, it
// is fetched later, not copied twice.
// CHECK-LABEL: exec.program @fetched_later
exec.program @fetched_later entry @f ranks [0] arena 0 overlap {
  %x = exec.input 0 : !t
  // CHECK: %[[D:.*]] = exec.alloc
  %d = exec.alloc : !there
  exec.copy %x into %d on "copy" : !t to !there
  %v = exec.alloc : !t
  exec.copy %d into %v on "copy" : !there to !t
  exec.update @m %v : !t
  // CHECK: exec.transfer
  // CHECK-NEXT: exec.commit
  // CHECK-NEXT: %[[M:.*]] = exec.new_global @m
  // CHECK-NEXT: exec.copy %[[D]] into %[[M]] on "copy"
  // CHECK-NOT: exec.copy
  exec.transfer from !t to !h tag 0 source %x : !t
}
exec.program @fetched_later_1 entry @f ranks [1] arena 0 {
  %y = exec.alloc : !h
  exec.transfer from !t to !h tag 0 target %y : !h
  exec.output 0 %y : !h
}
