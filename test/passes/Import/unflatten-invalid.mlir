// RUN: divisi-opt %s --split-input-file --nn-unflatten --verify-diagnostics

// expected-error @+1 {{'func.func' op has several blocks, expected one list of operators}}
func.func @blocks(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  return %x : tensor<2x3xf32>
^bb1:
  return %x : tensor<2x3xf32>
}

// -----

module {
  // expected-error @+1 {{'builtin.module' op holds a region, expected a module of globals and functions}}
  module @inner {
  }
}

// -----

func.func @region() {
  // expected-error @+1 {{'builtin.module' op holds a region, expected operators alone}}
  builtin.module {
  }
  return
}
