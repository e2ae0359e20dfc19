// RUN: divisi-opt %s --pass-pipeline='builtin.module(canonicalize,func.func(nn-fuse-attention),canonicalize)' | FileCheck %s

// As it is in formulas.
// CHECK-LABEL: func @plain
// CHECK-NEXT: %[[Y:.*]] = nn.attention %arg0, %arg1, %arg2 {left = -1 : i64, nan = true, offset = 0 : i64, right = -1 : i64, scale = 5.000000e-01 : f64, softcap = 0.000000e+00 : f64}
// CHECK-NEXT: return %[[Y]]
func.func @plain(%q: tensor<2x3x4x5xf32>, %k: tensor<2x3x6x5xf32>, %v: tensor<2x3x6x7xf32>) -> tensor<2x3x4x7xf32> {
  %c = nn.constant dense<0.5> : tensor<f32>
  %0 = nn.matmul %q, %k {labels = "bhsd,bhtd->bhst"} : (tensor<2x3x4x5xf32>, tensor<2x3x6x5xf32>) -> tensor<2x3x4x6xf32>
  %1 = nn.mul %0, %c : (tensor<2x3x4x6xf32>, tensor<f32>) -> tensor<2x3x4x6xf32>
  %2 = nn.softmax %1 {axis = 3, log = false} : (tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32>
  %3 = nn.matmul %2, %v {labels = "bhst,bhte->bhse"} : (tensor<2x3x4x6xf32>, tensor<2x3x6x7xf32>) -> tensor<2x3x4x7xf32>
  return %3 : tensor<2x3x4x7xf32>
}

// Heads behind lengths, other letters, the scale's root on both sides, and
// products the other way round.
// CHECK-LABEL: func @heads_last
// CHECK: %[[Y:.*]] = nn.attention %arg0, %arg1, %arg2 {labels = "bshd,bthd,bthe->bshe"
// CHECK-SAME: scale = 1.250000e-01
// CHECK-NEXT: return %[[Y]]
func.func @heads_last(%q: tensor<2x4x3x5xf32>, %k: tensor<2x6x3x5xf32>, %v: tensor<2x6x3x7xf32>) -> tensor<2x4x3x7xf32> {
  %c = nn.constant dense<0.5> : tensor<1xf32>
  %four = nn.constant dense<4.0> : tensor<f32>
  %0 = nn.mul %q, %c : (tensor<2x4x3x5xf32>, tensor<1xf32>) -> tensor<2x4x3x5xf32>
  %1 = nn.div %k, %four : (tensor<2x6x3x5xf32>, tensor<f32>) -> tensor<2x6x3x5xf32>
  %2 = nn.matmul %1, %0 {labels = "anbk,ambk->anbm"} : (tensor<2x6x3x5xf32>, tensor<2x4x3x5xf32>) -> tensor<2x6x3x4xf32>
  %s = nn.transpose %2 {permutation = array<i64: 0, 2, 3, 1>} : (tensor<2x6x3x4xf32>) -> tensor<2x3x4x6xf32>
  %3 = nn.softmax %s {axis = 3, log = false} : (tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32>
  %4 = nn.matmul %v, %3 {labels = "ztyx,zyst->zsyx"} : (tensor<2x6x3x7xf32>, tensor<2x3x4x6xf32>) -> tensor<2x4x3x7xf32>
  return %4 : tensor<2x4x3x7xf32>
}

// Rows that attend nothing get NaN of a softmax, which exporters replace by 0.
// CHECK-LABEL: func @mask_and_cleanup
// CHECK-NEXT: %[[Y:.*]] = nn.attention %arg0, %arg1, %arg2, %arg3 {left = -1 : i64, offset
// CHECK-NEXT: return %[[Y]]
func.func @mask_and_cleanup(%q: tensor<2x3x4x5xf32>, %k: tensor<2x3x6x5xf32>, %v: tensor<2x3x6x7xf32>, %m: tensor<2x1x1x6xf32>) -> tensor<2x3x4x7xf32> {
  %zero = nn.constant dense<0.0> : tensor<f32>
  %0 = nn.matmul %q, %k {labels = "bhsd,bhtd->bhst"} : (tensor<2x3x4x5xf32>, tensor<2x3x6x5xf32>) -> tensor<2x3x4x6xf32>
  %1 = nn.add %0, %m : (tensor<2x3x4x6xf32>, tensor<2x1x1x6xf32>) -> tensor<2x3x4x6xf32>
  %2 = nn.softmax %1 {axis = 3, log = false} : (tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32>
  %3 = nn.is_nan %2 : (tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xi1>
  %4 = nn.select %3, %zero, %2 : (tensor<2x3x4x6xi1>, tensor<f32>, tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32>
  %5 = nn.matmul %4, %v {labels = "bhst,bhte->bhse"} : (tensor<2x3x4x6xf32>, tensor<2x3x6x7xf32>) -> tensor<2x3x4x7xf32>
  return %5 : tensor<2x3x4x7xf32>
}

// A mask that misses dimensions, and one that is a table for all heads: their
// sum is no larger.
// CHECK-LABEL: func @two_masks
// CHECK: %[[SUM:.*]] = nn.add
// CHECK: nn.attention %arg0, %arg1, %arg2, %{{.*}} {
func.func @two_masks(%q: tensor<2x3x4x5xf32>, %k: tensor<2x3x6x5xf32>, %v: tensor<2x3x6x7xf32>, %m: tensor<4x6xf32>, %n: tensor<3x4x6xf32>) -> tensor<2x3x4x7xf32> {
  %0 = nn.matmul %q, %k {labels = "bhsd,bhtd->bhst"} : (tensor<2x3x4x5xf32>, tensor<2x3x6x5xf32>) -> tensor<2x3x4x6xf32>
  %1 = nn.add %m, %0 : (tensor<4x6xf32>, tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32>
  %2 = nn.add %1, %n : (tensor<2x3x4x6xf32>, tensor<3x4x6xf32>) -> tensor<2x3x4x6xf32>
  %3 = nn.softmax %2 {axis = 3, log = false} : (tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32>
  %4 = nn.matmul %3, %v {labels = "bhst,bhte->bhse"} : (tensor<2x3x4x6xf32>, tensor<2x3x6x7xf32>) -> tensor<2x3x4x7xf32>
  return %4 : tensor<2x3x4x7xf32>
}

// Booleans that choose minus infinity.
// CHECK-LABEL: func @bools
// CHECK: nn.attention %arg0, %arg1, %arg2, %{{.*}} {{{.*}}nan = true{{.*}}tensor<1x1x4x6xi1>)
func.func @bools(%q: tensor<2x3x4x5xf32>, %k: tensor<2x3x6x5xf32>, %v: tensor<2x3x6x7xf32>, %m: tensor<4x6xi1>) -> tensor<2x3x4x7xf32> {
  %none = nn.constant dense<0xFF800000> : tensor<f32>
  %0 = nn.matmul %q, %k {labels = "bhsd,bhtd->bhst"} : (tensor<2x3x4x5xf32>, tensor<2x3x6x5xf32>) -> tensor<2x3x4x6xf32>
  %1 = nn.select %m, %0, %none : (tensor<4x6xi1>, tensor<2x3x4x6xf32>, tensor<f32>) -> tensor<2x3x4x6xf32>
  %2 = nn.softmax %1 {axis = 3, log = false} : (tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32>
  %3 = nn.matmul %2, %v {labels = "bhst,bhte->bhse"} : (tensor<2x3x4x6xf32>, tensor<2x3x6x7xf32>) -> tensor<2x3x4x7xf32>
  return %3 : tensor<2x3x4x7xf32>
}

// Windows in two dimensions, a table by heads, keys whose rows lie apart.
// CHECK-LABEL: func @windows
// CHECK-DAG: nn.transpose %arg1 {permutation = array<i64: 0, 1, 2, 4, 3>}
// CHECK-DAG: nn.reshape %arg3 : (tensor<3x4x4xf32>) -> tensor<1x3x4x4xf32>
// CHECK: nn.attention %{{.*}} {labels = "bhsd,bhtd,bhte->bshe"
// CHECK-SAME: (tensor<10x3x4x5xf32>, tensor<10x3x4x5xf32>, tensor<10x3x4x7xf32>, tensor<1x3x4x4xf32>)
func.func @windows(%q: tensor<2x5x3x4x5xf32>, %k: tensor<2x5x3x5x4xf32>, %v: tensor<2x5x3x4x7xf32>, %m: tensor<3x4x4xf32>) -> tensor<2x5x4x3x7xf32> {
  %0 = nn.matmul %q, %k {labels = "xyhsd,xyhdt->xyhst"} : (tensor<2x5x3x4x5xf32>, tensor<2x5x3x5x4xf32>) -> tensor<2x5x3x4x4xf32>
  %1 = nn.add %0, %m : (tensor<2x5x3x4x4xf32>, tensor<3x4x4xf32>) -> tensor<2x5x3x4x4xf32>
  %2 = nn.softmax %1 {axis = 4, log = false} : (tensor<2x5x3x4x4xf32>) -> tensor<2x5x3x4x4xf32>
  %3 = nn.matmul %2, %v {labels = "xyhst,xyhte->xyshe"} : (tensor<2x5x3x4x4xf32>, tensor<2x5x3x4x7xf32>) -> tensor<2x5x4x3x7xf32>
  return %3 : tensor<2x5x4x3x7xf32>
}

// Heads alone.
// CHECK-LABEL: func @rank_three
// CHECK: nn.attention %{{.*}} (tensor<1x2x4x5xf32>, tensor<1x2x6x5xf32>, tensor<1x2x6x7xf32>)
func.func @rank_three(%q: tensor<2x4x5xf32>, %k: tensor<2x6x5xf32>, %v: tensor<2x6x7xf32>) -> tensor<2x4x7xf32> {
  %0 = nn.matmul %q, %k {labels = "hsd,htd->hst"} : (tensor<2x4x5xf32>, tensor<2x6x5xf32>) -> tensor<2x4x6xf32>
  %1 = nn.softmax %0 {axis = 2, log = false} : (tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %2 = nn.matmul %1, %v {labels = "hst,hte->hse"} : (tensor<2x4x6xf32>, tensor<2x6x7xf32>) -> tensor<2x4x7xf32>
  return %2 : tensor<2x4x7xf32>
}

// What was written in runs before is kept as keys and values are.
nn.global @cached_keys state : tensor<6x5xf32>
nn.global @cached_values state : tensor<6x7xf32>
// CHECK-LABEL: func @cached
// CHECK: nn.attention
func.func @cached(%q: tensor<4x5xf32>) -> tensor<4x7xf32> {
  %k = nn.read @cached_keys : tensor<6x5xf32>
  %v = nn.read @cached_values : tensor<6x7xf32>
  %0 = nn.matmul %q, %k {labels = "sd,td->st"} : (tensor<4x5xf32>, tensor<6x5xf32>) -> tensor<4x6xf32>
  %1 = nn.softmax %0 {axis = 1, log = false} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %y = nn.matmul %1, %v {labels = "st,te->se"} : (tensor<4x6xf32>, tensor<6x7xf32>) -> tensor<4x7xf32>
  return %y : tensor<4x7xf32>
}

// Two masks, whose sum is as large as the products.
// CHECK-LABEL: func @larger_sum
// CHECK: %[[SUM:.*]] = nn.add {{.*}} -> tensor<2x3x4x6xf32>
// CHECK: nn.attention %arg0, %arg1, %arg2, %[[SUM]] {
func.func @larger_sum(%q: tensor<2x3x4x5xf32>, %k: tensor<2x3x6x5xf32>, %v: tensor<2x3x6x7xf32>, %m: tensor<2x1x1x6xf32>, %n: tensor<3x4x1xf32>) -> tensor<2x3x4x7xf32> {
  %0 = nn.matmul %q, %k {labels = "bhsd,bhtd->bhst"} : (tensor<2x3x4x5xf32>, tensor<2x3x6x5xf32>) -> tensor<2x3x4x6xf32>
  %1 = nn.add %0, %m : (tensor<2x3x4x6xf32>, tensor<2x1x1x6xf32>) -> tensor<2x3x4x6xf32>
  %2 = nn.add %1, %n : (tensor<2x3x4x6xf32>, tensor<3x4x1xf32>) -> tensor<2x3x4x6xf32>
  %3 = nn.softmax %2 {axis = 3, log = false} : (tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32>
  %y = nn.matmul %3, %v {labels = "bhst,bhte->bhse"} : (tensor<2x3x4x6xf32>, tensor<2x3x6x7xf32>) -> tensor<2x3x4x7xf32>
  return %y : tensor<2x3x4x7xf32>
}

// The mask is divided, too.
// CHECK-LABEL: func @scaled_mask
// CHECK: %[[M:.*]] = nn.mul %arg3, %{{.*}} : (tensor<2x1x1x6xf32>, tensor<f32>)
// CHECK: nn.attention %arg0, %arg1, %arg2, %[[M]] {{{.*}}scale = 2.500000e-01
func.func @scaled_mask(%q: tensor<2x3x4x5xf32>, %k: tensor<2x3x6x5xf32>, %v: tensor<2x3x6x7xf32>, %m: tensor<2x1x1x6xf32>) -> tensor<2x3x4x7xf32> {
  %c = nn.constant dense<4.0> : tensor<f32>
  %0 = nn.matmul %q, %k {labels = "bhsd,bhtd->bhst"} : (tensor<2x3x4x5xf32>, tensor<2x3x6x5xf32>) -> tensor<2x3x4x6xf32>
  %1 = nn.add %0, %m : (tensor<2x3x4x6xf32>, tensor<2x1x1x6xf32>) -> tensor<2x3x4x6xf32>
  %2 = nn.div %1, %c : (tensor<2x3x4x6xf32>, tensor<f32>) -> tensor<2x3x4x6xf32>
  %3 = nn.softmax %2 {axis = 3, log = false} : (tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32>
  %y = nn.matmul %3, %v {labels = "bhst,bhte->bhse"} : (tensor<2x3x4x6xf32>, tensor<2x3x6x7xf32>) -> tensor<2x3x4x7xf32>
  return %y : tensor<2x3x4x7xf32>
}

// 50 * tanh(q k / 8 / 50) and a mask.
// CHECK-LABEL: func @capped
// CHECK: nn.attention %arg0, %arg1, %arg2, %{{.*}} {{{.*}}scale = 1.250000e-01{{.*}}softcap = 5.000000e+01
func.func @capped(%q: tensor<2x3x4x5xf32>, %k: tensor<2x3x6x5xf32>, %v: tensor<2x3x6x7xf32>, %m: tensor<4x6xf32>) -> tensor<2x3x4x7xf32> {
  %c = nn.constant dense<0.125> : tensor<f32>
  %cap = nn.constant dense<50.0> : tensor<f32>
  %0 = nn.matmul %q, %k {labels = "bhsd,bhtd->bhst"} : (tensor<2x3x4x5xf32>, tensor<2x3x6x5xf32>) -> tensor<2x3x4x6xf32>
  %1 = nn.mul %0, %c : (tensor<2x3x4x6xf32>, tensor<f32>) -> tensor<2x3x4x6xf32>
  %2 = nn.div %1, %cap : (tensor<2x3x4x6xf32>, tensor<f32>) -> tensor<2x3x4x6xf32>
  %3 = nn.tanh %2 : (tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32>
  %4 = nn.mul %3, %cap : (tensor<2x3x4x6xf32>, tensor<f32>) -> tensor<2x3x4x6xf32>
  %5 = nn.add %4, %m : (tensor<2x3x4x6xf32>, tensor<4x6xf32>) -> tensor<2x3x4x6xf32>
  %6 = nn.softmax %5 {axis = 3, log = false} : (tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32>
  %y = nn.matmul %6, %v {labels = "bhst,bhte->bhse"} : (tensor<2x3x4x6xf32>, tensor<2x3x6x7xf32>) -> tensor<2x3x4x7xf32>
  return %y : tensor<2x3x4x7xf32>
}

// One scale for each head: queries are fewer than products.
// CHECK-LABEL: func @scale_by_head
// CHECK: %[[C:.*]] = nn.reshape %arg3 : (tensor<3x1x1xf32>) -> tensor<1x1x3x1xf32>
// CHECK: %[[Q:.*]] = nn.mul %arg0, %[[C]] : (tensor<2x4x3x5xf32>, tensor<1x1x3x1xf32>)
// CHECK: nn.attention %[[Q]], %arg1, %arg2 {
func.func @scale_by_head(%q: tensor<2x4x3x5xf32>, %k: tensor<2x6x3x5xf32>, %v: tensor<2x6x3x7xf32>, %c: tensor<3x1x1xf32>) -> tensor<2x4x3x7xf32> {
  %0 = nn.matmul %q, %k {labels = "bshd,bthd->bhst"} : (tensor<2x4x3x5xf32>, tensor<2x6x3x5xf32>) -> tensor<2x3x4x6xf32>
  %1 = nn.mul %c, %0 : (tensor<3x1x1xf32>, tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32>
  %2 = nn.softmax %1 {axis = 3, log = false} : (tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32>
  %y = nn.matmul %2, %v {labels = "bhst,bthe->bshe"} : (tensor<2x3x4x6xf32>, tensor<2x6x3x7xf32>) -> tensor<2x4x3x7xf32>
  return %y : tensor<2x4x3x7xf32>
}

// One scale for each query, which lie in another order.
// CHECK-LABEL: func @scale_by_query
// CHECK: %[[C:.*]] = nn.transpose %{{.*}} {permutation = array<i64: 1, 3, 2, 0>} : (tensor<1x1x3x4xf32>)
// CHECK: %[[Q:.*]] = nn.mul %arg0, %[[C]] : (tensor<2x4x3x5xf32>, tensor<1x4x3x1xf32>)
// CHECK: nn.attention %[[Q]], %arg1, %arg2 {
func.func @scale_by_query(%q: tensor<2x4x3x5xf32>, %k: tensor<2x6x3x5xf32>, %v: tensor<2x6x3x7xf32>, %c: tensor<3x4x1xf32>) -> tensor<2x4x3x7xf32> {
  %0 = nn.matmul %q, %k {labels = "bshd,bthd->bhst"} : (tensor<2x4x3x5xf32>, tensor<2x6x3x5xf32>) -> tensor<2x3x4x6xf32>
  %1 = nn.mul %0, %c : (tensor<2x3x4x6xf32>, tensor<3x4x1xf32>) -> tensor<2x3x4x6xf32>
  %2 = nn.softmax %1 {axis = 3, log = false} : (tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32>
  %y = nn.matmul %2, %v {labels = "bhst,bthe->bshe"} : (tensor<2x3x4x6xf32>, tensor<2x6x3x7xf32>) -> tensor<2x4x3x7xf32>
  return %y : tensor<2x4x3x7xf32>
}

// Booleans that choose what is left out, and numbers besides.
// CHECK-LABEL: func @left_out
// CHECK: %[[N:.*]] = nn.not %arg3
// CHECK: nn.attention %arg0, %arg1, %arg2, %{{.*}} {{.*}}tensor<1x1x4x6xi1>)
// CHECK: %[[S:.*]] = nn.select %arg3, %[[I:.*]], %arg4 : (tensor<4x6xi1>, tensor<f32>, tensor<3x4x6xf32>)
// CHECK: nn.attention %arg0, %arg1, %arg2, %{{.*}} {{.*}}tensor<1x3x4x6xf32>)
func.func @left_out(%q: tensor<2x3x4x5xf32>, %k: tensor<2x3x6x5xf32>, %v: tensor<2x3x6x7xf32>, %m: tensor<4x6xi1>, %n: tensor<3x4x6xf32>) -> (tensor<2x3x4x7xf32>, tensor<2x3x4x7xf32>) {
  %none = nn.constant dense<0xFF800000> : tensor<f32>
  %0 = nn.matmul %q, %k {labels = "bhsd,bhtd->bhst"} : (tensor<2x3x4x5xf32>, tensor<2x3x6x5xf32>) -> tensor<2x3x4x6xf32>
  %1 = nn.select %m, %none, %0 : (tensor<4x6xi1>, tensor<f32>, tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32>
  %2 = nn.softmax %1 {axis = 3, log = false} : (tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32>
  %y = nn.matmul %2, %v {labels = "bhst,bhte->bhse"} : (tensor<2x3x4x6xf32>, tensor<2x3x6x7xf32>) -> tensor<2x3x4x7xf32>
  %3 = nn.matmul %q, %k {labels = "bhsd,bhtd->bhst"} : (tensor<2x3x4x5xf32>, tensor<2x3x6x5xf32>) -> tensor<2x3x4x6xf32>
  %4 = nn.add %3, %n : (tensor<2x3x4x6xf32>, tensor<3x4x6xf32>) -> tensor<2x3x4x6xf32>
  %5 = nn.select %m, %none, %4 : (tensor<4x6xi1>, tensor<f32>, tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32>
  %6 = nn.softmax %5 {axis = 3, log = false} : (tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32>
  %z = nn.matmul %6, %v {labels = "bhst,bhte->bhse"} : (tensor<2x3x4x6xf32>, tensor<2x3x6x7xf32>) -> tensor<2x3x4x7xf32>
  return %y, %z : tensor<2x3x4x7xf32>, tensor<2x3x4x7xf32>
}

// The lowest number is the same with any product added to it: rows of which all
// is left out have equal weights.
// CHECK-LABEL: func @lowest
// CHECK: %[[S:.*]] = nn.select %arg3, %{{.*}}, %{{.*}} : (tensor<4x6xi1>, tensor<f32>, tensor<f32>) -> tensor<4x6xf32>
// CHECK: nn.attention %arg0, %arg1, %arg2, %{{.*}} {{.*}}tensor<1x1x4x6xf32>)
func.func @lowest(%q: tensor<2x3x4x5xf32>, %k: tensor<2x3x6x5xf32>, %v: tensor<2x3x6x7xf32>, %m: tensor<4x6xi1>) -> tensor<2x3x4x7xf32> {
  %c = nn.constant dense<-3.40282347E+38> : tensor<f32>
  %0 = nn.matmul %q, %k {labels = "bhsd,bhtd->bhst"} : (tensor<2x3x4x5xf32>, tensor<2x3x6x5xf32>) -> tensor<2x3x4x6xf32>
  %1 = nn.select %m, %0, %c : (tensor<4x6xi1>, tensor<2x3x4x6xf32>, tensor<f32>) -> tensor<2x3x4x6xf32>
  %2 = nn.softmax %1 {axis = 3, log = false} : (tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32>
  %y = nn.matmul %2, %v {labels = "bhst,bhte->bhse"} : (tensor<2x3x4x6xf32>, tensor<2x3x6x7xf32>) -> tensor<2x3x4x7xf32>
  return %y : tensor<2x3x4x7xf32>
}

// Where booleans do not choose products, a mask before does not count: its sum
// with the number could be infinite.
// CHECK-LABEL: func @two_lowest
// CHECK: %[[S:.*]] = nn.select %arg3, %arg4, %{{.*}} : (tensor<4x6xi1>, tensor<2x1x1x6xf32>, tensor<f32>) -> tensor<2x1x4x6xf32>
// CHECK: nn.attention %arg0, %arg1, %arg2, %[[S]] {
func.func @two_lowest(%q: tensor<2x3x4x5xf32>, %k: tensor<2x3x6x5xf32>, %v: tensor<2x3x6x7xf32>, %m: tensor<4x6xi1>, %n: tensor<2x1x1x6xf32>) -> tensor<2x3x4x7xf32> {
  %c = nn.constant dense<-3.0e38> : tensor<f32>
  %0 = nn.matmul %q, %k {labels = "bhsd,bhtd->bhst"} : (tensor<2x3x4x5xf32>, tensor<2x3x6x5xf32>) -> tensor<2x3x4x6xf32>
  %1 = nn.add %0, %n : (tensor<2x3x4x6xf32>, tensor<2x1x1x6xf32>) -> tensor<2x3x4x6xf32>
  %2 = nn.select %m, %1, %c : (tensor<4x6xi1>, tensor<2x3x4x6xf32>, tensor<f32>) -> tensor<2x3x4x6xf32>
  %3 = nn.softmax %2 {axis = 3, log = false} : (tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32>
  %y = nn.matmul %3, %v {labels = "bhst,bhte->bhse"} : (tensor<2x3x4x6xf32>, tensor<2x3x6x7xf32>) -> tensor<2x3x4x7xf32>
  return %y : tensor<2x3x4x7xf32>
}

// A mask behind booleans, all of it bounded, as decoders write it.
// CHECK-LABEL: func @bounded
// CHECK: %[[S:.*]] = nn.select %arg3, %{{.*}}, %{{.*}} : (tensor<4x6xi1>, tensor<f32>, tensor<f32>) -> tensor<4x6xf32>
// CHECK: %[[SUM:.*]] = nn.add %[[S]], %arg4
// CHECK: nn.max %[[SUM]], %{{.*}} : (tensor<2x1x4x6xf32>, tensor<f32>) -> tensor<2x1x4x6xf32>
// CHECK: nn.attention %arg0, %arg1, %arg2, %{{.*}} {{.*}}tensor<2x1x4x6xf32>)
func.func @bounded(%q: tensor<2x3x4x5xf32>, %k: tensor<2x3x6x5xf32>, %v: tensor<2x3x6x7xf32>, %m: tensor<4x6xi1>, %n: tensor<2x1x1x6xf32>) -> tensor<2x3x4x7xf32> {
  %c = nn.constant dense<-3.40282347E+38> : tensor<f32>
  %0 = nn.matmul %q, %k {labels = "bhsd,bhtd->bhst"} : (tensor<2x3x4x5xf32>, tensor<2x3x6x5xf32>) -> tensor<2x3x4x6xf32>
  %1 = nn.select %m, %0, %c : (tensor<4x6xi1>, tensor<2x3x4x6xf32>, tensor<f32>) -> tensor<2x3x4x6xf32>
  %2 = nn.add %1, %n : (tensor<2x3x4x6xf32>, tensor<2x1x1x6xf32>) -> tensor<2x3x4x6xf32>
  %3 = nn.max %2, %c : (tensor<2x3x4x6xf32>, tensor<f32>) -> tensor<2x3x4x6xf32>
  %4 = nn.softmax %3 {axis = 3, log = false} : (tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32>
  %y = nn.matmul %4, %v {labels = "bhst,bhte->bhse"} : (tensor<2x3x4x6xf32>, tensor<2x3x6x7xf32>) -> tensor<2x3x4x7xf32>
  return %y : tensor<2x3x4x7xf32>
}

// Each head of keys and values does for two of queries.
// CHECK-LABEL: func @groups
// CHECK-NOT: nn.broadcast
// CHECK: %[[V:.*]] = nn.reshape %arg2 : (tensor<2x3x1x6x7xf32>) -> tensor<2x3x6x7xf32>
// CHECK: nn.attention %arg0, %arg1, %[[V]] {{{.*}}softcap = 5.000000e+01
func.func @groups(%q: tensor<2x6x4x5xf32>, %k: tensor<2x3x6x5xf32>, %v: tensor<2x3x1x6x7xf32>) -> tensor<2x6x4x7xf32> {
  %c = nn.constant dense<50.0> : tensor<f32>
  %0 = nn.reshape %k : (tensor<2x3x6x5xf32>) -> tensor<2x3x1x6x5xf32>
  %1 = nn.broadcast %0 {dims = array<i64: 0, 1, 2, 3, 4>} : (tensor<2x3x1x6x5xf32>) -> tensor<2x3x2x6x5xf32>
  %2 = nn.reshape %1 : (tensor<2x3x2x6x5xf32>) -> tensor<2x6x6x5xf32>
  %3 = nn.broadcast %v {dims = array<i64: 0, 1, 2, 3, 4>} : (tensor<2x3x1x6x7xf32>) -> tensor<2x3x2x6x7xf32>
  %4 = nn.reshape %3 : (tensor<2x3x2x6x7xf32>) -> tensor<2x6x6x7xf32>
  %5 = nn.matmul %q, %2 {labels = "bhsd,bhtd->bhst"} : (tensor<2x6x4x5xf32>, tensor<2x6x6x5xf32>) -> tensor<2x6x4x6xf32>
  %6 = nn.div %5, %c : (tensor<2x6x4x6xf32>, tensor<f32>) -> tensor<2x6x4x6xf32>
  %7 = nn.tanh %6 : (tensor<2x6x4x6xf32>) -> tensor<2x6x4x6xf32>
  %8 = nn.mul %7, %c : (tensor<2x6x4x6xf32>, tensor<f32>) -> tensor<2x6x4x6xf32>
  %9 = nn.softmax %8 {axis = 3, log = false} : (tensor<2x6x4x6xf32>) -> tensor<2x6x4x6xf32>
  %y = nn.matmul %9, %4 {labels = "bhst,bhte->bhse"} : (tensor<2x6x4x6xf32>, tensor<2x6x6x7xf32>) -> tensor<2x6x4x7xf32>
  return %y : tensor<2x6x4x7xf32>
}

// Each head of keys and values once behind all others: no two of queries that
// share one are neighbours.
// CHECK-LABEL: func @no_groups
// CHECK: nn.broadcast
// CHECK: nn.broadcast
// CHECK: nn.attention %arg0, %{{.*}}, %{{.*}} {
func.func @no_groups(%q: tensor<2x6x4x5xf32>, %k: tensor<2x1x3x6x5xf32>, %v: tensor<2x1x3x6x7xf32>) -> tensor<2x6x4x7xf32> {
  %1 = nn.broadcast %k {dims = array<i64: 0, 1, 2, 3, 4>} : (tensor<2x1x3x6x5xf32>) -> tensor<2x2x3x6x5xf32>
  %2 = nn.reshape %1 : (tensor<2x2x3x6x5xf32>) -> tensor<2x6x6x5xf32>
  %3 = nn.broadcast %v {dims = array<i64: 0, 1, 2, 3, 4>} : (tensor<2x1x3x6x7xf32>) -> tensor<2x2x3x6x7xf32>
  %4 = nn.reshape %3 : (tensor<2x2x3x6x7xf32>) -> tensor<2x6x6x7xf32>
  %5 = nn.matmul %q, %2 {labels = "bhsd,bhtd->bhst"} : (tensor<2x6x4x5xf32>, tensor<2x6x6x5xf32>) -> tensor<2x6x4x6xf32>
  %6 = nn.softmax %5 {axis = 3, log = false} : (tensor<2x6x4x6xf32>) -> tensor<2x6x4x6xf32>
  %y = nn.matmul %6, %4 {labels = "bhst,bhte->bhse"} : (tensor<2x6x4x6xf32>, tensor<2x6x6x7xf32>) -> tensor<2x6x4x7xf32>
  return %y : tensor<2x6x4x7xf32>
}

// One key for all heads.
// CHECK-LABEL: func @one_key
// CHECK: nn.attention %arg0, %{{.*}}, %{{.*}} {labels = "bhsd,hbtd,hbte->bhse"
// CHECK-SAME: (tensor<2x3x4x5xf32>, tensor<1x2x6x5xf32>, tensor<1x2x6x7xf32>, tensor<2x1x4x6xf32>)
func.func @one_key(%q: tensor<2x3x4x5xf32>, %k: tensor<2x6x5xf32>, %v: tensor<2x6x7xf32>, %m: tensor<2x1x4x6xf32>) -> tensor<2x3x4x7xf32> {
  %0 = nn.matmul %q, %k {labels = "bhsd,btd->bhst"} : (tensor<2x3x4x5xf32>, tensor<2x6x5xf32>) -> tensor<2x3x4x6xf32>
  %1 = nn.add %0, %m : (tensor<2x3x4x6xf32>, tensor<2x1x4x6xf32>) -> tensor<2x3x4x6xf32>
  %2 = nn.softmax %1 {axis = 3, log = false} : (tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32>
  %3 = nn.matmul %2, %v {labels = "bhst,bte->bhse"} : (tensor<2x3x4x6xf32>, tensor<2x6x7xf32>) -> tensor<2x3x4x7xf32>
  return %3 : tensor<2x3x4x7xf32>
}

// Products of narrow floats have sums in f32, which are rounded behind.
// CHECK-LABEL: func @narrow
// CHECK: %[[Y:.*]] = nn.attention %arg0, %arg1, %arg2, %arg3 {left = -1 : i64, offset = 0 : i64, right = -1 : i64, scale = 5.000000e-01 : f64, {{.*}} -> tensor<2x3x4x7xbf16>
// CHECK-NEXT: return %[[Y]]
func.func @narrow(%q: tensor<2x3x4x5xbf16>, %k: tensor<2x3x6x5xbf16>, %v: tensor<2x3x6x7xbf16>, %m: tensor<2x1x4x6xbf16>) -> tensor<2x3x4x7xbf16> {
  %0 = nn.matmul %q, %k {labels = "bhsd,bhtd->bhst"} : (tensor<2x3x4x5xbf16>, tensor<2x3x6x5xbf16>) -> tensor<2x3x4x6xf32>
  %1 = nn.cast %0 : (tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xbf16>
  %c = nn.constant dense<5.000000e-01> : tensor<bf16>
  %2 = nn.mul %1, %c : (tensor<2x3x4x6xbf16>, tensor<bf16>) -> tensor<2x3x4x6xbf16>
  %3 = nn.add %2, %m : (tensor<2x3x4x6xbf16>, tensor<2x1x4x6xbf16>) -> tensor<2x3x4x6xbf16>
  %4 = nn.softmax %3 {axis = 3, log = false} : (tensor<2x3x4x6xbf16>) -> tensor<2x3x4x6xbf16>
  %5 = nn.is_nan %4 : (tensor<2x3x4x6xbf16>) -> tensor<2x3x4x6xi1>
  %z = nn.constant dense<0.000000e+00> : tensor<bf16>
  %6 = nn.select %5, %z, %4 : (tensor<2x3x4x6xi1>, tensor<bf16>, tensor<2x3x4x6xbf16>) -> tensor<2x3x4x6xbf16>
  %7 = nn.matmul %6, %v {labels = "bhst,bhte->bhse"} : (tensor<2x3x4x6xbf16>, tensor<2x3x6x7xbf16>) -> tensor<2x3x4x7xf32>
  %y = nn.cast %7 : (tensor<2x3x4x7xf32>) -> tensor<2x3x4x7xbf16>
  return %y : tensor<2x3x4x7xbf16>
}

// Weights are computed in f32, which is what the operator does; the mask comes
// in it, too.
// CHECK-LABEL: func @widened_softmax
// CHECK: %[[Y:.*]] = nn.attention %arg0, %arg1, %arg2, %arg3 {{.*}} -> tensor<2x3x4x7xf16>
// CHECK-NEXT: return %[[Y]]
func.func @widened_softmax(%q: tensor<2x3x4x5xf16>, %k: tensor<2x3x6x5xf16>, %v: tensor<2x3x6x7xf16>, %m: tensor<2x1x4x6xf16>) -> tensor<2x3x4x7xf16> {
  %0 = nn.matmul %q, %k {labels = "bhsd,bhtd->bhst"} : (tensor<2x3x4x5xf16>, tensor<2x3x6x5xf16>) -> tensor<2x3x4x6xf32>
  %1 = nn.cast %0 : (tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf16>
  %2 = nn.cast %1 : (tensor<2x3x4x6xf16>) -> tensor<2x3x4x6xf32>
  %3 = nn.cast %m : (tensor<2x1x4x6xf16>) -> tensor<2x1x4x6xf32>
  %4 = nn.add %2, %3 : (tensor<2x3x4x6xf32>, tensor<2x1x4x6xf32>) -> tensor<2x3x4x6xf32>
  %5 = nn.softmax %4 {axis = 3, log = false} : (tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32>
  %6 = nn.cast %5 : (tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf16>
  %7 = nn.matmul %6, %v {labels = "bhst,bhte->bhse"} : (tensor<2x3x4x6xf16>, tensor<2x3x6x7xf16>) -> tensor<2x3x4x7xf32>
  %y = nn.cast %7 : (tensor<2x3x4x7xf32>) -> tensor<2x3x4x7xf16>
  return %y : tensor<2x3x4x7xf16>
}

// Queries and keys are widened before their products, and the lowest number of
// f32 becomes that of bf16.
// CHECK-LABEL: func @widened_queries
// CHECK-DAG: %[[LOW:.*]] = nn.constant dense<-3.38{{.*}}> : tensor<bf16>
// CHECK-DAG: %[[ZERO:.*]] = nn.constant dense<0.0{{.*}}> : tensor<bf16>
// CHECK: %[[MASK:.*]] = nn.select %arg3, %[[ZERO]], %[[LOW]]
// CHECK: nn.attention %arg0, %arg1, %arg2, {{.*}} -> tensor<2x3x4x7xbf16>
func.func @widened_queries(%q: tensor<2x3x4x5xbf16>, %k: tensor<2x3x6x5xbf16>, %v: tensor<2x3x6x7xbf16>, %m: tensor<4x6xi1>) -> tensor<2x3x4x7xbf16> {
  %0 = nn.cast %q : (tensor<2x3x4x5xbf16>) -> tensor<2x3x4x5xf32>
  %1 = nn.cast %k : (tensor<2x3x6x5xbf16>) -> tensor<2x3x6x5xf32>
  %2 = nn.matmul %0, %1 {labels = "bhsd,bhtd->bhst"} : (tensor<2x3x4x5xf32>, tensor<2x3x6x5xf32>) -> tensor<2x3x4x6xf32>
  %c = nn.constant dense<-3.40282347E+38> : tensor<f32>
  %3 = nn.select %m, %2, %c : (tensor<4x6xi1>, tensor<2x3x4x6xf32>, tensor<f32>) -> tensor<2x3x4x6xf32>
  %4 = nn.softmax %3 {axis = 3, log = false} : (tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32>
  %5 = nn.cast %4 : (tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xbf16>
  %6 = nn.matmul %5, %v {labels = "bhst,bhte->bhse"} : (tensor<2x3x4x6xbf16>, tensor<2x3x6x7xbf16>) -> tensor<2x3x4x7xf32>
  %y = nn.cast %6 : (tensor<2x3x4x7xf32>) -> tensor<2x3x4x7xbf16>
  return %y : tensor<2x3x4x7xbf16>
}

// Three heads of queries for each of keys, a dimension of their own.
// CHECK-LABEL: func @head_groups
// CHECK-DAG: %[[Q:.*]] = nn.reshape %arg0 {{.*}} -> tensor<2x4x6x5xf32>
// CHECK-DAG: %[[M:.*]] = nn.reshape %arg3 {{.*}} -> tensor<2x1x4x6xf32>
// CHECK: %[[Y:.*]] = nn.attention %[[Q]], %arg1, %arg2, %[[M]] {labels = "bshd,bthd,bhte->bshe"
// CHECK: nn.reshape %[[Y]] {{.*}} -> tensor<2x4x2x3x7xf32>
func.func @head_groups(%q: tensor<2x4x2x3x5xf32>, %k: tensor<2x6x2x5xf32>, %v: tensor<2x2x6x7xf32>, %m: tensor<2x1x1x4x6xf32>) -> tensor<2x4x2x3x7xf32> {
  %0 = nn.matmul %q, %k {labels = "bshgd,bthd->bhgst"} : (tensor<2x4x2x3x5xf32>, tensor<2x6x2x5xf32>) -> tensor<2x2x3x4x6xf32>
  %1 = nn.add %0, %m : (tensor<2x2x3x4x6xf32>, tensor<2x1x1x4x6xf32>) -> tensor<2x2x3x4x6xf32>
  %2 = nn.softmax %1 {axis = 4, log = false} : (tensor<2x2x3x4x6xf32>) -> tensor<2x2x3x4x6xf32>
  %3 = nn.matmul %2, %v {labels = "bhgst,bhte->bshge"} : (tensor<2x2x3x4x6xf32>, tensor<2x2x6x7xf32>) -> tensor<2x4x2x3x7xf32>
  return %3 : tensor<2x4x2x3x7xf32>
}

// What stands before an attention that is one already. Letters say what a dim
// is: a mask has heads behind batches whatever the others have.
// CHECK-LABEL: func @scaled_before
// CHECK-NEXT: %[[Y:.*]] = nn.attention %arg0, %arg1, %arg2, %arg3 {labels = "hbsd,hbtd,hbte->hbse", {{.*}}scale = 1.250000e-01
// CHECK-NEXT: return %[[Y]]
func.func @scaled_before(%q: tensor<3x3x4x5xf32>, %k: tensor<3x3x6x5xf32>, %v: tensor<3x3x6x7xf32>, %m: tensor<3x3x4x6xf32>) -> tensor<3x3x4x7xf32> {
  %c = nn.constant dense<0.5> : tensor<f32>
  %0 = nn.mul %q, %c : (tensor<3x3x4x5xf32>, tensor<f32>) -> tensor<3x3x4x5xf32>
  %1 = nn.mul %k, %c : (tensor<3x3x6x5xf32>, tensor<f32>) -> tensor<3x3x6x5xf32>
  %y = nn.attention %0, %1, %v, %m {labels = "hbsd,hbtd,hbte->hbse", left = 1, nan = true, offset = 0, right = -1, scale = 0.5 : f64, softcap = 5.0 : f64} : (tensor<3x3x4x5xf32>, tensor<3x3x6x5xf32>, tensor<3x3x6x7xf32>, tensor<3x3x4x6xf32>) -> tensor<3x3x4x7xf32>
  return %y : tensor<3x3x4x7xf32>
}

// CHECK-LABEL: func @repeated_before
// CHECK-NEXT: %[[Y:.*]] = nn.attention %arg0, %arg1, %arg2, %arg3 {left = 1
// CHECK-NEXT: return %[[Y]]
func.func @repeated_before(%q: tensor<2x6x4x5xf32>, %k: tensor<2x3x6x5xf32>, %v: tensor<2x3x6x7xf32>, %m: tensor<2x1x4x6xi1>) -> tensor<2x6x4x7xf32> {
  %0 = nn.reshape %k : (tensor<2x3x6x5xf32>) -> tensor<2x3x1x6x5xf32>
  %1 = nn.broadcast %0 {dims = array<i64: 0, 1, 2, 3, 4>} : (tensor<2x3x1x6x5xf32>) -> tensor<2x3x2x6x5xf32>
  %2 = nn.reshape %1 : (tensor<2x3x2x6x5xf32>) -> tensor<2x6x6x5xf32>
  %3 = nn.reshape %v : (tensor<2x3x6x7xf32>) -> tensor<2x3x1x6x7xf32>
  %4 = nn.broadcast %3 {dims = array<i64: 0, 1, 2, 3, 4>} : (tensor<2x3x1x6x7xf32>) -> tensor<2x3x2x6x7xf32>
  %5 = nn.reshape %4 : (tensor<2x3x2x6x7xf32>) -> tensor<2x6x6x7xf32>
  %y = nn.attention %q, %2, %5, %m {left = 1, nan = true, offset = 0, right = -1, scale = 0.5 : f64, softcap = 0.0 : f64} : (tensor<2x6x4x5xf32>, tensor<2x6x6x5xf32>, tensor<2x6x6x7xf32>, tensor<2x1x4x6xi1>) -> tensor<2x6x4x7xf32>
  return %y : tensor<2x6x4x7xf32>
}
