// RUN: divisi-opt %s --isolate-bodies --split-input-file --verify-diagnostics | FileCheck %s

// A global that the innermost body reads is given to it from the entry.
// CHECK-LABEL: func.func private @inner(
// CHECK-SAME: %{{.*}}: tensor<i64>, %[[X:.*]]: tensor<4xf32>, %[[W:.*]]: tensor<4xf32>)
// CHECK-NEXT: nn.mul %[[X]], %[[W]]
// CHECK-LABEL: func.func private @outer(
// CHECK-SAME: %[[I:.*]]: tensor<i64>, %[[X:.*]]: tensor<4xf32>, %[[W:.*]]: tensor<4xf32>)
// CHECK: nn.loop @inner(%[[I]], %[[X]], %[[W]]) max 9
// CHECK-LABEL: func.func @run
// CHECK: %[[W:.*]] = nn.read @w
// CHECK: nn.loop @outer(%{{.*}}, %{{.*}}, %[[W]]) max 3
nn.global @w parameter : tensor<4xf32>
func.func private @inner(%i: tensor<i64>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %w = nn.read @w : tensor<4xf32>
  %0 = nn.mul %x, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @outer(%i: tensor<i64>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = nn.loop @inner(%i, %x) max 9 : (tensor<i64>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @run(%n: tensor<i64>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = nn.loop @outer(%n, %x) max 3 : (tensor<i64>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Two loops have two bodies, and nobody has the third.
// CHECK-LABEL: func.func private @step
// CHECK-LABEL: func.func private @step_copy
// CHECK-NOT: func.func private
// CHECK-LABEL: func.func @run
// CHECK: %[[Y:.*]] = nn.loop @step(
// CHECK: nn.loop @step_copy(%{{.*}}, %[[Y]])
func.func private @step(%i: tensor<i64>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = nn.neg %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @unused(%i: tensor<i64>, %x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func @run(%n: tensor<i64>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = nn.loop @step(%n, %x) max 3 : (tensor<i64>, tensor<4xf32>) -> tensor<4xf32>
  %1 = nn.loop @step(%n, %0) max 3 : (tensor<i64>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// Either branch runs once or not at all.
// CHECK-LABEL: func.func private @up_if(
// CHECK-SAME: tensor<i64>, %{{.*}}: tensor<4xf32>, %[[X:.*]]: tensor<4xf32>)
// CHECK-NEXT: nn.exp %[[X]]
// CHECK-LABEL: func.func private @down_if(
// CHECK-LABEL: func.func @run(
// CHECK-SAME: %[[C:.*]]: tensor<i1>, %[[X:.*]]: tensor<4xf32>)
// CHECK: %[[NOT:.*]] = nn.not %[[C]]
// CHECK: %[[ZERO:.*]] = nn.broadcast
// CHECK: %[[ONCE:.*]] = nn.cast %[[C]]
// CHECK: %[[UP:.*]] = nn.loop @up_if(%[[ONCE]], %[[ZERO]], %[[X]]) max 1
// CHECK: %[[ELSE:.*]] = nn.cast %[[NOT]]
// CHECK: %[[Y:.*]] = nn.loop @down_if(%[[ELSE]], %[[UP]], %[[X]]) max 1
// CHECK: return %[[Y]]
func.func private @up(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = nn.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @down(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = nn.neg %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @run(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %y = nn.if %c then @up else @down(%x) : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

nn.global @w state : tensor<4xf32> zero
func.func private @step(%i: tensor<i64>, %x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{updates a global in a body; return the value, and update the global with the loop's result}}
  nn.update @w, %x : tensor<4xf32>
  return %x : tensor<4xf32>
}
func.func @run(%n: tensor<i64>, %x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-note @+1 {{the loop is here}}
  %0 = nn.loop @step(%n, %x) max 3 : (tensor<i64>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
