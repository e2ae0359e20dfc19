// What every operator says of its loops. The notation is that of
// test/lib/PrintLoops.cpp.
// RUN: divisi-opt %s --nn-print-loops -o /dev/null | FileCheck %s

nn.global @w state : tensor<4x8xf32> zero

func.func @unary(%x: tensor<4x8xf32>, %p: tensor<4x8xi1>) {
  // CHECK: nn.neg d0=4 d1=8 32 flops
  // CHECK-NEXT:   in  (d0)(d1)
  // CHECK-NEXT:   out (d0)(d1)
  // CHECK-NEXT:   linear {0}
  %neg = nn.neg %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.abs d0=4 d1=8 32 flops
  // CHECK-NEXT:   in  (d0)(d1)
  // CHECK-NEXT:   out (d0)(d1)
  %abs = nn.abs %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.sign d0=4 d1=8 32 flops
  // CHECK-NEXT:   in  (d0)(d1)
  // CHECK-NEXT:   out (d0)(d1)
  %sign = nn.sign %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.relu d0=4 d1=8 32 flops
  // CHECK-NEXT:   in  (d0)(d1)
  // CHECK-NEXT:   out (d0)(d1)
  %relu = nn.relu %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.floor d0=4 d1=8 32 flops
  // CHECK-NEXT:   in  (d0)(d1)
  // CHECK-NEXT:   out (d0)(d1)
  %floor = nn.floor %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.ceil d0=4 d1=8 32 flops
  // CHECK-NEXT:   in  (d0)(d1)
  // CHECK-NEXT:   out (d0)(d1)
  %ceil = nn.ceil %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.round d0=4 d1=8 32 flops
  // CHECK-NEXT:   in  (d0)(d1)
  // CHECK-NEXT:   out (d0)(d1)
  %round = nn.round %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.sqrt d0=4 d1=8 128 flops
  // CHECK-NEXT:   in  (d0)(d1)
  // CHECK-NEXT:   out (d0)(d1)
  %sqrt = nn.sqrt %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.rsqrt d0=4 d1=8 128 flops
  // CHECK-NEXT:   in  (d0)(d1)
  // CHECK-NEXT:   out (d0)(d1)
  %rsqrt = nn.rsqrt %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.exp d0=4 d1=8 320 flops
  // CHECK-NEXT:   in  (d0)(d1)
  // CHECK-NEXT:   out (d0)(d1)
  %exp = nn.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.log d0=4 d1=8 320 flops
  // CHECK-NEXT:   in  (d0)(d1)
  // CHECK-NEXT:   out (d0)(d1)
  %log = nn.log %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.erf d0=4 d1=8 320 flops
  // CHECK-NEXT:   in  (d0)(d1)
  // CHECK-NEXT:   out (d0)(d1)
  %erf = nn.erf %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.sin d0=4 d1=8 320 flops
  // CHECK-NEXT:   in  (d0)(d1)
  // CHECK-NEXT:   out (d0)(d1)
  %sin = nn.sin %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.cos d0=4 d1=8 320 flops
  // CHECK-NEXT:   in  (d0)(d1)
  // CHECK-NEXT:   out (d0)(d1)
  %cos = nn.cos %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.tan d0=4 d1=8 320 flops
  // CHECK-NEXT:   in  (d0)(d1)
  // CHECK-NEXT:   out (d0)(d1)
  %tan = nn.tan %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.asin d0=4 d1=8 320 flops
  // CHECK-NEXT:   in  (d0)(d1)
  // CHECK-NEXT:   out (d0)(d1)
  %asin = nn.asin %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.acos d0=4 d1=8 320 flops
  // CHECK-NEXT:   in  (d0)(d1)
  // CHECK-NEXT:   out (d0)(d1)
  %acos = nn.acos %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.atan d0=4 d1=8 320 flops
  // CHECK-NEXT:   in  (d0)(d1)
  // CHECK-NEXT:   out (d0)(d1)
  %atan = nn.atan %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.sinh d0=4 d1=8 320 flops
  // CHECK-NEXT:   in  (d0)(d1)
  // CHECK-NEXT:   out (d0)(d1)
  %sinh = nn.sinh %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.cosh d0=4 d1=8 320 flops
  // CHECK-NEXT:   in  (d0)(d1)
  // CHECK-NEXT:   out (d0)(d1)
  %cosh = nn.cosh %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.asinh d0=4 d1=8 320 flops
  // CHECK-NEXT:   in  (d0)(d1)
  // CHECK-NEXT:   out (d0)(d1)
  %asinh = nn.asinh %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.acosh d0=4 d1=8 320 flops
  // CHECK-NEXT:   in  (d0)(d1)
  // CHECK-NEXT:   out (d0)(d1)
  %acosh = nn.acosh %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.atanh d0=4 d1=8 320 flops
  // CHECK-NEXT:   in  (d0)(d1)
  // CHECK-NEXT:   out (d0)(d1)
  %atanh = nn.atanh %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.tanh d0=4 d1=8 320 flops
  // CHECK-NEXT:   in  (d0)(d1)
  // CHECK-NEXT:   out (d0)(d1)
  %tanh = nn.tanh %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.sigmoid d0=4 d1=8 320 flops
  // CHECK: nn.silu d0=4 d1=8 352 flops
  // CHECK-NEXT:   in  (d0)(d1)
  // CHECK-NEXT:   out (d0)(d1)
  %sigmoid = nn.sigmoid %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %silu = nn.silu %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.hard_swish d0=4 d1=8 160 flops
  // CHECK-NEXT:   in  (d0)(d1)
  // CHECK-NEXT:   out (d0)(d1)
  %hard_swish = nn.hard_swish %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.gelu d0=4 d1=8 448 flops
  // CHECK-NEXT:   in  (d0)(d1)
  // CHECK-NEXT:   out (d0)(d1)
  %gelu = nn.gelu %x {approximate = "none"} : (tensor<4x8xf32>)
      -> tensor<4x8xf32>
  // CHECK: nn.is_nan d0=4 d1=8 32 flops
  // CHECK-NEXT:   in  (d0)(d1)
  // CHECK-NEXT:   out (d0)(d1)
  %is_nan = nn.is_nan %x : (tensor<4x8xf32>) -> tensor<4x8xi1>
  // CHECK: nn.is_inf d0=4 d1=8 32 flops
  // CHECK-NEXT:   in  (d0)(d1)
  // CHECK-NEXT:   out (d0)(d1)
  %is_inf = nn.is_inf %x : (tensor<4x8xf32>) -> tensor<4x8xi1>
  // CHECK: nn.not d0=4 d1=8 32 flops
  // CHECK-NEXT:   in  (d0)(d1)
  // CHECK-NEXT:   out (d0)(d1)
  %not = nn.not %p : (tensor<4x8xi1>) -> tensor<4x8xi1>
  return
}

