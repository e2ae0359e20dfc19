// What belongs to one attention is one call where the backend has it.
// RUN: divisi-opt %s --join-attention | FileCheck %s
// RUN: divisi-opt %s --pass-pipeline='builtin.module(join-attention,ask-kernels,plan-memory,exec.program(order-queues),verify-lower)' | FileCheck %s --check-prefix=PLACED
// Nothing is known of the kernels of other devices.
// RUN: sed 's/kind = "cpu"/kind = "h100"/' %s | divisi-opt --join-attention | FileCheck %s --check-prefix=OTHER

!q = !exec.buffer<tensor<1x4x8x6xf32, #spmd.local<(), [*, *, *, *], 1x4x8x6>>, @g>
!k = !exec.buffer<tensor<1x2x8x6xf32, #spmd.local<(), [*, *, *, *], 1x2x8x6>>, @g>
!l = !exec.buffer<tensor<1x4x8xf32, #spmd.local<(), [*, *, *], 1x4x8>>, @g>

// OTHER-NOT: "fused"
module attributes {divisi.cluster = {name = "one", devices = [
    {count = 1 : i64, kind = "cpu", memory_bytes = 100000000 : i64, memory_bytes_per_second = 1.0e9 : f64, peak_flops_per_second = {f32 = 1.0e9 : f64}}],
    levels = []}} {

spmd.grid @g ()
exec.entry @f inputs ["q", "k", "dy", "delta"] [!q, !k, !q, !l] outputs ["y", "dq", "dk", "dv", "again", "other"] [!q, !q, !k, !k, !k, !l]

exec.program @f__0 entry @f ranks [0] arena 0 {
  %q = exec.input 0 : !q
  %k = exec.input 1 : !k
  %dy = exec.input 2 : !q
  %delta = exec.input 3 : !l
  %y = exec.alloc : !q
  %lse = exec.alloc : !l
  // CHECK: exec.call "fused"(%[[Q:.*]], %[[K:.*]], %[[K]]) into (%[[Y:.*]], %[[L:.*]]) {} {
  // CHECK-NEXT: ^bb0(%[[A:.*]]: {{.*}}, %[[B:.*]]: {{.*}}, %[[C:.*]]: {{.*}}):
  // CHECK-NEXT: nn.attention %[[A]], %[[B]], %[[C]] {
  // CHECK-NEXT: nn.attention_lse %[[A]], %[[B]] {
  // CHECK-NEXT: exec.yield
  // PLACED: } {{.*}}workspace
  exec.call "nn.attention"(%q, %k, %k) into (%y) {scale = 0.5 : f64, softcap = 0.0 : f64, left = -1 : i64, right = 0 : i64, offset = 0 : i64} : (!q, !k, !k) into (!q)
  exec.call "nn.attention_lse"(%q, %k) into (%lse) {scale = 0.5 : f64, softcap = 0.0 : f64, left = -1 : i64, right = 0 : i64, offset = 0 : i64, labels = "bhsd,bhtd,bhte->bhse", nan = false} : (!q, !k) into (!l)
  %dq = exec.alloc : !q
  %dk = exec.alloc : !k
  %dv = exec.alloc : !k
  // CHECK: exec.call "fused"(%[[Q]], %[[K]], %[[K]], %{{.*}}, %[[L]], %{{.*}}) into (%{{.*}}, %{{.*}}, %{{.*}}) {} {
  // CHECK: nn.attention_gradient {{.*}}of = "v"
  // CHECK-NEXT: nn.attention_gradient {{.*}}of = "q"
  // CHECK-NEXT: nn.attention_gradient {{.*}}of = "k"
  // CHECK-NEXT: exec.yield
  exec.call "nn.attention_gradient"(%q, %k, %k, %dy, %lse, %delta) into (%dv) {of = "v", scale = 0.5 : f64, softcap = 0.0 : f64, left = -1 : i64, right = 0 : i64, offset = 0 : i64} : (!q, !k, !k, !q, !l, !l) into (!k)
  exec.call "nn.attention_gradient"(%q, %k, %k, %dy, %lse, %delta) into (%dq) {of = "q", scale = 0.5 : f64, softcap = 0.0 : f64, left = -1 : i64, right = 0 : i64, offset = 0 : i64} : (!q, !k, !k, !q, !l, !l) into (!q)
  exec.call "nn.attention_gradient"(%q, %k, %k, %dy, %lse, %delta) into (%dk) {of = "k", scale = 0.5 : f64, softcap = 0.0 : f64, left = -1 : i64, right = 0 : i64, offset = 0 : i64} : (!q, !k, !k, !q, !l, !l) into (!k)
  // One of another attention stays alone.
  // CHECK: exec.call "nn.attention_gradient"
  %again = exec.alloc : !k
  exec.call "nn.attention_gradient"(%q, %k, %k, %dy, %lse, %delta) into (%again) {of = "k", scale = 0.5 : f64, softcap = 0.0 : f64, left = -1 : i64, right = -1 : i64, offset = 0 : i64} : (!q, !k, !k, !q, !l, !l) into (!k)
  // So does a logarithm of other keys.
  // CHECK: exec.call "nn.attention_lse"
  %other = exec.alloc : !l
  exec.call "nn.attention_lse"(%q, %dk) into (%other) {scale = 0.5 : f64, softcap = 0.0 : f64, left = -1 : i64, right = 0 : i64, offset = 0 : i64} : (!q, !k) into (!l)
  exec.output 0 %y : !q
  exec.output 1 %dq : !q
  exec.output 2 %dk : !k
  exec.output 3 %dv : !k
  exec.output 4 %again : !k
  exec.output 5 %other : !l
}
}
