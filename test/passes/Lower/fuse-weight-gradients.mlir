// A convolution's gradient by its weights is one call where oneDNN has it.
// RUN: divisi-opt %s --fuse-weight-gradients | FileCheck %s
// RUN: divisi-opt %s --pass-pipeline='builtin.module(fuse-weight-gradients,ask-kernels,plan-memory,exec.program(order-queues),verify-lower)' | FileCheck %s --check-prefix=PLACED
// Nothing is known of the kernels of other devices.
// RUN: sed 's/kind = "cpu"/kind = "h100"/' %s | divisi-opt --fuse-weight-gradients | FileCheck %s --check-prefix=OTHER
// A broken cluster is told.
// RUN: sed 's/count = 1 : i64/count = 0 : i64/' %s | not divisi-opt --fuse-weight-gradients 2>&1 | FileCheck %s --check-prefix=BROKEN

!x = !exec.buffer<tensor<4x16x12x12xf32, #spmd.local<(), [*, *, *, *], 4x16x12x12>>, @g>
!dy = !exec.buffer<tensor<4x32x12x12xf32, #spmd.local<(), [*, *, *, *], 4x32x12x12>>, @g>
!a = !exec.buffer<tensor<16x4x12x12xf32, #spmd.local<(), [*, *, *, *], 16x4x12x12>>, @g>
!b = !exec.buffer<tensor<32x4x12x12xf32, #spmd.local<(), [*, *, *, *], 32x4x12x12>>, @g>
!c = !exec.buffer<tensor<16x32x3x3xf32, #spmd.local<(), [*, *, *, *], 16x32x3x3>>, @g>
!dw = !exec.buffer<tensor<32x16x3x3xf32, #spmd.local<(), [*, *, *, *], 32x16x3x3>>, @g>

// OTHER-NOT: "fused"
// BROKEN: the module's attribute 'divisi.cluster'
module attributes {divisi.cluster = {name = "one", devices = [
    {count = 1 : i64, kind = "cpu", memory_bytes = 100000000 : i64, memory_bytes_per_second = 1.0e9 : f64, peak_flops_per_second = {f32 = 1.0e9 : f64}}],
    levels = []}} {

spmd.grid @g ()
exec.entry @f inputs ["x", "dy"] [!x, !dy] outputs ["dw", "other", "swapped", "sum"] [!dw, !dw, !b, !c]

exec.program @f__0 entry @f ranks [0] arena 0 {
  %x = exec.input 0 : !x
  %dy = exec.input 1 : !dy
  %a = exec.alloc : !a
  %b = exec.alloc : !b
  %c = exec.alloc : !c
  %dw = exec.alloc : !dw
  // CHECK: exec.call "fused"(%[[X:.*]], %[[DY:.*]]) into (%[[DW:.*]]) {} {
  // CHECK: nn.transpose
  // CHECK: nn.transpose
  // CHECK: nn.conv
  // CHECK: nn.transpose
  // CHECK: exec.yield
  // PLACED: } {{.*}}workspace
  exec.call "nn.transpose"(%x) into (%a) {permutation = array<i64: 1, 0, 2, 3>} : (!x) into (!a)
  exec.call "nn.transpose"(%dy) into (%b) {permutation = array<i64: 1, 0, 2, 3>} : (!dy) into (!b)
  exec.call "nn.conv"(%a, %b) into (%c) {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_hi = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (!a, !b) into (!c)
  exec.call "nn.transpose"(%c) into (%dw) {permutation = array<i64: 1, 0, 2, 3>} : (!c) into (!dw)
  exec.output 0 %dw : !dw
  // What others read, too, is made.
  // CHECK: exec.call "nn.conv"
  %d = exec.alloc : !a
  %e = exec.alloc : !b
  %h = exec.alloc : !c
  %other = exec.alloc : !dw
  exec.call "nn.transpose"(%x) into (%d) {permutation = array<i64: 1, 0, 2, 3>} : (!x) into (!a)
  exec.call "nn.transpose"(%dy) into (%e) {permutation = array<i64: 1, 0, 2, 3>} : (!dy) into (!b)
  exec.call "nn.conv"(%d, %e) into (%h) {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_hi = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (!a, !b) into (!c)
  exec.call "nn.transpose"(%h) into (%other) {permutation = array<i64: 1, 0, 2, 3>} : (!c) into (!dw)
  exec.output 1 %other : !dw
  exec.output 2 %e : !b
  // The result need not be swapped.
  // CHECK: exec.call "fused"(%[[X]], %[[DY]]) into (%[[C:.*]]) {} {
  // CHECK: nn.conv
  // CHECK-NEXT: exec.yield
  // CHECK: exec.output 3 %[[C]]
  %i = exec.alloc : !a
  %j = exec.alloc : !b
  %sum = exec.alloc : !c
  exec.call "nn.transpose"(%x) into (%i) {permutation = array<i64: 1, 0, 2, 3>} : (!x) into (!a)
  exec.call "nn.transpose"(%dy) into (%j) {permutation = array<i64: 1, 0, 2, 3>} : (!dy) into (!b)
  exec.call "nn.conv"(%i, %j) into (%sum) {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_hi = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (!a, !b) into (!c)
  exec.output 3 %sum : !c
}
}
