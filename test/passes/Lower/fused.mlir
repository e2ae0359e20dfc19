// Operators that one kernel computes become one call, at the place of the last;
// what is between them has no buffer.
// RUN: divisi-opt %s --fuse-operators | FileCheck %s --check-prefix=FUSE
// RUN: divisi-opt %s --fuse-operators --divisi-lower | FileCheck %s --check-prefix=EXEC
// RUN: divisi-opt %s --divisi-lower | FileCheck %s --check-prefix=APART

spmd.grid @g (x = 2)
nn.global @w parameter : tensor<4x8xf32> {spmd.place = #spmd.place<@g: [*, x]>}
nn.global @b parameter : tensor<8xf32> {spmd.place = #spmd.place<@g: [x]>}

!x = tensor<4x4xf32, #spmd.local<(x=2), [*, *], 4x4>>
!w = tensor<4x4xf32, #spmd.local<(x=2), [*, x], 4x8>>
!b = tensor<4xf32, #spmd.local<(x=2), [x], 8>>
!p = tensor<4x4xf32, #spmd.local<(x=2), [*, *] partial sum {x}, 4x4>>

// APART-COUNT-5: exec.call "nn.
// APART-NOT: fused
func.func @forward__0(%x: !x {nn.name = "x", spmd.index = 0, spmd.place = #spmd.place<@g: [*, *]>})
    -> (!x {nn.name = "y", spmd.index = 0, spmd.place = #spmd.place<@g: [*, *]>})
    attributes {spmd.entry = "forward", spmd.ranks = array<i32: 0, 1>} {
  %w = nn.read @w : !w
  %b = nn.read @b : !b
  // FUSE: nn.matmul
  // FUSE-NOT: spmd.fuse
  %0 = nn.matmul %x, %w {labels = "mk,kn->mn", spmd.split = #spmd.split<@g: n@x>} : (!x, !w) -> !w loc("dense")
  // FUSE: nn.add {{.*}}spmd.fuse = 0
  %1 = nn.add %0, %b {spmd.split = #spmd.split<@g: d1@x>} : (!w, !b) -> !w loc("bias")
  // FUSE: nn.relu {{.*}}spmd.fuse = 0
  %2 = nn.relu %1 {spmd.split = #spmd.split<@g: d1@x>} : (!w) -> !w loc("act")
  // What is partial is no operand of a function: this one stays apart.
  // FUSE: nn.matmul
  // FUSE-NOT: spmd.fuse
  // FUSE: nn.relu
  %3 = nn.matmul %2, %w {labels = "mk,nk->mn", spmd.split = #spmd.split<@g: k@x>} : (!w, !w) -> !p loc("out")
  %4 = spmd.all_reduce %3 {grid = @g, axes = ["x"], tag = 0} : !p -> !x
  %5 = nn.relu %4 {spmd.split = #spmd.split<@g>} : (!x) -> !x loc("last")
  return %5 : !x
}

// EXEC: %[[X:.*]] = exec.input 0
// EXEC: %[[Y:.*]] = exec.alloc
// EXEC: exec.call "fused"(%[[X]], %{{.*}}, %{{.*}}) into (%[[Y]]) {} {{.*}}{
// EXEC-NEXT: ^bb0(%[[A:.*]]: tensor<{{.*}}, %[[B:.*]]: tensor<{{.*}}, %[[C:.*]]: tensor<
// EXEC-NEXT: %[[M:.*]] = nn.matmul %[[A]], %[[B]] {labels = "mk,kn->mn"}
// EXEC-NEXT: %[[S:.*]] = nn.add %[[M]], %[[C]]
// EXEC-NEXT: %[[R:.*]] = nn.relu %[[S]]
// EXEC-NEXT: exec.yield %[[R]]
// EXEC: exec.call "nn.matmul"
// EXEC: exec.collective "all_reduce"
// EXEC: exec.call "nn.relu"

nn.global @s state : tensor<4xf32> {spmd.place = #spmd.place<@g: [*]>}
!s = tensor<4xf32, #spmd.local<(x=2), [*], 4>>

// The new value of a global is written over the old one, so that operator is
// not fused; one that reads no global is.
// FUSE-LABEL: func.func @step__0
// FUSE: nn.sub
// FUSE: nn.tanh {{.*}}spmd.fuse = 0
// FUSE: nn.add
// FUSE-NOT: spmd.fuse
// FUSE: nn.update @s
func.func @step__0(%x: !s {nn.name = "x", spmd.index = 0, spmd.place = #spmd.place<@g: [*]>})
    attributes {spmd.entry = "step", spmd.ranks = array<i32: 0, 1>} {
  %s = nn.read @s : !s
  %0 = nn.sub %x, %s {spmd.split = #spmd.split<@g>} : (!s, !s) -> !s
  %1 = nn.tanh %0 {spmd.split = #spmd.split<@g>} : (!s) -> !s
  %2 = nn.add %1, %s {spmd.split = #spmd.split<@g>} : (!s, !s) -> !s
  nn.update @s, %2 : !s
  return
}