// A cast of floats that is exact is linear; one that rounds is not, also where
// both have as many bits.
func.func @casts(%f32: tensor<4x8xf32>, %i64: tensor<4x8xi64>,
                 %bf16: tensor<4x8xbf16>) {
  // CHECK: nn.cast d0=4 d1=8 32 flops
  // CHECK-NEXT:   in  (d0)(d1)
  // CHECK-NEXT:   out (d0)(d1)
  // CHECK-NEXT:   linear {0}
  %a = nn.cast %f32 : (tensor<4x8xf32>) -> tensor<4x8xf64>
  // CHECK: nn.cast d0=4 d1=8 32 flops
  // CHECK-NEXT:   in  (d0)(d1)
  // CHECK-NEXT:   out (d0)(d1){{$}}
  %b = nn.cast %f32 : (tensor<4x8xf32>) -> tensor<4x8xf16>
  // CHECK: nn.cast d0=4 d1=8 32 flops
  // CHECK-NEXT:   in  (d0)(d1)
  // CHECK-NEXT:   out (d0)(d1){{$}}
  %c = nn.cast %i64 : (tensor<4x8xi64>) -> tensor<4x8xf32>
  // CHECK: nn.cast d0=4 d1=8 32 flops
  // CHECK-NEXT:   in  (d0)(d1)
  // CHECK-NEXT:   out (d0)(d1)
  // CHECK-NEXT:   linear {0}
  %d = nn.cast %bf16 : (tensor<4x8xbf16>) -> tensor<4x8xf32>
  // CHECK: nn.cast d0=4 d1=8 32 flops
  // CHECK-NEXT:   in  (d0)(d1)
  // CHECK-NEXT:   out (d0)(d1){{$}}
  %e = nn.cast %bf16 : (tensor<4x8xbf16>) -> tensor<4x8xf16>
  return
}

