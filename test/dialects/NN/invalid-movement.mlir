// What the verifiers of operators that move or make elements refuse.
// RUN: divisi-opt %s --split-input-file --verify-diagnostics

func.func @reshape_c1(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{turns elements of type 'f32' into 'i32'; use nn.cast}}
  %0 = nn.reshape %x : (tensor<4x8xf32>) -> tensor<32xi32>
  return
}

// -----

func.func @reshape_c2(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{turns 'tensor<4x8xf32>' into 'tensor<31xf32>', which has another number of elements}}
  %0 = nn.reshape %x : (tensor<4x8xf32>) -> tensor<31xf32>
  return
}

// -----

func.func @transpose_c1(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'permutation' is [0, 0], expected every dimension below 2 once}}
  %0 = nn.transpose %x {permutation = array<i64: 0, 0>} : (tensor<4x8xf32>)
      -> tensor<4x4xf32>
  return
}

// -----

func.func @broadcast_c1(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{turns elements of type 'f32' into 'i32'; use nn.cast}}
  %0 = nn.broadcast %x {dims = array<i64: 0, 1>} : (tensor<4x8xf32>)
      -> tensor<4x8xi32>
  return
}

// -----

func.func @broadcast_c2(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'dims' has 1 entries, expected 2}}
  %0 = nn.broadcast %x {dims = array<i64: 0>} : (tensor<4x8xf32>)
      -> tensor<4x8xf32>
  return
}

// -----

func.func @broadcast_c2_order(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'dims' holds 0, expected dimensions below 2 in ascending order}}
  %0 = nn.broadcast %x {dims = array<i64: 1, 0>} : (tensor<4x8xf32>)
      -> tensor<8x4xf32>
  return
}

// -----

func.func @broadcast_c3(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{turns extent 4 into extent 8 in dimension 0, expected extent 1 or the same}}
  %0 = nn.broadcast %x {dims = array<i64: 0, 1>} : (tensor<4x8xf32>)
      -> tensor<8x8xf32>
  return
}

// -----

