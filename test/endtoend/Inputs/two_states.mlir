// Two states, each on a grid of its own: what becomes of one goes to the other
// and back, and both are updated. Every operator has a strategy.
spmd.grid @one (a = 1) devices [0]
spmd.grid @two (b = 2) devices [1, 2]

nn.global @m state : tensor<8x4xf32> zero
    {spmd.place = #spmd.place<@one: [*, *]>}
nn.global @n state : tensor<8x4xf32> zero
    {spmd.place = #spmd.place<@two: [b, *]>}

func.func @step(%x: tensor<8x4xf32> {nn.name = "x",
                    spmd.place = #spmd.place<@one: [*, *]>})
    -> (tensor<8x4xf32> {nn.name = "y",
            spmd.place = #spmd.place<@two: [b, *]>}) {
  %m = nn.read @m : tensor<8x4xf32>
  %n = nn.read @n : tensor<8x4xf32>
  %0 = nn.add %m, %x {spmd.split = #spmd.split<@one>}
      : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %1 = nn.exp %0 {spmd.split = #spmd.split<@one>}
      : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %2 = nn.add %n, %1 {spmd.split = #spmd.split<@two: d0@b>}
      : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %3 = nn.neg %2 {spmd.split = #spmd.split<@one>}
      : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %4 = nn.mul %3, %0 {spmd.split = #spmd.split<@one>}
      : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  nn.update @m, %4 : tensor<8x4xf32>
  nn.update @n, %2 : tensor<8x4xf32>
  return %2 : tensor<8x4xf32>
}
