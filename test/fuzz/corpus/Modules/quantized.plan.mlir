#loc = loc("m.onnx":0:0)
module attributes {divisi.cluster = {devices = [{count = 2 : i64, efficiency = 0.69999999999999996 : f64, fuses = true, instruction_set = "avx512_core_bf16", kind = "cpu", launch_nanoseconds = 1000 : i64, memory_bytes = 17179869184 : i64, memory_bytes_per_second = 2.000000e+10 : f64, peak_flops_per_second = {f32 = 1.000000e+11 : f64, f64 = 5.000000e+10 : f64, i8 = 4.000000e+11 : f64}}], levels = [{bytes_per_second = 8.000000e+09 : f64, fanout = 2 : i64, latency_nanoseconds = 5000 : i64, name = "machine", transport = "memory"}], name = "cpu:2"}, divisi.model = "m.onnx", divisi.plan = {batch_dim = 0 : i64, cluster = "cpu:2", edited = false, ended = "finished", fingerprint = 8234801577271968535 : i64, gap = 1.000000e-04 : f64, grids = 1 : i64, lower_bound = 1002 : i64, max_axes = 1 : i64, max_strategies = 1024 : i64, nanoseconds = 1002 : i64, peak_bytes = 27 : i64, pinned = 0 : i64, roles = "any", seed = 0 : i64, solver = "auto", work = 20000000000 : i64, work_done = 1566 : i64}, divisi.stage = "plan"} {
  spmd.grid @g (x0 = 2) loc(#loc)
  func.func @forward(%arg0: tensor<2x3xf32> {nn.name = "x", spmd.place = #spmd.place<@g: [x0, *]>} loc("m.onnx":0:0)) -> (tensor<2x3xf32> {nn.name = "y", spmd.place = #spmd.place<@g: [x0, *]>}) {
    %0 = nn.constant {spmd.split = #spmd.split<@g>} dense<1.000000e-01> : tensor<1x1xf32> loc(#loc1)
    %1 = nn.constant {spmd.split = #spmd.split<@g>} dense<0> : tensor<1x1xi8> loc(#loc1)
    %2 = nn.quantize %arg0, %0, %1 {axis = 0 : i64, block = 1 : i64, spmd.split = #spmd.split<@g: d0@x0>} : (tensor<2x3xf32>, tensor<1x1xf32>, tensor<1x1xi8>) -> tensor<2x3xi8> loc(#loc1)
    %3 = nn.dequantize %2, %0, %1 {axis = 0 : i64, block = 1 : i64, spmd.split = #spmd.split<@g: d0@x0>} : (tensor<2x3xi8>, tensor<1x1xf32>, tensor<1x1xi8>) -> tensor<2x3xf32> loc(#loc2)
    return %3 : tensor<2x3xf32> loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc1 = loc("q")
#loc2 = loc("y")
