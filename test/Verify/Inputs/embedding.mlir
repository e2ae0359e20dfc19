// A table whose rows lie unevenly over three of six devices, looked up by ids
// that the batch splits; then rows become columns.
spmd.grid @g (b = 2, v = 3)

func.func @forward(
    %table: tensor<10x6xf32> {spmd.place = #spmd.place<@g: [v, *]>},
    %ids: tensor<8xi64> {spmd.place = #spmd.place<@g: [b]>, test.range = array<i64: 0, 9>})
    -> (tensor<8x6xf32> {spmd.place = #spmd.place<@g: [*, v]>},
        tensor<8xf32> {spmd.place = #spmd.place<@g: [b]>}) {
  %e = nn.gather %table, %ids {axis = 0, batch_dims = 0, spmd.split = #spmd.split<@g: d0@b, v@v>}
    : (tensor<10x6xf32>, tensor<8xi64>) -> tensor<8x6xf32>
  %f = nn.neg %e {spmd.split = #spmd.split<@g: d0@b, carry sum@v>} : (tensor<8x6xf32>) -> tensor<8x6xf32>
  %s = nn.reduce %f {kind = "sum", axes = array<i64: 1>, spmd.split = #spmd.split<@g: d0@b, d1@v>}
    : (tensor<8x6xf32>) -> tensor<8xf32>
  return %f, %s : tensor<8x6xf32>, tensor<8xf32>
}
