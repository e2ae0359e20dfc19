// Functions of one operator each, as in structured.mlir: attention, rotary
// embeddings, transposed convolution, and quantization.

func.func @attention(%q: tensor<2x4x5x3xf32>, %k: tensor<2x4x6x3xf32>, %v: tensor<2x4x6x4xf32>) -> tensor<2x4x5x4xf32> {
  %0 = nn.attention %q, %k, %v {scale = 0.5 : f64, softcap = 0.0 : f64, left = -1, right = -1, offset = 0} : (tensor<2x4x5x3xf32>, tensor<2x4x6x3xf32>, tensor<2x4x6x4xf32>) -> tensor<2x4x5x4xf32>
  return %0 : tensor<2x4x5x4xf32>
}

func.func @attention_grouped_causal(%q: tensor<2x6x5x3xf32>, %k: tensor<2x3x6x3xf32>, %v: tensor<2x3x6x4xf32>) -> tensor<2x6x5x4xf32> {
  %0 = nn.attention %q, %k, %v {scale = 0.5 : f64, softcap = 2.0 : f64, left = 2, right = 0, offset = 1} : (tensor<2x6x5x3xf32>, tensor<2x3x6x3xf32>, tensor<2x3x6x4xf32>) -> tensor<2x6x5x4xf32>
  return %0 : tensor<2x6x5x4xf32>
}

func.func @attention_mask(%q: tensor<2x6x5x3xf32>, %k: tensor<2x2x6x3xf32>, %v: tensor<2x2x6x4xf32>, %m: tensor<2x6x1x6xf32>) -> tensor<2x6x5x4xf32> {
  %0 = nn.attention %q, %k, %v, %m {scale = 0.5 : f64, softcap = 0.0 : f64, left = -1, right = 1, offset = 0} : (tensor<2x6x5x3xf32>, tensor<2x2x6x3xf32>, tensor<2x2x6x4xf32>, tensor<2x6x1x6xf32>) -> tensor<2x6x5x4xf32>
  return %0 : tensor<2x6x5x4xf32>
}

func.func @attention_bools(%q: tensor<2x4x5x3xf32>, %k: tensor<2x4x6x3xf32>, %v: tensor<2x4x6x4xf32>, %m: tensor<1x4x5x6xi1> {test.range = array<i64: 0, 1>}) -> tensor<2x4x5x4xf32> {
  %0 = nn.attention %q, %k, %v, %m {scale = 0.5 : f64, softcap = 0.0 : f64, left = -1, right = -1, offset = 0} : (tensor<2x4x5x3xf32>, tensor<2x4x6x3xf32>, tensor<2x4x6x4xf32>, tensor<1x4x5x6xi1>) -> tensor<2x4x5x4xf32>
  return %0 : tensor<2x4x5x4xf32>
}

func.func @attention_labels(%q: tensor<5x2x6x3xf32>, %k: tensor<2x6x3x3xf32>, %v: tensor<3x2x6x4xf32>, %m: tensor<2x1x5x6xf32>) -> tensor<2x5x6x4xf32> {
  %0 = nn.attention %q, %k, %v, %m {labels = "sbhd,bthd,hbte->bshe", nan = true, scale = 0.5 : f64, softcap = 0.0 : f64, left = -1, right = 1, offset = 0} : (tensor<5x2x6x3xf32>, tensor<2x6x3x3xf32>, tensor<3x2x6x4xf32>, tensor<2x1x5x6xf32>) -> tensor<2x5x6x4xf32>
  return %0 : tensor<2x5x6x4xf32>
}

func.func @rotary_neighbours(%x: tensor<2x3x5x8xf32>, %c: tensor<2x1x5x4xf32>, %s: tensor<2x1x5x4xf32>) -> tensor<2x3x5x8xf32> {
  %0 = nn.rotary %x, %c, %s {interleaved = true} : (tensor<2x3x5x8xf32>, tensor<2x1x5x4xf32>, tensor<2x1x5x4xf32>) -> tensor<2x3x5x8xf32>
  return %0 : tensor<2x3x5x8xf32>
}

