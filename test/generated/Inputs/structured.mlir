// Operators that are not elementwise, each in functions of its own, with odd
// shapes: what the generated test splits in every legal way. `test.range`
// bounds the values of an argument.

func.func @matmul(%a: tensor<5x7xf32>, %b: tensor<7x6xf32>) -> tensor<5x6xf32> {
  %0 = nn.matmul %a, %b {labels = "mk,kn->mn"} : (tensor<5x7xf32>, tensor<7x6xf32>) -> tensor<5x6xf32>
  return %0 : tensor<5x6xf32>
}

func.func @matmul_batch(%a: tensor<3x5x7xf32>, %b: tensor<3x7x6xf32>) -> tensor<3x5x6xf32> {
  %0 = nn.matmul %a, %b {labels = "bmk,bkn->bmn"} : (tensor<3x5x7xf32>, tensor<3x7x6xf32>) -> tensor<3x5x6xf32>
  return %0 : tensor<3x5x6xf32>
}

// A projection to heads.
func.func @matmul_heads(%a: tensor<2x5x6xf32>, %b: tensor<6x3x4xf32>) -> tensor<2x3x5x4xf32> {
  %0 = nn.matmul %a, %b {labels = "bse,ehd->bhsd"} : (tensor<2x5x6xf32>, tensor<6x3x4xf32>) -> tensor<2x3x5x4xf32>
  return %0 : tensor<2x3x5x4xf32>
}

// A projection from heads.
func.func @matmul_two_sums(%a: tensor<2x5x3x4xf32>, %b: tensor<3x4x6xf32>) -> tensor<2x5x6xf32> {
  %0 = nn.matmul %a, %b {labels = "bshd,hde->bse"} : (tensor<2x5x3x4xf32>, tensor<3x4x6xf32>) -> tensor<2x5x6xf32>
  return %0 : tensor<2x5x6xf32>
}

func.func @matmul_transposed(%a: tensor<7x5xf32>, %b: tensor<6x7xf32>) -> tensor<6x5xf32> {
  %0 = nn.matmul %a, %b {labels = "km,nk->nm"} : (tensor<7x5xf32>, tensor<6x7xf32>) -> tensor<6x5xf32>
  return %0 : tensor<6x5xf32>
}

func.func @matmul_outer(%a: tensor<5xf32>, %b: tensor<7xf32>) -> tensor<5x7xf32> {
  %0 = nn.matmul %a, %b {labels = "m,n->mn"} : (tensor<5xf32>, tensor<7xf32>) -> tensor<5x7xf32>
  return %0 : tensor<5x7xf32>
}

func.func @matmul_dot(%a: tensor<7xf32>, %b: tensor<7xf32>) -> tensor<f32> {
  %0 = nn.matmul %a, %b {labels = "k,k->"} : (tensor<7xf32>, tensor<7xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

func.func @conv(%x: tensor<2x3x9x7xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<2x4x9x7xf32> {
  %0 = nn.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>, groups = 1} : (tensor<2x3x9x7xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x9x7xf32>
  return %0 : tensor<2x4x9x7xf32>
}

// Strides and uneven padding: shards reach differently far.
func.func @conv_stride(%x: tensor<2x3x9x8xf32>, %w: tensor<4x3x3x2xf32>) -> tensor<2x4x5x4xf32> {
  %0 = nn.conv %x, %w {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 0>, pads_hi = array<i64: 1, 0>, groups = 1} : (tensor<2x3x9x8xf32>, tensor<4x3x3x2xf32>) -> tensor<2x4x5x4xf32>
  return %0 : tensor<2x4x5x4xf32>
}

func.func @conv_dilated(%x: tensor<1x2x11x5xf32>, %w: tensor<3x2x3x1xf32>) -> tensor<1x3x11x5xf32> {
  %0 = nn.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 2, 1>, pads_lo = array<i64: 2, 0>, pads_hi = array<i64: 2, 0>, groups = 1} : (tensor<1x2x11x5xf32>, tensor<3x2x3x1xf32>) -> tensor<1x3x11x5xf32>
  return %0 : tensor<1x3x11x5xf32>
}

// Features split only after groups.
func.func @conv_groups(%x: tensor<2x6x5x5xf32>, %w: tensor<6x2x3x3xf32>) -> tensor<2x6x5x5xf32> {
  %0 = nn.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>, groups = 3} : (tensor<2x6x5x5xf32>, tensor<6x2x3x3xf32>) -> tensor<2x6x5x5xf32>
  return %0 : tensor<2x6x5x5xf32>
}

func.func @conv_depthwise(%x: tensor<1x4x6x5xf32>, %w: tensor<4x1x3x3xf32>) -> tensor<1x4x6x5xf32> {
  %0 = nn.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>, groups = 4} : (tensor<1x4x6x5xf32>, tensor<4x1x3x3xf32>) -> tensor<1x4x6x5xf32>
  return %0 : tensor<1x4x6x5xf32>
}

