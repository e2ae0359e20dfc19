// Convolutions hand on their results with the channels last, through what takes
// these in either order. What does not, an output here, gets them row-major.
// RUN: divisi-opt %s --choose-formats | FileCheck %s
// RUN: divisi-opt %s --pass-pipeline='builtin.module(choose-formats,ask-kernels,plan-memory,exec.program(order-queues),verify-lower)' | FileCheck %s --check-prefix=PLACED
// Nothing is known of the kernels of other devices.
// RUN: sed 's/kind = "cpu"/kind = "h100"/' %s | divisi-opt --choose-formats | FileCheck %s --check-prefix=OTHER
// A broken cluster is told.
// RUN: sed 's/count = 2 : i64/count = 0 : i64/' %s | not divisi-opt --choose-formats 2>&1 | FileCheck %s --check-prefix=BROKEN

!x = !exec.buffer<tensor<2x16x12x12xf32, #spmd.local<(x=2), [x, *, *, *], 3x16x12x12>>, @g>
!w = !exec.buffer<tensor<16x16x3x3xf32, #spmd.local<(x=2), [*, *, *, *], 16x16x3x3>>, @g>

// OTHER-NOT: channels_last
// BROKEN: the module's attribute 'divisi.cluster'
module attributes {divisi.cluster = {name = "two", devices = [
    {count = 2 : i64, kind = "cpu", memory_bytes = 100000000 : i64, memory_bytes_per_second = 1.0e9 : f64, peak_flops_per_second = {f32 = 1.0e9 : f64}}],
    levels = [{name = "l", fanout = 2 : i64, bytes_per_second = 1.0e9 : f64}]}} {

spmd.grid @g (x = 2)
nn.global @w parameter : tensor<16x16x3x3xf32> {spmd.place = #spmd.place<@g: [*, *, *, *]>}
exec.entry @f inputs ["x"] [!x] outputs ["y", "z"] [!x, !x]

exec.program @f__0 entry @f ranks [0, 1] arena 0 {
  %x = exec.input 0 : !x
  %w = exec.global @w : !w
  %0 = exec.alloc : !x
  %1 = exec.alloc : !x
  %2 = exec.alloc : !x
  %3 = exec.alloc : !x
  // The input stays as it is: the kernel has to turn it in any case.
  // CHECK: exec.call "nn.conv"(%[[X:.*]], %[[W:.*]]) into (%[[A:.*]]) {{.*}} into ({{.*}} format "channels_last" of 18432>)
  // PLACED: exec.call "nn.conv"{{.*}} workspace
  exec.call "nn.conv"(%x, %w) into (%0) {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_hi = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (!x, !w) into (!x)
  // CHECK: exec.call "nn.relu"(%[[A]]) into (%[[B:.*]]) {} : ({{.*}} format "channels_last" of 18432>) into ({{.*}} format "channels_last" of 18432>)
  // PLACED: exec.call "nn.relu"{{.*}} over [0, 0]
  exec.call "nn.relu"(%0) into (%1) {} : (!x) into (!x)
  // CHECK: exec.call "nn.conv"(%[[B]], %[[W]]) into (%[[C:.*]]) {{.*}} into ({{.*}} format "channels_last" of 18432>)
  exec.call "nn.conv"(%1, %w) into (%2) {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_hi = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (!x, !w) into (!x)
  // CHECK: exec.call "nn.add"(%[[C]], %[[B]]) into (%[[D:.*]]) {}
  // CHECK: exec.call "pack"(%[[D]]) into (%[[P:.*]]) {} : ({{.*}} format "channels_last" of 18432>) into (!exec.buffer<tensor<2x16x12x12xf32, #spmd.local<(x=2), [x, *, *, *], 3x16x12x12>>, @g>)
  exec.call "nn.add"(%2, %1) into (%3) {} : (!x, !x) into (!x)
  // CHECK-NEXT: exec.output 0 %[[P]]
  // CHECK-NEXT: exec.output 1 %[[P]]
  exec.output 0 %3 : !x
  exec.output 1 %3 : !x
}
}
