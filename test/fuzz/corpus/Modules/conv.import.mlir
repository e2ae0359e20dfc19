#loc = loc("m.onnx":0:0)
module attributes {divisi.files = {m.onnx = {bytes = 401 : i64, sha256 = "6497626a7399201b1985a4ed4c723027c9ee3583c10698492cafa3f28acbbdcf"}}, divisi.model = "m.onnx", divisi.stage = "import"} {
  nn.global @k parameter : tensor<3x2x3x3xf32> from "m.onnx" [121, 216] loc(#loc1)
  func.func @forward(%arg0: tensor<1x2x8x8xf32> {nn.name = "x"} loc("m.onnx":0:0)) -> (tensor<1x3x3x3xf32> {nn.name = "y"}) {
    %0 = nn.read @k : tensor<3x2x3x3xf32> loc(#loc1)
    %1 = nn.conv %arg0, %0 {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_hi = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, strides = array<i64: 2, 2>} : (tensor<1x2x8x8xf32>, tensor<3x2x3x3xf32>) -> tensor<1x3x4x4xf32> loc(#loc2)
    %2 = nn.pool_max %1 {dilations = array<i64: 1, 1, 1, 1>, kernel = array<i64: 1, 1, 2, 2>, pads_hi = array<i64: 0, 0, 0, 0>, pads_lo = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1, 1, 1>} : (tensor<1x3x4x4xf32>) -> tensor<1x3x3x3xf32> loc(#loc3)
    return %2 : tensor<1x3x3x3xf32> loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc1 = loc("k")
#loc2 = loc("h")
#loc3 = loc("y")