// Patches: no halo.
func.func @conv_patches(%x: tensor<2x3x8x12xf32>, %w: tensor<5x3x4x4xf32>) -> tensor<2x5x2x3xf32> {
  %0 = nn.conv %x, %w {strides = array<i64: 4, 4>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 0, 0>, pads_hi = array<i64: 0, 0>, groups = 1} : (tensor<2x3x8x12xf32>, tensor<5x3x4x4xf32>) -> tensor<2x5x2x3xf32>
  return %0 : tensor<2x5x2x3xf32>
}

func.func @conv_1d(%x: tensor<2x3x10xf32>, %w: tensor<4x3x5xf32>) -> tensor<2x4x6xf32> {
  %0 = nn.conv %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads_lo = array<i64: 0>, pads_hi = array<i64: 0>, groups = 1} : (tensor<2x3x10xf32>, tensor<4x3x5xf32>) -> tensor<2x4x6xf32>
  return %0 : tensor<2x4x6xf32>
}

// A stride over indices that nobody reads.
func.func @conv_gaps(%x: tensor<1x2x10x4xf32>, %w: tensor<3x2x1x1xf32>) -> tensor<1x3x4x4xf32> {
  %0 = nn.conv %x, %w {strides = array<i64: 3, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 0, 0>, pads_hi = array<i64: 0, 0>, groups = 1} : (tensor<1x2x10x4xf32>, tensor<3x2x1x1xf32>) -> tensor<1x3x4x4xf32>
  return %0 : tensor<1x3x4x4xf32>
}

func.func @pool_max_2d(%x: tensor<2x3x9x7xf32>) -> tensor<2x3x5x4xf32> {
  %0 = nn.pool_max %x {kernel = array<i64: 1, 1, 3, 3>, strides = array<i64: 1, 1, 2, 2>, dilations = array<i64: 1, 1, 1, 1>, pads_lo = array<i64: 0, 0, 1, 1>, pads_hi = array<i64: 0, 0, 1, 1>} : (tensor<2x3x9x7xf32>) -> tensor<2x3x5x4xf32>
  return %0 : tensor<2x3x5x4xf32>
}

func.func @pool_sum_2d(%x: tensor<2x3x9x7xf32>) -> tensor<2x3x5x4xf32> {
  %0 = nn.pool_sum %x {kernel = array<i64: 1, 1, 3, 3>, strides = array<i64: 1, 1, 2, 2>, dilations = array<i64: 1, 1, 1, 1>, pads_lo = array<i64: 0, 0, 1, 1>, pads_hi = array<i64: 0, 0, 1, 1>} : (tensor<2x3x9x7xf32>) -> tensor<2x3x5x4xf32>
  return %0 : tensor<2x3x5x4xf32>
}

