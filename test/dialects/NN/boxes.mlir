// On a box an operator keeps its attributes, and is verified and states its
// loops as the operator on the whole tensor.
// RUN: divisi-opt %s | FileCheck %s --check-prefix=IR
// RUN: divisi-opt %s --canonicalize | FileCheck %s --check-prefix=IR
// RUN: divisi-opt %s --nn-print-loops -o /dev/null \
// RUN:   | FileCheck %s --check-prefix=LOOPS

// Two positions hold two rows each.
!rows = tensor<2x8xf32, #spmd.local<(x=2), [x, *], 4x8>>
!sliced = tensor<2x5xf32, #spmd.local<(x=2), [x, *], 4x5>>

// IR-LABEL: @boxes
func.func @boxes(%x: !rows) -> (!sliced, !rows) {
  // IR: nn.slice %{{.*}} {limits = array<i64: 4, 8>, starts = array<i64: 0, 3>
  // LOOPS: nn.slice d0=4 d1=5 0 flops
  // LOOPS-NEXT: in  (d0)(d1*1+[0,0]--3)
  %0 = nn.slice %x {starts = array<i64: 0, 3>, limits = array<i64: 4, 8>,
      steps = array<i64: 1, 1>} : (!rows) -> !sliced
  // IR: nn.constant dense<1.000000e+00> : tensor<4x8xf32> -> tensor<2x8xf32, #spmd.local<(x=2), [x, *], 4x8>>
  // LOOPS: nn.constant d0=4 d1=8
  %1 = nn.constant dense<1.0> : tensor<4x8xf32> -> !rows
  // IR: nn.add
  // LOOPS: nn.add d0=4 d1=8 32 flops
  %2 = nn.add %x, %1 : (!rows, !rows) -> !rows
  return %0, %2 : !sliced, !rows
}
