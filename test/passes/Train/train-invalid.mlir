// Steps that cannot be made.
// RUN: divisi-opt %s --nn-train --split-input-file --verify-diagnostics

// Integers change by steps.
module attributes {divisi.train = {
    loss = "mse", loss_of = "", labels = "t", shift_labels = false,
    ignore_index = -100 : i64, label_smoothing = 0.0 : f64, optimizer = "sgd",
    rate = 0.5 : f64, momentum = 0.0 : f64, nesterov = false,
    beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64,
    weight_decay = 0.0 : f64, schedule = "constant", warmup = 0 : i64,
    steps = 0 : i64, micro_batches = 1 : i64, loss_scale = 0.0 : f64,
    skip_nonfinite = false, pipeline = false, clip_norm = 0.0 : f64, no_decay = []}} {
nn.global @w parameter : tensor<2xf32> {nn.trained}
// expected-error @+1 {{has an output of type 'tensor<2xi64>', expected floats to train by; --loss-of names the output}}
func.func @integers() -> (tensor<2xi64> {nn.name = "y"}) {
  %w = nn.read @w : tensor<2xf32>
  %y = nn.cast %w : (tensor<2xf32>) -> tensor<2xi64>
  return %y : tensor<2xi64>
}
}

// -----

// One number has no classes.
module attributes {divisi.train = {
    loss = "cross_entropy", loss_of = "", labels = "t", shift_labels = false,
    ignore_index = -100 : i64, label_smoothing = 0.0 : f64, optimizer = "sgd",
    rate = 0.5 : f64, momentum = 0.0 : f64, nesterov = false,
    beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64,
    weight_decay = 0.0 : f64, schedule = "constant", warmup = 0 : i64,
    steps = 0 : i64, micro_batches = 1 : i64, loss_scale = 0.0 : f64,
    skip_nonfinite = false, pipeline = false, clip_norm = 0.0 : f64, no_decay = []}} {
nn.global @w parameter : tensor<f32> {nn.trained}
// expected-error @+1 {{has an output of type 'tensor<f32>', expected classes in its last dim}}
func.func @no_classes() -> (tensor<f32> {nn.name = "y"}) {
  %w = nn.read @w : tensor<f32>
  return %w : tensor<f32>
}
}

// -----

// Classes of one position have no batch.
module attributes {divisi.train = {
    loss = "cross_entropy", loss_of = "", labels = "t", shift_labels = false,
    ignore_index = -100 : i64, label_smoothing = 0.0 : f64, optimizer = "sgd",
    rate = 0.5 : f64, momentum = 0.0 : f64, nesterov = false,
    beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64,
    weight_decay = 0.0 : f64, schedule = "constant", warmup = 0 : i64,
    steps = 0 : i64, micro_batches = 2 : i64, loss_scale = 0.0 : f64,
    skip_nonfinite = false, pipeline = false, clip_norm = 0.0 : f64, no_decay = []}} {
nn.global @w parameter : tensor<4xf32> {nn.trained}
// expected-error @+1 {{has an output of type 'tensor<4xf32>', which has no batch to take several of in a step}}
func.func @no_batch() -> (tensor<4xf32> {nn.name = "y"}) {
  %w = nn.read @w : tensor<4xf32>
  return %w : tensor<4xf32>
}
}

// -----

// What is marked is not what the loss depends on.
module attributes {divisi.train = {
    loss = "mse", loss_of = "", labels = "t", shift_labels = false,
    ignore_index = -100 : i64, label_smoothing = 0.0 : f64, optimizer = "sgd",
    rate = 0.5 : f64, momentum = 0.0 : f64, nesterov = false,
    beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64,
    weight_decay = 0.0 : f64, schedule = "constant", warmup = 0 : i64,
    steps = 0 : i64, micro_batches = 1 : i64, loss_scale = 0.0 : f64,
    skip_nonfinite = false, pipeline = false, clip_norm = 0.0 : f64, no_decay = []}} {
nn.global @w parameter : tensor<2xf32> {nn.trained}
// expected-error @+1 {{has no weight that its loss depends on}}
func.func @independent(%x: tensor<2xf32> {nn.name = "x"})
    -> (tensor<2xf32> {nn.name = "y"}) {
  return %x : tensor<2xf32>
}
}

