// Every operator prints what it parses, in both syntaxes.
// RUN: divisi-opt %s | divisi-opt | FileCheck %s
// RUN: divisi-opt %s --mlir-print-op-generic | divisi-opt | FileCheck %s

// CHECK: nn.global @w parameter : tensor<4x8xf32> from "model.onnx" [1024, 128]
nn.global @w parameter : tensor<4x8xf32> from "model.onnx" [1024, 128]
// CHECK: nn.global @planned parameter : tensor<4x8xf32>{{$}}
nn.global @planned parameter : tensor<4x8xf32>
// CHECK: nn.global @m state : tensor<8x8xf32> zero
nn.global @m state : tensor<8x8xf32> zero
// CHECK: nn.global @mask constant : tensor<3xi1> from "dump.bin" [0, 3]
nn.global @mask constant : tensor<3xi1> from "dump.bin" [0, 3]
// CHECK: nn.global @t derived : tensor<8x4xf32>{{$}}
nn.global @t derived : tensor<8x4xf32>

// CHECK-LABEL: @init
func.func @init() {
  // CHECK: nn.read @w : tensor<4x8xf32>
  %w = nn.read @w : tensor<4x8xf32>
  %t = nn.transpose %w {permutation = array<i64: 1, 0>}
      : (tensor<4x8xf32>) -> tensor<8x4xf32>
  // CHECK: nn.update @t, %{{.*}} : tensor<8x4xf32>
  nn.update @t, %t : tensor<8x4xf32>
  return
}