// A dimension that an operand lacks has no loop in it.
func.func @binary(%x: tensor<4x8xf32>, %y: tensor<8xf32>) {
  // CHECK: nn.add d0=4 d1=8 32 flops
  // CHECK-NEXT:   in  (d0)(d1)
  // CHECK-NEXT:   in  (d1)
  // CHECK-NEXT:   out (d0)(d1)
  // CHECK-NEXT:   linear {0, 1}
  %add = nn.add %x, %y : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.sub d0=4 d1=8 32 flops
  // CHECK-NEXT:   in  (d0)(d1)
  // CHECK-NEXT:   in  (d1)
  // CHECK-NEXT:   out (d0)(d1)
  // CHECK-NEXT:   linear {0, 1}
  %sub = nn.sub %x, %y : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.mul d0=4 d1=8 32 flops
  // CHECK-NEXT:   in  (d0)(d1)
  // CHECK-NEXT:   in  (d1)
  // CHECK-NEXT:   out (d0)(d1)
  // CHECK-NEXT:   linear {0} {1}
  %mul = nn.mul %x, %y : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.div d0=4 d1=8 128 flops
  // CHECK-NEXT:   in  (d0)(d1)
  // CHECK-NEXT:   in  (d1)
  // CHECK-NEXT:   out (d0)(d1)
  // CHECK-NEXT:   linear {0}
  %div = nn.div %x, %y : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.pow d0=4 d1=8 640 flops
  // CHECK-NEXT:   in  (d0)(d1)
  // CHECK-NEXT:   in  (d1)
  // CHECK-NEXT:   out (d0)(d1)
  %pow = nn.pow %x, %y : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.max d0=4 d1=8 32 flops
  // CHECK-NEXT:   in  (d0)(d1)
  // CHECK-NEXT:   in  (d1)
  // CHECK-NEXT:   out (d0)(d1)
  %max = nn.max %x, %y : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.min d0=4 d1=8 32 flops
  // CHECK-NEXT:   in  (d0)(d1)
  // CHECK-NEXT:   in  (d1)
  // CHECK-NEXT:   out (d0)(d1)
  %min = nn.min %x, %y : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.mod d0=4 d1=8 128 flops
  // CHECK-NEXT:   in  (d0)(d1)
  // CHECK-NEXT:   in  (d1)
  // CHECK-NEXT:   out (d0)(d1)
  %mod = nn.mod %x, %y {fmod = true} : (tensor<4x8xf32>, tensor<8xf32>)
      -> tensor<4x8xf32>
  // CHECK: nn.compare d0=4 d1=8 32 flops
  // CHECK-NEXT:   in  (d0)(d1)
  // CHECK-NEXT:   in  (d1)
  // CHECK-NEXT:   out (d0)(d1)
  %compare = nn.compare %x, %y {predicate = "lt"} : (tensor<4x8xf32>,
      tensor<8xf32>) -> tensor<4x8xi1>
  return
}