// -----

// There is nothing to train by.
module attributes {divisi.train = {
    loss = "mse", loss_of = "", labels = "t", shift_labels = false,
    ignore_index = -100 : i64, label_smoothing = 0.0 : f64, optimizer = "sgd",
    rate = 0.5 : f64, momentum = 0.0 : f64, nesterov = false,
    beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64,
    weight_decay = 0.0 : f64, schedule = "constant", warmup = 0 : i64,
    steps = 0 : i64, micro_batches = 1 : i64, loss_scale = 0.0 : f64,
    skip_nonfinite = false, pipeline = false, clip_norm = 0.0 : f64, no_decay = []}} {
nn.global @w parameter : tensor<2xf32> {nn.trained}
// expected-error @+1 {{has no output to train by}}
func.func @no_output() {
  return
}
}

// -----

// A gradient would go through codes.
module attributes {divisi.train = {
    loss = "mse", loss_of = "", labels = "t", shift_labels = false,
    ignore_index = -100 : i64, label_smoothing = 0.0 : f64, optimizer = "sgd",
    rate = 0.5 : f64, momentum = 0.0 : f64, nesterov = false,
    beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64,
    weight_decay = 0.0 : f64, schedule = "constant", warmup = 0 : i64,
    steps = 0 : i64, micro_batches = 1 : i64, loss_scale = 0.0 : f64,
    skip_nonfinite = false, pipeline = false, clip_norm = 0.0 : f64, no_decay = []}} {
nn.global @s parameter : tensor<1xf32> {nn.trained}
func.func @codes() -> (tensor<2xf32> {nn.name = "y"}) {
  %s = nn.read @s : tensor<1xf32>
  %x = nn.constant dense<1> : tensor<2xi8>
  // expected-error @+1 {{is of a quantized model, whose codes do not change smoothly: train the model as it was before, or freeze all that comes before this}}
  %y = nn.dequantize %x, %s {axis = 0, block = 1} : (tensor<2xi8>, tensor<1xf32>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}
}

// -----

// A gradient would go through what has none.
module attributes {divisi.train = {
    loss = "mse", loss_of = "", labels = "t", shift_labels = false,
    ignore_index = -100 : i64, label_smoothing = 0.0 : f64, optimizer = "sgd",
    rate = 0.5 : f64, momentum = 0.0 : f64, nesterov = false,
    beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64,
    weight_decay = 0.0 : f64, schedule = "constant", warmup = 0 : i64,
    steps = 0 : i64, micro_batches = 1 : i64, loss_scale = 0.0 : f64,
    skip_nonfinite = false, pipeline = false, clip_norm = 0.0 : f64, no_decay = []}} {
nn.global @s parameter : tensor<2xf32> {nn.trained}
func.func private @half(%x: tensor<2xf32>) -> tensor<2xf32> {
  %half = nn.constant dense<0.5> : tensor<f32>
  %0 = nn.mul %x, %half : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
// A branch that isolate-bodies has not made loops of.
func.func @no_rule() -> (tensor<2xf32> {nn.name = "y"}) {
  %s = nn.read @s : tensor<2xf32>
  %c = nn.constant dense<true> : tensor<i1>
  // expected-error @+1 {{has no gradient, and what is trained depends on it: freeze all that comes before it, or write it with operators that have one}}
  %y = nn.if %c then @half else @half(%s) : (tensor<i1>, tensor<2xf32>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}
}

// -----

// A note without an entry.
// expected-error @+1 {{has no entry to train}}
module attributes {divisi.train = {
    loss = "mse", loss_of = "", labels = "t", shift_labels = false,
    ignore_index = -100 : i64, label_smoothing = 0.0 : f64, optimizer = "sgd",
    rate = 0.5 : f64, momentum = 0.0 : f64, nesterov = false,
    beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64,
    weight_decay = 0.0 : f64, schedule = "constant", warmup = 0 : i64,
    steps = 0 : i64, micro_batches = 1 : i64, loss_scale = 0.0 : f64,
    skip_nonfinite = false, pipeline = false, clip_norm = 0.0 : f64, no_decay = []}} {

}
