// Elementwise operators in functions of their own, with odd shapes: what the
// generated test splits in every legal way. `test.range` bounds the values of
// an argument.

func.func @neg(%x: tensor<5x7xf32>) -> tensor<5x7xf32> {
  %0 = nn.neg %x : (tensor<5x7xf32>) -> tensor<5x7xf32>
  return %0 : tensor<5x7xf32>
}

func.func @abs(%x: tensor<5x7xf32>) -> tensor<5x7xf32> {
  %0 = nn.abs %x : (tensor<5x7xf32>) -> tensor<5x7xf32>
  return %0 : tensor<5x7xf32>
}

func.func @sign(%x: tensor<5x7xf32>) -> tensor<5x7xf32> {
  %0 = nn.sign %x : (tensor<5x7xf32>) -> tensor<5x7xf32>
  return %0 : tensor<5x7xf32>
}

func.func @exp(%x: tensor<5x7xf32>) -> tensor<5x7xf32> {
  %0 = nn.exp %x : (tensor<5x7xf32>) -> tensor<5x7xf32>
  return %0 : tensor<5x7xf32>
}

func.func @erf(%x: tensor<5x7xf32>) -> tensor<5x7xf32> {
  %0 = nn.erf %x : (tensor<5x7xf32>) -> tensor<5x7xf32>
  return %0 : tensor<5x7xf32>
}

func.func @sin(%x: tensor<5x7xf32>) -> tensor<5x7xf32> {
  %0 = nn.sin %x : (tensor<5x7xf32>) -> tensor<5x7xf32>
  return %0 : tensor<5x7xf32>
}

func.func @cos(%x: tensor<5x7xf32>) -> tensor<5x7xf32> {
  %0 = nn.cos %x : (tensor<5x7xf32>) -> tensor<5x7xf32>
  return %0 : tensor<5x7xf32>
}

func.func @tanh(%x: tensor<5x7xf32>) -> tensor<5x7xf32> {
  %0 = nn.tanh %x : (tensor<5x7xf32>) -> tensor<5x7xf32>
  return %0 : tensor<5x7xf32>
}

func.func @silu(%x: tensor<5x7xf32>) -> tensor<5x7xf32> {
  %0 = nn.silu %x : (tensor<5x7xf32>) -> tensor<5x7xf32>
  return %0 : tensor<5x7xf32>
}
func.func @hard_swish(%x: tensor<5x7xf32>) -> tensor<5x7xf32> {
  %0 = nn.hard_swish %x : (tensor<5x7xf32>) -> tensor<5x7xf32>
  return %0 : tensor<5x7xf32>
}
func.func @sigmoid(%x: tensor<5x7xf32>) -> tensor<5x7xf32> {
  %0 = nn.sigmoid %x : (tensor<5x7xf32>) -> tensor<5x7xf32>
  return %0 : tensor<5x7xf32>
}

func.func @relu(%x: tensor<5x7xf32>) -> tensor<5x7xf32> {
  %0 = nn.relu %x : (tensor<5x7xf32>) -> tensor<5x7xf32>
  return %0 : tensor<5x7xf32>
}

func.func @floor(%x: tensor<5x7xf32>) -> tensor<5x7xf32> {
  %0 = nn.floor %x : (tensor<5x7xf32>) -> tensor<5x7xf32>
  return %0 : tensor<5x7xf32>
}

func.func @ceil(%x: tensor<5x7xf32>) -> tensor<5x7xf32> {
  %0 = nn.ceil %x : (tensor<5x7xf32>) -> tensor<5x7xf32>
  return %0 : tensor<5x7xf32>
}

func.func @round(%x: tensor<5x7xf32>) -> tensor<5x7xf32> {
  %0 = nn.round %x : (tensor<5x7xf32>) -> tensor<5x7xf32>
  return %0 : tensor<5x7xf32>
}

func.func @sqrt(%x: tensor<5x7xf32> {test.range = array<i64: 1, 9>}) -> tensor<5x7xf32> {
  %0 = nn.sqrt %x : (tensor<5x7xf32>) -> tensor<5x7xf32>
  return %0 : tensor<5x7xf32>
}

func.func @rsqrt(%x: tensor<5x7xf32> {test.range = array<i64: 1, 9>}) -> tensor<5x7xf32> {
  %0 = nn.rsqrt %x : (tensor<5x7xf32>) -> tensor<5x7xf32>
  return %0 : tensor<5x7xf32>
}

