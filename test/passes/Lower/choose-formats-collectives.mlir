// Both sides of a collective have one format, and what lies with its channels
// last moves as it is: a halo between two convolutions is not packed.
// RUN: divisi-opt %s --choose-formats | FileCheck %s
// RUN: divisi-opt %s --pass-pipeline='builtin.module(choose-formats,ask-kernels,plan-memory,exec.program(order-queues),verify-lower)' -o /dev/null

!x = !exec.buffer<tensor<1x16x7x12xf32, #spmd.local<(x=2), [*, *, x, *], 1x16x13x12>>, @g>
!h = !exec.buffer<tensor<1x16x8x12xf32, #spmd.local<(x=2), [*, *, x{0:8, 6:13}, *], 1x16x13x12>>, @g>
!w = !exec.buffer<tensor<16x16x3x3xf32, #spmd.local<(x=2), [*, *, *, *], 16x16x3x3>>, @g>
!v = !exec.buffer<tensor<16x16x1x1xf32, #spmd.local<(x=2), [*, *, *, *], 16x16x1x1>>, @g>

module attributes {divisi.cluster = {name = "two", devices = [
    {count = 2 : i64, kind = "cpu", memory_bytes = 100000000 : i64, memory_bytes_per_second = 1.0e9 : f64, peak_flops_per_second = {f32 = 1.0e9 : f64}}],
    levels = [{name = "l", fanout = 2 : i64, bytes_per_second = 1.0e9 : f64}]}} {

spmd.grid @g (x = 2)
nn.global @w parameter : tensor<16x16x3x3xf32> {spmd.place = #spmd.place<@g: [*, *, *, *]>}
nn.global @v parameter : tensor<16x16x1x1xf32> {spmd.place = #spmd.place<@g: [*, *, *, *]>}
exec.entry @f inputs ["x"] [!x] outputs ["y"] [!x]
exec.entry @two inputs ["x"] [!x] outputs ["y"] [!x]

exec.program @f__0 entry @f ranks [0, 1] arena 0 {
  %x = exec.input 0 : !x
  %w = exec.global @w : !w
  %v = exec.global @v : !v
  %0 = exec.alloc : !x
  %1 = exec.alloc : !h
  %2 = exec.alloc : !x
  exec.call "nn.conv"(%x, %v) into (%0) {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_hi = array<i64: 0, 0>, pads_lo = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (!x, !v) into (!x)
  // CHECK: exec.collective "exchange" axes ["x"] tag 4 %[[A:.*]] into %[[B:.*]] : {{.*}} format "channels_last" of 5376> into {{.*}} format "channels_last" of 6144>
  // CHECK-NEXT: exec.call "nn.conv"(%[[B]], %{{.*}}) into
  exec.collective "exchange" axes ["x"] tag 4 %0 into %1 : !x into !h
  exec.call "nn.conv"(%1, %w) into (%2) {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_hi = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (!h, !w) into (!x)
  exec.output 0 %2 : !x
}

exec.program @two__0 entry @two ranks [0] arena 0 {
  // Of what another program takes part in, none chooses alone.
  // CHECK-LABEL: exec.program @two__0
  // CHECK: exec.collective "exchange" axes ["x"] tag 4
  // CHECK-NOT: channels_last
  %x = exec.input 0 : !x
  %w = exec.global @w : !w
  %v = exec.global @v : !v
  %0 = exec.alloc : !x
  %1 = exec.alloc : !h
  %2 = exec.alloc : !x
  exec.call "nn.conv"(%x, %v) into (%0) {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_hi = array<i64: 0, 0>, pads_lo = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (!x, !v) into (!x)
  exec.collective "exchange" axes ["x"] tag 4 %0 into %1 : !x into !h
  exec.call "nn.conv"(%1, %w) into (%2) {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_hi = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (!h, !w) into (!x)
  exec.output 0 %2 : !x
}

exec.program @two__1 entry @two ranks [1] arena 0 {
  %x = exec.input 0 : !x
  %w = exec.global @w : !w
  %v = exec.global @v : !v
  %0 = exec.alloc : !x
  %1 = exec.alloc : !h
  %2 = exec.alloc : !x
  exec.call "nn.conv"(%x, %v) into (%0) {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_hi = array<i64: 0, 0>, pads_lo = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (!x, !v) into (!x)
  exec.collective "exchange" axes ["x"] tag 4 %0 into %1 : !x into !h
  exec.call "nn.conv"(%1, %w) into (%2) {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_hi = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (!h, !w) into (!x)
  exec.output 0 %2 : !x
}
}
