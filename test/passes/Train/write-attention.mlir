// Gradients of attention as products, which they have in common.
// RUN: divisi-opt %s --write-attention | FileCheck %s
// RUN: divisi-opt %s --write-attention=widest=7 | FileCheck %s --check-prefix=WIDE
// RUN: divisi-opt %s --write-attention=widest=8 | FileCheck %s --check-prefix=KEPT
// RUN: divisi-opt %s '--write-attention=widest=8 apart' | FileCheck %s --check-prefix=APART

// APART-COUNT-3: nn.attention_gradient {{.*}}nn.apart

// Rows of values have 8 elements, those of queries and keys 6.
// WIDE-LABEL: func.func @gradients
// WIDE-NOT: nn.attention_gradient
// WIDE-LABEL: func.func @sums
// WIDE: nn.attention_lse
// KEPT-LABEL: func.func @gradients
// KEPT-COUNT-2: nn.attention_gradient
// KEPT-NOT: nn.apart

// CHECK-LABEL: func.func @gradients
// CHECK-NOT: nn.attention
// CHECK: %[[Z:.*]] = nn.matmul {{.*}} {labels = "bhgsd,bhtd->bhgst"}
// CHECK: nn.select
// CHECK: %[[P:.*]] = nn.exp
// CHECK: nn.matmul %[[P]], {{.*}} {labels = "bhgst,bhgse->bhte"}
// CHECK-NOT: nn.exp
// CHECK: nn.matmul {{.*}} {labels = "bhgse,bhte->bhgst"}
// CHECK: nn.matmul {{.*}} {labels = "bhgst,bhgsd->bhtd"}
// CHECK-NOT: nn.matmul
func.func @gradients(%q: tensor<1x4x5x6xf32>, %k: tensor<1x2x7x6xf32>,
    %v: tensor<1x2x7x8xf32>, %dy: tensor<1x4x5x8xf32>, %lse: tensor<1x4x5xf32>,
    %delta: tensor<1x4x5xf32>) -> (tensor<1x2x7x8xf32>, tensor<1x2x7x6xf32>) {
  %0 = nn.attention_gradient %q, %k, %v, %dy, %lse, %delta {of = "v",
      scale = 0.5 : f64, softcap = 0.0 : f64, left = -1, right = 0, offset = 0}
      : (tensor<1x4x5x6xf32>, tensor<1x2x7x6xf32>, tensor<1x2x7x8xf32>,
      tensor<1x4x5x8xf32>, tensor<1x4x5xf32>, tensor<1x4x5xf32>)
      -> tensor<1x2x7x8xf32>
  %1 = nn.attention_gradient %q, %k, %v, %dy, %lse, %delta {of = "k",
      scale = 0.5 : f64, softcap = 0.0 : f64, left = -1, right = 0, offset = 0}
      : (tensor<1x4x5x6xf32>, tensor<1x2x7x6xf32>, tensor<1x2x7x8xf32>,
      tensor<1x4x5x8xf32>, tensor<1x4x5xf32>, tensor<1x4x5xf32>)
      -> tensor<1x2x7x6xf32>
  return %0, %1 : tensor<1x2x7x8xf32>, tensor<1x2x7x6xf32>
}

// The largest is subtracted before.
// CHECK-LABEL: func.func @sums
// CHECK-NOT: nn.attention
// CHECK: nn.reduce {{.*}} kind = "max"
// CHECK: nn.exp
// CHECK: nn.log
func.func @sums(%q: tensor<1x4x5x6xbf16>, %k: tensor<1x2x7x6xbf16>)
    -> tensor<1x4x5xf32> {
  %0 = nn.attention_lse %q, %k {scale = 0.5 : f64, softcap = 0.0 : f64,
      left = -1, right = 0, offset = 0} : (tensor<1x4x5x6xbf16>,
      tensor<1x2x7x6xbf16>) -> tensor<1x4x5xf32>
  return %0 : tensor<1x4x5xf32>
}

// Of a logarithm of the same attention, weights are a softmax.
// CHECK-LABEL: func.func @softmax
// CHECK-NOT: nn.attention
// CHECK-NOT: nn.exp
// CHECK: nn.softmax
// CHECK-NOT: nn.exp
// CHECK: return
func.func @softmax(%q: tensor<1x4x5x6xf32>, %k: tensor<1x2x7x6xf32>,
    %v: tensor<1x2x7x8xf32>, %dy: tensor<1x4x5x8xf32>,
    %delta: tensor<1x4x5xf32>) -> tensor<1x4x5x6xf32> {
  %lse = nn.attention_lse %q, %k {scale = 0.5 : f64, softcap = 0.0 : f64,
      left = -1, right = 0, offset = -1} : (tensor<1x4x5x6xf32>,
      tensor<1x2x7x6xf32>) -> tensor<1x4x5xf32>
  %0 = nn.attention_gradient %q, %k, %v, %dy, %lse, %delta {of = "q",
      scale = 0.5 : f64, softcap = 0.0 : f64, left = -1, right = 0, offset = -1}
      : (tensor<1x4x5x6xf32>, tensor<1x2x7x6xf32>, tensor<1x2x7x8xf32>,
      tensor<1x4x5x8xf32>, tensor<1x4x5xf32>, tensor<1x4x5xf32>)
      -> tensor<1x4x5x6xf32>
  return %0 : tensor<1x4x5x6xf32>
}
