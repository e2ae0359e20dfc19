// What the planner refuses of bodies that are not isolated.
// RUN: divisi-opt %s --verify-plan --split-input-file --verify-diagnostics

func.func private @step(%i: tensor<i64>, %x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func @run(%n: tensor<i64>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = nn.loop @step(%n, %x) max 3 : (tensor<i64>, tensor<4xf32>) -> tensor<4xf32>
  // expected-error @+1 {{runs @step, which another loop runs, too; run isolate-bodies first}}
  %1 = nn.loop @step(%n, %0) max 3 : (tensor<i64>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

nn.global @w state : tensor<4xf32> zero
func.func private @step(%i: tensor<i64>, %x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{touches a global in a body, which is not possible; run isolate-bodies first}}
  %0 = nn.read @w : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @run(%n: tensor<i64>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = nn.loop @step(%n, %x) max 3 : (tensor<i64>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @+1 {{is private, and no loop of an entry runs it}}
func.func private @step(%i: tensor<i64>, %x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func @run(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
