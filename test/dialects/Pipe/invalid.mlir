// RUN: divisi-opt %s -split-input-file -verify-diagnostics

// expected-error @below {{pipe.schedule: expected a name (a string), micro_batches (an i64 of at least 1), stages (array<i64: ...>, one per chunk) and an order (a list of strings, one per stage)}}
func.func @f() attributes {pipe.schedule = {name = "1f1b"}} {
  return
}

// -----

// expected-error @below {{pipe.schedule: 'G0' is no step: expected one as 1.F2}}
func.func @f() attributes {pipe.schedule = {
    name = "stream", micro_batches = 1 : i64, stages = array<i64: 0>,
    order = ["G0"]}} {
  return
}

// -----

// expected-error @below {{pipe.schedule: chunk 1 is on stage 2 of 2}}
func.func @f() attributes {pipe.schedule = {
    name = "stream", micro_batches = 1 : i64, stages = array<i64: 0, 2>,
    order = ["0.F0", "1.F0"]}} {
  return
}

// -----

// expected-error @below {{pipe.schedule: stage 0 has no step 1.F0}}
func.func @f() attributes {pipe.schedule = {
    name = "stream", micro_batches = 1 : i64, stages = array<i64: 0, 1>,
    order = ["0.F0 1.F0", ""]}} {
  return
}

// -----

// expected-error @below {{pipe.schedule: steps wait for each other: }}
func.func @f() attributes {pipe.schedule = {
    name = "mine", micro_batches = 1 : i64, stages = array<i64: 0, 1>,
    order = ["0.B0 0.F0", "1.F0 1.B0"]}} {
  return
}

// -----

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{pipe.step: expected a step of phase F, I or W as "1.F2", got "0.B1"}}
  %0 = nn.relu %x {pipe.step = "0.B1"} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{unknown attribute 'pipe.stage', expected pipe.step, pipe.schedule, pipe.micro_batches, pipe.each, pipe.takes, pipe.gives or pipe.join}}
  %0 = nn.relu %x {pipe.stage = 1} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{pipe.schedule: expected on a function}}
  %0 = nn.relu %x {pipe.schedule = {}} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @below {{pipe.micro_batches: expected an i64 from 1 to 1048576 on a function, got 0 : i64}}
func.func @f() attributes {pipe.micro_batches = 0 : i64} {
  return
}

// -----

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{pipe.takes: expected pairs of an index below 1 and a number (array<i64: ...>), got array<i64: 1, 0>}}
  %0 = nn.neg %x {pipe.takes = array<i64: 1, 0>} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{pipe.each: expected no value, got 1 : i64}}
  %0 = nn.neg %x {pipe.each = 1} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
