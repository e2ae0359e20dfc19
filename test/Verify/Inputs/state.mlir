// Two states updated from a gradient whose summands lie over the batch axis:
// one at rest split, one replicated.
spmd.grid @g (x = 4)

nn.global @m state : tensor<6x3xf32> zero {spmd.place = #spmd.place<@g: [x, *]>}
nn.global @n state : tensor<6x3xf32> zero {spmd.place = #spmd.place<@g: [*, *]>}

func.func @forward(
    %x: tensor<7x6xf32> {spmd.place = #spmd.place<@g: [x, *]>},
    %d: tensor<7x3xf32> {spmd.place = #spmd.place<@g: [x, *]>})
    -> (tensor<f32> {spmd.place = #spmd.place<@g: []>}) {
  %m = nn.read @m : tensor<6x3xf32>
  %n = nn.read @n : tensor<6x3xf32>
  %g = nn.matmul %x, %d {labels = "bk,bn->kn", spmd.split = #spmd.split<@g: b@x>}
    : (tensor<7x6xf32>, tensor<7x3xf32>) -> tensor<6x3xf32>
  %m1 = nn.add %m, %g {spmd.split = #spmd.split<@g: d0@x>} : (tensor<6x3xf32>, tensor<6x3xf32>) -> tensor<6x3xf32>
  %n1 = nn.sub %n, %g {spmd.split = #spmd.split<@g>} : (tensor<6x3xf32>, tensor<6x3xf32>) -> tensor<6x3xf32>
  %p = nn.mul %m1, %n1 {spmd.split = #spmd.split<@g: d1@x>} : (tensor<6x3xf32>, tensor<6x3xf32>) -> tensor<6x3xf32>
  %s = nn.reduce %p {kind = "sum", axes = array<i64: 0, 1>, spmd.split = #spmd.split<@g: d1@x>}
    : (tensor<6x3xf32>) -> tensor<f32>
  nn.update @m, %m1 : tensor<6x3xf32>
  nn.update @n, %n1 : tensor<6x3xf32>
  return %s : tensor<f32>
}
