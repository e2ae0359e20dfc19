// What the verifiers of operators that compute refuse: one case for every message;
// its name ends with the constraint's label.
// RUN: divisi-opt %s --split-input-file --verify-diagnostics

func.func @countable(%x: tensor<4294967296x4294967296xf32>) {
  // expected-error @+1 {{uses a tensor of type 'tensor<4294967296x4294967296xf32>', which has more bytes than an int64 can count}}
  %0 = nn.neg %x : (tensor<4294967296x4294967296xf32>)
      -> tensor<4294967296x4294967296xf32>
  return
}

// -----

func.func @inferred_size(%x: tensor<4294967296x1xf32>,
    %y: tensor<4294967296xf32>) {
  // expected-error @+1 {{a tensor of type 'tensor<4294967296x4294967296xf32>' has more bytes than an int64 can count}}
  %0 = nn.add %x, %y : (tensor<4294967296x1xf32>, tensor<4294967296xf32>)
      -> tensor<1xf32>
  return
}

// -----

func.func @inferred_type(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{has a result of type 'tensor<8x4xf32>', expected 'tensor<4x8xf32>'}}
  %0 = nn.neg %x : (tensor<4x8xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @element_type(%x: tensor<4xi1>) {
  // expected-error @+1 {{operand #0 must be}}
  %0 = nn.exp %x : (tensor<4xi1>) -> tensor<4xi1>
  return
}

// -----

func.func @dynamic_shape(%x: tensor<?xf32>) {
  // expected-error @+1 {{operand #0 must be}}
  %0 = nn.exp %x : (tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @elementwise_c1(%x: tensor<4x8xf32>, %y: tensor<4xf32>) {
  // expected-error @+1 {{cannot broadcast 'tensor<4xf32>' together with the operands before it: extent 4 meets extent 8}}
  %0 = nn.add %x, %y : (tensor<4x8xf32>, tensor<4xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @binary_elements(%x: tensor<4xf32>, %y: tensor<4xi32>) {
  // expected-error @+1 {{requires the same element type for all operands}}
  %0 = nn.add %x, %y : (tensor<4xf32>, tensor<4xi32>) -> tensor<4xf32>
  return
}

// -----

func.func @gelu_c1(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'approximate' is "erf", expected "none" or "tanh"}}
  %0 = nn.gelu %x {approximate = "erf"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @cast_c1(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{turns 'tensor<4x8xf32>' into 'tensor<8x4xi64>', expected the same shape}}
  %0 = nn.cast %x : (tensor<4x8xf32>) -> tensor<8x4xi64>
  return
}

// -----

func.func @compare_c2(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'predicate' is "less", expected one of eq, ne, lt, le, gt, ge}}
  %0 = nn.compare %x, %x {predicate = "less"} : (tensor<4x8xf32>,
      tensor<4x8xf32>) -> tensor<4x8xi1>
  return
}

// -----

func.func @select_c2(%p: tensor<i1>, %x: tensor<f32>, %y: tensor<i32>) {
  // expected-error @+1 {{selects between elements of types 'f32' and 'i32', expected the same type}}
  %0 = nn.select %p, %x, %y : (tensor<i1>, tensor<f32>, tensor<i32>)
      -> tensor<f32>
  return
}

// -----

func.func @matmul_c1(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>) {
  // expected-error @+1 {{'labels' is "mk,kn=mn", expected a form like "bmk,kn->bmn"}}
  %0 = nn.matmul %a, %b {labels = "mk,kn=mn"} : (tensor<4x8xf32>,
      tensor<8x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @matmul_c1_letters(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>) {
  // expected-error @+1 {{'labels' is "m1,1n->mn", expected a form like}}
  %0 = nn.matmul %a, %b {labels = "m1,1n->mn"} : (tensor<4x8xf32>,
      tensor<8x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @matmul_c2(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>) {
  // expected-error @+1 {{labels "bmk" name 3 dimensions, but the operand has 2}}
  %0 = nn.matmul %a, %b {labels = "bmk,kn->mn"} : (tensor<4x8xf32>,
      tensor<8x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @matmul_c3(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>) {
  // expected-error @+1 {{label 'k' occurs twice in "kk"; take the diagonal first}}
  %0 = nn.matmul %a, %b {labels = "kk,kn->kn"} : (tensor<4x8xf32>,
      tensor<8x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @matmul_c3_result(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>) {
  // expected-error @+1 {{label 'm' occurs twice in "mm"; take the diagonal first}}
  %0 = nn.matmul %a, %b {labels = "mk,kn->mm"} : (tensor<4x8xf32>,
      tensor<8x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @matmul_c4(%a: tensor<4x8xf32>, %b: tensor<9x16xf32>) {
  // expected-error @+1 {{label 'k' has the extents 8 and 9, expected one extent}}
  %0 = nn.matmul %a, %b {labels = "mk,kn->mn"} : (tensor<4x8xf32>,
      tensor<9x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @matmul_c5(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>) {
  // expected-error @+1 {{label 'z' of the result occurs in no operand}}
  %0 = nn.matmul %a, %b {labels = "mk,kn->mz"} : (tensor<4x8xf32>,
      tensor<8x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @matmul_c7(%a: tensor<4x8xbf16>, %b: tensor<8x16xbf16>) {
  // expected-error@+1 {{has a result of type 'tensor<4x16xf64>', expected 'tensor<4x16xbf16>'}}
  %0 = nn.matmul %a, %b {labels = "mk,kn->mn"} : (tensor<4x8xbf16>,
      tensor<8x16xbf16>) -> tensor<4x16xf64>
  return
}

// -----

func.func @matmul_c6(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>) {
  // expected-error @+1 {{label 'n' occurs in one operand but not in the result; reduce the operand first}}
  %0 = nn.matmul %a, %b {labels = "mk,kn->m"} : (tensor<4x8xf32>,
      tensor<8x16xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @conv_c1(%x: tensor<2x4x8xf32>, %w: tensor<6x2xf32>) {
  // expected-error @+1 {{input and weight have ranks 3 and 2, expected the same, at least 2}}
  %0 = nn.conv %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>,
      pads_lo = array<i64: 0>, pads_hi = array<i64: 0>, groups = 2}
      : (tensor<2x4x8xf32>, tensor<6x2xf32>) -> tensor<2x6x6xf32>
  return
}

// -----

func.func @conv_c2(%x: tensor<2x4x8xf32>, %w: tensor<6x2x3xf32>) {
  // expected-error @+1 {{'strides' has 2 entries, expected 1}}
  %0 = nn.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1>,
      pads_lo = array<i64: 0>, pads_hi = array<i64: 0>, groups = 2}
      : (tensor<2x4x8xf32>, tensor<6x2x3xf32>) -> tensor<2x6x6xf32>
  return
}

// -----

func.func @conv_c3(%x: tensor<2x4x8xf32>, %w: tensor<6x2x3xf32>) {
  // expected-error @+1 {{'dilations' holds 0, expected positive numbers}}
  %0 = nn.conv %x, %w {strides = array<i64: 1>, dilations = array<i64: 0>,
      pads_lo = array<i64: 0>, pads_hi = array<i64: 0>, groups = 2}
      : (tensor<2x4x8xf32>, tensor<6x2x3xf32>) -> tensor<2x6x6xf32>
  return
}

// -----

func.func @conv_c4(%x: tensor<2x4x8xf32>, %w: tensor<6x2x3xf32>) {
  // expected-error @+1 {{'pads_hi' holds -1; use nn.pad or nn.slice to crop}}
  %0 = nn.conv %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>,
      pads_lo = array<i64: 0>, pads_hi = array<i64: -1>, groups = 2}
      : (tensor<2x4x8xf32>, tensor<6x2x3xf32>) -> tensor<2x6x6xf32>
  return
}

// -----

func.func @conv_c5(%x: tensor<2x4x8xf32>, %w: tensor<6x2x3xf32>) {
  // expected-error @+1 {{'groups' is 3, expected a divisor of 4 input and 6 output features}}
  %0 = nn.conv %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>,
      pads_lo = array<i64: 0>, pads_hi = array<i64: 0>, groups = 3}
      : (tensor<2x4x8xf32>, tensor<6x2x3xf32>) -> tensor<2x6x6xf32>
  return
}

// -----

func.func @conv_c5_zero(%x: tensor<2x4x8xf32>, %w: tensor<6x2x3xf32>) {
  // expected-error @+1 {{'groups' is 0, expected a divisor of 4 input and 6 output features}}
  %0 = nn.conv %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>,
      pads_lo = array<i64: 0>, pads_hi = array<i64: 0>, groups = 0}
      : (tensor<2x4x8xf32>, tensor<6x2x3xf32>) -> tensor<2x6x6xf32>
  return
}

// -----

func.func @conv_c6(%x: tensor<2x4x8xf32>, %w: tensor<6x2x3xf32>) {
  // expected-error @+1 {{the weight takes 2 features a group, but the input has 4}}
  %0 = nn.conv %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>,
      pads_lo = array<i64: 0>, pads_hi = array<i64: 0>, groups = 1}
      : (tensor<2x4x8xf32>, tensor<6x2x3xf32>) -> tensor<2x6x6xf32>
  return
}

// -----

func.func @conv_c7(%x: tensor<2x4x8xf32>, %w: tensor<6x2x3xf32>) {
  // expected-error @+1 {{a window of 3 elements with dilation 4 does not fit into dimension 2 of extent 8 with pads 0 and 0}}
  %0 = nn.conv %x, %w {strides = array<i64: 1>, dilations = array<i64: 4>,
      pads_lo = array<i64: 0>, pads_hi = array<i64: 0>, groups = 2}
      : (tensor<2x4x8xf32>, tensor<6x2x3xf32>) -> tensor<2x6x6xf32>
  return
}

// -----

func.func @conv_c7_overflow(%x: tensor<2x4x8xf32>, %w: tensor<6x2x3xf32>) {
  // expected-error @+1 {{a window of 3 elements with dilation 9223372036854775807 does not fit}}
  %0 = nn.conv %x, %w {strides = array<i64: 1>,
      dilations = array<i64: 9223372036854775807>, pads_lo = array<i64: 0>,
      pads_hi = array<i64: 0>, groups = 2} : (tensor<2x4x8xf32>,
      tensor<6x2x3xf32>) -> tensor<2x6x6xf32>
  return
}

// -----

func.func @conv_c7_empty(%x: tensor<2x4x8xf32>, %w: tensor<6x2x0xf32>) {
  // expected-error @+1 {{the weight's window is empty in dimension 2}}
  %0 = nn.conv %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>,
      pads_lo = array<i64: 0>, pads_hi = array<i64: 0>, groups = 2}
      : (tensor<2x4x8xf32>, tensor<6x2x0xf32>) -> tensor<2x6x6xf32>
  return
}

// -----

func.func @pool_c1(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'kernel' has 1 entries, expected 2}}
  %0 = nn.pool_max %x {kernel = array<i64: 3>, strides = array<i64: 1, 1>,
      dilations = array<i64: 1, 1>, pads_lo = array<i64: 0, 0>,
      pads_hi = array<i64: 0, 0>} : (tensor<4x8xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @pool_c2(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'kernel' holds 0, expected positive numbers}}
  %0 = nn.pool_max %x {kernel = array<i64: 1, 0>, strides = array<i64: 1, 1>,
      dilations = array<i64: 1, 1>, pads_lo = array<i64: 0, 0>,
      pads_hi = array<i64: 0, 0>} : (tensor<4x8xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @pool_c3(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'pads_lo' holds -1; use nn.pad or nn.slice to crop}}
  %0 = nn.pool_max %x {kernel = array<i64: 1, 3>, strides = array<i64: 1, 1>,
      dilations = array<i64: 1, 1>, pads_lo = array<i64: 0, -1>,
      pads_hi = array<i64: 0, 0>} : (tensor<4x8xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @pool_c4(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{a window of 9 elements with dilation 1 does not fit into dimension 1 of extent 8 with pads 0 and 0}}
  %0 = nn.pool_max %x {kernel = array<i64: 1, 9>, strides = array<i64: 1, 1>,
      dilations = array<i64: 1, 1>, pads_lo = array<i64: 0, 0>,
      pads_hi = array<i64: 0, 0>} : (tensor<4x8xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @reduce_c1(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'kind' is "mean", expected sum, prod, max or min for numbers, and or or for booleans, got elements of type 'f32'}}
  %0 = nn.reduce %x {kind = "mean", axes = array<i64: 1>} : (tensor<4x8xf32>)
      -> tensor<4xf32>
  return
}

// -----

func.func @reduce_c1_logic(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'kind' is "and", expected sum}}
  %0 = nn.reduce %x {kind = "and", axes = array<i64: 1>} : (tensor<4x8xf32>)
      -> tensor<4xf32>
  return
}

// -----

func.func @reduce_c2(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'axes' holds 0, expected dimensions below 2 in ascending order}}
  %0 = nn.reduce %x {kind = "sum", axes = array<i64: 1, 0>} : (tensor<4x8xf32>)
      -> tensor<f32>
  return
}

// -----

func.func @softmax_c1(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{axis 2 is not a dimension of a tensor of rank 2}}
  %0 = nn.softmax %x {axis = 2, log = false} : (tensor<4x8xf32>)
      -> tensor<4x8xf32>
  return
}

// -----

func.func @normalize_c1(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'axes' holds 2, expected dimensions below 2 in ascending order}}
  %0 = nn.normalize %x {axes = array<i64: 2>, center = true,
      epsilon = 0.0 : f64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @normalize_c2(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{expected a finite number of at least 0}}
  %0 = nn.normalize %x {axes = array<i64: 1>, center = true,
      epsilon = -1.0 : f64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}
