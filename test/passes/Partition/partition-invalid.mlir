// RUN: divisi-opt %s --spmd-partition --split-input-file --verify-diagnostics

spmd.grid @g (x = 2)
func.func @forward(%x: tensor<4xf32> {spmd.place = #spmd.place<@g: [x]>}) {
  // expected-error @+1 {{'nn.neg' op has no strategy; run the planner or annotate it with spmd.split}}
  %0 = nn.neg %x : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// expected-error @+1 {{argument 0 has no place; run the planner or annotate it with spmd.place}}
func.func @forward(%x: tensor<4xf32>) {
  return
}

// -----

spmd.grid @g (x = 2)
// expected-error @+1 {{result 0 has no place; run the planner or annotate it with spmd.place}}
func.func @forward(%x: tensor<4xf32> {spmd.place = #spmd.place<@g: [x]>}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{the global has no place; run the planner or annotate it with spmd.place}}
nn.global @w parameter : tensor<4xf32>
func.func @forward() {
  %0 = nn.read @w : tensor<4xf32>
  return
}

// -----

func.func @forward() {
  // expected-error @+1 {{'func.call' op states no loops, so it cannot be partitioned; expected operators of 'nn' in entry functions}}
  call @forward() : () -> ()
  return
}

// -----

// expected-error @+1 {{has several blocks; expected a dataflow graph}}
func.func @forward() {
  "func.return"() : () -> ()
^bb1:
  return
}