func.func @pool_max_channels(%x: tensor<2x7x3x3xf32>) -> tensor<2x7x3x3xf32> {
  %0 = nn.pool_max %x {kernel = array<i64: 1, 5, 1, 1>, strides = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1, 1, 1>, pads_lo = array<i64: 0, 2, 0, 0>, pads_hi = array<i64: 0, 2, 0, 0>} : (tensor<2x7x3x3xf32>) -> tensor<2x7x3x3xf32>
  return %0 : tensor<2x7x3x3xf32>
}

func.func @pool_sum_channels(%x: tensor<2x7x3x3xf32>) -> tensor<2x7x3x3xf32> {
  %0 = nn.pool_sum %x {kernel = array<i64: 1, 5, 1, 1>, strides = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1, 1, 1>, pads_lo = array<i64: 0, 2, 0, 0>, pads_hi = array<i64: 0, 2, 0, 0>} : (tensor<2x7x3x3xf32>) -> tensor<2x7x3x3xf32>
  return %0 : tensor<2x7x3x3xf32>
}

func.func @reduce_sum(%x: tensor<5x7x3xf32> {test.range = array<i64: -3, 3>}) -> tensor<5x3xf32> {
  %0 = nn.reduce %x {kind = "sum", axes = array<i64: 1>} : (tensor<5x7x3xf32>) -> tensor<5x3xf32>
  return %0 : tensor<5x3xf32>
}

func.func @reduce_prod(%x: tensor<5x7x3xf32> {test.range = array<i64: -3, 3>}) -> tensor<5x3xf32> {
  %0 = nn.reduce %x {kind = "prod", axes = array<i64: 1>} : (tensor<5x7x3xf32>) -> tensor<5x3xf32>
  return %0 : tensor<5x3xf32>
}

func.func @reduce_max(%x: tensor<5x7x3xf32> {test.range = array<i64: -3, 3>}) -> tensor<5x3xf32> {
  %0 = nn.reduce %x {kind = "max", axes = array<i64: 1>} : (tensor<5x7x3xf32>) -> tensor<5x3xf32>
  return %0 : tensor<5x3xf32>
}

func.func @reduce_min(%x: tensor<5x7x3xf32> {test.range = array<i64: -3, 3>}) -> tensor<5x3xf32> {
  %0 = nn.reduce %x {kind = "min", axes = array<i64: 1>} : (tensor<5x7x3xf32>) -> tensor<5x3xf32>
  return %0 : tensor<5x3xf32>
}

