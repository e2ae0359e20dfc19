// What the verifiers of nn.loop and nn.if refuse.
// RUN: divisi-opt %s --split-input-file --verify-diagnostics

// loop_c1: a body is no entry.
func.func @step(%i: tensor<i64>, %x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func @run(%n: tensor<i64>, %x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{names @step, expected a private function with a body}}
  %y = nn.loop @step(%n, %x) max 3 : (tensor<i64>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// loop_c1: there is none.
func.func @run(%n: tensor<i64>, %x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{names @step, expected a private function with a body}}
  %y = nn.loop @step(%n, %x) max 3 : (tensor<i64>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// loop_c2
// expected-note @+1 {{the function is here}}
func.func private @step(%i: tensor<i64>, %x: tensor<4xf64>) -> tensor<4xf64> {
  return %x : tensor<4xf64>
}
func.func @run(%n: tensor<i64>, %x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{gives @step values of types ('tensor<i64>', 'tensor<4xf32>'), expected ('tensor<i64>', 'tensor<4xf64>')}}
  %y = nn.loop @step(%n, %x) max 3 : (tensor<i64>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// loop_c3: what is carried.
func.func private @step(%i: tensor<i64>, %x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func @run(%n: tensor<i64>, %x: tensor<4xf32>) {
  // expected-error @+1 {{has results of types ('tensor<4xf64>'), expected those of the values that it carries}}
  %y = nn.loop @step(%n, %x) max 3 : (tensor<i64>, tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

// loop_c3: one at least.
// expected-note @+1 {{the function is here}}
func.func private @step(%i: tensor<i64>, %x: tensor<4xf32>) {
  return
}
func.func @run(%n: tensor<i64>, %x: tensor<4xf32>) {
  // expected-error @+1 {{has results of types (), but @step returns (), expected the same, and one at least}}
  nn.loop @step(%n, %x) max 3 : (tensor<i64>, tensor<4xf32>) -> ()
  return
}

// -----

// loop_c4
func.func private @step(%i: tensor<i64>, %x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func @run(%n: tensor<i64>, %x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{runs at most -1 times, expected 0 or more}}
  %y = nn.loop @step(%n, %x) max -1 : (tensor<i64>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// loop_c5: through another body.
func.func private @step(%i: tensor<i64>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %y = nn.loop @other(%i, %x) max 3 : (tensor<i64>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
func.func private @other(%i: tensor<i64>, %x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{runs @step, which runs itself}}
  %y = nn.loop @step(%i, %x) max 3 : (tensor<i64>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// if_c3
func.func private @up(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
// expected-note @+1 {{the function is here}}
func.func private @down(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  return %x, %x : tensor<4xf32>, tensor<4xf32>
}
func.func @run(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{has results of types ('tensor<4xf32>'), but @down returns ('tensor<4xf32>', 'tensor<4xf32>'), expected the same, and one at least}}
  %y = nn.if %c then @up else @down(%x) : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// A condition that is not one scalar, which all ranks have.
func.func private @up(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func @run(%c: tensor<4xi1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{operand #0 must be 0D tensor of 1-bit signless integer values, but got 'tensor<4xi1>'}}
  %y = nn.if %c then @up else @up(%x) : (tensor<4xi1>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
