// What the verifiers of attention, transposed convolution and quantization
// refuse; names end with the constraint's label.
// RUN: divisi-opt %s --split-input-file --verify-diagnostics

func.func @attention_c1(%q: tensor<2x4x5x4xf32>, %k: tensor<2x7x4xf32>,
    %v: tensor<2x2x7x8xf32>) {
  // expected-error @+1 {{'k' has type 'tensor<2x7x4xf32>', expected rank 4 and elements of 'f32'}}
  %0 = nn.attention %q, %k, %v {scale = 0.5 : f64, softcap = 0.0 : f64,
      left = -1, right = 0, offset = 0}
      : (tensor<2x4x5x4xf32>,
      tensor<2x7x4xf32>, tensor<2x2x7x8xf32>)
      -> tensor<2x4x5x8xf32>
  return
}

// -----

func.func @attention_c1_type(%q: tensor<2x4x5x4xf32>, %k: tensor<2x2x7x4xf32>,
    %v: tensor<2x2x7x8xf16>) {
  // expected-error @+1 {{'v' has type 'tensor<2x2x7x8xf16>', expected rank 4 and elements of 'f32'}}
  %0 = nn.attention %q, %k, %v {scale = 0.5 : f64, softcap = 0.0 : f64,
      left = -1, right = 0, offset = 0}
      : (tensor<2x4x5x4xf32>,
      tensor<2x2x7x4xf32>, tensor<2x2x7x8xf16>)
      -> tensor<2x4x5x8xf32>
  return
}

// -----

func.func @attention_c2(%q: tensor<2x4x5x4xf32>, %k: tensor<2x2x7x3xf32>,
    %v: tensor<2x2x7x8xf32>) {
  // expected-error @+1 {{queries [2, 4, 5, 4], keys [2, 2, 7, 3] and values [2, 2, 7, 8] do not fit together}}
  %0 = nn.attention %q, %k, %v {scale = 0.5 : f64, softcap = 0.0 : f64,
      left = -1, right = 0, offset = 0}
      : (tensor<2x4x5x4xf32>,
      tensor<2x2x7x3xf32>, tensor<2x2x7x8xf32>)
      -> tensor<2x4x5x8xf32>
  return
}

// -----

func.func @attention_c3(%q: tensor<2x3x5x4xf32>, %k: tensor<2x2x7x4xf32>,
    %v: tensor<2x2x7x8xf32>) {
  // expected-error @+1 {{3 heads of queries are not a multiple of 2 heads of keys}}
  %0 = nn.attention %q, %k, %v {scale = 0.5 : f64, softcap = 0.0 : f64,
      left = -1, right = 0, offset = 0}
      : (tensor<2x3x5x4xf32>,
      tensor<2x2x7x4xf32>, tensor<2x2x7x8xf32>)
      -> tensor<2x4x5x8xf32>
  return
}

// -----

func.func @attention_c4(%q: tensor<2x4x5x4xf32>, %k: tensor<2x2x7x4xf32>,
    %v: tensor<2x2x7x8xf32>, %m: tensor<2x1x5x6xi1>) {
  // expected-error @+1 {{dimension 3 of 'mask' has extent 6, expected 1 or 7}}
  %0 = nn.attention %q, %k, %v, %m {scale = 0.5 : f64, softcap = 0.0 : f64,
      left = -1, right = 0, offset = 0}
      : (tensor<2x4x5x4xf32>,
      tensor<2x2x7x4xf32>, tensor<2x2x7x8xf32>,
      tensor<2x1x5x6xi1>)
      -> tensor<2x4x5x8xf32>
  return
}

// -----

func.func @attention_c4_type(%q: tensor<2x4x5x4xf32>, %k: tensor<2x2x7x4xf32>,
    %v: tensor<2x2x7x8xf32>, %m: tensor<2x1x5x7xf16>) {
  // expected-error @+1 {{'mask' has type 'tensor<2x1x5x7xf16>', expected rank 4 and booleans or 'f32'}}
  %0 = nn.attention %q, %k, %v, %m {scale = 0.5 : f64, softcap = 0.0 : f64,
      left = -1, right = 0, offset = 0}
      : (tensor<2x4x5x4xf32>,
      tensor<2x2x7x4xf32>, tensor<2x2x7x8xf32>,
      tensor<2x1x5x7xf16>)
      -> tensor<2x4x5x8xf32>
  return
}

// -----

