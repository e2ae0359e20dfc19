// Sums over the features before, in and behind a loop, whose body is entered
// with what the first has left.
spmd.grid @g (x = 2)
nn.global @w state : tensor<8x8xf32> zero {spmd.place = #spmd.place<@g: [x, *]>}
func.func private @step(%i: tensor<i64>, %h: tensor<4x8xf32>, %c: tensor<4x8xf32>)
    -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %w = nn.read @w : tensor<8x8xf32>
  %0 = nn.matmul %h, %w {labels = "mk,kn->mn", spmd.split = #spmd.split<@g: k@x>}
      : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = nn.tanh %0 {spmd.split = #spmd.split<@g: d1@x>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = nn.add %1, %c {spmd.split = #spmd.split<@g: d1@x>}
      : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %1, %2 : tensor<4x8xf32>, tensor<4x8xf32>
}
func.func @run(%n: tensor<i64> {nn.name = "n"}, %x: tensor<4x8xf32> {nn.name = "x"})
    -> (tensor<4x8xf32> {nn.name = "y"}, tensor<4xf32> {nn.name = "z"}) {
  %w = nn.read @w : tensor<8x8xf32>
  %0 = nn.matmul %x, %w {labels = "mk,kn->mn", spmd.split = #spmd.split<@g: k@x>}
      : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = nn.relu %0 {spmd.split = #spmd.split<@g: d1@x>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %h, %c = nn.loop @step(%n, %1, %x) max 9
      : (tensor<i64>, tensor<4x8xf32>, tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
  %2 = nn.matmul %h, %w {labels = "mk,kn->mn", spmd.split = #spmd.split<@g: k@x>}
      : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %3 = nn.exp %2 {spmd.split = #spmd.split<@g: d1@x>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %z = nn.reduce %c {kind = "sum", axes = array<i64: 1>, spmd.split = #spmd.split<@g: d1@x>}
      : (tensor<4x8xf32>) -> tensor<4xf32>
  return %3, %z : tensor<4x8xf32>, tensor<4xf32>
}
