#loc = loc("m.onnx":0:0)
module attributes {divisi.model = "m.onnx", divisi.stage = "import"} {
  func.func @forward(%arg0: tensor<2x3xf32> {nn.name = "x"} loc("m.onnx":0:0)) -> (tensor<2x3xf32> {nn.name = "y"}) {
    %0 = nn.add %arg0, %arg0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32> loc(#loc1)
    %1 = nn.add %0, %0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32> loc(#loc2)
    %2 = nn.add %1, %1 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32> loc(#loc3)
    return %2 : tensor<2x3xf32> loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc1 = loc("l/0/s2")
#loc2 = loc("l/1/s2")
#loc3 = loc("l/2/s2")