func.func @log(%x: tensor<5x7xf32> {test.range = array<i64: 1, 9>}) -> tensor<5x7xf32> {
  %0 = nn.log %x : (tensor<5x7xf32>) -> tensor<5x7xf32>
  return %0 : tensor<5x7xf32>
}

func.func @gelu_none(%x: tensor<5x7xf32>) -> tensor<5x7xf32> {
  %0 = nn.gelu %x {approximate = "none"} : (tensor<5x7xf32>) -> tensor<5x7xf32>
  return %0 : tensor<5x7xf32>
}

func.func @gelu_tanh(%x: tensor<5x7xf32>) -> tensor<5x7xf32> {
  %0 = nn.gelu %x {approximate = "tanh"} : (tensor<5x7xf32>) -> tensor<5x7xf32>
  return %0 : tensor<5x7xf32>
}

func.func @not(%x: tensor<5x7xi1> {test.range = array<i64: 0, 1>}) -> tensor<5x7xi1> {
  %0 = nn.not %x : (tensor<5x7xi1>) -> tensor<5x7xi1>
  return %0 : tensor<5x7xi1>
}

func.func @is_nan(%x: tensor<5x7xf32>) -> tensor<5x7xi1> {
  %0 = nn.is_nan %x : (tensor<5x7xf32>) -> tensor<5x7xi1>
  return %0 : tensor<5x7xi1>
}

func.func @is_inf(%x: tensor<5x7xf32>) -> tensor<5x7xi1> {
  %0 = nn.is_inf %x : (tensor<5x7xf32>) -> tensor<5x7xi1>
  return %0 : tensor<5x7xi1>
}

func.func @cast_to_float(%x: tensor<5x7xi64> {test.range = array<i64: -9, 9>}) -> tensor<5x7xf32> {
  %0 = nn.cast %x : (tensor<5x7xi64>) -> tensor<5x7xf32>
  return %0 : tensor<5x7xf32>
}

func.func @cast_to_int(%x: tensor<5x7xf32> {test.range = array<i64: -9, 9>}) -> tensor<5x7xi32> {
  %0 = nn.cast %x : (tensor<5x7xf32>) -> tensor<5x7xi32>
  return %0 : tensor<5x7xi32>
}

func.func @add(%x: tensor<5x7xf32> {test.range = array<i64: 1, 9>}, %y: tensor<5x7xf32> {test.range = array<i64: 1, 9>}) -> tensor<5x7xf32> {
  %0 = nn.add %x, %y : (tensor<5x7xf32>, tensor<5x7xf32>) -> tensor<5x7xf32>
  return %0 : tensor<5x7xf32>
}

func.func @sub(%x: tensor<5x7xf32> {test.range = array<i64: 1, 9>}, %y: tensor<5x7xf32> {test.range = array<i64: 1, 9>}) -> tensor<5x7xf32> {
  %0 = nn.sub %x, %y : (tensor<5x7xf32>, tensor<5x7xf32>) -> tensor<5x7xf32>
  return %0 : tensor<5x7xf32>
}

func.func @mul(%x: tensor<5x7xf32> {test.range = array<i64: 1, 9>}, %y: tensor<5x7xf32> {test.range = array<i64: 1, 9>}) -> tensor<5x7xf32> {
  %0 = nn.mul %x, %y : (tensor<5x7xf32>, tensor<5x7xf32>) -> tensor<5x7xf32>
  return %0 : tensor<5x7xf32>
}

func.func @div(%x: tensor<5x7xf32> {test.range = array<i64: 1, 9>}, %y: tensor<5x7xf32> {test.range = array<i64: 1, 9>}) -> tensor<5x7xf32> {
  %0 = nn.div %x, %y : (tensor<5x7xf32>, tensor<5x7xf32>) -> tensor<5x7xf32>
  return %0 : tensor<5x7xf32>
}

func.func @max(%x: tensor<5x7xf32> {test.range = array<i64: 1, 9>}, %y: tensor<5x7xf32> {test.range = array<i64: 1, 9>}) -> tensor<5x7xf32> {
  %0 = nn.max %x, %y : (tensor<5x7xf32>, tensor<5x7xf32>) -> tensor<5x7xf32>
  return %0 : tensor<5x7xf32>
}

func.func @min(%x: tensor<5x7xf32> {test.range = array<i64: 1, 9>}, %y: tensor<5x7xf32> {test.range = array<i64: 1, 9>}) -> tensor<5x7xf32> {
  %0 = nn.min %x, %y : (tensor<5x7xf32>, tensor<5x7xf32>) -> tensor<5x7xf32>
  return %0 : tensor<5x7xf32>
}