func.func @attention_c5(%q: tensor<2x4x5x4xf32>, %k: tensor<2x2x7x4xf32>,
    %v: tensor<2x2x7x8xf32>) {
  // expected-error @+1 {{'scale' is 5.000000e-01 and 'softcap' is -1.000000e+00, expected finite numbers, the latter not negative}}
  %0 = nn.attention %q, %k, %v {scale = 0.5 : f64, softcap = -1.0 : f64,
      left = -1, right = 0, offset = 0}
      : (tensor<2x4x5x4xf32>,
      tensor<2x2x7x4xf32>, tensor<2x2x7x8xf32>)
      -> tensor<2x4x5x8xf32>
  return
}

// -----

func.func @attention_c6(%q: tensor<2x4x5x4xf32>, %k: tensor<2x2x7x4xf32>,
    %v: tensor<2x2x7x8xf32>) {
  // expected-error @+1 {{'left' is -2 and 'right' is 0, expected at least -1}}
  %0 = nn.attention %q, %k, %v {scale = 0.5 : f64, softcap = 0.0 : f64,
      left = -2, right = 0, offset = 0}
      : (tensor<2x4x5x4xf32>,
      tensor<2x2x7x4xf32>, tensor<2x2x7x8xf32>)
      -> tensor<2x4x5x8xf32>
  return
}

// -----

func.func @attention_c7(%q: tensor<2x4x5x4xf32>, %k: tensor<2x2x7x4xf32>,
    %v: tensor<2x2x7x8xf32>) {
  // expected-error @+1 {{'labels' is "bhsd,bhdt,bhte->bhse", expected "bhsd,bhtd,bhte->bhse", or each group in another order that leaves its last letter}}
  %0 = nn.attention %q, %k, %v {labels = "bhsd,bhdt,bhte->bhse",
      scale = 0.5 : f64, softcap = 0.0 : f64, left = -1, right = 0, offset = 0}
      : (tensor<2x4x5x4xf32>,
      tensor<2x2x7x4xf32>, tensor<2x2x7x8xf32>)
      -> tensor<2x4x5x8xf32>
  return
}

// -----

func.func @attention_c7_parts(%q: tensor<2x4x5x4xf32>, %k: tensor<2x2x7x4xf32>,
    %v: tensor<2x2x7x8xf32>) {
  // expected-error @+1 {{'labels' is "bhsd,bhtd->bhse", expected}}
  %0 = nn.attention %q, %k, %v {labels = "bhsd,bhtd->bhse",
      scale = 0.5 : f64, softcap = 0.0 : f64, left = -1, right = 0, offset = 0}
      : (tensor<2x4x5x4xf32>,
      tensor<2x2x7x4xf32>, tensor<2x2x7x8xf32>)
      -> tensor<2x4x5x8xf32>
  return
}

// -----

func.func @attention_lse_c1(%q: tensor<2x4x5x4xf32>, %k: tensor<2x3x7x4xf32>) {
  // expected-error @+1 {{4 heads of queries are not a multiple of 3 heads of keys}}
  %0 = nn.attention_lse %q, %k {scale = 0.5 : f64, softcap = 0.0 : f64,
      left = -1, right = 0, offset = 0} : (tensor<2x4x5x4xf32>,
      tensor<2x3x7x4xf32>) -> tensor<2x4x5xf32>
  return
}

// -----

func.func @attention_gradient_c1(%q: tensor<2x4x5x4xf32>, %k: tensor<2x2x7x4xf32>,
    %v: tensor<2x2x7x8xf32>, %dy: tensor<2x4x5x8xf32>,
    %lse: tensor<2x4x5xf32>, %delta: tensor<2x4x5xf32>) {
  // expected-error @+1 {{'left' is -2 and 'right' is 0, expected at least -1}}
  %0 = nn.attention_gradient %q, %k, %v, %dy, %lse, %delta {of = "v",
      scale = 0.5 : f64, softcap = 0.0 : f64, left = -2, right = 0, offset = 0}
      : (tensor<2x4x5x4xf32>, tensor<2x2x7x4xf32>, tensor<2x2x7x8xf32>,
      tensor<2x4x5x8xf32>, tensor<2x4x5xf32>, tensor<2x4x5xf32>)
      -> tensor<2x2x7x8xf32>
  return
}

// -----

