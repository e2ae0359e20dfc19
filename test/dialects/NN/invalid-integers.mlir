// What the verifiers of operators on quantized numbers refuse; names end with
// the constraint's label.
// RUN: divisi-opt %s --split-input-file --verify-diagnostics

func.func @matmul_integer_c1(%a: tensor<2x3xi8>, %b: tensor<4x5xi8>) {
  // expected-error @+1 {{label 'k' has the extents 3 and 4, expected one extent}}
  %0 = nn.matmul_integer %a, %b {labels = "mk,kn->mn", a_zero = 0, b_zero = 0}
      : (tensor<2x3xi8>, tensor<4x5xi8>) -> tensor<2x5xi32>
  return
}

// -----

func.func @matmul_integer_c2(%a: tensor<2x3xi8>, %b: tensor<3x5xui8>) {
  // expected-error @+1 {{'b_zero' is -1, expected a number of 'ui8'}}
  %0 = nn.matmul_integer %a, %b {labels = "mk,kn->mn", a_zero = 0, b_zero = -1}
      : (tensor<2x3xi8>, tensor<3x5xui8>) -> tensor<2x5xi32>
  return
}

// -----

func.func @matmul_integer_c3(%a: tensor<2x3xi8>, %b: tensor<3x5xi8>,
    %z: tensor<i8>) {
  // expected-error @+1 {{'zero' has type 'tensor<i8>' beside an 'a_zero' of 4, expected a scalar of the elements of 'a', and 0}}
  %0 = nn.matmul_integer %a, %b, %z {labels = "mk,kn->mn", a_zero = 4,
      b_zero = 0} : (tensor<2x3xi8>, tensor<3x5xi8>, tensor<i8>)
      -> tensor<2x5xi32>
  return
}

// -----

func.func @matmul_integer_type(%a: tensor<2x3xi8>, %b: tensor<3x5xi16>) {
  // expected-error @+1 {{operand #1 must be}}
  %0 = nn.matmul_integer %a, %b {labels = "mk,kn->mn", a_zero = 0, b_zero = 0}
      : (tensor<2x3xi8>, tensor<3x5xi16>) -> tensor<2x5xi32>
  return
}

// -----

func.func @conv_integer_c1(%x: tensor<2x3x8xui8>, %w: tensor<4x2x3xi8>) {
  // expected-error @+1 {{the weight takes 2 features a group, but the input has 3}}
  %0 = nn.conv_integer %x, %w {strides = array<i64: 1>,
      dilations = array<i64: 1>, pads_lo = array<i64: 1>,
      pads_hi = array<i64: 1>, groups = 1, x_zero = 0, w_zero = 0}
      : (tensor<2x3x8xui8>, tensor<4x2x3xi8>) -> tensor<2x4x8xi32>
  return
}

// -----

func.func @conv_integer_c2(%x: tensor<2x3x8xi8>, %w: tensor<4x3x3xi8>) {
  // expected-error @+1 {{'x_zero' is 128, expected a number of 'i8'}}
  %0 = nn.conv_integer %x, %w {strides = array<i64: 1>,
      dilations = array<i64: 1>, pads_lo = array<i64: 1>,
      pads_hi = array<i64: 1>, groups = 1, x_zero = 128, w_zero = 0}
      : (tensor<2x3x8xi8>, tensor<4x3x3xi8>) -> tensor<2x4x8xi32>
  return
}

// -----

func.func @add_dequantized_c1(%a: tensor<2x4xf32>, %x: tensor<2x3xi8>,
    %s: tensor<1x1xf32>) {
  // expected-error @+1 {{'a' has type 'tensor<2x4xf32>', expected the shape of 'x', [2, 3], and elements of 'f32'}}
  %0 = nn.add_dequantized %a, %x, %s : (tensor<2x4xf32>, tensor<2x3xi8>,
      tensor<1x1xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @add_dequantized_c2(%a: tensor<2x3xf32>, %x: tensor<2x3xi8>,
    %s: tensor<1x1xf32>, %z: tensor<1x1xui8>) {
  // expected-error @+1 {{'zero' has elements of 'ui8', but 'x' of 'i8'}}
  %0 = nn.add_dequantized %a, %x, %s, %z : (tensor<2x3xf32>, tensor<2x3xi8>,
      tensor<1x1xf32>, tensor<1x1xui8>) -> tensor<2x3xf32>
  return
}

// -----

func.func @add_dequantized_c3(%a: tensor<2x3xf32>, %x: tensor<2x3xi8>,
    %s: tensor<2x1xf32>) {
  // expected-error @+1 {{'scale' has shape [2, 1], expected [1, 1]}}
  %0 = nn.add_dequantized %a, %x, %s : (tensor<2x3xf32>, tensor<2x3xi8>,
      tensor<2x1xf32>) -> tensor<2x3xf32>
  return
}
