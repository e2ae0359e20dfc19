// Kernels say what they want beside their buffers, and that lies in the arena,
// over nothing that their call touches; what they write in place is said.
// RUN: divisi-opt %s --ask-kernels | FileCheck %s --check-prefix=ASKED
// RUN: divisi-opt %s --pass-pipeline='builtin.module(ask-kernels,plan-memory,exec.program(order-queues),verify-lower)' | FileCheck %s --check-prefix=PLACED
// Those of other devices are not here to be asked.
// RUN: sed 's/kind = "cpu"/kind = "h100"/' %s | divisi-opt --ask-kernels | FileCheck %s --check-prefix=OTHER
// A broken cluster is told.
// RUN: sed 's/count = 2 : i64/count = 0 : i64/' %s | not divisi-opt --ask-kernels 2>&1 | FileCheck %s --check-prefix=BROKEN

!x = !exec.buffer<tensor<4x20xf32, #spmd.local<(x=2), [x, *], 8x20>>, @g>
!v = !exec.buffer<tensor<4x2xf32, #spmd.local<(x=2), [x, *], 8x2>>, @g>
!i = !exec.buffer<tensor<4x2xi64, #spmd.local<(x=2), [x, *], 8x2>>, @g>

// BROKEN: the module's attribute 'divisi.cluster'
module attributes {divisi.cluster = {name = "two", devices = [
    {count = 2 : i64, kind = "cpu", memory_bytes = 1000000 : i64, memory_bytes_per_second = 1.0e9 : f64, peak_flops_per_second = {f32 = 1.0e9 : f64}}],
    levels = [{name = "l", fanout = 2 : i64, bytes_per_second = 1.0e9 : f64}]}} {

spmd.grid @g (x = 2)
exec.entry @f inputs ["x"] [!x] outputs ["y"] [!v]

// PLACED: exec.program @f__0 entry @f ranks [0, 1] arena 640
exec.program @f__0 entry @f ranks [0, 1] arena 0 {
  %x = exec.input 0 : !x
  %0 = exec.alloc : !x
  // ASKED: exec.call "nn.neg"({{.*}}) into ({{.*}}) {} :
  exec.call "nn.neg"(%x) into (%0) {} : (!x) into (!x)
  // A row of indices, of 20 elements, while the call runs: 320 + 64 + 64 + 160.
  // ASKED: exec.call "nn.top_k"{{.*}} workspace 160 :
  // PLACED: exec.call "nn.top_k"{{.*}} workspace 160 at {{[0-9]+}} :
  // OTHER-NOT: workspace
  %v = exec.alloc : !v
  %i = exec.alloc : !i
  exec.call "nn.top_k"(%0) into (%v, %i) {axis = 1 : i64, k = 2 : i64, largest = true} : (!x) into (!v, !i)
  %y = exec.alloc : !v
  // PLACED: exec.call "nn.exp"({{.*}}) into ({{.*}}) {} over [0, 0]
  exec.call "nn.exp"(%v) into (%y) {} : (!v) into (!v)
  exec.output 0 %y : !v
}
}
