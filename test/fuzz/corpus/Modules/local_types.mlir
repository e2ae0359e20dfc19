func.func @forward(%x: tensor<2xf32, #spmd.local<(x=2), [x], 4>>) -> tensor<2xf32, #spmd.local<(x=2), [x], 4>> {
  %0 = nn.add %x, %x : (tensor<2xf32, #spmd.local<(x=2), [x], 4>>, tensor<2xf32, #spmd.local<(x=2), [x], 4>>) -> tensor<2xf32, #spmd.local<(x=2), [x], 4>>
  return %0 : tensor<2xf32, #spmd.local<(x=2), [x], 4>>
}
