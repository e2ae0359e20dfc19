#loc = loc("m.onnx":0:0)
module attributes {divisi.model = "m.onnx", divisi.stage = "import"} {
  func.func @forward(%arg0: tensor<2x3xf32> {nn.name = "x"} loc("m.onnx":0:0)) -> (tensor<2x3xf32> {nn.name = "y"}) {
    %0 = nn.constant dense<1.000000e-01> : tensor<1x1xf32> loc(#loc1)
    %1 = nn.constant dense<0> : tensor<1x1xi8> loc(#loc1)
    %2 = nn.quantize %arg0, %0, %1 {axis = 0 : i64, block = 1 : i64} : (tensor<2x3xf32>, tensor<1x1xf32>, tensor<1x1xi8>) -> tensor<2x3xi8> loc(#loc1)
    %3 = nn.dequantize %2, %0, %1 {axis = 0 : i64, block = 1 : i64} : (tensor<2x3xi8>, tensor<1x1xf32>, tensor<1x1xi8>) -> tensor<2x3xf32> loc(#loc2)
    return %3 : tensor<2x3xf32> loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc1 = loc("q")
#loc2 = loc("y")
