// Rules at places that a seed draws: equal seeds give equal programs.
// RUN: divisi-opt %s "--draw-rules=seed=2 steps=3" | FileCheck %s
// RUN: divisi-opt %s "--draw-rules=seed=2 steps=3" > %t.1
// RUN: divisi-opt %s "--draw-rules=seed=2 steps=3" > %t.2
// RUN: diff %t.1 %t.2
// RUN: divisi-opt %s "--draw-rules=seed=3 steps=3" > %t.3
// RUN: not diff %t.1 %t.3
// RUN: divisi-opt %s "--draw-rules=steps=0" | FileCheck %s --check-prefix=NONE
// RUN: not divisi-opt %s --draw-rules=class=any 2>&1 | FileCheck %s --check-prefix=CLASS

// CLASS: error: 'any' is no class of rules: bit-exact or reassociates

nn.global @v parameter : tensor<8x8xf32>
nn.global @w parameter : tensor<8x8xf32>

// CHECK-LABEL: func.func @sum
// CHECK: nn.add %{{.*}}, %{{.*}} : (tensor<8x8xf32>, tensor<8x8xf32>)
// CHECK-COUNT-1: nn.matmul
// NONE-COUNT-2: nn.matmul
func.func @sum(%x: tensor<4x8xf32> {nn.name = "x"})
    -> (tensor<4x8xf32> {nn.name = "y"}) {
  %v = nn.read @v : tensor<8x8xf32>
  %0 = nn.matmul %x, %v {labels = "mk,kn->mn"} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %w = nn.read @w : tensor<8x8xf32>
  %1 = nn.matmul %x, %w {labels = "mk,kn->mn"} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %2 = nn.add %0, %1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}
