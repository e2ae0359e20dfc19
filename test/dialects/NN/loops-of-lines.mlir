// What operators that choose, order or accumulate say of their loops.
// RUN: divisi-opt %s --nn-print-loops -o /dev/null | FileCheck %s

nn.global @w state : tensor<4x8xf32> zero

// Rows chosen by data: a boolean table combines by or.
func.func @index(%x: tensor<4x8x5xf32>, %i: tensor<4x3x2xi64>,
    %j: tensor<4x3x5xi64>, %p: tensor<8xi1>, %k: tensor<3xi32>) {
  // CHECK: nn.iota d0=4 d1=8 0 flops
  // CHECK-NEXT:   out (d0)(d1)
  %0 = nn.iota {axis = 1} : () -> tensor<4x8xi64>
  // CHECK: nn.gather d0=4 d1=3 d2=2 d3=5 v=8:indexed-sum 0 flops
  // CHECK-NEXT:   in  (d0)(v)(d3)
  // CHECK-NEXT:   in  (d0)(d1)(d2)
  // CHECK-NEXT:   out (d0)(d1)(d2)(d3)
  // CHECK-NEXT:   linear {0}
  %1 = nn.gather %x, %i {axis = 1, batch_dims = 1} : (tensor<4x8x5xf32>,
      tensor<4x3x2xi64>) -> tensor<4x3x2x5xf32>
  // CHECK: nn.gather d0=3 v=8:indexed-or 0 flops
  // CHECK-NEXT:   in  (v)
  // CHECK-NEXT:   in  (d0)
  // CHECK-NEXT:   out (d0)
  %2 = nn.gather %p, %k {axis = 0, batch_dims = 0} : (tensor<8xi1>,
      tensor<3xi32>) -> tensor<3xi1>
  // CHECK: nn.take_along d0=4 d1=3 d2=5 v=8:indexed-sum 0 flops
  // CHECK-NEXT:   in  (d0)(v)(d2)
  // CHECK-NEXT:   in  (d0)(d1)(d2)
  // CHECK-NEXT:   out (d0)(d1)(d2)
  // CHECK-NEXT:   linear {0}
  %3 = nn.take_along %x, %j {axis = 1} : (tensor<4x8x5xf32>, tensor<4x3x5xi64>)
      -> tensor<4x3x5xf32>
  // CHECK: nn.random d0=4 d1=8 1024 flops
  // CHECK-NEXT:   in{{ *$}}
  // CHECK-NEXT:   in{{ *$}}
  // CHECK-NEXT:   out (d0)(d1)
  %key = nn.constant dense<7> : tensor<i64>
  %5 = nn.random %key, %key {stream = 0} : (tensor<i64>, tensor<i64>)
      -> tensor<4x8xf32>
  // CHECK: nn.resample d0=3 d1=8 d2=5 480 flops
  // CHECK-NEXT:   in  (d0[0:2 2:4 1:2])(d1)(d2)
  // CHECK-NEXT:   out (d0)(d1)(d2)
  // CHECK-NEXT:   linear {0}
  %4 = nn.resample %x {axis = 0, taps = 2, indices = array<i64: 0, 1, 3, 2, 1,
      1>, weights = array<f64: 0.5, 0.5, 0.5, 0.5, 1.0, 0.0>}
      : (tensor<4x8x5xf32>) -> tensor<3x8x5xf32>
  return
}