func.func @reduce_all(%x: tensor<5x7xf32>) -> tensor<f32> {
  %0 = nn.reduce %x {kind = "sum", axes = array<i64: 0, 1>} : (tensor<5x7xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

func.func @reduce_max_int(%x: tensor<5x7xi64> {test.range = array<i64: -99, 99>}) -> tensor<7xi64> {
  %0 = nn.reduce %x {kind = "max", axes = array<i64: 0>} : (tensor<5x7xi64>) -> tensor<7xi64>
  return %0 : tensor<7xi64>
}

func.func @reduce_and(%x: tensor<5x7xi1> {test.range = array<i64: 0, 1>}) -> tensor<5xi1> {
  %0 = nn.reduce %x {kind = "and", axes = array<i64: 1>} : (tensor<5x7xi1>) -> tensor<5xi1>
  return %0 : tensor<5xi1>
}

func.func @reduce_or(%x: tensor<5x7xi1> {test.range = array<i64: 0, 1>}) -> tensor<5xi1> {
  %0 = nn.reduce %x {kind = "or", axes = array<i64: 1>} : (tensor<5x7xi1>) -> tensor<5xi1>
  return %0 : tensor<5xi1>
}

func.func @softmax_false(%x: tensor<5x3x7xf32>) -> tensor<5x3x7xf32> {
  %0 = nn.softmax %x {axis = 2, log = false} : (tensor<5x3x7xf32>) -> tensor<5x3x7xf32>
  return %0 : tensor<5x3x7xf32>
}

func.func @softmax_true(%x: tensor<5x3x7xf32>) -> tensor<5x3x7xf32> {
  %0 = nn.softmax %x {axis = 2, log = true} : (tensor<5x3x7xf32>) -> tensor<5x3x7xf32>
  return %0 : tensor<5x3x7xf32>
}

func.func @softmax_first(%x: tensor<5x7xf32>) -> tensor<5x7xf32> {
  %0 = nn.softmax %x {axis = 0, log = false} : (tensor<5x7xf32>) -> tensor<5x7xf32>
  return %0 : tensor<5x7xf32>
}

func.func @normalize_true(%x: tensor<5x3x7xf32>) -> tensor<5x3x7xf32> {
  %0 = nn.normalize %x {axes = array<i64: 2>, center = true, epsilon = 1.0e-5 : f64} : (tensor<5x3x7xf32>) -> tensor<5x3x7xf32>
  return %0 : tensor<5x3x7xf32>
}

func.func @normalize_false(%x: tensor<5x3x7xf32>) -> tensor<5x3x7xf32> {
  %0 = nn.normalize %x {axes = array<i64: 2>, center = false, epsilon = 1.0e-5 : f64} : (tensor<5x3x7xf32>) -> tensor<5x3x7xf32>
  return %0 : tensor<5x3x7xf32>
}

func.func @normalize_two(%x: tensor<2x5x3x3xf32>) -> tensor<2x5x3x3xf32> {
  %0 = nn.normalize %x {axes = array<i64: 2, 3>, center = true, epsilon = 1.0e-5 : f64} : (tensor<2x5x3x3xf32>) -> tensor<2x5x3x3xf32>
  return %0 : tensor<2x5x3x3xf32>
}

// (b s) splits from the major factor.
func.func @reshape_merge(%x: tensor<3x5x4xf32>) -> tensor<15x4xf32> {
  %0 = nn.reshape %x : (tensor<3x5x4xf32>) -> tensor<15x4xf32>
  return %0 : tensor<15x4xf32>
}

func.func @reshape_split(%x: tensor<15x4xf32>) -> tensor<3x5x4xf32> {
  %0 = nn.reshape %x : (tensor<15x4xf32>) -> tensor<3x5x4xf32>
  return %0 : tensor<3x5x4xf32>
}

func.func @reshape_regroup(%x: tensor<6x4xf32>) -> tensor<2x12xf32> {
  %0 = nn.reshape %x : (tensor<6x4xf32>) -> tensor<2x12xf32>
  return %0 : tensor<2x12xf32>
}

func.func @reshape_units(%x: tensor<5x1x7xf32>) -> tensor<1x5x7x1xf32> {
  %0 = nn.reshape %x : (tensor<5x1x7xf32>) -> tensor<1x5x7x1xf32>
  return %0 : tensor<1x5x7x1xf32>
}

// No common factor.
func.func @reshape_foreign(%x: tensor<3x5xf32>) -> tensor<5x3xf32> {
  %0 = nn.reshape %x : (tensor<3x5xf32>) -> tensor<5x3xf32>
  return %0 : tensor<5x3xf32>
}

func.func @transpose(%x: tensor<3x5x7xf32>) -> tensor<7x3x5xf32> {
  %0 = nn.transpose %x {permutation = array<i64: 2, 0, 1>} : (tensor<3x5x7xf32>) -> tensor<7x3x5xf32>
  return %0 : tensor<7x3x5xf32>
}

func.func @broadcast(%x: tensor<5x1xf32>) -> tensor<3x5x7xf32> {
  %0 = nn.broadcast %x {dims = array<i64: 1, 2>} : (tensor<5x1xf32>) -> tensor<3x5x7xf32>
  return %0 : tensor<3x5x7xf32>
}

func.func @slice(%x: tensor<9x7xf32>) -> tensor<6x7xf32> {
  %0 = nn.slice %x {starts = array<i64: 2, 0>, limits = array<i64: 8, 7>, steps = array<i64: 1, 1>} : (tensor<9x7xf32>) -> tensor<6x7xf32>
  return %0 : tensor<6x7xf32>
}

// Backwards too.
func.func @slice_steps(%x: tensor<11x7xf32>) -> tensor<4x4xf32> {
  %0 = nn.slice %x {starts = array<i64: 1, 6>, limits = array<i64: 11, -1>, steps = array<i64: 3, -2>} : (tensor<11x7xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

func.func @pad(%x: tensor<5x7xf32>) -> tensor<8x10xf32> {
  %0 = nn.pad %x {lo = array<i64: 2, 0>, hi = array<i64: 1, 3>, value = 2.5 : f64} : (tensor<5x7xf32>) -> tensor<8x10xf32>
  return %0 : tensor<8x10xf32>
}

func.func @pad_crop(%x: tensor<5x7xf32>) -> tensor<4x6xf32> {
  %0 = nn.pad %x {lo = array<i64: -1, 1>, hi = array<i64: 0, -2>, value = 0.0 : f64} : (tensor<5x7xf32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}

func.func @concat(%x: tensor<5x2xf32>, %y: tensor<5x4xf32>, %z: tensor<5x1xf32>) -> tensor<5x7xf32> {
  %0 = nn.concat %x, %y, %z {axis = 1} : (tensor<5x2xf32>, tensor<5x4xf32>, tensor<5x1xf32>) -> tensor<5x7xf32>
  return %0 : tensor<5x7xf32>
}

func.func @concat_first(%x: tensor<4x3xf32>, %y: tensor<1x3xf32>) -> tensor<5x3xf32> {
  %0 = nn.concat %x, %y {axis = 0} : (tensor<4x3xf32>, tensor<1x3xf32>) -> tensor<5x3xf32>
  return %0 : tensor<5x3xf32>
}

func.func @iota() -> tensor<3x7xi64> {
  %0 = nn.iota {axis = 1} : () -> tensor<3x7xi64>
  return %0 : tensor<3x7xi64>
}

// Rows of a table; negative indices count from its end.
func.func @gather(%x: tensor<9x5xf32>, %i: tensor<3x4xi64> {test.range = array<i64: -9, 8>}) -> tensor<3x4x5xf32> {
  %0 = nn.gather %x, %i {axis = 0, batch_dims = 0} : (tensor<9x5xf32>, tensor<3x4xi64>) -> tensor<3x4x5xf32>
  return %0 : tensor<3x4x5xf32>
}

func.func @gather_inner(%x: tensor<5x9x2xf32>, %i: tensor<4xi64> {test.range = array<i64: 0, 8>}) -> tensor<5x4x2xf32> {
  %0 = nn.gather %x, %i {axis = 1, batch_dims = 0} : (tensor<5x9x2xf32>, tensor<4xi64>) -> tensor<5x4x2xf32>
  return %0 : tensor<5x4x2xf32>
}

func.func @gather_batch(%x: tensor<3x9x2xf32>, %i: tensor<3x4xi64> {test.range = array<i64: 0, 8>}) -> tensor<3x4x2xf32> {
  %0 = nn.gather %x, %i {axis = 1, batch_dims = 1} : (tensor<3x9x2xf32>, tensor<3x4xi64>) -> tensor<3x4x2xf32>
  return %0 : tensor<3x4x2xf32>
}

func.func @gather_bool(%x: tensor<9x5xi1> {test.range = array<i64: 0, 1>}, %i: tensor<4xi64> {test.range = array<i64: 0, 8>}) -> tensor<4x5xi1> {
  %0 = nn.gather %x, %i {axis = 0, batch_dims = 0} : (tensor<9x5xi1>, tensor<4xi64>) -> tensor<4x5xi1>
  return %0 : tensor<4x5xi1>
}

func.func @gather_scalar(%x: tensor<9x5xi64> {test.range = array<i64: -9, 9>}, %i: tensor<i64> {test.range = array<i64: 0, 8>}) -> tensor<5xi64> {
  %0 = nn.gather %x, %i {axis = 0, batch_dims = 0} : (tensor<9x5xi64>, tensor<i64>) -> tensor<5xi64>
  return %0 : tensor<5xi64>
}

func.func @take_along(%x: tensor<5x9xf32>, %i: tensor<5x4xi64> {test.range = array<i64: -9, 8>}) -> tensor<5x4xf32> {
  %0 = nn.take_along %x, %i {axis = 1} : (tensor<5x9xf32>, tensor<5x4xi64>) -> tensor<5x4xf32>
  return %0 : tensor<5x4xf32>
}

func.func @resample(%x: tensor<2x5x3xf32>) -> tensor<2x7x3xf32> {
  %0 = nn.resample %x {axis = 1, taps = 2, indices = array<i64: 0, 1, 0, 1, 1, 2, 2, 3, 3, 4, 3, 4, 4, 4>, weights = array<f64: 1.0, 0.0, 0.25, 0.75, 0.5, 0.5, 0.5, 0.5, 0.75, 0.25, 0.0, 1.0, 1.0, 0.0>} : (tensor<2x5x3xf32>) -> tensor<2x7x3xf32>
  return %0 : tensor<2x7x3xf32>
}

func.func @arg_max(%x: tensor<5x9x3xf32>) -> tensor<5x3xi64> {
  %0 = nn.arg_reduce %x {axis = 1, kind = "max", last = false} : (tensor<5x9x3xf32>) -> tensor<5x3xi64>
  return %0 : tensor<5x3xi64>
}

func.func @arg_min(%x: tensor<5x9x3xf32>) -> tensor<5x3xi64> {
  %0 = nn.arg_reduce %x {axis = 1, kind = "min", last = true} : (tensor<5x9x3xf32>) -> tensor<5x3xi64>
  return %0 : tensor<5x3xi64>
}

func.func @cumulate_sum(%x: tensor<5x9x3xf32>) -> tensor<5x9x3xf32> {
  %0 = nn.cumulate %x {axis = 1, kind = "sum", exclusive = false, reverse = false} : (tensor<5x9x3xf32>) -> tensor<5x9x3xf32>
  return %0 : tensor<5x9x3xf32>
}

func.func @cumulate_sum_exclusive(%x: tensor<5x9x3xf32>) -> tensor<5x9x3xf32> {
  %0 = nn.cumulate %x {axis = 1, kind = "sum", exclusive = true, reverse = true} : (tensor<5x9x3xf32>) -> tensor<5x9x3xf32>
  return %0 : tensor<5x9x3xf32>
}

func.func @cumulate_prod(%x: tensor<5x9x3xf32>) -> tensor<5x9x3xf32> {
  %0 = nn.cumulate %x {axis = 1, kind = "prod", exclusive = false, reverse = true} : (tensor<5x9x3xf32>) -> tensor<5x9x3xf32>
  return %0 : tensor<5x9x3xf32>
}

func.func @top_k_largest(%x: tensor<5x9x3xf32>) -> tensor<5x4x3xi64> {
  %0 = nn.top_k %x {axis = 1, k = 4, largest = true} : (tensor<5x9x3xf32>) -> tensor<5x4x3xi64>
  return %0 : tensor<5x4x3xi64>
}

func.func @top_k_smallest(%x: tensor<5x9x3xf32>) -> tensor<5x4x3xi64> {
  %0 = nn.top_k %x {axis = 1, k = 4, largest = false} : (tensor<5x9x3xf32>) -> tensor<5x4x3xi64>
  return %0 : tensor<5x4x3xi64>
}

func.func @insert(%x: tensor<3x9x2xf32>, %s: tensor<3x4x2xf32>, %o: tensor<i64> {test.range = array<i64: -6, 5>}) -> tensor<3x9x2xf32> {
  %0 = nn.insert %x, %s, %o {axis = 1} : (tensor<3x9x2xf32>, tensor<3x4x2xf32>, tensor<i64>) -> tensor<3x9x2xf32>
  return %0 : tensor<3x9x2xf32>
}

func.func @insert_all(%x: tensor<5x3xi32>, %s: tensor<5x3xi32>, %o: tensor<i32> {test.range = array<i64: -1, 0>}) -> tensor<5x3xi32> {
  %0 = nn.insert %x, %s, %o {axis = 0} : (tensor<5x3xi32>, tensor<5x3xi32>, tensor<i32>) -> tensor<5x3xi32>
  return %0 : tensor<5x3xi32>
}

func.func @scatter_set(%x: tensor<9x5xf32>, %i: tensor<2x4xi64> {test.range = array<i64: -9, 8>}, %u: tensor<2x4x5xf32>) -> tensor<9x5xf32> {
  %0 = nn.scatter %x, %i, %u {batch_dims = 0, kind = "set"} : (tensor<9x5xf32>, tensor<2x4xi64>, tensor<2x4x5xf32>) -> tensor<9x5xf32>
  return %0 : tensor<9x5xf32>
}

func.func @scatter_add(%x: tensor<9x5xf32>, %i: tensor<2x4xi64> {test.range = array<i64: -9, 8>}, %u: tensor<2x4x5xf32>) -> tensor<9x5xf32> {
  %0 = nn.scatter %x, %i, %u {batch_dims = 0, kind = "add"} : (tensor<9x5xf32>, tensor<2x4xi64>, tensor<2x4x5xf32>) -> tensor<9x5xf32>
  return %0 : tensor<9x5xf32>
}

func.func @scatter_mul(%x: tensor<9x5xf32>, %i: tensor<2x4xi64> {test.range = array<i64: -9, 8>}, %u: tensor<2x4x5xf32>) -> tensor<9x5xf32> {
  %0 = nn.scatter %x, %i, %u {batch_dims = 0, kind = "mul"} : (tensor<9x5xf32>, tensor<2x4xi64>, tensor<2x4x5xf32>) -> tensor<9x5xf32>
  return %0 : tensor<9x5xf32>
}

func.func @scatter_max(%x: tensor<9x5xf32>, %i: tensor<2x4xi64> {test.range = array<i64: -9, 8>}, %u: tensor<2x4x5xf32>) -> tensor<9x5xf32> {
  %0 = nn.scatter %x, %i, %u {batch_dims = 0, kind = "max"} : (tensor<9x5xf32>, tensor<2x4xi64>, tensor<2x4x5xf32>) -> tensor<9x5xf32>
  return %0 : tensor<9x5xf32>
}

func.func @scatter_min(%x: tensor<9x5xf32>, %i: tensor<2x4xi64> {test.range = array<i64: -9, 8>}, %u: tensor<2x4x5xf32>) -> tensor<9x5xf32> {
  %0 = nn.scatter %x, %i, %u {batch_dims = 0, kind = "min"} : (tensor<9x5xf32>, tensor<2x4xi64>, tensor<2x4x5xf32>) -> tensor<9x5xf32>
  return %0 : tensor<9x5xf32>
}

func.func @scatter_batch(%x: tensor<3x9x2xf32>, %i: tensor<3x4xi64> {test.range = array<i64: -9, 8>}, %u: tensor<3x4x2xf32>) -> tensor<3x9x2xf32> {
  %0 = nn.scatter %x, %i, %u {batch_dims = 1, kind = "add"} : (tensor<3x9x2xf32>, tensor<3x4xi64>, tensor<3x4x2xf32>) -> tensor<3x9x2xf32>
  return %0 : tensor<3x9x2xf32>
}

func.func @random(%key: tensor<i64> {test.range = array<i64: 0, 99>}, %count: tensor<i64> {test.range = array<i64: 0, 99>}) -> tensor<5x7x3xf32> {
  %0 = nn.random %key, %count {stream = 2} : (tensor<i64>, tensor<i64>) -> tensor<5x7x3xf32>
  return %0 : tensor<5x7x3xf32>
}
