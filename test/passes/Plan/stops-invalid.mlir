// Operators that are alike take a value the same way, or the plan would be
// another.
// RUN: not divisi-opt %s --nn-plan 2>&1 | FileCheck %s

// CHECK: error: 'nn.neg' op takes operand 0 through another stop than an equivalent operator; give both the same in spmd.stops
// CHECK: note: the other operator is here
spmd.grid @g (x = 2)
func.func @forward(%x: tensor<4xf32>) {
  %0 = nn.neg %x {spmd.stops = [#spmd.place<@g: [*]>]} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = nn.neg %x : (tensor<4xf32>) -> tensor<4xf32>
  return
}