func.func @slice_c1(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'steps' has 1 entries, expected 2}}
  %0 = nn.slice %x {starts = array<i64: 0, 0>, limits = array<i64: 4, 8>,
      steps = array<i64: 1>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @slice_c2(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{the step in dimension 1 is 0, expected another number}}
  %0 = nn.slice %x {starts = array<i64: 0, 0>, limits = array<i64: 4, 8>,
      steps = array<i64: 1, 0>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @slice_c3(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{a slice from 0 to 9 by 1 leaves dimension 1 of extent 8}}
  %0 = nn.slice %x {starts = array<i64: 0, 0>, limits = array<i64: 4, 9>,
      steps = array<i64: 1, 1>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @slice_c3_down(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{a slice from 8 to -1 by -1 leaves dimension 1 of extent 8}}
  %0 = nn.slice %x {starts = array<i64: 0, 8>, limits = array<i64: 4, -1>,
      steps = array<i64: 1, -1>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @slice_c3_limit(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{a slice from 7 to -2 by -9223372036854775808 leaves dimension 1 of extent 8}}
  %0 = nn.slice %x {starts = array<i64: 0, 7>, limits = array<i64: 4, -2>,
      steps = array<i64: 1, -9223372036854775808>} : (tensor<4x8xf32>)
      -> tensor<4x8xf32>
  return
}

// -----

func.func @pad_c1(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'lo' has 1 entries, expected 2}}
  %0 = nn.pad %x {lo = array<i64: 0>, hi = array<i64: 0, 0>, value = 0.0 : f64}
      : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @pad_c2(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{padding extent 8 of dimension 1 by -5 and -4 leaves no legal extent}}
  %0 = nn.pad %x {lo = array<i64: 0, -5>, hi = array<i64: 0, -4>,
      value = 0.0 : f64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @pad_c2_overflow(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{leaves no legal extent}}
  %0 = nn.pad %x {lo = array<i64: 0, 9223372036854775807>, hi = array<i64: 0,
      0>, value = 0.0 : f64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @concat_c1() {
  // expected-error @+1 {{joins nothing, expected at least one operand}}
  %0 = nn.concat {axis = 0} : () -> tensor<4xf32>
  return
}

// -----

func.func @concat_c1_elements(%x: tensor<4xf32>, %y: tensor<4xi32>) {
  // expected-error @+1 {{turns elements of type 'i32' into 'f32'; use nn.cast}}
  %0 = nn.concat %x, %y {axis = 0} : (tensor<4xf32>, tensor<4xi32>)
      -> tensor<8xf32>
  return
}

// -----

func.func @concat_c2(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{axis 2 is not a dimension of a tensor of rank 2}}
  %0 = nn.concat %x {axis = 2} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @concat_c3(%x: tensor<4x8xf32>, %y: tensor<4x9xf32>) {
  // expected-error @+1 {{joins 'tensor<4x8xf32>' and 'tensor<4x9xf32>', expected the same shape but for dimension 0}}
  %0 = nn.concat %x, %y {axis = 0} : (tensor<4x8xf32>, tensor<4x9xf32>)
      -> tensor<8x8xf32>
  return
}

// -----

func.func @concat_long(%x: tensor<9223372036854775807x0xf32>) {
  // expected-error @+1 {{the operands together are longer than an int64}}
  %0 = nn.concat %x, %x {axis = 0} : (tensor<9223372036854775807x0xf32>,
      tensor<9223372036854775807x0xf32>) -> tensor<8x0xf32>
  return
}

// -----

func.func @iota_c1() {
  // expected-error @+1 {{axis 1 is not a dimension of a tensor of rank 1}}
  %0 = nn.iota {axis = 1} : () -> tensor<4xi64>
  return
}

// -----

func.func @gather_c1(%x: tensor<4x8xf32>, %i: tensor<4x3xi64>) {
  // expected-error @+1 {{axis -1 is not a dimension of a tensor of rank 2}}
  %0 = nn.gather %x, %i {axis = -1, batch_dims = 0} : (tensor<4x8xf32>,
      tensor<4x3xi64>) -> tensor<4x4x3xf32>
  return
}

// -----

func.func @gather_c2(%x: tensor<4x8xf32>, %i: tensor<4x3xi64>) {
  // expected-error @+1 {{'batch_dims' is 1, expected 0 to the smaller of axis 0 and the rank 2 of indices}}
  %0 = nn.gather %x, %i {axis = 0, batch_dims = 1} : (tensor<4x8xf32>,
      tensor<4x3xi64>) -> tensor<4x3x8xf32>
  return
}

// -----

func.func @gather_c3(%x: tensor<5x8xf32>, %i: tensor<4x3xi64>) {
  // expected-error @+1 {{data and indices have the shapes [5, 8] and [4, 3], expected the first 1 extents to be equal}}
  %0 = nn.gather %x, %i {axis = 1, batch_dims = 1} : (tensor<5x8xf32>,
      tensor<4x3xi64>) -> tensor<4x3xf32>
  return
}

// -----

func.func @take_along_c1(%x: tensor<4x8xf32>, %i: tensor<4x3xi64>) {
  // expected-error @+1 {{axis 2 is not a dimension of a tensor of rank 2}}
  %0 = nn.take_along %x, %i {axis = 2} : (tensor<4x8xf32>, tensor<4x3xi64>)
      -> tensor<4x3xf32>
  return
}

// -----

func.func @take_along_c2(%x: tensor<4x8xf32>, %i: tensor<4x3xi64>) {
  // expected-error @+1 {{data and indices have the shapes [4, 8] and [4, 3], expected the same but for dimension 0}}
  %0 = nn.take_along %x, %i {axis = 0} : (tensor<4x8xf32>, tensor<4x3xi64>)
      -> tensor<4x3xf32>
  return
}

// -----

func.func @resample_c1(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{axis 2 is not a dimension of a tensor of rank 2}}
  %0 = nn.resample %x {axis = 2, taps = 2, indices = array<i64: 0, 1, 2, 3>,
      weights = array<f64: 0.5, 0.5, 0.5, 0.5>} : (tensor<4x8xf32>)
      -> tensor<2x8xf32>
  return
}

// -----

func.func @resample_c2(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'taps' is 3 for 4 indices and 4 weights, expected a divisor of their common number}}
  %0 = nn.resample %x {axis = 0, taps = 3, indices = array<i64: 0, 1, 2, 3>,
      weights = array<f64: 0.5, 0.5, 0.5, 0.5>} : (tensor<4x8xf32>)
      -> tensor<2x8xf32>
  return
}

// -----

func.func @resample_c3(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{index 4 is outside dimension 0 of extent 4}}
  %0 = nn.resample %x {axis = 0, taps = 2, indices = array<i64: 0, 1, 2, 4>,
      weights = array<f64: 0.5, 0.5, 0.5, 0.5>} : (tensor<4x8xf32>)
      -> tensor<2x8xf32>
  return
}