func.func @attention_gradient_c2(%q: tensor<2x4x5x4xf32>, %k: tensor<2x2x7x4xf32>,
    %v: tensor<2x2x7x8xf32>, %dy: tensor<2x4x5x8xf16>,
    %lse: tensor<2x4x5xf32>, %delta: tensor<2x4x5xf32>) {
  // expected-error @+1 {{'dy' has type 'tensor<2x4x5x8xf16>', expected 'tensor<2x4x5x8xf32>' as the attention's result}}
  %0 = nn.attention_gradient %q, %k, %v, %dy, %lse, %delta {of = "v",
      scale = 0.5 : f64, softcap = 0.0 : f64, left = -1, right = 0, offset = 0}
      : (tensor<2x4x5x4xf32>, tensor<2x2x7x4xf32>, tensor<2x2x7x8xf32>,
      tensor<2x4x5x8xf16>, tensor<2x4x5xf32>, tensor<2x4x5xf32>)
      -> tensor<2x2x7x8xf32>
  return
}

// -----

func.func @attention_gradient_c3(%q: tensor<2x4x5x4xf32>, %k: tensor<2x2x7x4xf32>,
    %v: tensor<2x2x7x8xf32>, %dy: tensor<2x4x5x8xf32>,
    %lse: tensor<2x4x6xf32>, %delta: tensor<2x4x5xf32>) {
  // expected-error @+1 {{'lse' has type 'tensor<2x4x6xf32>', expected 'tensor<2x4x5xf32>', a number for each query}}
  %0 = nn.attention_gradient %q, %k, %v, %dy, %lse, %delta {of = "v",
      scale = 0.5 : f64, softcap = 0.0 : f64, left = -1, right = 0, offset = 0}
      : (tensor<2x4x5x4xf32>, tensor<2x2x7x4xf32>, tensor<2x2x7x8xf32>,
      tensor<2x4x5x8xf32>, tensor<2x4x6xf32>, tensor<2x4x5xf32>)
      -> tensor<2x2x7x8xf32>
  return
}

// -----

func.func @attention_gradient_c3_type(%q: tensor<2x4x5x4xf32>, %k: tensor<2x2x7x4xf32>,
    %v: tensor<2x2x7x8xf32>, %dy: tensor<2x4x5x8xf32>,
    %lse: tensor<2x4x5xf32>, %delta: tensor<2x4x5xf64>) {
  // expected-error @+1 {{'delta' has type 'tensor<2x4x5xf64>', expected 'tensor<2x4x5xf32>', a number for each query}}
  %0 = nn.attention_gradient %q, %k, %v, %dy, %lse, %delta {of = "v",
      scale = 0.5 : f64, softcap = 0.0 : f64, left = -1, right = 0, offset = 0}
      : (tensor<2x4x5x4xf32>, tensor<2x2x7x4xf32>, tensor<2x2x7x8xf32>,
      tensor<2x4x5x8xf32>, tensor<2x4x5xf32>, tensor<2x4x5xf64>)
      -> tensor<2x2x7x8xf32>
  return
}

// -----

func.func @attention_gradient_c4(%q: tensor<2x4x5x4xf32>, %k: tensor<2x2x7x4xf32>,
    %v: tensor<2x2x7x8xf32>, %dy: tensor<2x4x5x8xf32>,
    %lse: tensor<2x4x5xf32>, %delta: tensor<2x4x5xf32>) {
  // expected-error @+1 {{'of' is "y", expected q, k or v}}
  %0 = nn.attention_gradient %q, %k, %v, %dy, %lse, %delta {of = "y",
      scale = 0.5 : f64, softcap = 0.0 : f64, left = -1, right = 0, offset = 0}
      : (tensor<2x4x5x4xf32>, tensor<2x2x7x4xf32>, tensor<2x2x7x8xf32>,
      tensor<2x4x5x8xf32>, tensor<2x4x5xf32>, tensor<2x4x5xf32>)
      -> tensor<2x2x7x8xf32>
  return
}

// -----

func.func @attention_gradient_c5(%q: tensor<2x4x5x4xf32>, %k: tensor<2x2x7x4xf32>,
    %v: tensor<2x2x7x8xf32>, %dy: tensor<2x4x5x8xf32>,
    %lse: tensor<2x4x5xf32>, %delta: tensor<2x4x5xf32>) {
  // expected-error @+1 {{has a result of type 'tensor<2x2x7x8xf64>', expected 'tensor<2x2x7x8xf32>'}}
  %0 = nn.attention_gradient %q, %k, %v, %dy, %lse, %delta {of = "v",
      scale = 0.5 : f64, softcap = 0.0 : f64, left = -1, right = 0, offset = 0}
      : (tensor<2x4x5x4xf32>, tensor<2x2x7x4xf32>, tensor<2x2x7x8xf32>,
      tensor<2x4x5x8xf32>, tensor<2x4x5xf32>, tensor<2x4x5xf32>)
      -> tensor<2x2x7x8xf64>
  return
}

