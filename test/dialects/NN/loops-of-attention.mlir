// What attention, transposed convolution and quantization say of their loops.
// RUN: divisi-opt %s --nn-print-loops -o /dev/null | FileCheck %s

// Six of ten pairs are behind the causal mask, and every second tap meets an
// index.
func.func @transformers(%q: tensor<2x6x4x4xf32>, %k: tensor<2x3x4x4xf32>,
    %v: tensor<2x3x4x8xf32>, %m: tensor<2x1x4x4xf32>,
    %k6: tensor<2x6x4x4xf32>, %v6: tensor<2x6x4x8xf32>,
    %cos: tensor<1x6x1x2xf32>, %qs: tensor<4x2x6x4xf32>,
    %vs: tensor<2x4x3x8xf32>) {
  // CHECK: nn.attention b=2 h=3 g=2 s=4 t=4:exchange d=4:whole e=8:whole 4560 flops
  // CHECK-NEXT:   in  (b)(h g)(s)(d)
  // CHECK-NEXT:   in  (b)(h)(t)(d)
  // CHECK-NEXT:   in  (b)(h)(t)(e)
  // CHECK-NEXT:   in  (b)(1)(s)(t)
  // CHECK-NEXT:   out (b)(h g)(s)(e)
  // CHECK-NEXT:   linear {2}
  %0 = nn.attention %q, %k, %v, %m {scale = 0.5 : f64, softcap = 0.0 : f64,
      left = -1, right = 0, offset = 0} : (tensor<2x6x4x4xf32>,
      tensor<2x3x4x4xf32>, tensor<2x3x4x8xf32>, tensor<2x1x4x4xf32>)
      -> tensor<2x6x4x8xf32>
  // CHECK: nn.attention b=2 h=6 s=4 t=4:exchange d=4:whole e=8:whole 7296 flops
  // CHECK-NEXT:   in  (b)(h)(s)(d)
  // CHECK-NEXT:   in  (b)(h)(t)(d)
  // CHECK-NEXT:   in  (b)(h)(t)(e)
  // CHECK-NEXT:   out (b)(h)(s)(e)
  // CHECK-NEXT:   linear {2}
  %1 = nn.attention %q, %k6, %v6 {scale = 0.5 : f64, softcap = 0.0 : f64,
      left = -1, right = -1, offset = 0} : (tensor<2x6x4x4xf32>,
      tensor<2x6x4x4xf32>, tensor<2x6x4x8xf32>) -> tensor<2x6x4x8xf32>
  // CHECK: nn.attention b=2 h=3 g=2 s=4 t=4:exchange d=4:whole e=8:whole 7296 flops
  // CHECK-NEXT:   in  (s)(b)(h g)(d)
  // CHECK-NEXT:   in  (b)(h)(t)(d)
  // CHECK-NEXT:   in  (b)(t)(h)(e)
  // CHECK-NEXT:   out (b)(s)(h g)(e)
  // CHECK-NEXT:   linear {2}
  %p = nn.attention %qs, %k, %vs {labels = "sbhd,bhtd,bthe->bshe",
      scale = 0.5 : f64, softcap = 0.0 : f64, left = -1, right = -1, offset = 0}
      : (tensor<4x2x6x4xf32>, tensor<2x3x4x4xf32>, tensor<2x4x3x8xf32>)
      -> tensor<2x4x6x8xf32>
  // CHECK: nn.attention_lse b=2 h=3 g=2 s=4 t=4:exchange d=4:whole 2640 flops
  // CHECK-NEXT:   in  (b)(h g)(s)(d)
  // CHECK-NEXT:   in  (b)(h)(t)(d)
  // CHECK-NEXT:   in  (b)(1)(s)(t)
  // CHECK-NEXT:   out (b)(h g)(s)
  %lse = nn.attention_lse %q, %k, %m {scale = 0.5 : f64, softcap = 0.0 : f64,
      left = -1, right = 0, offset = 0} : (tensor<2x6x4x4xf32>,
      tensor<2x3x4x4xf32>, tensor<2x1x4x4xf32>) -> tensor<2x6x4xf32>
  // CHECK: nn.attention_gradient b=2 h=3 g=2 s=4 t=4:sum d=4:whole e=8:whole
  // CHECK-NEXT:   in  (b)(h g)(s)(d)
  // CHECK-NEXT:   in  (b)(h)(t)(d)
  // CHECK-NEXT:   in  (b)(h)(t)(e)
  // CHECK-NEXT:   in  (b)(h g)(s)(e)
  // CHECK-NEXT:   in  (b)(h g)(s)
  // CHECK-NEXT:   in  (b)(h g)(s)
  // CHECK-NEXT:   in  (b)(1)(s)(t)
  // CHECK-NEXT:   out (b)(h g)(s)(d)
  // CHECK-NEXT:   linear {3, 5}
  %dq = nn.attention_gradient %q, %k, %v, %0, %lse, %lse, %m {of = "q",
      scale = 0.5 : f64, softcap = 0.0 : f64, left = -1, right = 0, offset = 0}
      : (tensor<2x6x4x4xf32>, tensor<2x3x4x4xf32>, tensor<2x3x4x8xf32>,
      tensor<2x6x4x8xf32>, tensor<2x6x4xf32>, tensor<2x6x4xf32>,
      tensor<2x1x4x4xf32>) -> tensor<2x6x4x4xf32>
  // CHECK: nn.attention_gradient b=2 h=3 g=2:sum s=4:sum t=4 d=4:whole e=8:whole
  // CHECK:        out (b)(h)(t)(e)
  // CHECK-NEXT:   linear {3}
  %dv = nn.attention_gradient %q, %k, %v, %0, %lse, %lse {of = "v",
      scale = 0.5 : f64, softcap = 0.0 : f64, left = -1, right = 0, offset = 0}
      : (tensor<2x6x4x4xf32>, tensor<2x3x4x4xf32>, tensor<2x3x4x8xf32>,
      tensor<2x6x4x8xf32>, tensor<2x6x4xf32>, tensor<2x6x4xf32>)
      -> tensor<2x3x4x8xf32>
  // CHECK: nn.rotary d0=2 d1=6 d2=4 p=2 pair=2:whole 576 flops
  // CHECK-NEXT:   in  (d0)(d1)(d2)(p pair)
  // CHECK-NEXT:   in  (1)(d1)(1)(p)
  // CHECK-NEXT:   in  (1)(d1)(1)(p)
  // CHECK-NEXT:   out (d0)(d1)(d2)(p pair)
  // CHECK-NEXT:   linear {0}
  %2 = nn.rotary %q, %cos, %cos {interleaved = true} : (tensor<2x6x4x4xf32>,
      tensor<1x6x1x2xf32>, tensor<1x6x1x2xf32>) -> tensor<2x6x4x4xf32>
  // CHECK: nn.rotary d0=2 d1=6 d2=4 d=4:whole 576 flops
  // CHECK-NEXT:   in  (d0)(d1)(d2)(d)
  // CHECK-NEXT:   in  (1)(d1)(1)(1)
  // CHECK-NEXT:   in  (1)(d1)(1)(1)
  // CHECK-NEXT:   out (d0)(d1)(d2)(d)
  // CHECK-NEXT:   linear {0}
  %3 = nn.rotary %q, %cos, %cos {interleaved = false} : (tensor<2x6x4x4xf32>,
      tensor<1x6x1x2xf32>, tensor<1x6x1x2xf32>) -> tensor<2x6x4x4xf32>
  return
}

