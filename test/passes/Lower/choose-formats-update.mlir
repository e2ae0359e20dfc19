// What becomes the value of a global is row-major, though convolutions hand it on
// with the channels last.
// RUN: divisi-opt %s --choose-formats | FileCheck %s

!x = !exec.buffer<tensor<2x16x12x12xf32, #spmd.local<(), [*, *, *, *], 2x16x12x12>>, @g>
!w = !exec.buffer<tensor<16x16x3x3xf32, #spmd.local<(), [*, *, *, *], 16x16x3x3>>, @g>

module attributes {divisi.cluster = {name = "one", devices = [
    {count = 1 : i64, kind = "cpu", memory_bytes = 100000000 : i64, memory_bytes_per_second = 1.0e9 : f64, peak_flops_per_second = {f32 = 1.0e9 : f64}}],
    levels = []}} {

spmd.grid @g ()
nn.global @w parameter : tensor<16x16x3x3xf32> {spmd.place = #spmd.place<@g: [*, *, *, *]>}
nn.global @s state : tensor<2x16x12x12xf32> zero {spmd.place = #spmd.place<@g: [*, *, *, *]>}
exec.entry @f inputs ["x"] [!x] outputs [] []

exec.program @f__0 entry @f ranks [0] arena 0 {
  %x = exec.input 0 : !x
  %w = exec.global @w : !w
  %0 = exec.alloc : !x
  %1 = exec.alloc : !x
  %2 = exec.alloc : !x
  exec.call "nn.conv"(%x, %w) into (%0) {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_hi = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (!x, !w) into (!x)
  // CHECK: exec.call "nn.relu"({{.*}}) into (%[[B:.*]]) {} : ({{.*}} format "channels_last" of 18432>) into ({{.*}} format "channels_last" of 18432>)
  exec.call "nn.relu"(%0) into (%1) {} : (!x) into (!x)
  // CHECK: exec.call "nn.conv"(%[[B]], {{.*}} format "channels_last" of 18432>)
  exec.call "nn.conv"(%1, %w) into (%2) {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_hi = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (!x, !w) into (!x)
  // CHECK: exec.call "pack"(%[[B]]) into (%[[P:.*]]) {}
  // CHECK: exec.update @s %[[P]] : <tensor<2x16x12x12xf32, #spmd.local<(), [*, *, *, *], 2x16x12x12>>, @g>
  exec.update @s %1 : !x
}
}
