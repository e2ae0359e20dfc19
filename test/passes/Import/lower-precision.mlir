// RUN: divisi-opt %s --split-input-file --nn-lower-precision=precision=bf16 | FileCheck %s

// Products take bf16 and leave their sums in f32, which are cast once the bias
// is added; the weight is cast where it is read, and what comes out is f32.
// CHECK: f32_sums = 1 : i64
// CHECK-SAME: narrow_operators = 2 : i64, narrow_sums = 0 : i64, narrow_weights = 1 : i64, type = "bf16", weight_bytes_after = 80 : i64, weight_bytes_before = 144 : i64
// CHECK-LABEL: func @mlp
// CHECK-SAME: %[[X:.*]]: tensor<2x8xf32>
// CHECK-NEXT: %[[XN:.*]] = nn.cast %[[X]] : (tensor<2x8xf32>) -> tensor<2x8xbf16>
// CHECK-NEXT: %[[W:.*]] = nn.read @w
// CHECK-NEXT: %[[WN:.*]] = nn.cast %[[W]] : (tensor<8x4xf32>) -> tensor<8x4xbf16>
// CHECK-NEXT: %[[B:.*]] = nn.read @b
// CHECK-NEXT: %[[SUM:.*]] = nn.matmul %[[XN]], %[[WN]] {{.*}} -> tensor<2x4xf32>
// CHECK-NEXT: %[[Z:.*]] = nn.add %[[SUM]], %[[B]] : (tensor<2x4xf32>, tensor<4xf32>)
// CHECK-NEXT: %[[ZN:.*]] = nn.cast %[[Z]] : (tensor<2x4xf32>) -> tensor<2x4xbf16>
// CHECK-NEXT: %[[R:.*]] = nn.relu %[[ZN]] : (tensor<2x4xbf16>)
// CHECK-NEXT: %[[OUT:.*]] = nn.cast %[[R]] : (tensor<2x4xbf16>) -> tensor<2x4xf32>
// CHECK-NEXT: return %[[OUT]] : tensor<2x4xf32>
nn.global @w parameter : tensor<8x4xf32>
nn.global @b parameter : tensor<4xf32>
func.func @mlp(%x: tensor<2x8xf32>) -> tensor<2x4xf32> {
  %w = nn.read @w : tensor<8x4xf32>
  %b = nn.read @b : tensor<4xf32>
  %0 = nn.matmul %x, %w {labels = "mk,kn->mn"} : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  %1 = nn.add %0, %b : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %2 = nn.relu %1 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %2 : tensor<2x4xf32>
}

// -----