// -----

func.func @arg_reduce_c1(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{axis 2 is not a dimension of a tensor of rank 2}}
  %0 = nn.arg_reduce %x {axis = 2, kind = "max", last = false}
      : (tensor<4x8xf32>) -> tensor<4xi64>
  return
}

// -----

func.func @arg_reduce_c1_empty(%x: tensor<4x0xf32>) {
  // expected-error @+1 {{dimension 1 is empty, and has no first element}}
  %0 = nn.arg_reduce %x {axis = 1, kind = "max", last = false}
      : (tensor<4x0xf32>) -> tensor<4xi64>
  return
}

// -----

func.func @arg_reduce_c2(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'kind' is "sum", expected "max" or "min"}}
  %0 = nn.arg_reduce %x {axis = 1, kind = "sum", last = false}
      : (tensor<4x8xf32>) -> tensor<4xi64>
  return
}

// -----

func.func @cumulate_c1(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{axis -1 is not a dimension of a tensor of rank 2}}
  %0 = nn.cumulate %x {axis = -1, kind = "sum", exclusive = false,
      reverse = false} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @cumulate_c2(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'kind' is "max", expected "sum" or "prod"}}
  %0 = nn.cumulate %x {axis = 1, kind = "max", exclusive = false,
      reverse = false} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @top_k_c1(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{axis 2 is not a dimension of a tensor of rank 2}}
  %0 = nn.top_k %x {axis = 2, k = 2, largest = true} : (tensor<4x8xf32>)
      -> tensor<4x2xi64>
  return
}

// -----

func.func @top_k_c2(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'k' is 9, expected 0 to 8, the extent of dimension 1}}
  %0 = nn.top_k %x {axis = 1, k = 9, largest = true} : (tensor<4x8xf32>)
      -> tensor<4x9xi64>
  return
}

// -----

func.func @insert_c1(%x: tensor<4x8xf32>, %s: tensor<4x2xf32>,
                     %o: tensor<i64>) {
  // expected-error @+1 {{axis 2 is not a dimension of a tensor of rank 2}}
  %0 = nn.insert %x, %s, %o {axis = 2} : (tensor<4x8xf32>, tensor<4x2xf32>,
      tensor<i64>) -> tensor<4x8xf32>
  return
}

// -----

func.func @insert_c2(%x: tensor<4x8xf32>, %s: tensor<4x9xf32>,
                     %o: tensor<i64>) {
  // expected-error @+1 {{inserts a slice of shape [4, 9] into [4, 8], expected the same but for less along dimension 1}}
  %0 = nn.insert %x, %s, %o {axis = 1} : (tensor<4x8xf32>, tensor<4x9xf32>,
      tensor<i64>) -> tensor<4x8xf32>
  return
}

