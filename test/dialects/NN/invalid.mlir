// One case for every message; its name ends with the constraint's label.
// RUN: divisi-opt %s --split-input-file --verify-diagnostics

func.func @countable(%x: tensor<4294967296x4294967296xf32>) {
  // expected-error @+1 {{uses a tensor of type 'tensor<4294967296x4294967296xf32>', which has more bytes than an int64 counts}}
  %0 = nn.neg %x : (tensor<4294967296x4294967296xf32>)
      -> tensor<4294967296x4294967296xf32>
  return
}

// -----

func.func @inferred_size(%x: tensor<4294967296x1xf32>,
    %y: tensor<4294967296xf32>) {
  // expected-error @+1 {{a tensor of type 'tensor<4294967296x4294967296xf32>' has more bytes than an int64 counts}}
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
  // expected-error @+1 {{chooses between elements of types 'f32' and 'i32', expected the same type}}
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
  // expected-error @+1 {{label 'k' stands twice in "kk"; take the diagonal before}}
  %0 = nn.matmul %a, %b {labels = "kk,kn->kn"} : (tensor<4x8xf32>,
      tensor<8x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @matmul_c3_result(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>) {
  // expected-error @+1 {{label 'm' stands twice in "mm"; take the diagonal before}}
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
  // expected-error @+1 {{label 'z' of the result stands in no operand}}
  %0 = nn.matmul %a, %b {labels = "mk,kn->mz"} : (tensor<4x8xf32>,
      tensor<8x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @matmul_c6(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>) {
  // expected-error @+1 {{label 'n' stands in one operand and not in the result; reduce the operand before}}
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
  // expected-error @+1 {{axis 2 is no dimension of a tensor of rank 2}}
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

// -----

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
  // expected-error @+1 {{axis 2 is no dimension of a tensor of rank 2}}
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
  // expected-error @+1 {{axis 1 is no dimension of a tensor of rank 1}}
  %0 = nn.iota {axis = 1} : () -> tensor<4xi64>
  return
}

// -----

func.func @gather_c1(%x: tensor<4x8xf32>, %i: tensor<4x3xi64>) {
  // expected-error @+1 {{axis -1 is no dimension of a tensor of rank 2}}
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
  // expected-error @+1 {{axis 2 is no dimension of a tensor of rank 2}}
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
  // expected-error @+1 {{axis 2 is no dimension of a tensor of rank 2}}
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

// global_c1
// expected-error @+1 {{is a constant without bytes, expected 'from'}}
nn.global @w constant : tensor<4xf32>

// -----

// global_c2
// expected-error @+1 {{is derived, so @init computes it; drop 'from' and 'zero'}}
nn.global @w derived : tensor<4xf32> zero

// -----

// global_c3
// expected-error @+1 {{needs a file, offset and length, or 'zero', or none of them}}
nn.global @w state : tensor<4xf32> from "f" [0, 16] zero

// -----

// global_c4
// expected-error @+1 {{lies at offset 9223372036854775807 with length 16, which is no part of a file}}
nn.global @w state : tensor<4xf32> from "f" [9223372036854775807, 16]

// -----

// global_c5
// expected-error @+1 {{has 15 bytes in its file, but 'tensor<4xf32>' takes 16}}
nn.global @w state : tensor<4xf32> from "f" [0, 15]

// -----

// global_c5_uncountable
// expected-error @+1 {{takes more than an int64 counts}}
nn.global @w state : tensor<4294967296x4294967296xf32> from "f" [0, 16]

// -----

func.func @read_c1() {
  // expected-error @+1 {{names @none, which is no nn.global}}
  %0 = nn.read @none : tensor<4xf32>
  return
}

// -----

// expected-note @+1 {{the global is declared here}}
nn.global @w parameter : tensor<4xf32>
func.func @read_c2() {
  // expected-error @+1 {{has the type 'tensor<5xf32>', expected 'tensor<4xf32>' as @w}}
  %0 = nn.read @w : tensor<5xf32>
  return
}

// -----

func.func @update_c1(%x: tensor<4xf32>) {
  // expected-error @+1 {{names @update_c1, which is no nn.global}}
  nn.update @update_c1, %x : tensor<4xf32>
  return
}

// -----

// expected-note @+1 {{the global is declared here}}
nn.global @w parameter : tensor<4xf32>
func.func @update_c2(%x: tensor<5xf32>) {
  // expected-error @+1 {{has the type 'tensor<5xf32>', expected 'tensor<4xf32>' as @w}}
  nn.update @w, %x : tensor<5xf32>
  return
}

// -----

// expected-note @+1 {{the global is declared here}}
nn.global @w constant : tensor<4xf32> from "f" [0, 16]
func.func @update_c3_constant(%x: tensor<4xf32>) {
  // expected-error @+1 {{replaces a constant global, expected a parameter or a state, or a derived one in @init}}
  nn.update @w, %x : tensor<4xf32>
  return
}

// -----

// expected-note @+1 {{the global is declared here}}
nn.global @w derived : tensor<4xf32>
func.func @update_c3_derived(%x: tensor<4xf32>) {
  // expected-error @+1 {{replaces a derived global, expected a parameter or a state, or a derived one in @init}}
  nn.update @w, %x : tensor<4xf32>
  return
}

// -----

func.func @constant_c1() {
  // expected-error @+1 {{has a result of type 'tensor<5xf32>', expected that of the value, 'tensor<4xf32>'}}
  %0 = nn.constant dense<1.0> : tensor<4xf32> -> tensor<5xf32>
  return
}

// -----

// A box's result is judged by its global shape.
func.func @inferred_type_of_a_box(
    %x: tensor<2x8xf32, #spmd.local<(x=2), [x, *], 4x8>>) {
  // expected-error @+1 {{has a result of type 'tensor<2x8xf32>', expected 'tensor<4x8xf32>'}}
  %0 = nn.neg %x : (tensor<2x8xf32, #spmd.local<(x=2), [x, *], 4x8>>)
      -> tensor<2x8xf32>
  return
}
