// Gradients of several micro-batches are summed up before they are rounded: what
// a product or a reduction has in f32 is cast once, behind the loop.
// RUN: divisi-opt %s --divisi-train | FileCheck %s

// CHECK: module {
module attributes {divisi.train = {
    loss = "mse", loss_of = "", labels = "t", shift_labels = false,
    ignore_index = -100 : i64, label_smoothing = 0.0 : f64, optimizer = "sgd",
    rate = 0.5 : f64, momentum = 0.0 : f64, nesterov = false,
    beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64,
    weight_decay = 0.0 : f64, schedule = "constant", warmup = 0 : i64,
    steps = 0 : i64, micro_batches = 8 : i64, loss_scale = 0.0 : f64,
    skip_nonfinite = false, pipeline = true, clip_norm = 0.0 : f64, no_decay = []}} {

nn.global @w parameter : tensor<3x4xbf16> {nn.trained}
nn.global @b parameter : tensor<4xbf16> {nn.trained}

// CHECK-LABEL: func.func private @micro_batches
// CHECK-SAME: tensor<f32>, %[[W:.*]]: tensor<3x4xf32>, %[[B:.*]]: tensor<4xf32>
// CHECK: %[[DW:.*]] = nn.matmul {{.*}} -> tensor<3x4xf32>
// CHECK-NOT: nn.cast %[[DW]]
// CHECK-DAG: nn.add %[[W]], %[[DW]]
// CHECK-DAG: nn.add %[[B]], %{{.*}} : (tensor<4xf32>, tensor<4xf32>)
// CHECK-LABEL: func.func @train_step
// CHECK: %[[SUMS:.*]]:3 = nn.loop
// CHECK-DAG: nn.cast %[[SUMS]]#1 : (tensor<3x4xf32>) -> tensor<3x4xbf16>
// CHECK-DAG: nn.cast %[[SUMS]]#2 : (tensor<4xf32>) -> tensor<4xbf16>
func.func @forward(%x: tensor<2x3xbf16> {nn.name = "x"})
    -> (tensor<2x4xbf16> {nn.name = "y"}) {
  %w = nn.read @w : tensor<3x4xbf16>
  %b = nn.read @b : tensor<4xbf16>
  %0 = nn.matmul %x, %w {labels = "bi,io->bo"}
      : (tensor<2x3xbf16>, tensor<3x4xbf16>) -> tensor<2x4xf32>
  %1 = nn.cast %0 : (tensor<2x4xf32>) -> tensor<2x4xbf16>
  %y = nn.add %1, %b : (tensor<2x4xbf16>, tensor<4xbf16>) -> tensor<2x4xbf16>
  return %y : tensor<2x4xbf16>
}
}