func.func @logic(%x: tensor<4x8xi1>, %y: tensor<8xi1>) {
  // CHECK: nn.and d0=4 d1=8 32 flops
  // CHECK-NEXT:   in  (d0)(d1)
  // CHECK-NEXT:   in  (d1)
  // CHECK-NEXT:   out (d0)(d1)
  %and = nn.and %x, %y : (tensor<4x8xi1>, tensor<8xi1>) -> tensor<4x8xi1>
  // CHECK: nn.or d0=4 d1=8 32 flops
  // CHECK-NEXT:   in  (d0)(d1)
  // CHECK-NEXT:   in  (d1)
  // CHECK-NEXT:   out (d0)(d1)
  %or = nn.or %x, %y : (tensor<4x8xi1>, tensor<8xi1>) -> tensor<4x8xi1>
  // CHECK: nn.xor d0=4 d1=8 32 flops
  // CHECK-NEXT:   in  (d0)(d1)
  // CHECK-NEXT:   in  (d1)
  // CHECK-NEXT:   out (d0)(d1)
  %xor = nn.xor %x, %y : (tensor<4x8xi1>, tensor<8xi1>) -> tensor<4x8xi1>
  return
}

// Neither division of integers nor a choice of booleans is linear.
func.func @more_elementwise(%p: tensor<4x1xi1>, %x: tensor<4x8xf32>,
    %i: tensor<4x8xi64>, %s: tensor<f32>, %b: tensor<4x8xi1>) {
  // CHECK: nn.select d0=4 d1=8 32 flops
  // CHECK-NEXT:   in  (d0)(1)
  // CHECK-NEXT:   in  (d0)(d1)
  // CHECK-NEXT:   in {{$}}
  // CHECK-NEXT:   out (d0)(d1)
  // CHECK-NEXT:   linear {1, 2}
  %0 = nn.select %p, %x, %s : (tensor<4x1xi1>, tensor<4x8xf32>, tensor<f32>)
      -> tensor<4x8xf32>
  // CHECK: nn.div d0=4 d1=8 128 flops
  // CHECK-NEXT:   in  (d0)(d1)
  // CHECK-NEXT:   in  (d0)(d1)
  // CHECK-NEXT:   out (d0)(d1)
  %1 = nn.div %i, %i : (tensor<4x8xi64>, tensor<4x8xi64>) -> tensor<4x8xi64>
  // CHECK: nn.select d0=4 d1=8 32 flops
  // CHECK-NEXT:   in  (d0)(1)
  // CHECK-NEXT:   in  (d0)(d1)
  // CHECK-NEXT:   in  (d0)(d1)
  // CHECK-NEXT:   out (d0)(d1)
  %2 = nn.select %p, %b, %b : (tensor<4x1xi1>, tensor<4x8xi1>, tensor<4x8xi1>)
      -> tensor<4x8xi1>
  return
}

// An upper-case label is a loop with an underscore.
func.func @matmul(%a: tensor<2x4x8xf32>, %b: tensor<8x16xf32>,
    %c: tensor<16x2xf32>) {
  // CHECK: nn.matmul b=2 m=4 n=16 k=8:sum 2048 flops
  // CHECK-NEXT:   in  (b)(m)(k)
  // CHECK-NEXT:   in  (k)(n)
  // CHECK-NEXT:   out (b)(m)(n)
  // CHECK-NEXT:   linear {0} {1}
  %0 = nn.matmul %a, %b {labels = "bmk,kn->bmn"} : (tensor<2x4x8xf32>,
      tensor<8x16xf32>) -> tensor<2x4x16xf32>
  // CHECK: nn.matmul m=2 n=8 n_=16:sum 512 flops
  // CHECK-NEXT:   in  (n)(n_)
  // CHECK-NEXT:   in  (n_)(m)
  // CHECK-NEXT:   out (m)(n)
  // CHECK-NEXT:   linear {0} {1}
  %1 = nn.matmul %b, %c {labels = "nN,Nm->mn"} : (tensor<8x16xf32>,
      tensor<16x2xf32>) -> tensor<2x8xf32>
  return
}

