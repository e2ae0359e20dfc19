// RUN: divisi-opt %s --isolate-bodies --fold-micro-batches -verify-diagnostics

func.func private @step(%i: tensor<i64>, %sum: tensor<4xf32>, %s: tensor<4xf32>)
    -> tensor<4xf32> attributes {nn.micro_batches} {
  %0 = nn.neg %s : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @train_step(%a: tensor<4xf32>) -> tensor<4xf32> {
  %n = nn.constant dense<3> : tensor<i64>
  // expected-error @below {{runs micro-batches (@step), and what they carry as result 0 depends on none of them: leave out --pipeline-parallel-size, or --micro-batches}}
  %0 = nn.loop @step(%n, %a, %a) max 3
      : (tensor<i64>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
