#loc = loc("m.onnx":0:0)
module attributes {divisi.cluster = {devices = [{count = 2 : i64, efficiency = 0.69999999999999996 : f64, fuses = true, instruction_set = "avx512_core_bf16", kind = "cpu", launch_nanoseconds = 1000 : i64, memory_bytes = 17179869184 : i64, memory_bytes_per_second = 2.000000e+10 : f64, peak_flops_per_second = {f32 = 1.000000e+11 : f64, f64 = 5.000000e+10 : f64, i8 = 4.000000e+11 : f64}}], levels = [{bytes_per_second = 8.000000e+09 : f64, fanout = 2 : i64, latency_nanoseconds = 5000 : i64, name = "machine", transport = "memory"}], name = "cpu:2"}, divisi.files = {m.onnx = {bytes = 401 : i64, sha256 = "6497626a7399201b1985a4ed4c723027c9ee3583c10698492cafa3f28acbbdcf"}}, divisi.model = "m.onnx", divisi.plan = {batch_dim = 0 : i64, cluster = "cpu:2", edited = false, ended = "finished", fingerprint = 7979233353619422108 : i64, gap = 1.000000e-04 : f64, grids = 1 : i64, lower_bound = 2050 : i64, max_axes = 1 : i64, max_strategies = 1024 : i64, nanoseconds = 2050 : i64, peak_bytes = 856 : i64, pinned = 0 : i64, roles = "any", seed = 0 : i64, solver = "auto", work = 20000000000 : i64, work_done = 1762 : i64}, divisi.stage = "plan"} {
  spmd.grid @g (x0 = 2) loc(#loc)
  nn.global @k parameter : tensor<3x2x3x3xf32> from "m.onnx" [121, 216] {spmd.place = #spmd.place<@g: [x0, *, *, *]>} loc(#loc1)
  func.func @forward(%arg0: tensor<1x2x8x8xf32> {nn.name = "x", spmd.place = #spmd.place<@g: [*, *, *, *]>} loc("m.onnx":0:0)) -> (tensor<1x3x3x3xf32> {nn.name = "y", spmd.place = #spmd.place<@g: [*, x0, *, *]>}) {
    %0 = nn.read @k : tensor<3x2x3x3xf32> loc(#loc1)
    %1 = nn.conv %arg0, %0 {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_hi = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, spmd.split = #spmd.split<@g: m@x0>, strides = array<i64: 2, 2>} : (tensor<1x2x8x8xf32>, tensor<3x2x3x3xf32>) -> tensor<1x3x4x4xf32> loc(#loc2)
    %2 = nn.pool_max %1 {dilations = array<i64: 1, 1, 1, 1>, kernel = array<i64: 1, 1, 2, 2>, pads_hi = array<i64: 0, 0, 0, 0>, pads_lo = array<i64: 0, 0, 0, 0>, spmd.split = #spmd.split<@g: d1@x0>, strides = array<i64: 1, 1, 1, 1>} : (tensor<1x3x4x4xf32>) -> tensor<1x3x3x3xf32> loc(#loc3)
    return %2 : tensor<1x3x3x3xf32> loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc1 = loc("k")
#loc2 = loc("h")
#loc3 = loc("y")