// Scores go to softmax as they were summed; its result is cast for the product.
// CHECK-LABEL: func @attention
// CHECK: %[[S:.*]] = nn.matmul {{.*}} : (tensor<2x4x8xbf16>, tensor<2x6x8xbf16>) -> tensor<2x4x6xf32>
// CHECK-NEXT: %[[T:.*]] = nn.mul %[[S]], %{{.*}} : (tensor<2x4x6xf32>, tensor<f32>)
// CHECK-NEXT: %[[M:.*]] = nn.select %{{.*}}, %[[T]], %{{.*}} -> tensor<2x4x6xf32>
// CHECK-NEXT: %[[P:.*]] = nn.softmax %[[M]] {{.*}} : (tensor<2x4x6xf32>)
// CHECK-NEXT: %[[PN:.*]] = nn.cast %[[P]] : {{.*}} -> tensor<2x4x6xbf16>
// CHECK-NEXT: nn.matmul %[[PN]], %{{.*}} -> tensor<2x4x8xf32>
func.func @attention(%q: tensor<2x4x8xf32>, %k: tensor<2x6x8xf32>, %v: tensor<2x6x8xf32>, %m: tensor<2x1x6xi1>) -> tensor<2x4x8xf32> {
  %scale = nn.constant dense<0.5> : tensor<f32>
  %low = nn.constant dense<-3.40282347E+38> : tensor<f32>
  %0 = nn.matmul %q, %k {labels = "bsd,btd->bst"} : (tensor<2x4x8xf32>, tensor<2x6x8xf32>) -> tensor<2x4x6xf32>
  %1 = nn.mul %0, %scale : (tensor<2x4x6xf32>, tensor<f32>) -> tensor<2x4x6xf32>
  %2 = nn.select %m, %1, %low : (tensor<2x1x6xi1>, tensor<2x4x6xf32>, tensor<f32>) -> tensor<2x4x6xf32>
  %3 = nn.softmax %2 {axis = 2, log = false} : (tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %4 = nn.matmul %3, %v {labels = "bst,btd->bsd"} : (tensor<2x4x6xf32>, tensor<2x6x8xf32>) -> tensor<2x4x8xf32>
  return %4 : tensor<2x4x8xf32>
}

// -----

// The residual stream is f32; what joins it is cast first, so that it can be
// moved in bf16. A norm's scale is applied before its result is cast.
// CHECK: f32_joins = 2 : i64
// CHECK-LABEL: func @residual
// CHECK-DAG: %[[G:.*]] = nn.read @g : tensor<8xf32>
// CHECK: %[[E:.*]] = nn.gather {{.*}} -> tensor<2x8xbf16>
// CHECK: %[[EW:.*]] = nn.cast %[[E]] : (tensor<2x8xbf16>) -> tensor<2x8xf32>
// CHECK: %[[X:.*]] = nn.add %[[EW]], %{{.*}} : (tensor<2x8xf32>, tensor<2x8xf32>)
// CHECK: %[[N:.*]] = nn.normalize %[[X]]
// CHECK: %[[NG:.*]] = nn.mul %[[N]], %[[G]] : (tensor<2x8xf32>, tensor<8xf32>)
// CHECK: %[[H:.*]] = nn.cast %[[NG]] : {{.*}} -> tensor<2x8xbf16>
// CHECK: %[[S:.*]] = nn.matmul %[[H]], %{{.*}} -> tensor<2x8xf32>
// CHECK: %[[D:.*]] = nn.cast %[[S]] : {{.*}} -> tensor<2x8xbf16>
// CHECK: %[[DW:.*]] = nn.cast %[[D]] : {{.*}} -> tensor<2x8xf32>
// CHECK: %[[Y:.*]] = nn.add %[[X]], %[[DW]] : (tensor<2x8xf32>, tensor<2x8xf32>)
// CHECK: return %[[Y]] : tensor<2x8xf32>
nn.global @e parameter : tensor<16x8xf32>
nn.global @w parameter : tensor<8x8xf32>
nn.global @g parameter : tensor<8xf32>
func.func @residual(%ids: tensor<2xi64>, %y: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %e = nn.read @e : tensor<16x8xf32>
  %w = nn.read @w : tensor<8x8xf32>
  %g = nn.read @g : tensor<8xf32>
  %0 = nn.gather %e, %ids {axis = 0, batch_dims = 0} : (tensor<16x8xf32>, tensor<2xi64>) -> tensor<2x8xf32>
  %1 = nn.add %0, %y : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %2 = nn.normalize %1 {axes = array<i64: 1>, center = true, epsilon = 1.0e-5 : f64} : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %3 = nn.mul %2, %g : (tensor<2x8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
  %4 = nn.matmul %3, %w {labels = "mk,kn->mn"} : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
  %5 = nn.add %1, %4 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  return %5 : tensor<2x8xf32>
}

// -----

// A norm that an exporter has written out: from the difference to the quotient
// it is f32.
// CHECK-LABEL: func @written_out
// CHECK: %[[H:.*]] = nn.add {{.*}} -> tensor<2x8xf32>
// CHECK: %[[SUM:.*]] = nn.reduce %[[H]] {{.*}} : (tensor<2x8xf32>) -> tensor<2xf32>
// CHECK: nn.sub %{{.*}}, %{{.*}} : (tensor<2x8xf32>, tensor<2x1xf32>)
// CHECK: nn.mul %{{.*}}, %{{.*}} : (tensor<2x8xf32>, tensor<2x8xf32>)
// CHECK: nn.reduce %{{.*}} : (tensor<2x8xf32>) -> tensor<2xf32>
// CHECK: nn.div %{{.*}}, %{{.*}} : (tensor<2x8xf32>, tensor<2x1xf32>)
// CHECK: nn.matmul {{.*}} : (tensor<2x8xbf16>, tensor<8x8xbf16>) -> tensor<2x8xf32>
nn.global @w parameter : tensor<8x8xf32>
func.func @written_out(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %w = nn.read @w : tensor<8x8xf32>
  %eight = nn.constant dense<8.0> : tensor<f32>
  %h = nn.matmul %x, %w {labels = "mk,kn->mn"} : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
  %r = nn.add %h, %x : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %0 = nn.reduce %r {kind = "sum", axes = array<i64: 1>} : (tensor<2x8xf32>) -> tensor<2xf32>
  %1 = nn.div %0, %eight : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  %2 = nn.reshape %1 : (tensor<2xf32>) -> tensor<2x1xf32>
  %3 = nn.sub %r, %2 : (tensor<2x8xf32>, tensor<2x1xf32>) -> tensor<2x8xf32>
  %4 = nn.mul %3, %3 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %5 = nn.reduce %4 {kind = "sum", axes = array<i64: 1>} : (tensor<2x8xf32>) -> tensor<2xf32>
  %6 = nn.sqrt %5 : (tensor<2xf32>) -> tensor<2xf32>
  %7 = nn.reshape %6 : (tensor<2xf32>) -> tensor<2x1xf32>
  %8 = nn.div %3, %7 : (tensor<2x8xf32>, tensor<2x1xf32>) -> tensor<2x8xf32>
  %9 = nn.matmul %8, %w {labels = "mk,kn->mn"} : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
  %10 = nn.add %r, %9 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  return %10 : tensor<2x8xf32>
}

// -----

// Angles of positions come of integers: their product with the frequencies sums
// nothing, and is f32 up to the sine. So is what an input is scaled by, and what
// only a sum of both halves reads.
// CHECK: f32_tables = 3 : i64
// CHECK-LABEL: func @rotary
// CHECK: %[[F:.*]] = nn.read @f : tensor<1x4xf32>
// CHECK: %[[P:.*]] = nn.cast %{{.*}} : (tensor<6x1xi64>) -> tensor<6x1xf32>
// CHECK: %[[A:.*]] = nn.matmul %[[P]], %[[F]] {{.*}} -> tensor<6x4xf32>
// CHECK: %[[S:.*]] = nn.sin %[[A]] : (tensor<6x4xf32>)
// CHECK: %[[R:.*]] = nn.mul %{{.*}}, %[[S]] : (tensor<6x4xf32>, tensor<6x4xf32>)
// CHECK: nn.add %[[R]], %{{.*}} : (tensor<6x4xf32>, tensor<6x4xf32>)
nn.global @f parameter : tensor<1x4xf32>
nn.global @w parameter : tensor<4x4xf32>
func.func @rotary(%positions: tensor<6x1xi64>, %x: tensor<6x4xf32>) -> tensor<6x4xf32> {
  %f = nn.read @f : tensor<1x4xf32>
  %w = nn.read @w : tensor<4x4xf32>
  %p = nn.cast %positions : (tensor<6x1xi64>) -> tensor<6x1xf32>
  %a = nn.matmul %p, %f {labels = "sk,kd->sd"} : (tensor<6x1xf32>, tensor<1x4xf32>) -> tensor<6x4xf32>
  %s = nn.sin %a : (tensor<6x4xf32>) -> tensor<6x4xf32>
  %q = nn.matmul %x, %w {labels = "mk,kn->mn"} : (tensor<6x4xf32>, tensor<4x4xf32>) -> tensor<6x4xf32>
  %y = nn.mul %q, %s : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
  %z = nn.add %y, %q : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
  return %z : tensor<6x4xf32>
}

// -----

// What is computed once of weights is rounded once.
// CHECK-LABEL: func @folded
// CHECK: %[[R:.*]] = nn.rsqrt %{{.*}} : (tensor<4xf32>)
// CHECK: %[[S:.*]] = nn.mul %{{.*}}, %[[R]] : (tensor<4xf32>, tensor<4xf32>)
// CHECK: %[[SN:.*]] = nn.cast %[[S]] : (tensor<4xf32>) -> tensor<4xbf16>
// CHECK: %[[H:.*]] = nn.gather %{{.*}} -> tensor<2x4xbf16>
// CHECK: nn.mul %[[H]], %[[SN]] : (tensor<2x4xbf16>, tensor<4xbf16>)
nn.global @w parameter : tensor<8x4xf32>
nn.global @g parameter : tensor<4xf32>
nn.global @v parameter : tensor<4xf32>
func.func @folded(%ids: tensor<2xi64>) -> tensor<2x4xf32> {
  %w = nn.read @w : tensor<8x4xf32>
  %g = nn.read @g : tensor<4xf32>
  %v = nn.read @v : tensor<4xf32>
  %r = nn.rsqrt %v : (tensor<4xf32>) -> tensor<4xf32>
  %s = nn.mul %g, %r : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %0 = nn.gather %w, %ids {axis = 0, batch_dims = 0} : (tensor<8x4xf32>, tensor<2xi64>) -> tensor<2x4xf32>
  %1 = nn.mul %0, %s : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}

// -----

// A number that bf16 has not becomes its largest, not an infinity. Integers and
// booleans are as they were, and so is a comparison's operand.
// CHECK-LABEL: func @saturated
// CHECK: nn.constant dense<-3.389530e+38> : tensor<bf16>
// CHECK: nn.compare %{{.*}}, %{{.*}} : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xi1>
// CHECK: nn.max %{{.*}} : (tensor<2x4xbf16>, tensor<bf16>) -> tensor<2x4xbf16>
nn.global @w parameter : tensor<8x4xf32>
func.func @saturated(%x: tensor<2x8xf32>) -> (tensor<2x4xf32>, tensor<2x4xi1>) {
  %w = nn.read @w : tensor<8x4xf32>
  %low = nn.constant dense<-3.40282347E+38> : tensor<f32>
  %0 = nn.matmul %x, %w {labels = "mk,kn->mn"} : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  %c = nn.compare %0, %low {predicate = "gt"} : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xi1>
  %1 = nn.gelu %0 {approximate = "none"} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = nn.max %1, %low : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  return %2, %c : tensor<2x4xf32>, tensor<2x4xi1>
}

// -----

// What is summed of weights' products is an activation, cast also where only a
// norm reads it: what has to be moved can be moved in bf16.
// CHECK-LABEL: func @before_a_norm
// CHECK: %[[S:.*]] = nn.matmul {{.*}} -> tensor<2x8xf32>
// CHECK-NEXT: %[[B:.*]] = nn.add %[[S]], %{{.*}} : (tensor<2x8xf32>, tensor<8xf32>)
// CHECK-NEXT: %[[G:.*]] = nn.gelu %[[B]] {{.*}} : (tensor<2x8xf32>)
// CHECK-NEXT: %[[A:.*]] = nn.cast %[[G]] : (tensor<2x8xf32>) -> tensor<2x8xbf16>
// CHECK-NEXT: %[[W:.*]] = nn.cast %[[A]] : (tensor<2x8xbf16>) -> tensor<2x8xf32>
// CHECK-NEXT: nn.normalize %[[W]]
nn.global @w parameter : tensor<8x8xf32>
nn.global @b parameter : tensor<8xf32>
func.func @before_a_norm(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %w = nn.read @w : tensor<8x8xf32>
  %b = nn.read @b : tensor<8xf32>
  %0 = nn.matmul %x, %w {labels = "mk,kn->mn"} : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
  %1 = nn.add %0, %b : (tensor<2x8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
  %2 = nn.gelu %1 {approximate = "none"} : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %3 = nn.normalize %2 {axes = array<i64: 1>, center = true, epsilon = 1.0e-5 : f64} : (tensor<2x8xf32>) -> tensor<2x8xf32>
  return %3 : tensor<2x8xf32>
}

// -----

// The window of a cache moves as it came, and attention takes bf16 whole: it
// rounds nothing on the way.
// CHECK-LABEL: func @cached
// CHECK: nn.attention {{.*}} : (tensor<1x2x1x4xbf16>, tensor<1x1x6x4xbf16>, tensor<1x1x6x4xbf16>) -> tensor<1x2x1x4xbf16>
// CHECK: return %{{.*}}, %arg1 : tensor<1x2x1x4xf32>, tensor<1x1x6x4xf32>
nn.global @w parameter : tensor<4x4xf32>
func.func @cached(%x: tensor<1x2x1x4xf32>, %k: tensor<1x1x6x4xf32>, %v: tensor<1x1x6x4xf32>) -> (tensor<1x2x1x4xf32>, tensor<1x1x6x4xf32>) {
  %w = nn.read @w : tensor<4x4xf32>
  %q = nn.matmul %x, %w {labels = "bhsk,kn->bhsn"} : (tensor<1x2x1x4xf32>, tensor<4x4xf32>) -> tensor<1x2x1x4xf32>
  %y = nn.attention %q, %k, %v {scale = 0.5 : f64, softcap = 0.0 : f64, left = -1, right = -1, offset = 0} : (tensor<1x2x1x4xf32>, tensor<1x1x6x4xf32>, tensor<1x1x6x4xf32>) -> tensor<1x2x1x4xf32>
  return %y, %k : tensor<1x2x1x4xf32>, tensor<1x1x6x4xf32>
}

// -----

// The products that the input meets first hold less than an eighth of all
// weights, and stay f32 with what is chosen of their results; so does what
// multiplies only what they made. The next one has too many.
// CHECK: f32_first = 3 : i64
// CHECK-SAME: narrow_weights = 1 : i64
// CHECK-LABEL: func @first
// CHECK-SAME: %[[X:.*]]: tensor<2x4xf32>
// CHECK: %[[A:.*]] = nn.matmul %[[X]], %{{.*}} : (tensor<2x4xf32>, tensor<4x4xf32>)
// CHECK: %[[R:.*]] = nn.relu %[[A]] : (tensor<2x4xf32>)
// CHECK: %[[M:.*]] = nn.max %[[R]], %{{.*}} : (tensor<2x4xf32>, tensor<f32>)
// CHECK: %[[B:.*]] = nn.matmul %[[X]], %{{.*}} : (tensor<2x4xf32>, tensor<4x4xf32>)
// CHECK: %[[P:.*]] = nn.matmul %[[M]], %[[B]] {{.*}} : (tensor<2x4xf32>, tensor<2x4xf32>)
// CHECK: %[[PN:.*]] = nn.cast %[[P]] : (tensor<2x2xf32>) -> tensor<2x2xbf16>
// CHECK: nn.matmul %[[PN]], %{{.*}} : (tensor<2x2xbf16>, tensor<2x128xbf16>)
nn.global @v parameter : tensor<4x4xf32>
nn.global @w parameter : tensor<4x4xf32>
nn.global @u parameter : tensor<2x128xf32>
func.func @first(%x: tensor<2x4xf32>) -> tensor<2x128xf32> {
  %least = nn.constant dense<0.5> : tensor<f32>
  %v = nn.read @v : tensor<4x4xf32>
  %w = nn.read @w : tensor<4x4xf32>
  %u = nn.read @u : tensor<2x128xf32>
  %0 = nn.matmul %x, %v {labels = "mk,kn->mn"} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %1 = nn.relu %0 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = nn.max %1, %least : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %3 = nn.matmul %x, %w {labels = "mk,kn->mn"} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %4 = nn.matmul %2, %3 {labels = "mk,nk->mn"} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x2xf32>
  %5 = nn.matmul %4, %u {labels = "mk,kn->mn"} : (tensor<2x2xf32>, tensor<2x128xf32>) -> tensor<2x128xf32>
  return %5 : tensor<2x128xf32>
}

// -----

// One of two equal weights is half of all: nothing comes first.
// CHECK: f32_first = 0 : i64
// CHECK-LABEL: func @halves
// CHECK-COUNT-2: nn.matmul {{.*}} : (tensor<2x4xbf16>, tensor<4x4xbf16>)
nn.global @v parameter : tensor<4x4xf32>
nn.global @w parameter : tensor<4x4xf32>
func.func @halves(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %v = nn.read @v : tensor<4x4xf32>
  %w = nn.read @w : tensor<4x4xf32>
  %0 = nn.matmul %x, %v {labels = "mk,kn->mn"} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %1 = nn.matmul %0, %w {labels = "mk,kn->mn"} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}
