// Rows of an image over three devices, unevenly: halos. Then channels split the
// result, and a maximum over rows is combined.
spmd.grid @g (x = 3)

func.func @forward(
    %a: tensor<1x2x10x4xf32> {spmd.place = #spmd.place<@g: [*, *, x, *]>},
    %w: tensor<3x2x3x3xf32> {spmd.place = #spmd.place<@g: [*, *, *, *]>})
    -> (tensor<1x3x10x4xf32> {spmd.place = #spmd.place<@g: [*, x, *, *]>},
        tensor<1x3x4xf32> {spmd.place = #spmd.place<@g: [*, *, *]>}) {
  %c = nn.conv %a, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
      pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>, groups = 1,
      spmd.split = #spmd.split<@g: o0@x>}
    : (tensor<1x2x10x4xf32>, tensor<3x2x3x3xf32>) -> tensor<1x3x10x4xf32>
  %m = nn.reduce %c {kind = "max", axes = array<i64: 2>, spmd.split = #spmd.split<@g: d2@x>}
    : (tensor<1x3x10x4xf32>) -> tensor<1x3x4xf32>
  return %c, %m : tensor<1x3x10x4xf32>, tensor<1x3x4xf32>
}
