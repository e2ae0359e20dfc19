// A partitioned function becomes a program: reads and arguments are buffers,
// operators calls, a reshape a view; memory is placed by lifetime.
// RUN: divisi-opt %s --lower-to-exec | FileCheck %s --check-prefix=EXEC
// RUN: divisi-opt %s --pass-pipeline='builtin.module(lower-to-exec,plan-memory,verify-lower)' | FileCheck %s --check-prefix=PLACED

spmd.grid @g (x = 2)
nn.global @w parameter : tensor<8x4xf32> {spmd.place = #spmd.place<@g: [x, *]>}

!k = tensor<4x4xf32, #spmd.local<(x=2), [*, x], 4x8>>
!w = tensor<4x4xf32, #spmd.local<(x=2), [x, *], 8x4>>
!p = tensor<4x4xf32, #spmd.local<(x=2), [*, *] partial sum {x}, 4x4>>
!r = tensor<4x4xf32, #spmd.local<(x=2), [*, *], 4x4>>
!f = tensor<16xf32, #spmd.local<(x=2), [*], 16>>

// EXEC: exec.entry @forward inputs ["a"] {{.*}} outputs ["b"]
// EXEC: exec.program @forward__0 entry @forward ranks [0, 1] arena 0
// PLACED: exec.program @forward__0 entry @forward ranks [0, 1] arena 128
func.func @forward__0(%a: !k {nn.name = "a", spmd.index = 0, spmd.place = #spmd.place<@g: [*, x]>})
    -> (!f {nn.name = "b", spmd.index = 0, spmd.place = #spmd.place<@g: [*]>})
    attributes {spmd.entry = "forward", spmd.ranks = array<i32: 0, 1>} {
  // EXEC: %[[A:.*]] = exec.input 0
  // EXEC: %[[W:.*]] = exec.global @w
  %w = nn.read @w : !w
  // EXEC: %[[P:.*]] = exec.alloc :
  // EXEC: exec.call "nn.matmul"(%[[A]], %[[W]]) into (%[[P]]) {labels = "mk,kn->mn"}
  // PLACED: exec.alloc at 0 :
  %0 = nn.matmul %a, %w {labels = "mk,kn->mn", spmd.split = #spmd.split<@g: k@x>} : (!k, !w) -> !p
  // EXEC: %[[R:.*]] = exec.alloc :
  // EXEC: exec.collective "all_reduce" axes ["x"] tag 0 %[[P]] into %[[R]]
  // PLACED: exec.alloc at 64 :
  %1 = spmd.all_reduce %0 {grid = @g, axes = ["x"], tag = 0} : !p -> !r
  // EXEC: %[[F:.*]] = exec.view %[[R]]
  %2 = nn.reshape %1 {spmd.split = #spmd.split<@g>} : (!r) -> !f
  // The result takes the bytes of the operand, which nobody reads again.
  // EXEC: exec.call "nn.neg"(%[[F]])
  // PLACED: exec.alloc at 64 :
  // PLACED-NEXT: exec.call "nn.neg"
  %3 = nn.neg %2 {spmd.split = #spmd.split<@g>} : (!f) -> !f
  // EXEC: exec.output 0
  return %3 : !f
}
