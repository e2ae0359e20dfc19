// Two stages on devices of their own, and a last operator on all of them.
spmd.grid @a (x = 2)
spmd.grid @b (z = 3) devices [2, 3, 4]
spmd.grid @all (d = 5)

func.func @forward(
    %x: tensor<6x4xf32> {spmd.place = #spmd.place<@a: [x, *]>},
    %w: tensor<4x5xf32> {spmd.place = #spmd.place<@a: [*, *]>},
    %v: tensor<5x4xf32> {spmd.place = #spmd.place<@b: [z, *]>})
    -> (tensor<6x4xf32> {spmd.place = #spmd.place<@all: [d, *]>},
        tensor<6x5xf32> {spmd.place = #spmd.place<@a: [*, *]>}) {
  %h = nn.matmul %x, %w {labels = "mk,kn->mn", spmd.split = #spmd.split<@a: k@x>}
    : (tensor<6x4xf32>, tensor<4x5xf32>) -> tensor<6x5xf32>
  %r = nn.relu %h {spmd.split = #spmd.split<@a: d1@x>} : (tensor<6x5xf32>) -> tensor<6x5xf32>
  %y = nn.matmul %r, %v {labels = "mk,kn->mn", spmd.split = #spmd.split<@b: k@z>}
    : (tensor<6x5xf32>, tensor<5x4xf32>) -> tensor<6x4xf32>
  %t = nn.exp %y {spmd.split = #spmd.split<@all: d0@d>} : (tensor<6x4xf32>) -> tensor<6x4xf32>
  return %t, %r : tensor<6x4xf32>, tensor<6x5xf32>
}
