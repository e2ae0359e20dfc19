// Modules that cannot be planned: the operator is named, then the module.
// RUN: divisi-opt %s --nn-plan="devices=2" --allow-unregistered-dialect --split-input-file --verify-diagnostics
// RUN: not divisi-opt %s --nn-plan="devices=2 solver=random" --allow-unregistered-dialect --split-input-file 2>&1 | FileCheck %s

// expected-error @below {{the module has 2 grids, and plans are searched on one; remove the strategies on the others}}
module {
  spmd.grid @g (x = 2)
  spmd.grid @h (y = 2) devices [2, 3]
  func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}

// -----

// CHECK: error: 'test.work' op cannot be planned
// CHECK: error: the module cannot be planned
// expected-error @below {{cannot be planned; expected an operator with loops (nn.LoopInterface)}}
module {
  func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
    // expected-error @below {{cannot be planned; expected an operator with loops (nn.LoopInterface)}}
    "test.work"() : () -> ()
    return %x : tensor<4xf32>
  }
}

// -----

// expected-error @below {{has an argument of type 'index', expected a tensor}}
module {
  // expected-error @below {{has an argument of type 'index', expected a tensor}}
  func.func @forward(%x: index) {
    return
  }
}

// -----

// What is partitioned already is not planned.
!local = tensor<2xf32, #spmd.local<(x=2), [x], 4>>
// expected-error @below {{has the type 'tensor<2xf32, #spmd.local<(x=2), [x], 4>>', expected a global tensor}}
module {
  // expected-error @below {{has the type 'tensor<2xf32, #spmd.local<(x=2), [x], 4>>', expected a global tensor}}
  func.func @forward(%x: !local) -> !local {
    %0 = nn.add %x, %x : (!local, !local) -> !local
    return %0 : !local
  }
}

// -----

// Nor is a global of which a part is stored.
// expected-error @below {{has the type 'tensor<2xf32, #spmd.local<(x=2), [x], 4>>', expected a global tensor}}
module {
  // expected-error @below {{has the type 'tensor<2xf32, #spmd.local<(x=2), [x], 4>>', expected a global tensor}}
  nn.global @w parameter : tensor<2xf32, #spmd.local<(x=2), [x], 4>> from "x" [0, 16]
  func.func @forward(%x: tensor<2xf32>) -> tensor<2xf32> {
    return %x : tensor<2xf32>
  }
}
