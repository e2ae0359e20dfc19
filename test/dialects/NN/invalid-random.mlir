// Random numbers that there are not.
// RUN: divisi-opt %s --split-input-file --verify-diagnostics

func.func @random_c1(%key: tensor<i64>) {
  // expected-error @+1 {{has elements of type 'f16', expected f32}}
  %0 = nn.random %key, %key {stream = 0} : (tensor<i64>, tensor<i64>)
      -> tensor<4xf16>
  return
}

// -----

func.func @random_c2(%key: tensor<i64>) {
  // expected-error @+1 {{'stream' is -1, expected 0 to 4294967295}}
  %0 = nn.random %key, %key {stream = -1} : (tensor<i64>, tensor<i64>)
      -> tensor<4xf32>
  return
}