// -----

func.func @rotary_c1(%x: tensor<2x5x8xf32>, %c: tensor<1x5x4xf32>,
    %s: tensor<1x5x3xf32>) {
  // expected-error @+1 {{'cos' has shape [1, 5, 4] and 'sin' [1, 5, 3], expected the same, of rank 3 and at least 1}}
  %0 = nn.rotary %x, %c, %s {interleaved = true} : (tensor<2x5x8xf32>,
      tensor<1x5x4xf32>, tensor<1x5x3xf32>) -> tensor<2x5x8xf32>
  return
}

// -----

func.func @rotary_c2(%x: tensor<2x5x8xf32>, %c: tensor<1x5x5xf32>,
    %s: tensor<1x5x5xf32>) {
  // expected-error @+1 {{5 angles need twice as many elements, got 8}}
  %0 = nn.rotary %x, %c, %s {interleaved = true} : (tensor<2x5x8xf32>,
      tensor<1x5x5xf32>, tensor<1x5x5xf32>) -> tensor<2x5x8xf32>
  return
}

// -----

func.func @rotary_c3(%x: tensor<2x5x8xf32>, %c: tensor<1x4x4xf32>,
    %s: tensor<1x4x4xf32>) {
  // expected-error @+1 {{dimension 1 of 'cos' has extent 4, expected 1 or 5}}
  %0 = nn.rotary %x, %c, %s {interleaved = true} : (tensor<2x5x8xf32>,
      tensor<1x4x4xf32>, tensor<1x4x4xf32>) -> tensor<2x5x8xf32>
  return
}

// -----

func.func @quantize_c1(%x: tensor<4x8xf32>, %s: tensor<4x2xf16>) {
  // expected-error @+1 {{'x' has elements of 'f32', but 'scale' of 'f16'}}
  %0 = nn.quantize %x, %s {axis = 1, block = 4} : (tensor<4x8xf32>,
      tensor<4x2xf16>)
      -> tensor<4x8xi8>
  return
}

// -----

func.func @quantize_c1_zero(%x: tensor<4x8xf32>, %s: tensor<4x2xf32>,
    %z: tensor<4x2xui8>) {
  // expected-error @+1 {{'zero' has elements of 'ui8', but the result of 'i8'}}
  %0 = nn.quantize %x, %s, %z {axis = 1, block = 4} : (tensor<4x8xf32>,
      tensor<4x2xf32>, tensor<4x2xui8>)
      -> tensor<4x8xi8>
  return
}

// -----

func.func @quantize_c2(%x: tensor<4x8xf32>, %s: tensor<4x2xf32>) {
  // expected-error @+1 {{axis 2 is not a dimension of a tensor of rank 2}}
  %0 = nn.quantize %x, %s {axis = 2, block = 4} : (tensor<4x8xf32>,
      tensor<4x2xf32>)
      -> tensor<4x8xi8>
  return
}

// -----

func.func @quantize_c3(%x: tensor<4x8xf32>, %s: tensor<4x2xf32>) {
  // expected-error @+1 {{'block' is 0, expected at least 1}}
  %0 = nn.quantize %x, %s {axis = 1, block = 0} : (tensor<4x8xf32>,
      tensor<4x2xf32>)
      -> tensor<4x8xi8>
  return
}

// -----

func.func @quantize_c4(%x: tensor<4x8xf32>, %s: tensor<4x3xf32>) {
  // expected-error @+1 {{'scale' has shape [4, 3], expected [4, 2], or 1 instead of a dimension}}
  %0 = nn.quantize %x, %s {axis = 1, block = 4} : (tensor<4x8xf32>,
      tensor<4x3xf32>)
      -> tensor<4x8xi8>
  return
}

// -----

func.func @quantize_c5(%x: tensor<4x8xf32>, %s: tensor<4x2xf32>) {
  // expected-error @+1 {{the result has shape [8, 4], expected that of 'x', [4, 8]}}
  %0 = nn.quantize %x, %s {axis = 1, block = 4} : (tensor<4x8xf32>,
      tensor<4x2xf32>)
      -> tensor<8x4xi8>
  return
}

// -----