// What orders or accumulates needs whole lines. Running sums are linear.
func.func @order(%x: tensor<4x8x5xf32>, %i: tensor<4x3x2xi64>,
    %u: tensor<4x3x2x5xf32>, %s: tensor<4x8xi32>) {
  // CHECK: nn.arg_reduce d0=4 d1=8:exchange d2=5 160 flops
  // CHECK-NEXT:   in  (d0)(d1)(d2)
  // CHECK-NEXT:   out (d0)(d2){{$}}
  %0 = nn.arg_reduce %x {axis = 1, kind = "min", last = true}
      : (tensor<4x8x5xf32>) -> tensor<4x5xi64>
  // CHECK: nn.cumulate d0=4 d1=8:exchange d2=5 160 flops
  // CHECK-NEXT:   in  (d0)(d1)(d2)
  // CHECK-NEXT:   out (d0)(d1)(d2)
  // CHECK-NEXT:   linear {0}
  %1 = nn.cumulate %x {axis = 1, kind = "sum", exclusive = false,
      reverse = false} : (tensor<4x8x5xf32>) -> tensor<4x8x5xf32>
  // CHECK: nn.cumulate d0=4 d1=8:exchange d2=5 160 flops
  // CHECK-NEXT:   in  (d0)(d1)(d2)
  // CHECK-NEXT:   out (d0)(d1)(d2){{$}}
  %2 = nn.cumulate %x {axis = 1, kind = "prod", exclusive = false,
      reverse = false} : (tensor<4x8x5xf32>) -> tensor<4x8x5xf32>
  // CHECK: nn.top_k d0=4 d1=8:exchange d2=5 k=2:whole
  // CHECK-NEXT:   in  (d0)(d1)(d2)
  // CHECK-NEXT:   out (d0)(k)(d2){{$}}
  %3 = nn.top_k %x {axis = 1, k = 2, largest = true} : (tensor<4x8x5xf32>)
      -> tensor<4x2x5xi64>
  // CHECK: nn.scatter d0=4 d1=8 d2=5 i0=3:whole i1=2:whole 0 flops
  // CHECK-NEXT:   in  (d0)(d1)(d2)
  // CHECK-NEXT:   in  (d0)(i0)(i1)
  // CHECK-NEXT:   in  (d0)(i0)(i1)(d2)
  // CHECK-NEXT:   out (d0)(d1)(d2)
  // CHECK-NEXT:   linear {0, 2}
  %4 = nn.scatter %x, %i, %u {batch_dims = 1, kind = "add"}
      : (tensor<4x8x5xf32>, tensor<4x3x2xi64>, tensor<4x3x2x5xf32>)
      -> tensor<4x8x5xf32>
  // CHECK: nn.insert d0=4 d1=8 d2=5 n=3:whole 0 flops
  // CHECK-NEXT:   in  (d0)(d1)(d2)
  // CHECK-NEXT:   in  (d0)(n)(d2)
  // CHECK-NEXT:   in {{$}}
  // CHECK-NEXT:   out (d0)(d1)(d2)
  // CHECK-NEXT:   linear {0, 1}
  %slice = nn.constant dense<1.0> : tensor<4x3x5xf32>
  %offset = nn.constant dense<2> : tensor<i64>
  %inserted = nn.insert %x, %slice, %offset {axis = 1} : (tensor<4x8x5xf32>,
      tensor<4x3x5xf32>, tensor<i64>) -> tensor<4x8x5xf32>
  // CHECK: nn.shift d0=4 d1=8 32 flops
  // CHECK-NEXT:   in  (d0)(d1)
  // CHECK-NEXT:   in  (d0)(d1)
  // CHECK-NEXT:   out (d0)(d1){{$}}
  %5 = nn.shift %s, %s {left = false} : (tensor<4x8xi32>, tensor<4x8xi32>)
      -> tensor<4x8xi32>
  return
}

func.func @globals(%x: tensor<4x8xf32>) {
  // CHECK: nn.constant d0=4 d1=8 0 flops
  // CHECK-NEXT:   out (d0)(d1)
  %0 = nn.constant dense<1.0> : tensor<4x8xf32>
  // CHECK: nn.read d0=4 d1=8 0 flops
  // CHECK-NEXT:   out (d0)(d1)
  %1 = nn.read @w : tensor<4x8xf32>
  // CHECK: nn.update d0=4 d1=8 0 flops
  // CHECK-NEXT:   in  (d0)(d1)
  nn.update @w, %x : tensor<4x8xf32>
  return
}
