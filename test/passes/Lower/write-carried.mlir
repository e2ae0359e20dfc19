// What a loop carries is written over the value before, unless somebody still
// needs that.
// RUN: divisi-opt %s --write-carried --split-input-file | FileCheck %s
// RUN: divisi-opt %s --pass-pipeline='builtin.module(write-carried,plan-memory,exec.program(order-queues),verify-lower)' --split-input-file | FileCheck %s --check-prefix=PLACED

spmd.grid @g ()
!i = !exec.buffer<tensor<i64, #spmd.local<(), []>>, @g>
!t = !exec.buffer<tensor<16xf32, #spmd.local<(), [*], 16>>, @g>
exec.entry @step body inputs ["i", "x", "u", "k"] [!i, !t, !t, !t] outputs ["x", "u", "k"] [!t, !t, !t]

// The sum lies where %x was. %u is read after its new value is made; %k is as it
// was.
// CHECK-LABEL: exec.program @body
// PLACED-LABEL: exec.program @body entry @step ranks [0] arena 128
exec.program @body entry @step ranks [0] arena 0 {
  %x = exec.input 1 : !t
  %u = exec.input 2 : !t
  %k = exec.input 3 : !t
  // CHECK: %[[X:.*]] = exec.input 1 {exec.new_value}
  // CHECK-NEXT: exec.call "nn.add"(%{{.*}}, %{{.*}}) into (%[[X]])
  // PLACED: exec.call "nn.add"(%{{.*}}, %{{.*}}) into (%{{.*}}) {} over [0, 0]
  %a = exec.alloc : !t
  exec.call "nn.add"(%x, %u) into (%a) {} : (!t, !t) into (!t)
  // CHECK: %[[U:.*]] = exec.alloc
  // CHECK-NEXT: exec.call "nn.mul"(%{{.*}}, %{{.*}}) into (%[[U]])
  %b = exec.alloc : !t
  exec.call "nn.mul"(%u, %k) into (%b) {} : (!t, !t) into (!t)
  %c = exec.alloc : !t
  exec.call "nn.neg"(%u) into (%c) {} : (!t) into (!t)
  exec.output 0 %a : !t
  exec.output 1 %b : !t
  exec.output 2 %k : !t
}

exec.entry @f inputs ["n", "x"] [!i, !t] outputs ["y"] [!t]

// One place for what is written over and for what stays, two for the other.
// CHECK-LABEL: exec.program @main
exec.program @main entry @f ranks [0] arena 0 {
  %n = exec.input 0 : !i
  %x = exec.input 1 : !t
  %y0 = exec.alloc : !t
  %y1 = exec.alloc : !t
  %y2 = exec.alloc : !t
  %s0 = exec.alloc : !t
  %s1 = exec.alloc : !t
  %s2 = exec.alloc : !t
  // CHECK: into (%[[Y0:.*]], %[[Y1:.*]], %[[Y2:.*]]) spare (%[[Y0]], %{{.*}}, %[[Y2]])
  // CHECK-NOT: spare (%{{.*}}, %[[Y1]],
  exec.loop @step times %n max 3 carries (%x, %x, %x) given () into (%y0, %y1, %y2) spare (%s0, %s1, %s2)
    : !i, (!t, !t, !t), (), (!t, !t, !t), (!t, !t, !t)
  exec.output 0 %y0 : !t
}
