// Nothing computes in types that store only; and what casts may not say.
// RUN: divisi-opt %s --split-input-file --verify-diagnostics

func.func @no_arithmetic(%x: tensor<4xi4>) {
  // expected-error @+1 {{must be statically shaped tensor of number (not i2, i4, f4 or f8, which are only stored: cast to one) values, but got 'tensor<4xi4>'}}
  %0 = nn.add %x, %x : (tensor<4xi4>, tensor<4xi4>) -> tensor<4xi4>
  return
}

// -----

func.func @no_functions(%x: tensor<4xf8E5M2>) {
  // expected-error @+1 {{must be statically shaped tensor of float (not i2, i4, f4 or f8, which are only stored: cast to one) values, but got 'tensor<4xf8E5M2>'}}
  %0 = nn.exp %x : (tensor<4xf8E5M2>) -> tensor<4xf8E5M2>
  return
}

// -----

func.func @no_order(%x: tensor<4xf8E4M3FN>) {
  // expected-error @+1 {{must be statically shaped tensor of number or boolean (not i2, i4, f4 or f8, which are only stored: cast to one) values, but got 'tensor<4xf8E4M3FN>'}}
  %0 = nn.compare %x, %x {predicate = "lt"}
      : (tensor<4xf8E4M3FN>, tensor<4xf8E4M3FN>) -> tensor<4xi1>
  return
}

// -----

func.func @no_reduction(%x: tensor<4xui4>) {
  // expected-error @+1 {{must be statically shaped tensor of number or boolean (not i2, i4, f4 or f8, which are only stored: cast to one) values, but got 'tensor<4xui4>'}}
  %0 = nn.reduce %x {kind = "max", axes = array<i64: 0>}
      : (tensor<4xui4>) -> tensor<ui4>
  return
}

// -----

func.func @no_bits(%x: tensor<4xi4>) {
  // expected-error @+1 {{must be statically shaped tensor of 1-bit signless integer or integer (not i2, i4, f4 or f8, which are only stored: cast to one) values, but got 'tensor<4xi4>'}}
  %0 = nn.not %x : (tensor<4xi4>) -> tensor<4xi4>
  return
}

// -----

func.func @no_sums(%x: tensor<4x8xi4>, %i: tensor<2xi64>, %u: tensor<2x8xi4>) {
  // expected-error @+1 {{'kind' is "add", expected set, or for numbers add, mul, max or min, got elements of type 'i4'}}
  %0 = nn.scatter %x, %i, %u {batch_dims = 0, kind = "add"}
      : (tensor<4x8xi4>, tensor<2xi64>, tensor<2x8xi4>) -> tensor<4x8xi4>
  return
}

// -----

func.func @other_floats_of_eight_bits(%x: tensor<4xf8E4M3B11FNUZ>) {
  // expected-error @+1 {{must be statically shaped tensor of element values, but got 'tensor<4xf8E4M3B11FNUZ>'}}
  %0 = nn.cast %x : (tensor<4xf8E4M3B11FNUZ>) -> tensor<4xf32>
  return
}

// -----

func.func @cast_c2(%x: tensor<4xf32>) {
  // expected-error @+1 {{says 'saturate' of 'tensor<4xi8>', expected a result of f8}}
  %0 = nn.cast %x {saturate = false} : (tensor<4xf32>) -> tensor<4xi8>
  return
}

// -----

func.func @constant_c1() {
  // expected-error @+1 {{has a result of type 'tensor<2xf32>', expected that of the value, 'tensor<2xf64>'}}
  %0 = nn.constant dense<0.5> : tensor<2xf64> -> tensor<2xf32>
  return
}

// -----

func.func @constant_c1_field() {
  // expected-error @+1 {{has a result of type 'tensor<3x!nn.field>', expected that of the value, 'tensor<2xf64>'}}
  %0 = nn.constant dense<0.5> : tensor<2xf64> -> tensor<3x!nn.field>
  return
}
