// A plan on two grids: the first layer on device 0 alone, the second over
// devices 1 to 3, the last operator on device 0 again. Every operator has a
// strategy, so nothing is left to plan.
spmd.grid @one (a = 1) devices [0]
spmd.grid @three (z = 3) devices [1, 2, 3]

nn.global @w1 parameter : tensor<12x16xf32> from "weights.bin" [0, 768]
    {spmd.place = #spmd.place<@one: [*, *]>}
nn.global @w2 parameter : tensor<16x6xf32> from "weights.bin" [768, 384]
    {spmd.place = #spmd.place<@three: [z, *]>}

func.func @forward(%x: tensor<8x12xf32> {nn.name = "x",
                       spmd.place = #spmd.place<@one: [*, *]>})
    -> (tensor<8x6xf32> {nn.name = "y",
            spmd.place = #spmd.place<@one: [*, *]>}) {
  %w1 = nn.read @w1 : tensor<12x16xf32>
  %w2 = nn.read @w2 : tensor<16x6xf32>
  %a = nn.matmul %x, %w1 {labels = "bi,ih->bh",
                          spmd.split = #spmd.split<@one>}
      : (tensor<8x12xf32>, tensor<12x16xf32>) -> tensor<8x16xf32>
  %h = nn.relu %a {spmd.split = #spmd.split<@three: d0@z>}
      : (tensor<8x16xf32>) -> tensor<8x16xf32>
  // Summed over the hidden loop: each device has a partial result.
  %y = nn.matmul %h, %w2 {labels = "bh,ho->bo",
                          spmd.split = #spmd.split<@three: h@z>}
      : (tensor<8x16xf32>, tensor<16x6xf32>) -> tensor<8x6xf32>
  %z = nn.neg %y {spmd.split = #spmd.split<@one>}
      : (tensor<8x6xf32>) -> tensor<8x6xf32>
  return %z : tensor<8x6xf32>
}
