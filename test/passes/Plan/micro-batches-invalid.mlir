// RUN: divisi-opt %s --write-micro-batches -split-input-file -verify-diagnostics

func.func @used(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {pipe.micro_batches = 2 : i64} {
  %0 = nn.neg %x {pipe.each} : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error @below {{uses as operand 0 what each micro-batch makes for itself: give it pipe.each, or its maker pipe.gives}}
  %1 = nn.neg %0 : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

func.func @joined(%x: tensor<4xf32>) -> tensor<12xf32>
    attributes {pipe.micro_batches = 2 : i64} {
  %0 = nn.neg %x {pipe.each} : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error @below {{joins 3 micro-batches, and there are 2}}
  %1 = nn.concat %0, %0, %0 {axis = 0 : i64, pipe.join} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<12xf32>
  return %1 : tensor<12xf32>
}

// -----

func.func @taken(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {pipe.micro_batches = 2 : i64} {
  // expected-error @below {{takes what no micro-batch gives (pipe.takes, number 7)}}
  %0 = nn.neg %x {pipe.each, pipe.takes = array<i64: 0, 7>} : (tensor<4xf32>) -> tensor<4xf32>
  return %x : tensor<4xf32>
}