func.func @dequantize_c1(%x: tensor<4x8xi8>, %s: tensor<4x2xf32>,
    %z: tensor<4x2xui8>) {
  // expected-error @+1 {{'zero' has elements of 'ui8', but 'x' of 'i8'}}
  %0 = nn.dequantize %x, %s, %z {axis = 1, block = 4} : (tensor<4x8xi8>,
      tensor<4x2xf32>, tensor<4x2xui8>)
      -> tensor<4x8xf32>
  return
}

// -----

func.func @dequantize_c2(%x: tensor<4x8xi8>, %s: tensor<4x2xf32>) {
  // expected-error @+1 {{axis -1 is not a dimension of a tensor of rank 2}}
  %0 = nn.dequantize %x, %s {axis = -1, block = 4} : (tensor<4x8xi8>,
      tensor<4x2xf32>)
      -> tensor<4x8xf32>
  return
}

// -----

func.func @dequantize_c3(%x: tensor<4x8xi8>, %s: tensor<4x2xf32>) {
  // expected-error @+1 {{'block' is -4, expected at least 1}}
  %0 = nn.dequantize %x, %s {axis = 1, block = -4} : (tensor<4x8xi8>,
      tensor<4x2xf32>)
      -> tensor<4x8xf32>
  return
}

// -----

func.func @dequantize_c4(%x: tensor<4x8xi8>, %s: tensor<4x2xf32>,
    %z: tensor<3x2xi8>) {
  // expected-error @+1 {{'zero' has shape [3, 2], expected [4, 2], or 1 instead of a dimension}}
  %0 = nn.dequantize %x, %s, %z {axis = 1, block = 4} : (tensor<4x8xi8>,
      tensor<4x2xf32>, tensor<3x2xi8>)
      -> tensor<4x8xf32>
  return
}

// -----

func.func @conv_dgrad_c1(%dy: tensor<2x4x4xf32>, %w: tensor<4x3xf32>) {
  // expected-error @+1 {{gradient and weight have ranks 3 and 2, expected the same, at least 2}}
  %0 = nn.conv_dgrad %dy, %w {strides = array<i64: 2>,
      dilations = array<i64: 1>, pads_lo = array<i64: 1>,
      extents = array<i64: 8>, groups = 1}
      : (tensor<2x4x4xf32>, tensor<4x3xf32>) -> tensor<2x3x8xf32>
  return
}

// -----

func.func @conv_dgrad_c2(%dy: tensor<2x4x4xf32>, %w: tensor<4x3x3xf32>) {
  // expected-error @+1 {{'extents' has 2 entries}}
  %0 = nn.conv_dgrad %dy, %w {strides = array<i64: 2>,
      dilations = array<i64: 1>, pads_lo = array<i64: 1>,
      extents = array<i64: 8, 8>, groups = 1}
      : (tensor<2x4x4xf32>, tensor<4x3x3xf32>) -> tensor<2x3x8xf32>
  return
}

// -----

func.func @conv_dgrad_c3(%dy: tensor<2x4x4xf32>, %w: tensor<4x3x3xf32>) {
  // expected-error @+1 {{'strides' holds 0, expected positive numbers}}
  %0 = nn.conv_dgrad %dy, %w {strides = array<i64: 0>,
      dilations = array<i64: 1>, pads_lo = array<i64: 1>,
      extents = array<i64: 8>, groups = 1}
      : (tensor<2x4x4xf32>, tensor<4x3x3xf32>) -> tensor<2x3x8xf32>
  return
}

// -----

func.func @conv_dgrad_c4(%dy: tensor<2x4x4xf32>, %w: tensor<4x3x3xf32>) {
  // expected-error @+1 {{'pads_lo' holds -1; use nn.pad or nn.slice to crop}}
  %0 = nn.conv_dgrad %dy, %w {strides = array<i64: 2>,
      dilations = array<i64: 1>, pads_lo = array<i64: -1>,
      extents = array<i64: 8>, groups = 1}
      : (tensor<2x4x4xf32>, tensor<4x3x3xf32>) -> tensor<2x3x8xf32>
  return
}

// -----

func.func @conv_dgrad_c5(%dy: tensor<2x4x4xf32>, %w: tensor<4x3x3xf32>) {
  // expected-error @+1 {{'groups' is 3, expected a divisor of the features of gradient and weight, 4 and 4}}
  %0 = nn.conv_dgrad %dy, %w {strides = array<i64: 2>,
      dilations = array<i64: 1>, pads_lo = array<i64: 1>,
      extents = array<i64: 8>, groups = 3}
      : (tensor<2x4x4xf32>, tensor<4x3x3xf32>) -> tensor<2x3x8xf32>
  return
}
