// Calls work where there are kernels for them, and what is read in another
// memory space is copied there, once.
// RUN: divisi-opt %s --place-spaces='space=cuda kernels=nn.mul,nn.matmul' --split-input-file | FileCheck %s
// RUN: divisi-opt %s --place-spaces='space=cuda kernels=nn.mul,nn.matmul reached' --split-input-file | FileCheck %s --check-prefix=REACHED
// RUN: divisi-opt %s --place-spaces='space=cuda kernels=nn.mul,nn.matmul report' --split-input-file -o /dev/null 2>&1 | FileCheck %s --check-prefix=REPORT
// RUN: divisi-opt %s --pass-pipeline='builtin.module(place-spaces{space=cuda kernels=nn.mul,nn.matmul},write-globals,ask-kernels,plan-memory,exec.program(order-queues),verify-lower)' --split-input-file | FileCheck %s --check-prefix=PLACED
// Without a kernel for anything nothing changes.
// RUN: divisi-opt %s --split-input-file -o %t
// RUN: divisi-opt %s --place-spaces='space=cuda' --split-input-file | diff %t -
// RUN: not divisi-opt %s --place-spaces='kernels=nn.mul' --split-input-file 2>&1 | FileCheck %s --check-prefix=UNNAMED
// RUN: not divisi-opt %s --place-spaces='space=host' --split-input-file 2>&1 | FileCheck %s --check-prefix=HOST
// RUN: not divisi-opt %s --place-spaces='space=cuda kernels=nn.mull' --split-input-file 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// UNNAMED: error: place-spaces needs the name of a device's memory space, got ''
// HOST: error: place-spaces needs the name of a device's memory space, got 'host'
// UNKNOWN: error: no operator has a kernel 'nn.mull'

