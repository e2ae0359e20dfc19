#loc = loc("m.onnx":0:0)
module attributes {divisi.cluster = {devices = [{count = 2 : i64, efficiency = 0.69999999999999996 : f64, fuses = true, instruction_set = "avx512_core_bf16", kind = "cpu", launch_nanoseconds = 1000 : i64, memory_bytes = 17179869184 : i64, memory_bytes_per_second = 2.000000e+10 : f64, peak_flops_per_second = {f32 = 1.000000e+11 : f64, f64 = 5.000000e+10 : f64, i8 = 4.000000e+11 : f64}}], levels = [{bytes_per_second = 8.000000e+09 : f64, fanout = 2 : i64, latency_nanoseconds = 5000 : i64, name = "machine", transport = "memory"}], name = "cpu:2"}, divisi.model = "m.onnx", divisi.plan = {batch_dim = 0 : i64, cluster = "cpu:2", edited = false, ended = "finished", fingerprint = -791486510201665426 : i64, gap = 1.000000e-04 : f64, grids = 1 : i64, lower_bound = 3006 : i64, max_axes = 1 : i64, max_strategies = 1024 : i64, nanoseconds = 3006 : i64, peak_bytes = 36 : i64, pinned = 0 : i64, roles = "any", seed = 0 : i64, solver = "auto", work = 20000000000 : i64, work_done = 2487 : i64}, divisi.stage = "plan"} {
  spmd.grid @g (x0 = 2) loc(#loc)
  func.func @forward(%arg0: tensor<2x3xf32> {nn.name = "x", spmd.place = #spmd.place<@g: [x0, *]>} loc("m.onnx":0:0)) -> (tensor<2x3xf32> {nn.name = "y", spmd.place = #spmd.place<@g: [x0, *]>}) {
    %0 = nn.add %arg0, %arg0 {spmd.split = #spmd.split<@g: d0@x0>} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32> loc(#loc1)
    %1 = nn.add %0, %0 {spmd.split = #spmd.split<@g: d0@x0>} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32> loc(#loc2)
    %2 = nn.add %1, %1 {spmd.split = #spmd.split<@g: d0@x0>} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32> loc(#loc3)
    return %2 : tensor<2x3xf32> loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc1 = loc("l/0/s2")
#loc2 = loc("l/1/s2")
#loc3 = loc("l/2/s2")
