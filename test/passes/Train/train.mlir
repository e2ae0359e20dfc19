// A step is made of what a note on the module says: here of a linear layer, by
// plain gradient descent.
// RUN: divisi-opt %s --divisi-train | FileCheck %s

// CHECK: module {
module attributes {divisi.train = {
    loss = "mse", loss_of = "", labels = "t", shift_labels = false,
    ignore_index = -100 : i64, label_smoothing = 0.0 : f64, optimizer = "sgd",
    rate = 0.5 : f64, momentum = 0.0 : f64, nesterov = false,
    beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64,
    weight_decay = 0.0 : f64, schedule = "constant", warmup = 0 : i64,
    steps = 0 : i64, micro_batches = 1 : i64, loss_scale = 0.0 : f64,
    skip_nonfinite = false, pipeline = false, clip_norm = 0.0 : f64, no_decay = []}} {

// CHECK: nn.global @w parameter
// CHECK-NEXT: nn.global @b parameter
// CHECK-NOT: nn.global
nn.global @w parameter : tensor<3x4xf32> {nn.trained}
nn.global @b parameter : tensor<4xf32>

// CHECK: func.func @train_step(%[[X:.*]]: tensor<2x3xf32> {nn.name = "x"}, %[[T:.*]]: tensor<2x4xf32> {nn.name = "t"})
// CHECK-SAME: -> (tensor<f32> {nn.name = "loss"})
// CHECK-DAG: %[[W:.*]] = nn.read @w
// CHECK-DAG: %[[B:.*]] = nn.read @b
// CHECK: %[[H:.*]] = nn.matmul %[[X]], %[[W]]
// CHECK: %[[Y:.*]] = nn.add %[[H]], %[[B]]
// CHECK-DAG: %[[COUNT:.*]] = nn.constant dense<8.000000e+00>
// CHECK-DAG: %[[D:.*]] = nn.sub %[[Y]], %[[T]]
// CHECK: %[[Q:.*]] = nn.mul %[[D]], %[[D]]
// CHECK: %[[S:.*]] = nn.reduce %[[Q]]
// CHECK: %[[LOSS:.*]] = nn.div %[[S]], %[[COUNT]]
// CHECK: %[[TWO:.*]] = nn.constant dense<2.000000e+00>
// CHECK: %[[E:.*]] = nn.mul %[[D]], %[[TWO]]
// CHECK: %[[DY:.*]] = nn.div %[[E]], %[[COUNT]]
// CHECK: %[[DW:.*]] = nn.matmul %[[X]], %[[DY]] {labels = "bi,bo->io"}
// CHECK: %[[RATE:.*]] = nn.constant dense<5.000000e-01>
// CHECK: %[[STEP:.*]] = nn.mul %[[DW]], %[[RATE]]
// CHECK: %[[NEW:.*]] = nn.sub %[[W]], %[[STEP]]
// CHECK: nn.update @w, %[[NEW]]
// CHECK: return %[[LOSS]]
func.func @forward(%x: tensor<2x3xf32> {nn.name = "x"})
    -> (tensor<2x4xf32> {nn.name = "y"}) {
  %w = nn.read @w : tensor<3x4xf32>
  %b = nn.read @b : tensor<4xf32>
  %0 = nn.matmul %x, %w {labels = "bi,io->bo"}
      : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %y = nn.add %0, %b : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}
}