spmd.grid @g (x = 2)
nn.global @w parameter : tensor<16xf32> {spmd.place = #spmd.place<@g: [x]>}
nn.global @m state : tensor<16xf32> zero {spmd.place = #spmd.place<@g: [x]>}
!t = !exec.buffer<tensor<8xf32, #spmd.local<(x=2), [x], 16>>, @g>
!u = !exec.buffer<tensor<8x1xf32, #spmd.local<(x=2), [x, *], 16x1>>, @g>
exec.entry @f inputs ["x"] [!t] outputs ["y", "z"] [!t, !t]

// REPORT: remark: 5 calls work in memory space 'cuda', and 1 on the host: nn.neg (1); 5 copies move 160 bytes
// CHECK-LABEL: exec.program @f__0 entry @f ranks [0, 1] arena 0 overlap
// PLACED-LABEL: exec.program @f__0 entry @f ranks [0, 1] arena {{[0-9]+}}, "cuda" {{[0-9]+}} overlap
exec.program @f__0 entry @f ranks [0, 1] arena 0 {
  // What nobody updates is read there, and what is updated there rests there.
  // CHECK-DAG: %[[X:.*]] = exec.input 0
  // CHECK-DAG: %[[W:.*]] = exec.global @w : {{.*}}, "cuda">
  // CHECK-DAG: %[[M:.*]] = exec.global @m : {{.*}}, "cuda">
  // CHECK-DAG: %[[ONE:.*]] = exec.constant {{.*}}, "cuda">
  // CHECK-NOT: exec.copy %[[W]]
  %x = exec.input 0 : !t
  %w = exec.global @w : !t
  %m = exec.global @m : !t
  %one = exec.constant dense<1.0> : tensor<16xf32> : !t
  // CHECK: exec.copy %[[X]] into %[[DX:.*]] on "copy"
  // CHECK-NEXT: exec.call "nn.mul"(%[[DX]], %[[W]]) into (%[[A:.*]]) {}
  %0 = exec.alloc : !t
  exec.call "nn.mul"(%x, %w) into (%0) {} : (!t, !t) into (!t)
  // What stays there is not copied, and what was copied is read again.
  // CHECK: exec.call "nn.mul"(%[[A]], %[[DX]]) into (%[[B:.*]]) {}
  %1 = exec.alloc : !t
  exec.call "nn.mul"(%0, %x) into (%1) {} : (!t, !t) into (!t)
  // A call that the device lacks, between two views: it reads a copy, behind
  // what makes it, and others read a copy of what it makes.
  // CHECK: %[[HB:.*]] = exec.alloc : {{.*}}, @g>
  // CHECK: %[[HV:.*]] = exec.view %[[HB]] : {{.*}}, @g> to {{.*}}, @g>
  // CHECK: exec.copy %[[B]] into %[[HB]] on "copy"
  // CHECK: exec.call "nn.neg"(%[[HV]]) into (%[[HN:.*]]) {}
  // CHECK: %[[DN:.*]] = exec.alloc : {{.*}}, "cuda">
  // CHECK: %[[DV:.*]] = exec.view %[[DN]]
  // CHECK: exec.copy %[[HN]] into %[[DN]] on "copy"
  %v = exec.view %1 : !t to !u
  %2 = exec.alloc : !u
  exec.call "nn.neg"(%v) into (%2) {} : (!u) into (!u)
  %3 = exec.view %2 : !u to !t
  // CHECK-NOT: exec.copy %[[M]]
  // CHECK: exec.call "nn.mul"(%[[DV]], %[[ONE]]) into (%[[C:.*]]) {}
  %4 = exec.alloc : !t
  exec.call "nn.mul"(%3, %one) into (%4) {} : (!t, !t) into (!t)
  // CHECK: exec.call "nn.mul"(%[[C]], %[[M]]) into (%[[D:.*]]) {}
  // CHECK: exec.copy %[[D]] into %[[HD:.*]] on "copy"
  %5 = exec.alloc : !t
  exec.call "nn.mul"(%4, %m) into (%5) {} : (!t, !t) into (!t)
  // CHECK: exec.call "nn.mul"(%[[D]], %[[D]]) into (%[[E:.*]]) {}
  // CHECK: exec.copy %[[E]] into %[[HE:.*]] on "copy"
  %6 = exec.alloc : !t
  exec.call "nn.mul"(%5, %5) into (%6) {} : (!t, !t) into (!t)
  // The new value is written where it rests, behind the commit, but for a
  // kernel that may not write it over the old one: it is copied there.
  // CHECK: exec.update @m %[[D]]
  // CHECK: exec.output 0 %[[HD]]
  // CHECK: exec.output 1 %[[HE]]
  // PLACED: exec.commit
  // PLACED: %[[NEW:.*]] = exec.new_global @m : {{.*}}, "cuda">
  // PLACED-NEXT: exec.copy {{.*}} into %[[NEW]] : {{.*}}, "cuda">
  exec.update @m %5 : !t
  exec.output 0 %5 : !t
  exec.output 1 %6 : !t
}

// -----

spmd.grid @g (x = 2)
!part = !exec.buffer<tensor<8xf32, #spmd.local<(x=2), [*] partial sum {x}, 8>>, @g>
!whole = !exec.buffer<tensor<8xf32, #spmd.local<(x=2), [*], 8>>, @g>
!shard = !exec.buffer<tensor<4xf32, #spmd.local<(x=2), [x], 8>>, @g>
nn.global @w parameter : tensor<8xf32> {spmd.place = #spmd.place<@g: [*]>}
exec.entry @f inputs ["x"] [!part] outputs ["y"] [!shard]

// A collective meets other ranks with the host, unless the communicator reaches
// the device. What talks to nobody is there anyway, if what it moves is, or is
// at hand.
// REPORT: remark: 3 calls work in memory space 'cuda', and 0 on the host; 4 copies move 112 bytes
// REPORT: remark: 1 collectives of its values go through the host: all_reduce (1)
// CHECK-LABEL: exec.program @moves
// REACHED-LABEL: exec.program @moves
exec.program @moves entry @f ranks [0, 1] arena 0 {
  %x = exec.input 0 : !part
  %w = exec.global @w : !whole
  // CHECK: exec.call "nn.mul"({{.*}}) into (%[[P:.*]]) {} : {{.*}}"cuda">)
  // CHECK: exec.copy %[[P]] into %[[HP:.*]] on "copy"
  // CHECK: exec.collective "all_reduce" axes ["x"] tag 0 %[[HP]] into %[[HS:.*]] : {{.*}}, @g> into {{.*}}, @g>
  // CHECK: exec.copy %[[HS]] into %[[S:.*]] on "copy"
  // REACHED: exec.collective "all_reduce" {{.*}}, @g, "cuda"> into {{.*}}, @g, "cuda">
  // REACHED-NOT: exec.copy
  %p = exec.alloc : !part
  exec.call "nn.mul"(%x, %x) into (%p) {} : (!part, !part) into (!part)
  %s = exec.alloc : !whole
  exec.collective "all_reduce" axes ["x"] tag 0 %p into %s : !part into !whole
  // CHECK: exec.call "nn.mul"(%[[S]], %[[S]]) into (%[[Q:.*]]) {}
  %q = exec.alloc : !whole
  exec.call "nn.mul"(%s, %s) into (%q) {} : (!whole, !whole) into (!whole)
  // CHECK: exec.collective "slice" {{.*}} %[[Q]] into %[[QS:.*]] : {{.*}}, @g, "cuda"> into {{.*}}, @g, "cuda">
  // CHECK: exec.collective "slice" {{.*}} into %[[WS:.*]] : {{.*}}, @g, "cuda"> into {{.*}}, @g, "cuda">
  %qs = exec.alloc : !shard
  exec.collective "slice" axes ["x"] tag 0 %q into %qs : !whole into !shard
  %ws = exec.alloc : !shard
  exec.collective "slice" axes ["x"] tag 0 %w into %ws : !whole into !shard
  // CHECK: exec.call "nn.mul"(%[[QS]], %[[WS]])
  // REACHED: exec.copy {{.*}}, @g, "cuda"> to {{.*}}, @g>
  // REACHED-NOT: exec.copy
  %y = exec.alloc : !shard
  exec.call "nn.mul"(%qs, %ws) into (%y) {} : (!shard, !shard) into (!shard)
  exec.output 0 %y : !shard
}

// -----

spmd.grid @g ()
nn.global @w parameter : tensor<8xf32> {spmd.place = #spmd.place<@g: [*]>}
!t = !exec.buffer<tensor<8xf32, #spmd.local<(), [*], 8>>, @g>
exec.entry @f inputs ["x"] [!t] outputs ["y"] [!t]

// What both read of what nobody updates is read in both.
// CHECK-LABEL: exec.program @both
// REACHED-LABEL: exec.program @both
exec.program @both entry @f ranks [0] arena 0 {
  // CHECK: %[[X:.*]] = exec.input 0
  %x = exec.input 0 : !t
  // CHECK-NEXT: %[[W:.*]] = exec.global @w : {{.*}}, @g>
  // CHECK-NEXT: %[[DW:.*]] = exec.global @w : {{.*}}, @g, "cuda">
  %w = exec.global @w : !t
  %0 = exec.alloc : !t
  // CHECK: exec.call "nn.add"(%[[X]], %[[W]])
  exec.call "nn.add"(%x, %w) into (%0) {} : (!t, !t) into (!t)
  %1 = exec.alloc : !t
  // CHECK: exec.call "nn.mul"(%{{.*}}, %[[DW]])
  exec.call "nn.mul"(%0, %w) into (%1) {} : (!t, !t) into (!t)
  exec.output 0 %1 : !t
}

// -----

spmd.grid @g ()
!i = !exec.buffer<tensor<i64, #spmd.local<(), []>>, @g>
!t = !exec.buffer<tensor<8xf32, #spmd.local<(), [*], 8>>, @g>
exec.entry @f inputs ["n", "x"] [!i, !t] outputs ["y", "v"] [!t, !t]
exec.entry @step body inputs ["i", "x", "u", "g", "h"] [!i, !t, !t, !t, !t]
  outputs ["y", "v"] [!t, !t]

// What the body makes on the device is carried there; what the host makes stays
// with it.
// CHECK-LABEL: exec.program @f__0
// CHECK: exec.copy %[[X:.*]] into %[[DX:.*]] on "copy"
// CHECK: exec.call "nn.mul"(%[[DX]], %[[DX]]) into (%[[A:.*]]) {}
// CHECK: %[[Y:.*]] = exec.alloc : {{.*}}"cuda"
// CHECK: %[[Z:.*]] = exec.alloc : {{.*}}"cuda"
// CHECK: exec.loop @step times %[[N:.*]] max 3 carries (%[[A]], %[[X]]) given (%[[DX]], %[[X]]) into (%[[Y]], %[[V:.*]]) spare (%[[Z]], %{{.*}})
// CHECK: exec.copy %[[Y]] into %[[HY:.*]] on "copy"
// CHECK: exec.output 0 %[[HY]]
// CHECK: exec.output 1 %[[V]]
// PLACED-LABEL: exec.program @f__0
// PLACED: exec.loop @step {{.*}} device_arena
exec.program @f__0 entry @f ranks [0] arena 0 {
  %n = exec.input 0 : !i
  %x = exec.input 1 : !t
  %a = exec.alloc : !t
  exec.call "nn.mul"(%x, %x) into (%a) {} : (!t, !t) into (!t)
  %y = exec.alloc : !t
  %z = exec.alloc : !t
  %v = exec.alloc : !t
  %w = exec.alloc : !t
  exec.loop @step times %n max 3 carries (%a, %x) given (%x, %x) into (%y, %v)
    spare (%z, %w) : !i, (!t, !t), (!t, !t), (!t, !t), (!t, !t)
  exec.output 0 %y : !t
  exec.output 1 %v : !t
}
// CHECK-LABEL: exec.program @step__0
// CHECK: %[[X:.*]] = exec.input 1 : {{.*}}"cuda"
// CHECK: %[[U:.*]] = exec.input 2 : {{.*}}, @g>
// CHECK: %[[G:.*]] = exec.input 3 : {{.*}}"cuda"
// CHECK: %[[H:.*]] = exec.input 4 : {{.*}}, @g>
// CHECK: exec.call "nn.mul"(%[[X]], %[[G]]) into (%[[Y:.*]]) {}
// CHECK: exec.call "nn.add"(%[[U]], %[[H]]) into (%[[V:.*]]) {}
// CHECK: exec.output 0 %[[Y]] : {{.*}}"cuda"
// CHECK: exec.output 1 %[[V]]
exec.program @step__0 entry @step ranks [0] arena 0 {
  %i = exec.input 0 : !i
  %x = exec.input 1 : !t
  %u = exec.input 2 : !t
  %g = exec.input 3 : !t
  %h = exec.input 4 : !t
  %y = exec.alloc : !t
  exec.call "nn.mul"(%x, %g) into (%y) {} : (!t, !t) into (!t)
  %v = exec.alloc : !t
  exec.call "nn.add"(%u, %h) into (%v) {} : (!t, !t) into (!t)
  exec.output 0 %y : !t
  exec.output 1 %v : !t
}

// -----

spmd.grid @g (x = 2)
!i = !exec.buffer<tensor<i64, #spmd.local<(x=2), []>>, @g>
!part = !exec.buffer<tensor<8xf32, #spmd.local<(x=2), [*] partial sum {x}, 8>>, @g>
!whole = !exec.buffer<tensor<8xf32, #spmd.local<(x=2), [*], 8>>, @g>
!shard = !exec.buffer<tensor<4xf32, #spmd.local<(x=2), [x], 8>>, @g>
exec.entry @f inputs ["n", "x", "g"] [!i, !whole, !shard] outputs ["y"] [!whole]
exec.entry @step body inputs ["i", "x", "g"] [!i, !whole, !shard]
  outputs ["y"] [!whole]

// What ranks combine in a body from what is made on the device is carried there,
// and what they gather for it is given there, if the communicator reaches it.
// REACHED-LABEL: exec.program @around
// REACHED-DAG: %[[Y:.*]] = exec.alloc : {{.*}}"cuda"
// REACHED-DAG: %[[Z:.*]] = exec.alloc : {{.*}}"cuda"
// REACHED-DAG: exec.copy {{.*}} into %[[X:.*]] on "copy" : {{.*}}tensor<8xf32
// REACHED-DAG: exec.copy {{.*}} into %[[G:.*]] on "copy" : {{.*}}tensor<4xf32
// REACHED: exec.loop @step {{.*}} carries (%[[X]]) given (%[[G]]) into (%[[Y]]) spare (%[[Z]])
// REPORT: remark: 2 calls work in memory space 'cuda', and 0 on the host; 3 copies move 96 bytes
// REPORT: remark: 1 collectives of its values go through the host: all_reduce (1)
exec.program @around entry @f ranks [0, 1] arena 0 {
  %n = exec.input 0 : !i
  %x = exec.input 1 : !whole
  %g = exec.input 2 : !shard
  %y = exec.alloc : !whole
  %z = exec.alloc : !whole
  exec.loop @step times %n max 3 carries (%x) given (%g) into (%y) spare (%z)
    : !i, (!whole), (!shard), (!whole), (!whole)
  exec.output 0 %y : !whole
}
// CHECK-LABEL: exec.program @meets
// CHECK: exec.collective "all_gather" {{.*}}, @g> into {{.*}}, @g>
// CHECK: exec.collective "all_reduce" {{.*}}, @g> into {{.*}}, @g>
// REACHED-LABEL: exec.program @meets
// REACHED-NOT: exec.copy
// REACHED: exec.collective "all_gather" {{.*}}, @g, "cuda"> into {{.*}}, @g, "cuda">
// REACHED-NOT: exec.copy
// REACHED: exec.collective "all_reduce" {{.*}}, @g, "cuda"> into {{.*}}, @g, "cuda">
// REACHED-NOT: exec.copy
// REACHED: exec.output 0 %{{.*}} : {{.*}}"cuda"
exec.program @meets entry @step ranks [0, 1] arena 0 {
  %i = exec.input 0 : !i
  %x = exec.input 1 : !whole
  %g = exec.input 2 : !shard
  %h = exec.alloc : !whole
  exec.collective "all_gather" axes ["x"] tag 0 %g into %h : !shard into !whole
  %p = exec.alloc : !part
  exec.call "nn.mul"(%x, %h) into (%p) {} : (!whole, !whole) into (!part)
  %q = exec.alloc : !part
  exec.call "nn.mul"(%p, %p) into (%q) {} : (!part, !part) into (!part)
  %y = exec.alloc : !whole
  exec.collective "all_reduce" axes ["x"] tag 1 %q into %y : !part into !whole
  exec.output 0 %y : !whole
}

// -----

spmd.grid @g (x = 2)
!shard = !exec.buffer<tensor<4xf32, #spmd.local<(x=2), [x], 8>>, @g>
!whole = !exec.buffer<tensor<8xf32, #spmd.local<(x=2), [*], 8>>, @g>
nn.global @w parameter : tensor<8xf32> {spmd.place = #spmd.place<@g: [x]>}
exec.entry @f inputs [] [] outputs ["y"] [!shard]

// A weight that is gathered, and then moved once more, is moved where it is
// read: its copy is made when the program is loaded, and none in a run.
// REPORT: remark: 1 calls work in memory space 'cuda', and 0 on the host
// CHECK-LABEL: exec.program @gathers
// REACHED-LABEL: exec.program @gathers
exec.program @gathers entry @f ranks [0, 1] arena 0 {
  // CHECK: exec.collective "all_gather" {{.*}}, @g> into {{.*}}, @g>
  // REACHED-NOT: exec.copy
  // REACHED: exec.collective "all_gather" {{.*}}, @g, "cuda"> into {{.*}}, @g, "cuda">
  // REACHED-NOT: exec.copy
  // REACHED: exec.collective "slice" {{.*}}, @g, "cuda"> into {{.*}}, @g, "cuda">
  // REACHED-NOT: exec.copy
  // REACHED: exec.call "nn.mul"
  %w = exec.global @w : !shard
  %g = exec.alloc : !whole
  exec.collective "all_gather" axes ["x"] tag 0 %w into %g : !shard into !whole
  %s = exec.alloc : !shard
  exec.collective "slice" axes ["x"] tag 1 %g into %s : !whole into !shard
  %y = exec.alloc : !shard
  exec.call "nn.mul"(%s, %s) into (%y) {} : (!shard, !shard) into (!shard)
  exec.output 0 %y : !shard
}

// -----

spmd.grid @g (x = 2)
!s = tensor<8xf32, #spmd.local<(x=2), [x], 16>>
!t = !exec.buffer<tensor<8xf32, #spmd.local<(x=2), [x], 16>>, @g>
exec.entry @f inputs ["x"] [!t] outputs ["y", "z"] [!t, !t]

// Of two fused calls one is what the device does part by part.
// REPORT: remark: 2 calls work in memory space 'cuda', and 1 on the host: fused (1); 2 copies move 64 bytes
// CHECK-LABEL: exec.program @f__0
exec.program @f__0 entry @f ranks [0, 1] arena 0 {
  %x = exec.input 0 : !t
  // CHECK: exec.call "nn.mul"(%[[X:.*]], %[[X]]) into (%[[A:.*]]) {}
  // CHECK: exec.call "nn.mul"(%[[A]], %[[X]]) into (%{{.*}}) {}
  %0 = exec.alloc : !t
  exec.call "fused"(%x) into (%0) {} {
  ^bb0(%a: !s):
    %1 = nn.mul %a, %a : (!s, !s) -> !s
    %2 = nn.mul %1, %a : (!s, !s) -> !s
    exec.yield %2 : !s
  } : (!t) into (!t)
  exec.output 0 %0 : !t
  // CHECK: exec.call "fused"
  // CHECK: nn.mul
  // CHECK-NEXT: nn.neg
  %3 = exec.alloc : !t
  exec.call "fused"(%0) into (%3) {} {
  ^bb0(%a: !s):
    %1 = nn.mul %a, %a : (!s, !s) -> !s
    %2 = nn.neg %1 : (!s) -> !s
    exec.yield %2 : !s
  } : (!t) into (!t)
  exec.output 1 %3 : !t
}

// -----

spmd.grid @g ()
nn.global @m state : tensor<8xf32> zero {spmd.place = #spmd.place<@g: [*]>}
nn.global @n state : tensor<8xf32> zero {spmd.place = #spmd.place<@g: [*]>}
!t = !exec.buffer<tensor<8xf32, #spmd.local<(), [*], 8>>, @g>
exec.entry @step inputs ["x"] [!t] outputs [] []
exec.entry @reset inputs [] [] outputs [] []
exec.entry @read inputs [] [] outputs ["m", "n"] [!t, !t]

// @m is read and made on the device, and @n by what that lacks: each has one
// place in all entries, and who wants it elsewhere a copy.
// CHECK-LABEL: exec.program @step__0
exec.program @step__0 entry @step ranks [0] arena 0 {
  // CHECK-DAG: exec.global @m : {{.*}}, "cuda">
  // CHECK-DAG: exec.global @n : {{.*}}, @g>
  %x = exec.input 0 : !t
  %m = exec.global @m : !t
  %n = exec.global @n : !t
  %0 = exec.alloc : !t
  exec.call "nn.mul"(%m, %x) into (%0) {} : (!t, !t) into (!t)
  %1 = exec.alloc : !t
  exec.call "nn.neg"(%n) into (%1) {} : (!t) into (!t)
  // CHECK: exec.update @m %{{.*}} : {{.*}}, "cuda">
  // CHECK-NEXT: exec.update @n %{{.*}} : {{.*}}, @g>
  exec.update @m %0 : !t
  exec.update @n %1 : !t
}

// What is made with the host goes there, behind the commit.
// CHECK-LABEL: exec.program @reset__0
// PLACED-LABEL: exec.program @reset__0
exec.program @reset__0 entry @reset ranks [0] arena 0 {
  // CHECK: exec.copy %{{.*}} into %[[M:.*]] on "copy" : {{.*}}, @g> to {{.*}}, "cuda">
  // CHECK: exec.update @m %[[M]] : {{.*}}, "cuda">
  // CHECK-NEXT: exec.update @n %{{.*}} : {{.*}}, @g>
  // PLACED: %[[NEW:.*]] = exec.new_global @m : {{.*}}, "cuda">
  // PLACED-NEXT: exec.commit
  // PLACED-NEXT: exec.copy {{.*}} into %[[NEW]] on "copy" {{.*}}, @g> to {{.*}}, "cuda">
  %one = exec.constant dense<1.0> : tensor<8xf32> : !t
  %0 = exec.alloc : !t
  exec.call "nn.exp"(%one) into (%0) {} : (!t) into (!t)
  exec.update @m %0 : !t
  exec.update @n %one : !t
}

// CHECK-LABEL: exec.program @read__0
exec.program @read__0 entry @read ranks [0] arena 0 {
  // CHECK-DAG: %[[M:.*]] = exec.global @m : {{.*}}, "cuda">
  // CHECK-DAG: %[[N:.*]] = exec.global @n : {{.*}}, @g>
  // CHECK: exec.copy %[[M]] into %[[H:.*]] on "copy"
  // CHECK-NOT: exec.copy
  // CHECK: exec.output 0 %[[H]]
  // CHECK-NEXT: exec.output 1 %[[N]]
  %m = exec.global @m : !t
  %n = exec.global @n : !t
  exec.output 0 %m : !t
  exec.output 1 %n : !t
}
