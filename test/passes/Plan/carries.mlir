// RUN: divisi-opt %s --verify-plan --split-input-file --verify-diagnostics

// A partial sum may be multiplied before it is combined where the factor is seen
// to be finite: elsewhere 0 of a sum times infinity would be no number.

// A product with what the caller gives.
spmd.grid @g (x = 2)
func.func @forward(%x: tensor<4xf32> {spmd.place = #spmd.place<@g: [*]>}, %f: tensor<4xf32> {spmd.place = #spmd.place<@g: [*]>})
    -> (tensor<4xf32> {spmd.place = #spmd.place<@g: [*]>}) {
  // expected-error @below {{spmd.split: a partial sum is carried in linear set 0, whose other factor may be infinite or the divisor 0, and parts of a sum times that are not the sum times that; leave out 'carry sum', so that it is combined first}}
  %y = nn.mul %x, %f {spmd.split = #spmd.split<@g: carry sum@x>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// The right factor is the sum.
spmd.grid @g (x = 2)
func.func @forward(%x: tensor<4xf32> {spmd.place = #spmd.place<@g: [*]>}, %f: tensor<4xf32> {spmd.place = #spmd.place<@g: [*]>})
    -> (tensor<4xf32> {spmd.place = #spmd.place<@g: [*]>}) {
  // expected-error @below {{spmd.split: a partial sum is carried in linear set 1, whose other factor may be infinite or the divisor 0, and parts of a sum times that are not the sum times that; leave out 'carry sum', so that it is combined first}}
  %y = nn.mul %x, %f {spmd.split = #spmd.split<@g: carry sum@x in 1>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// A square is a product with itself.
spmd.grid @g (x = 2)
func.func @forward(%x: tensor<4xf32> {spmd.place = #spmd.place<@g: [*]>})
    -> (tensor<4xf32> {spmd.place = #spmd.place<@g: [*]>}) {
  // expected-error @below {{spmd.split: a partial sum is carried in linear set 0, whose other factor may be infinite or the divisor 0, and parts of a sum times that are not the sum times that; leave out 'carry sum', so that it is combined first}}
  %y = nn.mul %x, %x {spmd.split = #spmd.split<@g: carry sum@x>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// A finite constant.
spmd.grid @g (x = 2)
func.func @forward(%x: tensor<4xf32> {spmd.place = #spmd.place<@g: [*]>})
    -> (tensor<4xf32> {spmd.place = #spmd.place<@g: [*]>}) {
  %c = nn.constant {spmd.split = #spmd.split<@g>} dense<0.5> : tensor<f32>
  %y = nn.mul %x, %c {spmd.split = #spmd.split<@g: carry sum@x>} : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// NaN is one for each summand.
spmd.grid @g (x = 2)
func.func @forward(%x: tensor<4xf32> {spmd.place = #spmd.place<@g: [*]>})
    -> (tensor<4xf32> {spmd.place = #spmd.place<@g: [*]>}) {
  %c = nn.constant {spmd.split = #spmd.split<@g>} dense<[0.0, 1.0, 0x7FC00000, -2.0]> : tensor<4xf32>
  %y = nn.mul %c, %x {spmd.split = #spmd.split<@g: carry sum@x in 1>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// A constant that is infinite somewhere.
spmd.grid @g (x = 2)
func.func @forward(%x: tensor<4xf32> {spmd.place = #spmd.place<@g: [*]>})
    -> (tensor<4xf32> {spmd.place = #spmd.place<@g: [*]>}) {
  %c = nn.constant {spmd.split = #spmd.split<@g>} dense<[0.0, 0x7F800000, 1.0, 2.0]> : tensor<4xf32>
  // expected-error @below {{spmd.split: a partial sum is carried in linear set 0, whose other factor may be infinite or the divisor 0, and parts of a sum times that are not the sum times that; leave out 'carry sum', so that it is combined first}}
  %y = nn.mul %x, %c {spmd.split = #spmd.split<@g: carry sum@x>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// A quotient by what the caller gives.
spmd.grid @g (x = 2)
func.func @forward(%x: tensor<4xf32> {spmd.place = #spmd.place<@g: [*]>}, %f: tensor<4xf32> {spmd.place = #spmd.place<@g: [*]>})
    -> (tensor<4xf32> {spmd.place = #spmd.place<@g: [*]>}) {
  // expected-error @below {{spmd.split: a partial sum is carried in linear set 0, whose other factor may be infinite or the divisor 0, and parts of a sum times that are not the sum times that; leave out 'carry sum', so that it is combined first}}
  %y = nn.div %x, %f {spmd.split = #spmd.split<@g: carry sum@x>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// A divisor that is infinite, but not 0.
spmd.grid @g (x = 2)
func.func @forward(%x: tensor<4xf32> {spmd.place = #spmd.place<@g: [*]>})
    -> (tensor<4xf32> {spmd.place = #spmd.place<@g: [*]>}) {
  %c = nn.constant {spmd.split = #spmd.split<@g>} dense<[1.0, 0x7F800000, 3.0, 2.0]> : tensor<4xf32>
  %y = nn.div %x, %c {spmd.split = #spmd.split<@g: carry sum@x>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// A divisor that is 0.
spmd.grid @g (x = 2)
func.func @forward(%x: tensor<4xf32> {spmd.place = #spmd.place<@g: [*]>})
    -> (tensor<4xf32> {spmd.place = #spmd.place<@g: [*]>}) {
  %c = nn.constant {spmd.split = #spmd.split<@g>} dense<[1.0, -0.0, 3.0, 2.0]> : tensor<4xf32>
  // expected-error @below {{spmd.split: a partial sum is carried in linear set 0, whose other factor may be infinite or the divisor 0, and parts of a sum times that are not the sum times that; leave out 'carry sum', so that it is combined first}}
  %y = nn.div %x, %c {spmd.split = #spmd.split<@g: carry sum@x>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// Functions with bounds.
spmd.grid @g (x = 2)
func.func @forward(%x: tensor<4xf32> {spmd.place = #spmd.place<@g: [*]>}, %f: tensor<4xf32> {spmd.place = #spmd.place<@g: [*]>})
    -> (tensor<4xf32> {spmd.place = #spmd.place<@g: [*]>}) {
  %t = nn.tanh %f {spmd.split = #spmd.split<@g>} : (tensor<4xf32>) -> tensor<4xf32>
  %y = nn.mul %x, %t {spmd.split = #spmd.split<@g: carry sum@x>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// A function without one.
spmd.grid @g (x = 2)
func.func @forward(%x: tensor<4xf32> {spmd.place = #spmd.place<@g: [*]>}, %f: tensor<4xf32> {spmd.place = #spmd.place<@g: [*]>})
    -> (tensor<4xf32> {spmd.place = #spmd.place<@g: [*]>}) {
  %t = nn.exp %f {spmd.split = #spmd.split<@g>} : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error @below {{spmd.split: a partial sum is carried in linear set 0, whose other factor may be infinite or the divisor 0, and parts of a sum times that are not the sum times that; leave out 'carry sum', so that it is combined first}}
  %y = nn.mul %x, %t {spmd.split = #spmd.split<@g: carry sum@x>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// A bound does not keep 0 away.
spmd.grid @g (x = 2)
func.func @forward(%x: tensor<4xf32> {spmd.place = #spmd.place<@g: [*]>}, %f: tensor<4xf32> {spmd.place = #spmd.place<@g: [*]>})
    -> (tensor<4xf32> {spmd.place = #spmd.place<@g: [*]>}) {
  %t = nn.tanh %f {spmd.split = #spmd.split<@g>} : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error @below {{spmd.split: a partial sum is carried in linear set 0, whose other factor may be infinite or the divisor 0, and parts of a sum times that are not the sum times that; leave out 'carry sum', so that it is combined first}}
  %y = nn.div %x, %t {spmd.split = #spmd.split<@g: carry sum@x>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// What has been moved since.
spmd.grid @g (x = 2)
func.func @forward(%x: tensor<4xf32> {spmd.place = #spmd.place<@g: [*]>}, %f: tensor<4xf32> {spmd.place = #spmd.place<@g: [*]>})
    -> (tensor<4xf32> {spmd.place = #spmd.place<@g: [*]>}) {
  %s = nn.sin %f {spmd.split = #spmd.split<@g>} : (tensor<4xf32>) -> tensor<4xf32>
  %n = nn.neg %s {spmd.split = #spmd.split<@g>} : (tensor<4xf32>) -> tensor<4xf32>
  %p = nn.pad %n {lo = array<i64: 1>, hi = array<i64: -1>, value = 0.0 : f64, spmd.split = #spmd.split<@g>} : (tensor<4xf32>) -> tensor<4xf32>
  %y = nn.mul %x, %p {spmd.split = #spmd.split<@g: carry sum@x>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// A border that is infinite.
spmd.grid @g (x = 2)
func.func @forward(%x: tensor<4xf32> {spmd.place = #spmd.place<@g: [*]>}, %f: tensor<4xf32> {spmd.place = #spmd.place<@g: [*]>})
    -> (tensor<4xf32> {spmd.place = #spmd.place<@g: [*]>}) {
  %s = nn.sin %f {spmd.split = #spmd.split<@g>} : (tensor<4xf32>) -> tensor<4xf32>
  %p = nn.pad %s {lo = array<i64: 1>, hi = array<i64: -1>, value = 0xFFF0000000000000 : f64, spmd.split = #spmd.split<@g>} : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error @below {{spmd.split: a partial sum is carried in linear set 0, whose other factor may be infinite or the divisor 0, and parts of a sum times that are not the sum times that; leave out 'carry sum', so that it is combined first}}
  %y = nn.mul %x, %p {spmd.split = #spmd.split<@g: carry sum@x>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// A border too large for the type.
spmd.grid @g (x = 2)
func.func @forward(%x: tensor<4xf32> {spmd.place = #spmd.place<@g: [*]>}, %f: tensor<4xf32> {spmd.place = #spmd.place<@g: [*]>})
    -> (tensor<4xf32> {spmd.place = #spmd.place<@g: [*]>}) {
  %s = nn.sin %f {spmd.split = #spmd.split<@g>} : (tensor<4xf32>) -> tensor<4xf32>
  %p = nn.pad %s {lo = array<i64: 1>, hi = array<i64: -1>, value = 1.0e300 : f64, spmd.split = #spmd.split<@g>} : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error @below {{spmd.split: a partial sum is carried in linear set 0, whose other factor may be infinite or the divisor 0, and parts of a sum times that are not the sum times that; leave out 'carry sum', so that it is combined first}}
  %y = nn.mul %x, %p {spmd.split = #spmd.split<@g: carry sum@x>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// One of two that are chosen from.
spmd.grid @g (x = 2)
func.func @forward(%x: tensor<4xf32> {spmd.place = #spmd.place<@g: [*]>}, %f: tensor<4xf32> {spmd.place = #spmd.place<@g: [*]>}, %b: tensor<4xi1> {spmd.place = #spmd.place<@g: [*]>})
    -> (tensor<4xf32> {spmd.place = #spmd.place<@g: [*]>}) {
  %c = nn.constant {spmd.split = #spmd.split<@g>} dense<1.0> : tensor<f32>
  %s = nn.select %b, %c, %f {spmd.split = #spmd.split<@g>} : (tensor<4xi1>, tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  // expected-error @below {{spmd.split: a partial sum is carried in linear set 0, whose other factor may be infinite or the divisor 0, and parts of a sum times that are not the sum times that; leave out 'carry sum', so that it is combined first}}
  %y = nn.mul %x, %s {spmd.split = #spmd.split<@g: carry sum@x>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// Both are finite.
spmd.grid @g (x = 2)
func.func @forward(%x: tensor<4xf32> {spmd.place = #spmd.place<@g: [*]>}, %b: tensor<4xi1> {spmd.place = #spmd.place<@g: [*]>})
    -> (tensor<4xf32> {spmd.place = #spmd.place<@g: [*]>}) {
  %c = nn.constant {spmd.split = #spmd.split<@g>} dense<1.0> : tensor<f32>
  %s = nn.select %b, %c, %c {spmd.split = #spmd.split<@g>} : (tensor<4xi1>, tensor<f32>, tensor<f32>) -> tensor<4xf32>
  %y = nn.mul %x, %s {spmd.split = #spmd.split<@g: carry sum@x>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// Integers as floats.
spmd.grid @g (x = 2)
func.func @forward(%x: tensor<4xf32> {spmd.place = #spmd.place<@g: [*]>}, %i: tensor<4xi64> {spmd.place = #spmd.place<@g: [*]>})
    -> (tensor<4xf32> {spmd.place = #spmd.place<@g: [*]>}) {
  %n = nn.cast %i {spmd.split = #spmd.split<@g>} : (tensor<4xi64>) -> tensor<4xf32>
  %y = nn.mul %x, %n {spmd.split = #spmd.split<@g: carry sum@x>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// Integers that f16 does not reach.
spmd.grid @g (x = 2)
func.func @forward(%x: tensor<4xf16> {spmd.place = #spmd.place<@g: [*]>}, %i: tensor<4xi64> {spmd.place = #spmd.place<@g: [*]>})
    -> (tensor<4xf16> {spmd.place = #spmd.place<@g: [*]>}) {
  %n = nn.cast %i {spmd.split = #spmd.split<@g>} : (tensor<4xi64>) -> tensor<4xf16>
  // expected-error @below {{spmd.split: a partial sum is carried in linear set 0, whose other factor may be infinite or the divisor 0, and parts of a sum times that are not the sum times that; leave out 'carry sum', so that it is combined first}}
  %y = nn.mul %x, %n {spmd.split = #spmd.split<@g: carry sum@x>} : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  return %y : tensor<4xf16>
}

// -----

// Integers wrap; none is infinite.
spmd.grid @g (x = 2)
func.func @forward(%x: tensor<4xi32> {spmd.place = #spmd.place<@g: [*]>}, %f: tensor<4xi32> {spmd.place = #spmd.place<@g: [*]>})
    -> (tensor<4xi32> {spmd.place = #spmd.place<@g: [*]>}) {
  %y = nn.mul %x, %f {spmd.split = #spmd.split<@g: carry sum@x>} : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  return %y : tensor<4xi32>
}

// -----

// Sums have no factors.
spmd.grid @g (x = 2)
func.func @forward(%x: tensor<4xf32> {spmd.place = #spmd.place<@g: [*]>}, %f: tensor<4xf32> {spmd.place = #spmd.place<@g: [*]>})
    -> (tensor<4xf32> {spmd.place = #spmd.place<@g: [*]>}) {
  %y = nn.add %x, %f {spmd.split = #spmd.split<@g: carry sum@x>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// A sum of products.
spmd.grid @g (x = 2)
func.func @forward(%a: tensor<4x2xf32> {spmd.place = #spmd.place<@g: [*, *]>}, %b: tensor<2x4xf32> {spmd.place = #spmd.place<@g: [*, *]>})
    -> (tensor<4x4xf32> {spmd.place = #spmd.place<@g: [*, *]>}) {
  // expected-error @below {{spmd.split: a partial sum is carried in linear set 1, whose other factor may be infinite or the divisor 0, and parts of a sum times that are not the sum times that; leave out 'carry sum', so that it is combined first}}
  %y = nn.matmul %a, %b {labels = "mk,kn->mn", spmd.split = #spmd.split<@g: carry sum@x in 1>} : (tensor<4x2xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}

// -----

// Weights of probabilities.
spmd.grid @g (x = 2)
func.func @forward(%a: tensor<4x2xf32> {spmd.place = #spmd.place<@g: [*, *]>}, %b: tensor<2x4xf32> {spmd.place = #spmd.place<@g: [*, *]>})
    -> (tensor<4x4xf32> {spmd.place = #spmd.place<@g: [*, *]>}) {
  %s = nn.softmax %a {axis = 1, log = false, spmd.split = #spmd.split<@g>} : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %y = nn.matmul %s, %b {labels = "mk,kn->mn", spmd.split = #spmd.split<@g: carry sum@x in 1>} : (tensor<4x2xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}

// -----

// Their logarithms are infinite.
spmd.grid @g (x = 2)
func.func @forward(%a: tensor<4x2xf32> {spmd.place = #spmd.place<@g: [*, *]>}, %b: tensor<2x4xf32> {spmd.place = #spmd.place<@g: [*, *]>})
    -> (tensor<4x4xf32> {spmd.place = #spmd.place<@g: [*, *]>}) {
  %s = nn.softmax %a {axis = 1, log = true, spmd.split = #spmd.split<@g>} : (tensor<4x2xf32>) -> tensor<4x2xf32>
  // expected-error @below {{spmd.split: a partial sum is carried in linear set 1, whose other factor may be infinite or the divisor 0, and parts of a sum times that are not the sum times that; leave out 'carry sum', so that it is combined first}}
  %y = nn.matmul %s, %b {labels = "mk,kn->mn", spmd.split = #spmd.split<@g: carry sum@x in 1>} : (tensor<4x2xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}
