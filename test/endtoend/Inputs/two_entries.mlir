// Two entry functions, for two batch sizes, over one set of weights.
nn.global @w1 parameter : tensor<12x16xf32> from "weights.bin" [0, 768]
nn.global @w2 parameter : tensor<16x6xf32> from "weights.bin" [768, 384]

func.func @batch2(%x: tensor<2x12xf32> {nn.name = "x"})
    -> (tensor<2x6xf32> {nn.name = "y"}) {
  %w1 = nn.read @w1 : tensor<12x16xf32>
  %w2 = nn.read @w2 : tensor<16x6xf32>
  %a = nn.matmul %x, %w1 {labels = "bi,ih->bh"}
      : (tensor<2x12xf32>, tensor<12x16xf32>) -> tensor<2x16xf32>
  %h = nn.relu %a : (tensor<2x16xf32>) -> tensor<2x16xf32>
  %y = nn.matmul %h, %w2 {labels = "bh,ho->bo"}
      : (tensor<2x16xf32>, tensor<16x6xf32>) -> tensor<2x6xf32>
  return %y : tensor<2x6xf32>
}

func.func @batch8(%x: tensor<8x12xf32> {nn.name = "x"})
    -> (tensor<8x6xf32> {nn.name = "y"}) {
  %w1 = nn.read @w1 : tensor<12x16xf32>
  %w2 = nn.read @w2 : tensor<16x6xf32>
  %a = nn.matmul %x, %w1 {labels = "bi,ih->bh"}
      : (tensor<8x12xf32>, tensor<12x16xf32>) -> tensor<8x16xf32>
  %h = nn.relu %a : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %y = nn.matmul %h, %w2 {labels = "bh,ho->bo"}
      : (tensor<8x16xf32>, tensor<16x6xf32>) -> tensor<8x6xf32>
  return %y : tensor<8x6xf32>
}
