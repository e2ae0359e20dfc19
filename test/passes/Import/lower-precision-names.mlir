// RUN: divisi-opt %s --nn-lower-precision="precision=f16 keep-f32=h.1,gelu" | FileCheck %s --check-prefixes=CHECK,SCOPE
// RUN: divisi-opt %s --nn-lower-precision="precision=f16 keep-f32=@w?" | FileCheck %s --check-prefixes=CHECK,WEIGHT
// RUN: divisi-opt %s --nn-lower-precision="precision=f16 keep-f32=fc_*0?" | FileCheck %s --check-prefixes=CHECK,NODES
// RUN: divisi-opt %s --nn-lower-precision="precision=f16 keep-f32=y" | FileCheck %s --check-prefixes=CHECK,OUTPUT
// RUN: not divisi-opt %s --nn-lower-precision="precision=f16 keep-f32=h.3" 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not divisi-opt %s --nn-lower-precision="precision=f16 keep-f32=matmul,gelu" 2>&1 | FileCheck %s --check-prefix=NOTHING
// RUN: not divisi-opt %s --nn-lower-precision="precision=f8" 2>&1 | FileCheck %s --check-prefix=TYPE

// UNKNOWN: error: --keep-f32 names 'h.3', and there is nothing of that name; expected a node, a scope, an operator such as nn.matmul, a weight or an output, * and ? standing for any characters
// NOTHING: error: --precision f16 changes nothing: no operator computes in f32 that might compute in f16; leave it out, or let --keep-f32 name less
// TYPE: error: --precision 'f8': expected bf16 or f16

nn.global @w0 parameter : tensor<8x8xf32>
nn.global @weight parameter : tensor<8x8xf32>

// A weight stays f32 with the operators that compute with it, and what finishes
// their sums does.
// CHECK-LABEL: func @forward
// SCOPE: nn.matmul {{.*}} : (tensor<2x8xf16>, tensor<8x8xf16>)
// SCOPE: nn.gelu {{.*}} : (tensor<2x8xf32>)
// SCOPE: nn.matmul {{.*}} : (tensor<2x8xf32>, tensor<8x8xf32>)
// WEIGHT: nn.matmul {{.*}} : (tensor<2x8xf32>, tensor<8x8xf32>)
// WEIGHT: nn.gelu {{.*}} : (tensor<2x8xf32>)
// WEIGHT: nn.matmul {{.*}} : (tensor<2x8xf16>, tensor<8x8xf16>)
// NODES: nn.matmul {{.*}} : (tensor<2x8xf32>, tensor<8x8xf32>)
// NODES: nn.gelu {{.*}} : (tensor<2x8xf32>)
// NODES: nn.matmul {{.*}} : (tensor<2x8xf16>, tensor<8x8xf16>)
// OUTPUT: nn.matmul {{.*}} : (tensor<2x8xf16>, tensor<8x8xf16>)
// OUTPUT: nn.gelu {{.*}} : (tensor<2x8xf32>)
// OUTPUT: %[[Y:.*]] = nn.matmul {{.*}} : (tensor<2x8xf32>, tensor<8x8xf32>)
// OUTPUT: return %[[Y]]
func.func @forward(%x: tensor<2x8xf32>) -> (tensor<2x8xf32> {nn.name = "y"}) {
  %w = nn.read @w0 : tensor<8x8xf32>
  %v = nn.read @weight : tensor<8x8xf32>
  %0 = nn.matmul %x, %w {labels = "mk,kn->mn", nn.scope = "model.h.0.fc"} : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32> loc("fc_[0]")
  %1 = nn.gelu %0 {approximate = "none", nn.scope = "model.h.0"} : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %2 = nn.matmul %1, %v {labels = "mk,kn->mn", nn.scope = "model.h.1.fc"} : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32> loc("fc_[1]")
  return %2 : tensor<2x8xf32>
}