// -----

func.func @insert_c2_rank(%x: tensor<4x8xf32>, %s: tensor<4xf32>,
                          %o: tensor<i64>) {
  // expected-error @+1 {{inserts a slice of shape [4] into [4, 8], expected}}
  %0 = nn.insert %x, %s, %o {axis = 1} : (tensor<4x8xf32>, tensor<4xf32>,
      tensor<i64>) -> tensor<4x8xf32>
  return
}

// -----

func.func @insert_c3(%x: tensor<4x8xf32>, %s: tensor<4x2xf32>,
                     %o: tensor<1xi64>) {
  // expected-error @+1 {{has an offset of shape [1], expected a scalar}}
  %0 = nn.insert %x, %s, %o {axis = 1} : (tensor<4x8xf32>, tensor<4x2xf32>,
      tensor<1xi64>) -> tensor<4x8xf32>
  return
}

// -----

func.func @insert_c4(%x: tensor<4x8xf32>, %s: tensor<4x2xf16>,
                     %o: tensor<i64>) {
  // expected-error @+1 {{inserts elements of type 'f16' among elements of type 'f32', expected the same type}}
  %0 = nn.insert %x, %s, %o {axis = 1} : (tensor<4x8xf32>, tensor<4x2xf16>,
      tensor<i64>) -> tensor<4x8xf32>
  return
}

// -----

func.func @scatter_c1(%x: tensor<4x8xf32>, %i: tensor<4xi64>,
                      %u: tensor<4xf32>) {
  // expected-error @+1 {{'batch_dims' is 2, expected at least 0, below the rank 2 of init and at most the rank 1 of indices}}
  %0 = nn.scatter %x, %i, %u {batch_dims = 2, kind = "set"} : (tensor<4x8xf32>,
      tensor<4xi64>, tensor<4xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @scatter_c2(%x: tensor<5x8xf32>, %i: tensor<4x3xi64>,
                      %u: tensor<4x3xf32>) {
  // expected-error @+1 {{init, indices and updates have the shapes [5, 8], [4, 3] and [4, 3], expected updates of shape [4, 3] and 1 common extents}}
  %0 = nn.scatter %x, %i, %u {batch_dims = 1, kind = "set"} : (tensor<5x8xf32>,
      tensor<4x3xi64>, tensor<4x3xf32>) -> tensor<5x8xf32>
  return
}

// -----

func.func @scatter_c3(%x: tensor<4x8xf32>, %i: tensor<3xi64>,
                      %u: tensor<3x7xf32>) {
  // expected-error @+1 {{expected updates of shape [3, 8] and 0 common extents}}
  %0 = nn.scatter %x, %i, %u {batch_dims = 0, kind = "set"} : (tensor<4x8xf32>,
      tensor<3xi64>, tensor<3x7xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @scatter_c4(%x: tensor<4x8xi1>, %i: tensor<3xi64>,
                      %u: tensor<3x8xi1>) {
  // expected-error @+1 {{'kind' is "add", expected set, or for numbers add, mul, max or min, got elements of type 'i1'}}
  %0 = nn.scatter %x, %i, %u {batch_dims = 0, kind = "add"} : (tensor<4x8xi1>,
      tensor<3xi64>, tensor<3x8xi1>) -> tensor<4x8xi1>
  return
}

// -----

func.func @scatter_c5(%x: tensor<4x8xf32>, %i: tensor<3xi64>,
                      %u: tensor<3x8xf64>) {
  // expected-error @+1 {{puts elements of type 'f64' among elements of type 'f32', expected the same type}}
  %0 = nn.scatter %x, %i, %u {batch_dims = 0, kind = "set"} : (tensor<4x8xf32>,
      tensor<3xi64>, tensor<3x8xf64>) -> tensor<4x8xf32>
  return
}