func.func @windows(%dy: tensor<2x4x4xf32>, %w: tensor<4x3x3xf32>) {
  // CHECK: nn.conv_dgrad n=2 g=2 m=2:sum c=3 i0=8 k0=3:whole 576 flops
  // CHECK-NEXT:   in  (n)(g m)(i0[0:1 0:2 1:2 1:3 2:3 2:4 3:4 3:4])
  // CHECK-NEXT:   in  (g m)(c)(k0)
  // CHECK-NEXT:   out (n)(g c)(i0)
  // CHECK-NEXT:   linear {0} {1}
  %0 = nn.conv_dgrad %dy, %w {strides = array<i64: 2>,
      dilations = array<i64: 1>, pads_lo = array<i64: 1>,
      extents = array<i64: 8>, groups = 2}
      : (tensor<2x4x4xf32>, tensor<4x3x3xf32>) -> tensor<2x6x8xf32>
  return
}

func.func @quantized(%x: tensor<4x8xf32>, %s: tensor<4x2xf32>,
                     %z: tensor<1x2xi8>) {
  // CHECK: nn.quantize d0=4 d1=8 192 flops
  // CHECK-NEXT:   in  (d0)(d1)
  // CHECK-NEXT:   in  (d0)(d1[0:1 0:1 0:1 0:1 1:2 1:2 1:2 1:2])
  // CHECK-NEXT:   in  (1)(d1[0:1 0:1 0:1 0:1 1:2 1:2 1:2 1:2])
  // CHECK-NEXT:   out (d0)(d1)
  %0 = nn.quantize %x, %s, %z {axis = 1, block = 4} : (tensor<4x8xf32>,
      tensor<4x2xf32>, tensor<1x2xi8>) -> tensor<4x8xi8>
  // CHECK: nn.dequantize d0=4 d1=8 64 flops
  // CHECK-NEXT:   in  (d0)(d1)
  // CHECK-NEXT:   in  (d0)(d1[0:1 0:1 0:1 0:1 1:2 1:2 1:2 1:2])
  // CHECK-NEXT:   out (d0)(d1)
  %1 = nn.dequantize %0, %s {axis = 1, block = 4} : (tensor<4x8xi8>,
      tensor<4x2xf32>) -> tensor<4x8xf32>
  return
}