func.func @pow(%x: tensor<5x7xf32> {test.range = array<i64: 1, 4>}, %y: tensor<5x7xf32> {test.range = array<i64: 1, 3>}) -> tensor<5x7xf32> {
  %0 = nn.pow %x, %y : (tensor<5x7xf32>, tensor<5x7xf32>) -> tensor<5x7xf32>
  return %0 : tensor<5x7xf32>
}

// A missing dimension has no loop.
func.func @add_row(%x: tensor<3x5x7xf32>, %y: tensor<7xf32>) -> tensor<3x5x7xf32> {
  %0 = nn.add %x, %y : (tensor<3x5x7xf32>, tensor<7xf32>) -> tensor<3x5x7xf32>
  return %0 : tensor<3x5x7xf32>
}

// An extent of 1 has no loop.
func.func @add_column(%x: tensor<5x1xf32>, %y: tensor<5x7xf32>) -> tensor<5x7xf32> {
  %0 = nn.add %x, %y : (tensor<5x1xf32>, tensor<5x7xf32>) -> tensor<5x7xf32>
  return %0 : tensor<5x7xf32>
}

func.func @add_outer(%x: tensor<5x1xf32>, %y: tensor<1x7xf32>) -> tensor<5x7xf32> {
  %0 = nn.add %x, %y : (tensor<5x1xf32>, tensor<1x7xf32>) -> tensor<5x7xf32>
  return %0 : tensor<5x7xf32>
}

func.func @add_scalar(%x: tensor<5x7xf32>, %y: tensor<f32>) -> tensor<5x7xf32> {
  %0 = nn.add %x, %y : (tensor<5x7xf32>, tensor<f32>) -> tensor<5x7xf32>
  return %0 : tensor<5x7xf32>
}

func.func @mul_scalar(%x: tensor<f32>, %y: tensor<5x7xf32>) -> tensor<5x7xf32> {
  %0 = nn.mul %x, %y : (tensor<f32>, tensor<5x7xf32>) -> tensor<5x7xf32>
  return %0 : tensor<5x7xf32>
}

func.func @add_integers(%x: tensor<5x7xi64> {test.range = array<i64: -9, 9>}, %y: tensor<7xi64> {test.range = array<i64: -9, 9>}) -> tensor<5x7xi64> {
  %0 = nn.add %x, %y : (tensor<5x7xi64>, tensor<7xi64>) -> tensor<5x7xi64>
  return %0 : tensor<5x7xi64>
}

func.func @and(%x: tensor<5x7xi1> {test.range = array<i64: 0, 1>}, %y: tensor<7xi1> {test.range = array<i64: 0, 1>}) -> tensor<5x7xi1> {
  %0 = nn.and %x, %y : (tensor<5x7xi1>, tensor<7xi1>) -> tensor<5x7xi1>
  return %0 : tensor<5x7xi1>
}

func.func @or(%x: tensor<5x7xi1> {test.range = array<i64: 0, 1>}, %y: tensor<7xi1> {test.range = array<i64: 0, 1>}) -> tensor<5x7xi1> {
  %0 = nn.or %x, %y : (tensor<5x7xi1>, tensor<7xi1>) -> tensor<5x7xi1>
  return %0 : tensor<5x7xi1>
}

func.func @xor(%x: tensor<5x7xi1> {test.range = array<i64: 0, 1>}, %y: tensor<7xi1> {test.range = array<i64: 0, 1>}) -> tensor<5x7xi1> {
  %0 = nn.xor %x, %y : (tensor<5x7xi1>, tensor<7xi1>) -> tensor<5x7xi1>
  return %0 : tensor<5x7xi1>
}

func.func @mod_false(%x: tensor<5x7xi64> {test.range = array<i64: -9, 9>}, %y: tensor<5x7xi64> {test.range = array<i64: 1, 5>}) -> tensor<5x7xi64> {
  %0 = nn.mod %x, %y {fmod = false} : (tensor<5x7xi64>, tensor<5x7xi64>) -> tensor<5x7xi64>
  return %0 : tensor<5x7xi64>
}

func.func @mod_true(%x: tensor<5x7xi64> {test.range = array<i64: -9, 9>}, %y: tensor<5x7xi64> {test.range = array<i64: 1, 5>}) -> tensor<5x7xi64> {
  %0 = nn.mod %x, %y {fmod = true} : (tensor<5x7xi64>, tensor<5x7xi64>) -> tensor<5x7xi64>
  return %0 : tensor<5x7xi64>
}