func.func @rotary_halves(%x: tensor<2x3x5x8xf32>, %c: tensor<1x1x5x3xf32>, %s: tensor<1x1x5x3xf32>) -> tensor<2x3x5x8xf32> {
  %0 = nn.rotary %x, %c, %s {interleaved = false} : (tensor<2x3x5x8xf32>, tensor<1x1x5x3xf32>, tensor<1x1x5x3xf32>) -> tensor<2x3x5x8xf32>
  return %0 : tensor<2x3x5x8xf32>
}

func.func @conv_dgrad(%dy: tensor<2x4x5x4xf32>, %w: tensor<4x3x3x2xf32>) -> tensor<2x3x10x7xf32> {
  %0 = nn.conv_dgrad %dy, %w {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 0>, extents = array<i64: 10, 7>, groups = 1} : (tensor<2x4x5x4xf32>, tensor<4x3x3x2xf32>) -> tensor<2x3x10x7xf32>
  return %0 : tensor<2x3x10x7xf32>
}

func.func @conv_dgrad_grouped(%dy: tensor<2x6x5xf32>, %w: tensor<6x2x3xf32>) -> tensor<2x6x9xf32> {
  %0 = nn.conv_dgrad %dy, %w {strides = array<i64: 1>, dilations = array<i64: 2>, pads_lo = array<i64: 0>, extents = array<i64: 9>, groups = 3} : (tensor<2x6x5xf32>, tensor<6x2x3xf32>) -> tensor<2x6x9xf32>
  return %0 : tensor<2x6x9xf32>
}

// Strides beyond the window leave gaps, and the result goes on behind it.
func.func @conv_dgrad_gaps(%dy: tensor<2x2x3xf32>, %w: tensor<2x2x1xf32>) -> tensor<2x2x11xf32> {
  %0 = nn.conv_dgrad %dy, %w {strides = array<i64: 3>, dilations = array<i64: 1>, pads_lo = array<i64: 0>, extents = array<i64: 11>, groups = 1} : (tensor<2x2x3xf32>, tensor<2x2x1xf32>) -> tensor<2x2x11xf32>
  return %0 : tensor<2x2x11xf32>
}

func.func @quantize(%x: tensor<4x7xf32>, %s: tensor<4x1xf32> {test.range = array<i64: 1, 2>}) -> tensor<4x7xi8> {
  %0 = nn.quantize %x, %s {axis = 0, block = 1} : (tensor<4x7xf32>, tensor<4x1xf32>) -> tensor<4x7xi8>
  return %0 : tensor<4x7xi8>
}

func.func @quantize_blocks(%x: tensor<4x7xf32>, %s: tensor<4x3xf32> {test.range = array<i64: 1, 2>}, %z: tensor<1x3xui8> {test.range = array<i64: 0, 200>}) -> tensor<4x7xui8> {
  %0 = nn.quantize %x, %s, %z {axis = 1, block = 3} : (tensor<4x7xf32>, tensor<4x3xf32>, tensor<1x3xui8>) -> tensor<4x7xui8>
  return %0 : tensor<4x7xui8>
}

func.func @dequantize(%x: tensor<4x7xi8>, %s: tensor<4x1xf32>, %z: tensor<4x1xi8>) -> tensor<4x7xf32> {
  %0 = nn.dequantize %x, %s, %z {axis = 0, block = 1} : (tensor<4x7xi8>, tensor<4x1xf32>, tensor<4x1xi8>) -> tensor<4x7xf32>
  return %0 : tensor<4x7xf32>
}

func.func @dequantize_blocks(%x: tensor<7x4xui8> {test.range = array<i64: 0, 200>}, %s: tensor<4x4xf32>, %z: tensor<4x1xui8> {test.range = array<i64: 0, 200>}) -> tensor<7x4xf32> {
  %0 = nn.dequantize %x, %s, %z {axis = 0, block = 2} : (tensor<7x4xui8>, tensor<4x4xf32>, tensor<4x1xui8>) -> tensor<7x4xf32>
  return %0 : tensor<7x4xf32>
}
