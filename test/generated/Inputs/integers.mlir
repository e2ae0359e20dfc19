// Functions of one operator each, as in structured.mlir: products of quantized
// numbers, and what is added behind them.

func.func @conv_integer(%x: tensor<2x3x8x7xui8> {test.range = array<i64: 0, 255>}, %w: tensor<5x3x3x2xi8> {test.range = array<i64: -128, 127>}) -> tensor<2x5x4x7xi32> {
  %0 = nn.conv_integer %x, %w {strides = array<i64: 2, 1>, dilations = array<i64: 1, 2>, pads_lo = array<i64: 1, 0>, pads_hi = array<i64: 0, 2>, groups = 1, x_zero = 121, w_zero = 0} : (tensor<2x3x8x7xui8>, tensor<5x3x3x2xi8>) -> tensor<2x5x4x7xi32>
  return %0 : tensor<2x5x4x7xi32>
}

func.func @conv_integer_depthwise(%x: tensor<2x6x9xi8> {test.range = array<i64: -128, 127>}, %w: tensor<6x1x3xui8> {test.range = array<i64: 0, 255>}) -> tensor<2x6x9xi32> {
  %0 = nn.conv_integer %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads_lo = array<i64: 1>, pads_hi = array<i64: 1>, groups = 6, x_zero = -7, w_zero = 128} : (tensor<2x6x9xi8>, tensor<6x1x3xui8>) -> tensor<2x6x9xi32>
  return %0 : tensor<2x6x9xi32>
}

func.func @matmul_integer(%a: tensor<3x5x7xui8> {test.range = array<i64: 0, 255>}, %b: tensor<7x6xi8> {test.range = array<i64: -128, 127>}) -> tensor<3x5x6xi32> {
  %0 = nn.matmul_integer %a, %b {labels = "bmk,kn->bmn", a_zero = 9, b_zero = -3} : (tensor<3x5x7xui8>, tensor<7x6xi8>) -> tensor<3x5x6xi32>
  return %0 : tensor<3x5x6xi32>
}

func.func @matmul_integer_zero(%a: tensor<3x5x7xi8> {test.range = array<i64: -128, 127>}, %b: tensor<7x6xi8> {test.range = array<i64: -128, 127>}, %z: tensor<i8> {test.range = array<i64: -128, 127>}) -> tensor<3x5x6xi32> {
  %0 = nn.matmul_integer %a, %b, %z {labels = "bmk,kn->bmn", a_zero = 0, b_zero = 0} : (tensor<3x5x7xi8>, tensor<7x6xi8>, tensor<i8>) -> tensor<3x5x6xi32>
  return %0 : tensor<3x5x6xi32>
}

func.func @add_dequantized(%a: tensor<4x7xf32>, %x: tensor<4x7xui8> {test.range = array<i64: 0, 255>}, %s: tensor<1x1xf32>, %z: tensor<1x1xui8> {test.range = array<i64: 0, 255>}) -> tensor<4x7xf32> {
  %0 = nn.add_dequantized %a, %x, %s, %z : (tensor<4x7xf32>, tensor<4x7xui8>, tensor<1x1xf32>, tensor<1x1xui8>) -> tensor<4x7xf32>
  return %0 : tensor<4x7xf32>
}