// A window of one element at every index is a plain loop.
func.func @windows(%x: tensor<2x6x8x8xf32>, %w: tensor<4x3x3x3xf32>,
    %v: tensor<4x6x1x1xf32>) {
  // CHECK: nn.conv n=2 g=2 m=2 c=3:sum o0=4 k0=3:whole o1=4 k1=3:whole 6912 flops
  // CHECK-NEXT:   in  (n)(g c)(o0*2+[0,2]-1)(o1*1+[0,4]-0)
  // CHECK-NEXT:   in  (g m)(c)(k0)(k1)
  // CHECK-NEXT:   out (n)(g m)(o0)(o1)
  // CHECK-NEXT:   linear {0} {1}
  %0 = nn.conv %x, %w {strides = array<i64: 2, 1>, dilations = array<i64: 1, 2>,
      pads_lo = array<i64: 1, 0>, pads_hi = array<i64: 0, 0>, groups = 2}
      : (tensor<2x6x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x4x4xf32>
  // CHECK: nn.conv n=2 m=4 c=6:sum o0=8 k0=1:whole o1=8 k1=1:whole 6144 flops
  // CHECK-NEXT:   in  (n)(c)(o0)(o1)
  // CHECK-NEXT:   in  (m)(c)(k0)(k1)
  // CHECK-NEXT:   out (n)(m)(o0)(o1)
  // CHECK-NEXT:   linear {0} {1}
  %1 = nn.conv %x, %v {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
      pads_lo = array<i64: 0, 0>, pads_hi = array<i64: 0, 0>, groups = 1}
      : (tensor<2x6x8x8xf32>, tensor<4x6x1x1xf32>) -> tensor<2x4x8x8xf32>
  // CHECK: nn.pool_max d0=2 d1=4 d2=2 d3=2 k2=2:whole k3=2:whole 128 flops
  // CHECK-NEXT:   in  (d0)(d1)(d2*2+[0,1]-0)(d3*2+[0,1]-0)
  // CHECK-NEXT:   out (d0)(d1)(d2)(d3)
  %2 = nn.pool_max %0 {kernel = array<i64: 1, 1, 2, 2>, strides = array<i64: 1,
      1, 2, 2>, dilations = array<i64: 1, 1, 1, 1>, pads_lo = array<i64: 0, 0,
      0, 0>, pads_hi = array<i64: 0, 0, 0, 0>} : (tensor<2x4x4x4xf32>)
      -> tensor<2x4x2x2xf32>
  // CHECK: nn.pool_sum d0=2 d1=4 d2=4 d3=4 k1=3:whole 384 flops
  // CHECK-NEXT:   in  (d0)(d1*1+[0,2]-1)(d2)(d3)
  // CHECK-NEXT:   out (d0)(d1)(d2)(d3)
  // CHECK-NEXT:   linear {0}
  %3 = nn.pool_sum %0 {kernel = array<i64: 1, 3, 1, 1>, strides = array<i64: 1,
      1, 1, 1>, dilations = array<i64: 1, 1, 1, 1>, pads_lo = array<i64: 0, 1,
      0, 0>, pads_hi = array<i64: 0, 1, 0, 0>} : (tensor<2x4x4x4xf32>)
      -> tensor<2x4x4x4xf32>
  return
}

func.func @folds(%x: tensor<4x8xf32>, %p: tensor<4x8xi1>) {
  // CHECK: nn.reduce d0=4 d1=8:sum 32 flops
  // CHECK-NEXT:   in  (d0)(d1)
  // CHECK-NEXT:   out (d0){{$}}
  // CHECK-NEXT:   linear {0}
  %sum = nn.reduce %x {kind = "sum", axes = array<i64: 1>} : (tensor<4x8xf32>)
      -> tensor<4xf32>
  // CHECK-NEXT: nn.reduce d0=4 d1=8:max 32 flops
  // CHECK-NEXT:   in  (d0)(d1)
  // CHECK-NEXT:   out (d0){{$}}
  %max = nn.reduce %x {kind = "max", axes = array<i64: 1>} : (tensor<4x8xf32>)
      -> tensor<4xf32>
  // CHECK-NEXT: nn.reduce d0=4 d1=8:min 32 flops
  // CHECK-NEXT:   in  (d0)(d1)
  // CHECK-NEXT:   out (d0){{$}}
  %min = nn.reduce %x {kind = "min", axes = array<i64: 1>} : (tensor<4x8xf32>)
      -> tensor<4xf32>
  // CHECK-NEXT: nn.reduce d0=4 d1=8:prod 32 flops
  // CHECK-NEXT:   in  (d0)(d1)
  // CHECK-NEXT:   out (d0){{$}}
  %prod = nn.reduce %x {kind = "prod", axes = array<i64: 1>} : (tensor<4x8xf32>)
      -> tensor<4xf32>
  // CHECK-NEXT: nn.reduce d0=4 d1=8:and 32 flops
  // CHECK-NEXT:   in  (d0)(d1)
  // CHECK-NEXT:   out (d0){{$}}
  %and = nn.reduce %p {kind = "and", axes = array<i64: 1>} : (tensor<4x8xi1>)
      -> tensor<4xi1>
  // CHECK-NEXT: nn.reduce d0=4 d1=8:or 32 flops
  // CHECK-NEXT:   in  (d0)(d1)
  // CHECK-NEXT:   out (d0){{$}}
  %or = nn.reduce %p {kind = "or", axes = array<i64: 1>} : (tensor<4x8xi1>)
      -> tensor<4xi1>
  // CHECK: nn.softmax d0=4 d1=8:exchange 448 flops
  // CHECK-NEXT:   in  (d0)(d1)
  // CHECK-NEXT:   out (d0)(d1)
  %a = nn.softmax %x {axis = 1, log = false} : (tensor<4x8xf32>)
      -> tensor<4x8xf32>
  // CHECK: nn.normalize d0=4:exchange d1=8:exchange 256 flops
  // CHECK-NEXT:   in  (d0)(d1)
  // CHECK-NEXT:   out (d0)(d1)
  %b = nn.normalize %x {axes = array<i64: 0, 1>, center = true,
      epsilon = 0.0 : f64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.normalize d0=4 d1=8:exchange 256 flops
  // CHECK-NEXT:   in  (d0)(d1)
  // CHECK-NEXT:   out (d0)(d1)
  %c = nn.normalize %x {axes = array<i64: 1>, center = true,
      epsilon = 0.0 : f64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// Common factors from the major side; what has none is never split.
func.func @reshapes(%x4_6: tensor<4x6xf32>, %x2_3_4: tensor<2x3x4xf32>,
    %x2_1_12: tensor<2x1x12xf32>, %x6_4: tensor<6x4xf32>,
    %x3_2_5: tensor<3x2x5xf32>, %x0_4: tensor<0x4xf32>) {
  // CHECK: nn.reshape f0=4 f1=2 f2=3 0 flops
  // CHECK-NEXT:   in  (f0)(f1 f2)
  // CHECK-NEXT:   out (f0 f1)(f2)
  // CHECK-NEXT:   linear {0}
  %0 = nn.reshape %x4_6 : (tensor<4x6xf32>) -> tensor<8x3xf32>
  // CHECK: nn.reshape f0=2 f1=3 f2=4 0 flops
  // CHECK-NEXT:   in  (f0)(f1)(f2)
  // CHECK-NEXT:   out (f0 f1 f2)
  // CHECK-NEXT:   linear {0}
  %1 = nn.reshape %x2_3_4 : (tensor<2x3x4xf32>) -> tensor<24xf32>
  // CHECK: nn.reshape f0=2 f1=3 f2=4 0 flops
  // CHECK-NEXT:   in  (f0)(1)(f1 f2)
  // CHECK-NEXT:   out (f0)(f1)(1)(f2)(1)
  // CHECK-NEXT:   linear {0}
  %2 = nn.reshape %x2_1_12 : (tensor<2x1x12xf32>) -> tensor<2x3x1x4x1xf32>
  // CHECK: nn.reshape f0=2 w0=3:whole w1=2:whole w2=6:whole w3=4:whole 0 flops
  // CHECK-NEXT:   in  (f0 w0)(w3)
  // CHECK-NEXT:   out (f0 w1)(w2)
  // CHECK-NEXT:   linear {0}
  %3 = nn.reshape %x6_4 : (tensor<6x4xf32>) -> tensor<4x6xf32>
  // CHECK: nn.reshape w0=3:whole w1=2:whole w2=3:whole w3=2:whole f0=5 0 flops
  // CHECK-NEXT:   in  (w0)(w3)(f0)
  // CHECK-NEXT:   out (w1)(w2)(f0)
  // CHECK-NEXT:   linear {0}
  %4 = nn.reshape %x3_2_5 : (tensor<3x2x5xf32>) -> tensor<2x3x5xf32>
  // CHECK: nn.reshape 0 flops
  // CHECK-NEXT:   in  (1)(1)
  // CHECK-NEXT:   out (1)(1)
  // CHECK-NEXT:   linear {0}
  %5 = nn.reshape %x0_4 : (tensor<0x4xf32>) -> tensor<2x0xf32>
  return
}

// A border of other than zeros is not linear.
func.func @movement(%x: tensor<4x6xf32>, %b: tensor<1x6xf32>) {
  // CHECK: nn.transpose d0=6 d1=4 0 flops
  // CHECK-NEXT:   in  (d1)(d0)
  // CHECK-NEXT:   out (d0)(d1)
  // CHECK-NEXT:   linear {0}
  %0 = nn.transpose %x {permutation = array<i64: 1, 0>} : (tensor<4x6xf32>)
      -> tensor<6x4xf32>
  // CHECK: nn.broadcast d0=5 d1=4 d2=6 0 flops
  // CHECK-NEXT:   in  (1)(d2)
  // CHECK-NEXT:   out (d0)(d1)(d2)
  // CHECK-NEXT:   linear {0}
  %1 = nn.broadcast %b {dims = array<i64: 1, 2>} : (tensor<1x6xf32>)
      -> tensor<5x4x6xf32>
  // CHECK: nn.slice d0=2 d1=3 0 flops
  // CHECK-NEXT:   in  (d0*2+[0,0]--1)(d1*-2+[0,0]--5)
  // CHECK-NEXT:   out (d0)(d1)
  // CHECK-NEXT:   linear {0}
  %2 = nn.slice %x {starts = array<i64: 1, 5>, limits = array<i64: 4, -1>,
      steps = array<i64: 2, -2>} : (tensor<4x6xf32>) -> tensor<2x3xf32>
  // CHECK: nn.pad d0=4 d1=7 0 flops
  // CHECK-NEXT:   in  (d0)(d1*1+[0,0]-2)
  // CHECK-NEXT:   out (d0)(d1)
  // CHECK-NEXT:   linear {0}
  %3 = nn.pad %x {lo = array<i64: 0, 2>, hi = array<i64: 0, -1>,
      value = 0.0 : f64} : (tensor<4x6xf32>) -> tensor<4x7xf32>
  // CHECK: nn.pad d0=4 d1=7 0 flops
  // CHECK-NEXT:   in  (d0)(d1*1+[0,0]-2)
  // CHECK-NEXT:   out (d0)(d1)
  %4 = nn.pad %x {lo = array<i64: 0, 2>, hi = array<i64: 0, -1>,
      value = 1.0 : f64} : (tensor<4x6xf32>) -> tensor<4x7xf32>
  // CHECK: nn.concat d0=5 d1=6 0 flops
  // CHECK-NEXT:   in  (d0*1+[0,0]-0)(d1)
  // CHECK-NEXT:   in  (d0*1+[0,0]-4)(d1)
  // CHECK-NEXT:   out (d0)(d1)
  // CHECK-NEXT:   linear {0, 1}
  %5 = nn.concat %x, %b {axis = 0} : (tensor<4x6xf32>, tensor<1x6xf32>)
      -> tensor<5x6xf32>
  return
}
