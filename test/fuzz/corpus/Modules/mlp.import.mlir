#loc = loc("m.onnx":0:0)
module attributes {divisi.files = {m.onnx = {bytes = 171 : i64, sha256 = "f73356b6f9924d1dbf62cac1666fde23a3d0ca4ac06d100f5f37cf7c117d3360"}}, divisi.model = "m.onnx", divisi.stage = "import"} {
  nn.global @w parameter : tensor<3x4xf32> from "m.onnx" [75, 48] loc(#loc1)
  func.func @forward(%arg0: tensor<2x3xf32> {nn.name = "x"} loc("m.onnx":0:0)) -> (tensor<2x4xf32> {nn.name = "y"}) {
    %0 = nn.read @w : tensor<3x4xf32> loc(#loc1)
    %1 = nn.matmul %arg0, %0 {labels = "mk,kn->mn", nn.scope = "a"} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32> loc(#loc2)
    %2 = nn.relu %1 {nn.scope = "a"} : (tensor<2x4xf32>) -> tensor<2x4xf32> loc(#loc3)
    return %2 : tensor<2x4xf32> loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc1 = loc("w")
#loc2 = loc("/a/product")
#loc3 = loc("/a/relu")
