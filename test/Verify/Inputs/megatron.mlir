// A pair of matrices split by columns, then by rows, over tensor parallel x and
// data parallel y. The bias joins the partial sum.
spmd.grid @g (y = 2, x = 2)

func.func @forward(
    %a: tensor<6x4xf32> {spmd.place = #spmd.place<@g: [y, *]>},
    %w1: tensor<4x8xf32> {spmd.place = #spmd.place<@g: [*, x]>},
    %w2: tensor<8x4xf32> {spmd.place = #spmd.place<@g: [x, *]>},
    %bias: tensor<6x4xf32> {spmd.place = #spmd.place<@g: [y, *]>})
    -> (tensor<6x4xf32> {spmd.place = #spmd.place<@g: [y.x, *]>},
        tensor<6x4xf32> {spmd.place = #spmd.place<@g: [y, *]>}) {
  %h = nn.matmul %a, %w1 {labels = "mk,kn->mn", spmd.split = #spmd.split<@g: m@y, n@x>}
    : (tensor<6x4xf32>, tensor<4x8xf32>) -> tensor<6x8xf32>
  %r = nn.relu %h {spmd.split = #spmd.split<@g: d0@y, d1@x>} : (tensor<6x8xf32>) -> tensor<6x8xf32>
  %s = nn.matmul %r, %w2 {labels = "mk,kn->mn", spmd.split = #spmd.split<@g: m@y, k@x>}
    : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  %t = nn.add %s, %bias {spmd.split = #spmd.split<@g: d0@y, carry sum@x>}
    : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
  %u = nn.exp %t {spmd.split = #spmd.split<@g: d0@y>} : (tensor<6x4xf32>) -> tensor<6x4xf32>
  return %t, %u : tensor<6x4xf32>, tensor<6x4xf32>
}
