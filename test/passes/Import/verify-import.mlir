// RUN: divisi-opt %s --split-input-file --verify-diagnostics --verify-import

// expected-error@+1 {{argument 0 has no nn.name}}
func.func @unnamed_argument(%x: tensor<4xf32>) {
  return
}

// -----

// expected-error@+1 {{result 0 has no nn.name}}
func.func @unnamed_result(%x: tensor<4xf32> {nn.name = "x"}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error@+1 {{takes arguments or gives results}}
func.func @init(%x: tensor<4xf32> {nn.name = "x"}) {
  return
}

// -----

// expected-error@+1 {{has no body of one block}}
func.func private @external()

// -----

// expected-error@+1 {{is derived and updated 0 times in @init, expected once}}
nn.global @d derived : tensor<4xf32>

// -----

func.func @local(%x: tensor<2x4xf32, #spmd.local<(x=2), [x, *], 4x4>> {nn.name = "x"}) {
  // expected-error@+1 {{expected a global tensor}}
  %0 = nn.neg %x : (tensor<2x4xf32, #spmd.local<(x=2), [x, *], 4x4>>) -> tensor<2x4xf32, #spmd.local<(x=2), [x, *], 4x4>>
  return
}

// -----

func.func @foreign(%x: tensor<4xf32> {nn.name = "x"}) {
  // expected-error@+1 {{is not allowed after Import; only nn operators and a return are}}
  func.call @foreign(%x) : (tensor<4xf32>) -> ()
  return
}

// -----

nn.global @w parameter : tensor<4xf32>
// expected-error@+1 {{is not allowed after Import; a module holds globals and functions}}
module {}
