// A global takes its new value when the program ends, so nothing that is
// computed after the update may take its bytes.
// RUN: divisi-opt %s --pass-pipeline='builtin.module(lower-to-exec,exec.program(plan-memory),verify-lower)' | FileCheck %s

spmd.grid @g ()
nn.global @m state : tensor<16xf32> zero {spmd.place = #spmd.place<@g: [*]>}
nn.global @w state : tensor<16xf32> zero {spmd.place = #spmd.place<@g: [*]>}

!t = tensor<16xf32, #spmd.local<(), [*], 16>>

// CHECK: exec.program @step__0 entry @step ranks [0] arena 192
func.func @step__0() attributes {spmd.entry = "step", spmd.ranks = array<i32: 0>} {
  %m = nn.read @m : !t
  %w = nn.read @w : !t
  // CHECK: exec.alloc at [[M:[0-9]+]] :
  // CHECK-NEXT: exec.call "nn.neg"
  %0 = nn.neg %m {spmd.split = #spmd.split<@g>} : (!t) -> !t
  // CHECK-NEXT: exec.update @m
  nn.update @m, %0 : !t
  // CHECK-NOT: exec.alloc at [[M]] :
  %1 = nn.exp %w {spmd.split = #spmd.split<@g>} : (!t) -> !t
  %2 = nn.add %1, %1 {spmd.split = #spmd.split<@g>} : (!t, !t) -> !t
  // CHECK: exec.update @w
  nn.update @w, %2 : !t
  return
}