func.func @compare(%x: tensor<5x7xf32>, %y: tensor<5x1xf32>) -> tensor<5x7xi1> {
  %0 = nn.compare %x, %y {predicate = "lt"} : (tensor<5x7xf32>, tensor<5x1xf32>) -> tensor<5x7xi1>
  return %0 : tensor<5x7xi1>
}

func.func @select(%c: tensor<5x1xi1> {test.range = array<i64: 0, 1>}, %x: tensor<5x7xf32>, %y: tensor<7xf32>) -> tensor<5x7xf32> {
  %0 = nn.select %c, %x, %y : (tensor<5x1xi1>, tensor<5x7xf32>, tensor<7xf32>) -> tensor<5x7xf32>
  return %0 : tensor<5x7xf32>
}

func.func @tan(%x: tensor<5x7xf32> {test.range = array<i64: -1, 1>}) -> tensor<5x7xf32> {
  %0 = nn.tan %x : (tensor<5x7xf32>) -> tensor<5x7xf32>
  return %0 : tensor<5x7xf32>
}

func.func @asin(%x: tensor<5x7xf32> {test.range = array<i64: -1, 1>}) -> tensor<5x7xf32> {
  %0 = nn.asin %x : (tensor<5x7xf32>) -> tensor<5x7xf32>
  return %0 : tensor<5x7xf32>
}

func.func @acos(%x: tensor<5x7xf32> {test.range = array<i64: -1, 1>}) -> tensor<5x7xf32> {
  %0 = nn.acos %x : (tensor<5x7xf32>) -> tensor<5x7xf32>
  return %0 : tensor<5x7xf32>
}

func.func @atan(%x: tensor<5x7xf32>) -> tensor<5x7xf32> {
  %0 = nn.atan %x : (tensor<5x7xf32>) -> tensor<5x7xf32>
  return %0 : tensor<5x7xf32>
}

func.func @sinh(%x: tensor<5x7xf32>) -> tensor<5x7xf32> {
  %0 = nn.sinh %x : (tensor<5x7xf32>) -> tensor<5x7xf32>
  return %0 : tensor<5x7xf32>
}

func.func @cosh(%x: tensor<5x7xf32>) -> tensor<5x7xf32> {
  %0 = nn.cosh %x : (tensor<5x7xf32>) -> tensor<5x7xf32>
  return %0 : tensor<5x7xf32>
}

func.func @asinh(%x: tensor<5x7xf32>) -> tensor<5x7xf32> {
  %0 = nn.asinh %x : (tensor<5x7xf32>) -> tensor<5x7xf32>
  return %0 : tensor<5x7xf32>
}

func.func @acosh(%x: tensor<5x7xf32> {test.range = array<i64: 1, 4>}) -> tensor<5x7xf32> {
  %0 = nn.acosh %x : (tensor<5x7xf32>) -> tensor<5x7xf32>
  return %0 : tensor<5x7xf32>
}

func.func @atanh(%x: tensor<5x7xf32> {test.range = array<i64: -1, 1>}) -> tensor<5x7xf32> {
  %0 = nn.atanh %x : (tensor<5x7xf32>) -> tensor<5x7xf32>
  return %0 : tensor<5x7xf32>
}

func.func @shift_left(%x: tensor<5x7xi64> {test.range = array<i64: -99, 99>}, %y: tensor<7xi64> {test.range = array<i64: -1, 70>}) -> tensor<5x7xi64> {
  %0 = nn.shift %x, %y {left = true} : (tensor<5x7xi64>, tensor<7xi64>) -> tensor<5x7xi64>
  return %0 : tensor<5x7xi64>
}

func.func @shift_right(%x: tensor<5x7xi64> {test.range = array<i64: -99, 99>}, %y: tensor<7xi64> {test.range = array<i64: -1, 70>}) -> tensor<5x7xi64> {
  %0 = nn.shift %x, %y {left = false} : (tensor<5x7xi64>, tensor<7xi64>) -> tensor<5x7xi64>
  return %0 : tensor<5x7xi64>
}

func.func @not_bits(%x: tensor<5x7xi64> {test.range = array<i64: -99, 99>}) -> tensor<5x7xi64> {
  %0 = nn.not %x : (tensor<5x7xi64>) -> tensor<5x7xi64>
  return %0 : tensor<5x7xi64>
}