// CHECK-LABEL: @named
// CHECK-SAME: nn.name = "x"
func.func @named(%x: tensor<8x8xf32> {nn.name = "x"})
    -> (tensor<8x8xf32> {nn.name = "y"}) {
  // CHECK: nn.neg %{{.*}} {nn.scope = "h.0"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %y = nn.neg %x {nn.scope = "h.0"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  nn.update @m, %y : tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}

// CHECK-LABEL: @constants
func.func @constants() {
  // CHECK: nn.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
  %a = nn.constant dense<[1.0, 2.0]> : tensor<2xf32>
  // CHECK: nn.constant {nn.scope = "s"} dense<true> : tensor<i1>
  %b = nn.constant {nn.scope = "s"} dense<true> : tensor<i1>
  // CHECK: nn.iota {axis = 1 : i64} : () -> tensor<4x8xi64>
  %c = nn.iota {axis = 1} : () -> tensor<4x8xi64>
  return
}

// CHECK-LABEL: @elementwise
func.func @elementwise(%x: tensor<4x8xf32>, %y: tensor<8xf32>,
    %p: tensor<4x1xi1>,
                       %i: tensor<4x8xi64>) {
  // CHECK: nn.neg %{{.*}} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %neg = nn.neg %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.abs %{{.*}} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %abs = nn.abs %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.sign %{{.*}} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %sign = nn.sign %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.relu %{{.*}} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %relu = nn.relu %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.sqrt %{{.*}} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %sqrt = nn.sqrt %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.rsqrt %{{.*}} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %rsqrt = nn.rsqrt %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.exp %{{.*}} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %exp = nn.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.log %{{.*}} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %log = nn.log %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.erf %{{.*}} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %erf = nn.erf %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.sin %{{.*}} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %sin = nn.sin %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.cos %{{.*}} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %cos = nn.cos %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.tan %{{.*}} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %tan = nn.tan %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.asin %{{.*}} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %asin = nn.asin %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.acos %{{.*}} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %acos = nn.acos %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.atan %{{.*}} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %atan = nn.atan %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.sinh %{{.*}} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %sinh = nn.sinh %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.cosh %{{.*}} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %cosh = nn.cosh %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.asinh %{{.*}} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %asinh = nn.asinh %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.acosh %{{.*}} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %acosh = nn.acosh %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.atanh %{{.*}} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %atanh = nn.atanh %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.tanh %{{.*}} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %tanh = nn.tanh %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.sigmoid %{{.*}} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %sigmoid = nn.sigmoid %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.silu %{{.*}} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %silu = nn.silu %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.hard_swish %{{.*}} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %hard_swish = nn.hard_swish %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.floor %{{.*}} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %floor = nn.floor %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.ceil %{{.*}} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %ceil = nn.ceil %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.round %{{.*}} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %round = nn.round %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.not
  %not = nn.not %p : (tensor<4x1xi1>) -> tensor<4x1xi1>
  // CHECK: nn.is_nan %{{.*}} : (tensor<4x8xf32>) -> tensor<4x8xi1>
  %is_nan = nn.is_nan %x : (tensor<4x8xf32>) -> tensor<4x8xi1>
  // CHECK: nn.is_inf
  %is_inf = nn.is_inf %x : (tensor<4x8xf32>) -> tensor<4x8xi1>
  // CHECK: nn.gelu %{{.*}} {approximate = "tanh"}
  %gelu = nn.gelu %x {approximate = "tanh"} : (tensor<4x8xf32>)
      -> tensor<4x8xf32>
  // CHECK: nn.cast %{{.*}} : (tensor<4x8xi64>) -> tensor<4x8xf32>
  %cast = nn.cast %i : (tensor<4x8xi64>) -> tensor<4x8xf32>
  // CHECK: nn.add %{{.*}}, %{{.*}} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %add = nn.add %x, %y : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.sub %{{.*}}, %{{.*}} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %sub = nn.sub %x, %y : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.mul %{{.*}}, %{{.*}} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %mul = nn.mul %x, %y : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.div %{{.*}}, %{{.*}} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %div = nn.div %x, %y : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.pow %{{.*}}, %{{.*}} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %pow = nn.pow %x, %y : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.max %{{.*}}, %{{.*}} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %max = nn.max %x, %y : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.min %{{.*}}, %{{.*}} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %min = nn.min %x, %y : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.and %{{.*}}, %{{.*}} : (tensor<4x8xi1>, tensor<4x1xi1>) -> tensor<4x8xi1>
  %and = nn.and %is_nan, %p : (tensor<4x8xi1>, tensor<4x1xi1>) -> tensor<4x8xi1>
  // CHECK: nn.or %{{.*}}, %{{.*}} : (tensor<4x8xi1>, tensor<4x1xi1>) -> tensor<4x8xi1>
  %or = nn.or %is_nan, %p : (tensor<4x8xi1>, tensor<4x1xi1>) -> tensor<4x8xi1>
  // CHECK: nn.xor %{{.*}}, %{{.*}} : (tensor<4x8xi1>, tensor<4x1xi1>) -> tensor<4x8xi1>
  %xor = nn.xor %is_nan, %p : (tensor<4x8xi1>, tensor<4x1xi1>) -> tensor<4x8xi1>
  // CHECK: nn.mod %{{.*}} {fmod = true}
  %mod = nn.mod %x, %y {fmod = true} : (tensor<4x8xf32>, tensor<8xf32>)
      -> tensor<4x8xf32>
  // CHECK: nn.compare %{{.*}} {predicate = "ge"}
  %compare = nn.compare %x, %y {predicate = "ge"} : (tensor<4x8xf32>,
      tensor<8xf32>) -> tensor<4x8xi1>
  // CHECK: nn.select
  %select = nn.select %p, %x, %y : (tensor<4x1xi1>, tensor<4x8xf32>,
      tensor<8xf32>) -> tensor<4x8xf32>
  return
}

// CHECK-LABEL: @contraction
func.func @contraction(%a: tensor<2x4x8xf32>, %b: tensor<8x16xf32>) {
  // CHECK: nn.matmul %{{.*}} {labels = "bmk,kn->bmn"} : (tensor<2x4x8xf32>, tensor<8x16xf32>) -> tensor<2x4x16xf32>
  %0 = nn.matmul %a, %b {labels = "bmk,kn->bmn"} : (tensor<2x4x8xf32>,
      tensor<8x16xf32>) -> tensor<2x4x16xf32>
  return
}

// Sums of narrow types may be left in the accumulator's.
// CHECK-LABEL: @accumulated
func.func @accumulated(%a: tensor<4x8xbf16>, %b: tensor<8x16xbf16>,
                       %u: tensor<4x8xui8>) {
  // CHECK: nn.matmul {{.*}} -> tensor<4x16xf32>
  %0 = nn.matmul %a, %b {labels = "mk,kn->mn"} : (tensor<4x8xbf16>,
      tensor<8x16xbf16>) -> tensor<4x16xf32>
  // CHECK: nn.reduce {{.*}} -> tensor<4xi32>
  %1 = nn.reduce %u {kind = "sum", axes = array<i64: 1>} : (tensor<4x8xui8>)
      -> tensor<4xi32>
  return
}

// CHECK-LABEL: @windows
func.func @windows(%x: tensor<2x6x8x8xf32>, %w: tensor<4x3x3x3xf32>) {
  // CHECK: nn.conv %{{.*}} {dilations = array<i64: 1, 2>, groups = 2 : i64,
  %0 = nn.conv %x, %w {strides = array<i64: 2, 1>, dilations = array<i64: 1, 2>,
      pads_lo = array<i64: 1, 0>, pads_hi = array<i64: 0, 0>, groups = 2}
      : (tensor<2x6x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x4x4xf32>
  // CHECK: nn.pool_max
  %1 = nn.pool_max %0 {kernel = array<i64: 1, 1, 2, 2>, strides = array<i64: 1,
      1, 2, 2>, dilations = array<i64: 1, 1, 1, 1>, pads_lo = array<i64: 0, 0,
      0, 0>, pads_hi = array<i64: 0, 0, 0, 0>} : (tensor<2x4x4x4xf32>)
      -> tensor<2x4x2x2xf32>
  // CHECK: nn.pool_sum
  %2 = nn.pool_sum %0 {kernel = array<i64: 1, 1, 2, 2>, strides = array<i64: 1,
      1, 2, 2>, dilations = array<i64: 1, 1, 1, 1>, pads_lo = array<i64: 0, 0,
      0, 0>, pads_hi = array<i64: 0, 0, 0, 0>} : (tensor<2x4x4x4xf32>)
      -> tensor<2x4x2x2xf32>
  return
}

// CHECK-LABEL: @folds
func.func @folds(%x: tensor<4x8xf32>, %p: tensor<4x8xi1>) {
  // CHECK: nn.reduce %{{.*}} {axes = array<i64: 1>, kind = "sum"}
  %0 = nn.reduce %x {kind = "sum", axes = array<i64: 1>} : (tensor<4x8xf32>)
      -> tensor<4xf32>
  %1 = nn.reduce %p {kind = "and", axes = array<i64: 0, 1>} : (tensor<4x8xi1>)
      -> tensor<i1>
  // CHECK: nn.softmax %{{.*}} {axis = 1 : i64, log = true}
  %2 = nn.softmax %x {axis = 1, log = true} : (tensor<4x8xf32>)
      -> tensor<4x8xf32>
  // CHECK: nn.normalize %{{.*}} {axes = array<i64: 1>, center = false, epsilon = {{.*}} : f64}
  %3 = nn.normalize %x {axes = array<i64: 1>, center = false,
      epsilon = 1.0e-5 : f64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// CHECK-LABEL: @movement
func.func @movement(%x: tensor<4x6xf32>) {
  // CHECK: nn.reshape %{{.*}} : (tensor<4x6xf32>) -> tensor<4x2x3xf32>
  %0 = nn.reshape %x : (tensor<4x6xf32>) -> tensor<4x2x3xf32>
  // CHECK: nn.transpose %{{.*}} {permutation = array<i64: 2, 0, 1>}
  %1 = nn.transpose %0 {permutation = array<i64: 2, 0, 1>} : (tensor<4x2x3xf32>)
      -> tensor<3x4x2xf32>
  // CHECK: nn.broadcast %{{.*}} {dims = array<i64: 1, 2>}
  %2 = nn.broadcast %x {dims = array<i64: 1, 2>} : (tensor<4x6xf32>)
      -> tensor<5x4x6xf32>
  // CHECK: nn.slice %{{.*}} {limits = array<i64: 2, -1>, starts = array<i64: 0, 5>, steps = array<i64: 1, -2>}
  %3 = nn.slice %x {starts = array<i64: 0, 5>, limits = array<i64: 2, -1>,
      steps = array<i64: 1, -2>} : (tensor<4x6xf32>) -> tensor<2x3xf32>
  // CHECK: nn.pad %{{.*}} {hi = array<i64: 1, -1>, lo = array<i64: 0, 2>, value = 0.000000e+00 : f64}
  %4 = nn.pad %x {lo = array<i64: 0, 2>, hi = array<i64: 1, -1>,
      value = 0.0 : f64} : (tensor<4x6xf32>) -> tensor<5x7xf32>
  // CHECK: nn.concat %{{.*}}, %{{.*}} {axis = 0 : i64}
  %5 = nn.concat %x, %x {axis = 0} : (tensor<4x6xf32>, tensor<4x6xf32>)
      -> tensor<8x6xf32>
  return
}

// CHECK-LABEL: @index
func.func @index(%x: tensor<4x8xf32>, %i: tensor<4x3xi64>) {
  // CHECK: nn.gather %{{.*}} {axis = 1 : i64, batch_dims = 1 : i64}
  %0 = nn.gather %x, %i {axis = 1, batch_dims = 1} : (tensor<4x8xf32>,
      tensor<4x3xi64>) -> tensor<4x3xf32>
  // CHECK: nn.take_along %{{.*}} {axis = 1 : i64}
  %1 = nn.take_along %x, %i {axis = 1} : (tensor<4x8xf32>, tensor<4x3xi64>)
      -> tensor<4x3xf32>
  // CHECK: nn.random %{{.*}}, %{{.*}} {stream = 3 : i64}
  %key = nn.constant dense<7> : tensor<i64>
  %random = nn.random %key, %key {stream = 3} : (tensor<i64>, tensor<i64>)
      -> tensor<4x8xf32>
  // CHECK: nn.resample %{{.*}} {axis = 0 : i64, indices = array<i64: 0, 1, 2, 3>, taps = 2 : i64, weights = array<f64: 5.000000e-01,
  %2 = nn.resample %x {axis = 0, taps = 2, indices = array<i64: 0, 1, 2, 3>,
      weights = array<f64: 0.5, 0.5, 0.5, 0.5>} : (tensor<4x8xf32>)
      -> tensor<2x8xf32>
  return
}

// CHECK-LABEL: @order
func.func @order(%x: tensor<4x8xf32>, %x2: tensor<4x2xf32>,
                 %b: tensor<4x8xui8>) {
  // CHECK: nn.arg_reduce %{{.*}} {axis = 1 : i64, kind = "max", last = false}
  %0 = nn.arg_reduce %x {axis = 1, kind = "max", last = false}
      : (tensor<4x8xf32>) -> tensor<4xi64>
  // CHECK: nn.cumulate %{{.*}} {axis = 0 : i64, exclusive = true, kind = "prod", reverse = false}
  %1 = nn.cumulate %x {axis = 0, kind = "prod", exclusive = true,
      reverse = false} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.top_k %{{.*}} {axis = 1 : i64, k = 2 : i64, largest = true}
  %2 = nn.top_k %x {axis = 1, k = 2, largest = true} : (tensor<4x8xf32>)
      -> tensor<4x2xi64>
  // CHECK: nn.insert %{{.*}}, %{{.*}}, %{{.*}} {axis = 1 : i64}
  %slice = nn.constant dense<1.0> : tensor<4x2xf32>
  %offset = nn.constant dense<2> : tensor<i64>
  %inserted = nn.insert %x, %slice, %offset {axis = 1} : (tensor<4x8xf32>,
      tensor<4x2xf32>, tensor<i64>) -> tensor<4x8xf32>
  // CHECK: nn.scatter %{{.*}}, %{{.*}}, %{{.*}} {batch_dims = 1 : i64, kind = "add"}
  %3 = nn.scatter %x, %2, %x2 {batch_dims = 1, kind = "add"} : (tensor<4x8xf32>,
      tensor<4x2xi64>, tensor<4x2xf32>) -> tensor<4x8xf32>
  // CHECK: nn.shift %{{.*}}, %{{.*}} {left = true}
  %4 = nn.shift %b, %b {left = true} : (tensor<4x8xui8>, tensor<4x8xui8>)
      -> tensor<4x8xui8>
  // CHECK: nn.not %{{.*}} : (tensor<4x8xui8>) -> tensor<4x8xui8>
  %5 = nn.not %b : (tensor<4x8xui8>) -> tensor<4x8xui8>
  return
}

// CHECK-LABEL: @transformers
func.func @transformers(%q: tensor<2x4x5x4xf32>, %k: tensor<2x2x7x4xf32>,
    %v: tensor<2x2x7x8xf32>, %m: tensor<2x1x5x7xi1>, %cos: tensor<1x1x5x2xf32>,
    %u: tensor<2x7x2x4xf32>, %t: tensor<7x2x2x8xf32>) {
  // CHECK: nn.attention %{{.*}}, %{{.*}}, %{{.*}} {left = -1 : i64, offset = 2 : i64, right = 0 : i64, scale = 5.000000e-01 : f64, softcap = 0.000000e+00 : f64}
  %0 = nn.attention %q, %k, %v {scale = 0.5 : f64, softcap = 0.0 : f64,
      left = -1, right = 0, offset = 2} : (tensor<2x4x5x4xf32>,
      tensor<2x2x7x4xf32>, tensor<2x2x7x8xf32>) -> tensor<2x4x5x8xf32>
  // CHECK: nn.attention %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {
  %1 = nn.attention %q, %k, %v, %m {scale = 0.5 : f64, softcap = 0.0 : f64,
      left = -1, right = -1, offset = 0} : (tensor<2x4x5x4xf32>,
      tensor<2x2x7x4xf32>, tensor<2x2x7x8xf32>, tensor<2x1x5x7xi1>)
      -> tensor<2x4x5x8xf32>
  // CHECK: nn.attention %{{.*}}, %{{.*}}, %{{.*}} {labels = "bhsd,htbd,thbe->shbe", left = -1 : i64, nan = true, offset
  %3 = nn.attention %q, %u, %t {labels = "bhsd,htbd,thbe->shbe", nan = true,
      scale = 0.5 : f64, softcap = 0.0 : f64, left = -1, right = -1, offset = 0}
      : (tensor<2x4x5x4xf32>, tensor<2x7x2x4xf32>, tensor<7x2x2x8xf32>)
      -> tensor<5x4x2x8xf32>
  // CHECK: nn.attention_lse %{{.*}}, %{{.*}} {left = -1 : i64, offset = 2 : i64, right = 0 : i64, scale = 5.000000e-01 : f64, softcap = 0.000000e+00 : f64} : (tensor<2x4x5x4xf32>, tensor<2x2x7x4xf32>) -> tensor<2x4x5xf32>
  %lse = nn.attention_lse %q, %k {scale = 0.5 : f64, softcap = 0.0 : f64,
      left = -1, right = 0, offset = 2} : (tensor<2x4x5x4xf32>,
      tensor<2x2x7x4xf32>) -> tensor<2x4x5xf32>
  // CHECK: nn.attention_lse %{{.*}}, %{{.*}}, %{{.*}} {labels = "bhsd,htbd,thbe->shbe", left = -1 : i64, nan = true, offset
  %4 = nn.attention_lse %q, %u, %m {labels = "bhsd,htbd,thbe->shbe", nan = true,
      scale = 0.5 : f64, softcap = 0.0 : f64, left = -1, right = -1, offset = 0}
      : (tensor<2x4x5x4xf32>, tensor<2x7x2x4xf32>, tensor<2x1x5x7xi1>)
      -> tensor<2x4x5xf32>
  // CHECK: nn.attention_gradient %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {left = -1 : i64, of = "v", offset
  %5 = nn.attention_gradient %q, %k, %v, %0, %lse, %lse {of = "v",
      scale = 0.5 : f64, softcap = 0.0 : f64, left = -1, right = 0, offset = 2}
      : (tensor<2x4x5x4xf32>, tensor<2x2x7x4xf32>, tensor<2x2x7x8xf32>,
      tensor<2x4x5x8xf32>, tensor<2x4x5xf32>, tensor<2x4x5xf32>)
      -> tensor<2x2x7x8xf32>
  // CHECK: nn.attention_gradient %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {left = -1 : i64, of = "q", offset
  %6 = nn.attention_gradient %q, %k, %v, %1, %lse, %lse, %m {of = "q",
      scale = 0.5 : f64, softcap = 0.0 : f64, left = -1, right = -1, offset = 0}
      : (tensor<2x4x5x4xf32>, tensor<2x2x7x4xf32>, tensor<2x2x7x8xf32>,
      tensor<2x4x5x8xf32>, tensor<2x4x5xf32>, tensor<2x4x5xf32>,
      tensor<2x1x5x7xi1>) -> tensor<2x4x5x4xf32>
  // CHECK: nn.rotary %{{.*}}, %{{.*}}, %{{.*}} {interleaved = false}
  %2 = nn.rotary %q, %cos, %cos {interleaved = false} : (tensor<2x4x5x4xf32>,
      tensor<1x1x5x2xf32>, tensor<1x1x5x2xf32>) -> tensor<2x4x5x4xf32>
  return
}

// CHECK-LABEL: @quantized
func.func @quantized(%x: tensor<4x8xf32>, %s: tensor<4x2xf32>,
                     %z: tensor<4x2xi8>) {
  // CHECK: nn.quantize %{{.*}}, %{{.*}}, %{{.*}} {axis = 1 : i64, block = 4 : i64}
  %0 = nn.quantize %x, %s, %z {axis = 1, block = 4} : (tensor<4x8xf32>,
      tensor<4x2xf32>, tensor<4x2xi8>) -> tensor<4x8xi8>
  // CHECK: nn.dequantize %{{.*}}, %{{.*}} {axis = 1 : i64, block = 4 : i64}
  %1 = nn.dequantize %0, %s {axis = 1, block = 4} : (tensor<4x8xi8>,
      tensor<4x2xf32>) -> tensor<4x8xf32>
  return
}

// CHECK-LABEL: @integers
func.func @integers(%x: tensor<2x3x8xui8>, %w: tensor<4x3x3xi8>,
    %v: tensor<2x3x3xui8>, %a: tensor<2x4x4xf32>, %b: tensor<2x4x4xi8>, %s: tensor<1x1x1xf32>,
    %z: tensor<1x1x1xi8>) {
  // CHECK: nn.conv_integer %{{.*}}, %{{.*}} {dilations = array<i64: 1>, groups = 1 : i64, pads_hi = array<i64: 1>, pads_lo = array<i64: 1>, strides = array<i64: 2>, w_zero = 0 : i64, x_zero = 128 : i64}
  %0 = nn.conv_integer %x, %w {strides = array<i64: 2>,
      dilations = array<i64: 1>, pads_lo = array<i64: 1>,
      pads_hi = array<i64: 1>, groups = 1, x_zero = 128, w_zero = 0}
      : (tensor<2x3x8xui8>, tensor<4x3x3xi8>) -> tensor<2x4x4xi32>
  // CHECK: nn.matmul_integer %{{.*}}, %{{.*}} {a_zero = -128 : i64, b_zero = 255 : i64, labels = "mak,nak->mn"}
  %1 = nn.matmul_integer %w, %v {labels = "mak,nak->mn", a_zero = -128,
      b_zero = 255} : (tensor<4x3x3xi8>, tensor<2x3x3xui8>) -> tensor<4x2xi32>
  // CHECK: nn.add_dequantized %{{.*}}, %{{.*}}, %{{.*}} :
  %2 = nn.add_dequantized %a, %b, %s : (tensor<2x4x4xf32>, tensor<2x4x4xi8>,
      tensor<1x1x1xf32>) -> tensor<2x4x4xf32>
  // CHECK: nn.add_dequantized %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} :
  %3 = nn.add_dequantized %2, %b, %s, %z : (tensor<2x4x4xf32>,
      tensor<2x4x4xi8>, tensor<1x1x1xf32>, tensor<1x1x1xi8>)
      -> tensor<2x4x4xf32>
  return
}

// Empty dimensions and scalars are ordinary.
// CHECK-LABEL: @edges
func.func @edges(%empty: tensor<0x4xf32>, %one: tensor<1xf32>, %s: tensor<f32>)
    {
  // CHECK: nn.add %{{.*}} : (tensor<0x4xf32>, tensor<f32>) -> tensor<0x4xf32>
  %0 = nn.add %empty, %s : (tensor<0x4xf32>, tensor<f32>) -> tensor<0x4xf32>
  %1 = nn.reshape %empty : (tensor<0x4xf32>) -> tensor<2x0xf32>
  %2 = nn.reduce %empty {kind = "max", axes = array<i64: 0>} : (tensor<0x4xf32>)
      -> tensor<4xf32>
  %3 = nn.reshape %s : (tensor<f32>) -> tensor<1x1xf32>
  %4 = nn.matmul %one, %s {labels = "m,->m"} : (tensor<1xf32>, tensor<f32>)
      -> tensor<1xf32>
  return
}
