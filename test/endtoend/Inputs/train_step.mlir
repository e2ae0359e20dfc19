// One training step of a two-layer perceptron, written by hand: forward,
// backward, SGD with momentum 0.9 at rate 0.1. Weights and momentum lie split
// over all devices while nothing runs, as ZeRO keeps them. Everything else is
// left to the planner.
spmd.grid @g (x = 4)

nn.global @w1 parameter : tensor<12x16xf32> from "weights.bin" [0, 768]
    {spmd.place = #spmd.place<@g: [x, *]>}
nn.global @w2 parameter : tensor<16x6xf32> from "weights.bin" [768, 384]
    {spmd.place = #spmd.place<@g: [x, *]>}
nn.global @m1 state : tensor<12x16xf32> zero
    {spmd.place = #spmd.place<@g: [x, *]>}
nn.global @m2 state : tensor<16x6xf32> zero
    {spmd.place = #spmd.place<@g: [x, *]>}

func.func @train_step(%x: tensor<8x12xf32> {nn.name = "x"},
                      %t: tensor<8x6xf32> {nn.name = "t"})
    -> (tensor<f32> {nn.name = "loss"}) {
  %w1 = nn.read @w1 : tensor<12x16xf32>
  %w2 = nn.read @w2 : tensor<16x6xf32>
  %m1 = nn.read @m1 : tensor<12x16xf32>
  %m2 = nn.read @m2 : tensor<16x6xf32>
  %zero = nn.constant dense<0.0> : tensor<f32>
  %count = nn.constant dense<48.0> : tensor<f32>
  %two = nn.constant dense<2.0> : tensor<f32>
  %decay = nn.constant dense<0.9> : tensor<f32>
  %rate = nn.constant dense<0.1> : tensor<f32>

  // The loss: the mean of (relu(x w1) w2 - t)^2.
  %a = nn.matmul %x, %w1 {labels = "bi,ih->bh"}
      : (tensor<8x12xf32>, tensor<12x16xf32>) -> tensor<8x16xf32>
  %h = nn.relu %a : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %y = nn.matmul %h, %w2 {labels = "bh,ho->bo"}
      : (tensor<8x16xf32>, tensor<16x6xf32>) -> tensor<8x6xf32>
  %d = nn.sub %y, %t
      : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<8x6xf32>
  %q = nn.mul %d, %d
      : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<8x6xf32>
  %s = nn.reduce %q {kind = "sum", axes = array<i64: 0, 1>}
      : (tensor<8x6xf32>) -> tensor<f32>
  %loss = nn.div %s, %count
      : (tensor<f32>, tensor<f32>) -> tensor<f32>

  // Its gradients.
  %d2 = nn.mul %d, %two
      : (tensor<8x6xf32>, tensor<f32>) -> tensor<8x6xf32>
  %dy = nn.div %d2, %count
      : (tensor<8x6xf32>, tensor<f32>) -> tensor<8x6xf32>
  %dw2 = nn.matmul %h, %dy {labels = "bh,bo->ho"}
      : (tensor<8x16xf32>, tensor<8x6xf32>) -> tensor<16x6xf32>
  %dh = nn.matmul %dy, %w2 {labels = "bo,ho->bh"}
      : (tensor<8x6xf32>, tensor<16x6xf32>) -> tensor<8x16xf32>
  %on = nn.compare %a, %zero {predicate = "gt"}
      : (tensor<8x16xf32>, tensor<f32>) -> tensor<8x16xi1>
  %da = nn.select %on, %dh, %zero
      : (tensor<8x16xi1>, tensor<8x16xf32>, tensor<f32>) -> tensor<8x16xf32>
  %dw1 = nn.matmul %x, %da {labels = "bi,bh->ih"}
      : (tensor<8x12xf32>, tensor<8x16xf32>) -> tensor<12x16xf32>

  // m <- 0.9 m + dw; w <- w - 0.1 m
  %k1 = nn.mul %m1, %decay
      : (tensor<12x16xf32>, tensor<f32>) -> tensor<12x16xf32>
  %n1 = nn.add %k1, %dw1
      : (tensor<12x16xf32>, tensor<12x16xf32>) -> tensor<12x16xf32>
  %r1 = nn.mul %n1, %rate
      : (tensor<12x16xf32>, tensor<f32>) -> tensor<12x16xf32>
  %v1 = nn.sub %w1, %r1
      : (tensor<12x16xf32>, tensor<12x16xf32>) -> tensor<12x16xf32>
  %k2 = nn.mul %m2, %decay
      : (tensor<16x6xf32>, tensor<f32>) -> tensor<16x6xf32>
  %n2 = nn.add %k2, %dw2
      : (tensor<16x6xf32>, tensor<16x6xf32>) -> tensor<16x6xf32>
  %r2 = nn.mul %n2, %rate
      : (tensor<16x6xf32>, tensor<f32>) -> tensor<16x6xf32>
  %v2 = nn.sub %w2, %r2
      : (tensor<16x6xf32>, tensor<16x6xf32>) -> tensor<16x6xf32>
  nn.update @m1, %n1 : tensor<12x16xf32>
  nn.update @w1, %v1 : tensor<12x16xf32>
  nn.update @m2, %n2 : tensor<16x6xf32>
  nn.update @w2, %v2 : tensor<16x6xf32>
  return %loss : tensor<f32>
}
