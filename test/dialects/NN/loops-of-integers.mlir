// What operators on quantized numbers say of their loops. No sum of codes is a
// code: nothing is linear.
// RUN: divisi-opt %s --nn-print-loops -o /dev/null | FileCheck %s

func.func @integers(%x: tensor<2x6x8xui8>, %w: tensor<4x3x3xi8>,
    %v: tensor<8x5xi8>, %a: tensor<2x6x8xf32>, %s: tensor<1x1x1xf32>) {
  // CHECK: nn.conv_integer n=2 g=2 m=2 c=3:sum o0=4 k0=3:whole 576 flops
  // CHECK-NEXT:   in  (n)(g c)(o0*2+[0,2]-1)
  // CHECK-NEXT:   in  (g m)(c)(k0)
  // CHECK-NEXT:   out (n)(g m)(o0)
  // CHECK-NOT: linear
  %0 = nn.conv_integer %x, %w {strides = array<i64: 2>,
      dilations = array<i64: 1>, pads_lo = array<i64: 1>,
      pads_hi = array<i64: 0>, groups = 2, x_zero = 3, w_zero = 0}
      : (tensor<2x6x8xui8>, tensor<4x3x3xi8>) -> tensor<2x4x4xi32>
  // CHECK: nn.matmul_integer b=2 s=6 n=5 k=8:sum 960 flops
  // CHECK-NEXT:   in  (b)(s)(k)
  // CHECK-NEXT:   in  (k)(n)
  // CHECK-NEXT:   out (b)(s)(n)
  // CHECK-NOT: linear
  %1 = nn.matmul_integer %x, %v {labels = "bsk,kn->bsn", a_zero = 3, b_zero = 0}
      : (tensor<2x6x8xui8>, tensor<8x5xi8>) -> tensor<2x6x5xi32>
  // CHECK: nn.add_dequantized d0=2 d1=6 d2=8 288 flops
  // CHECK-NEXT:   in  (d0)(d1)(d2)
  // CHECK-NEXT:   in  (d0)(d1)(d2)
  // CHECK-NEXT:   in  (1)(1)(1)
  // CHECK-NEXT:   out (d0)(d1)(d2)
  // CHECK-NOT: linear
  %2 = nn.add_dequantized %a, %x, %s : (tensor<2x6x8xf32>, tensor<2x6x8xui8>,
      tensor<1x1x1xf32>) -> tensor<2x6x8xf32>
  return
}
