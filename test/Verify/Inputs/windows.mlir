// Slices, pads and factored dimensions over two axes, with bounds given by hand
// and a minimum that is combined over one axis at a time.
spmd.grid @g (x = 2, y = 2)

func.func @forward(
    %a: tensor<12x5xf32> {spmd.place = #spmd.place<@g: [x.y, *]>},
    %b: tensor<9x5xf32> {spmd.place = #spmd.place<@g: [y{0:6, 6:9}, *]>})
    -> (tensor<3x4x5xf32> {spmd.place = #spmd.place<@g: [*, x, *]>},
        tensor<5xf32> {spmd.place = #spmd.place<@g: [y]>},
        tensor<11x5xf32> {spmd.place = #spmd.place<@g: [x, *]>}) {
  %r = nn.reshape %a {spmd.split = #spmd.split<@g>} : (tensor<12x5xf32>) -> tensor<3x4x5xf32>
  %e = nn.exp %r {spmd.split = #spmd.split<@g: d1@x.y>} : (tensor<3x4x5xf32>) -> tensor<3x4x5xf32>
  %s = nn.slice %b {starts = array<i64: 2, 0>, limits = array<i64: 8, 5>, steps = array<i64: 1, 1>,
      spmd.split = #spmd.split<@g: d0@y>} : (tensor<9x5xf32>) -> tensor<6x5xf32>
  %m = nn.reduce %s {kind = "min", axes = array<i64: 0>, spmd.split = #spmd.split<@g: d0@x.y>}
    : (tensor<6x5xf32>) -> tensor<5xf32>
  %p = nn.slice %a {starts = array<i64: 11, 0>, limits = array<i64: 0, 5>, steps = array<i64: -1, 1>,
      spmd.split = #spmd.split<@g: d0@x>} : (tensor<12x5xf32>) -> tensor<11x5xf32>
  return %e, %m, %p : tensor<3x4x5xf32>, tensor<5xf32>, tensor<11x5xf32>
}
