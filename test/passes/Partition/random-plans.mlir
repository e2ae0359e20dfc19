// A program with most operators, under plans drawn at random: whatever the
// planner may annotate, Partition can make local and prove.

// RUN: divisi-opt %s --nn-plan="devices=2 solver=random seed=1" --divisi-partition | FileCheck %s
// RUN: divisi-opt %s --nn-plan="devices=3 solver=random seed=2" --divisi-partition | FileCheck %s
// RUN: divisi-opt %s --nn-plan="devices=4 solver=random seed=3" --divisi-partition | FileCheck %s
// RUN: divisi-opt %s --nn-plan="devices=6 solver=random seed=4" --divisi-partition | FileCheck %s
// RUN: divisi-opt %s --nn-plan="devices=8 solver=random seed=5" --divisi-partition | FileCheck %s
// RUN: divisi-opt %s --nn-plan="devices=7 solver=random seed=6" --divisi-partition | FileCheck %s
// RUN: divisi-opt %s --nn-plan="devices=1" --divisi-partition | FileCheck %s --check-prefixes=CHECK,ONE

// Local types survive a round trip, so the proof can be repeated.
// RUN: divisi-opt %s --nn-plan="devices=8 solver=random seed=7" --divisi-partition > %t
// RUN: divisi-opt %t --verify-partition | diff %t -

// CHECK-LABEL: func.func @forward__0(
// CHECK-NOT: spmd.convert
// One device has nobody to talk to.
// ONE-NOT: = spmd.
// CHECK: nn.update @cache
// CHECK: return

nn.global @emb parameter : tensor<50x16xf32>
nn.global @pos parameter : tensor<12x16xf32>
nn.global @g1 parameter : tensor<16xf32>
nn.global @qkv parameter : tensor<16x3x4x4xf32>
nn.global @o parameter : tensor<4x4x16xf32>
nn.global @fc parameter : tensor<16x40xf32>
nn.global @fcb parameter : tensor<40xf32>
nn.global @pr parameter : tensor<40x16xf32>
nn.global @cache state : tensor<3x7x16xf32> zero
func.func @forward(%ids: tensor<3x7xi64>) -> (tensor<3x7x50xf32>, tensor<3x7x16xf32>) {
  %emb = nn.read @emb : tensor<50x16xf32>
  %pos = nn.read @pos : tensor<12x16xf32>
  %e = nn.gather %emb, %ids {axis = 0 : i64, batch_dims = 0 : i64} : (tensor<50x16xf32>, tensor<3x7xi64>) -> tensor<3x7x16xf32>
  %p = nn.slice %pos {starts = array<i64: 2, 0>, limits = array<i64: 9, 16>, steps = array<i64: 1, 1>} : (tensor<12x16xf32>) -> tensor<7x16xf32>
  %x = nn.add %e, %p : (tensor<3x7x16xf32>, tensor<7x16xf32>) -> tensor<3x7x16xf32>
  %n = nn.normalize %x {axes = array<i64: 2>, center = true, epsilon = 1.0e-5 : f64} : (tensor<3x7x16xf32>) -> tensor<3x7x16xf32>
  %g1 = nn.read @g1 : tensor<16xf32>
  %ng = nn.mul %n, %g1 : (tensor<3x7x16xf32>, tensor<16xf32>) -> tensor<3x7x16xf32>
  %qkvw = nn.read @qkv : tensor<16x3x4x4xf32>
  %qkv = nn.matmul %ng, %qkvw {labels = "bse,echd->cbhsd"} : (tensor<3x7x16xf32>, tensor<16x3x4x4xf32>) -> tensor<3x3x4x7x4xf32>
  %q5 = nn.slice %qkv {starts = array<i64: 0, 0, 0, 0, 0>, limits = array<i64: 1, 3, 4, 7, 4>, steps = array<i64: 1, 1, 1, 1, 1>} : (tensor<3x3x4x7x4xf32>) -> tensor<1x3x4x7x4xf32>
  %k5 = nn.slice %qkv {starts = array<i64: 1, 0, 0, 0, 0>, limits = array<i64: 2, 3, 4, 7, 4>, steps = array<i64: 1, 1, 1, 1, 1>} : (tensor<3x3x4x7x4xf32>) -> tensor<1x3x4x7x4xf32>
  %v5 = nn.slice %qkv {starts = array<i64: 2, 0, 0, 0, 0>, limits = array<i64: 3, 3, 4, 7, 4>, steps = array<i64: 1, 1, 1, 1, 1>} : (tensor<3x3x4x7x4xf32>) -> tensor<1x3x4x7x4xf32>
  %q = nn.reshape %q5 : (tensor<1x3x4x7x4xf32>) -> tensor<3x4x7x4xf32>
  %k = nn.reshape %k5 : (tensor<1x3x4x7x4xf32>) -> tensor<3x4x7x4xf32>
  %v = nn.reshape %v5 : (tensor<1x3x4x7x4xf32>) -> tensor<3x4x7x4xf32>
  %s = nn.matmul %q, %k {labels = "bhsd,bhtd->bhst"} : (tensor<3x4x7x4xf32>, tensor<3x4x7x4xf32>) -> tensor<3x4x7x7xf32>
  %r = nn.iota {axis = 0 : i64} : () -> tensor<7x7xi64>
  %c = nn.iota {axis = 1 : i64} : () -> tensor<7x7xi64>
  %m = nn.compare %c, %r {predicate = "le"} : (tensor<7x7xi64>, tensor<7x7xi64>) -> tensor<7x7xi1>
  %inf = nn.constant dense<-1.0e9> : tensor<f32>
  %ms = nn.select %m, %s, %inf : (tensor<7x7xi1>, tensor<3x4x7x7xf32>, tensor<f32>) -> tensor<3x4x7x7xf32>
  %a = nn.softmax %ms {axis = 3 : i64, log = false} : (tensor<3x4x7x7xf32>) -> tensor<3x4x7x7xf32>
  %av = nn.matmul %a, %v {labels = "bhst,bhtd->bshd"} : (tensor<3x4x7x7xf32>, tensor<3x4x7x4xf32>) -> tensor<3x7x4x4xf32>
  %ow = nn.read @o : tensor<4x4x16xf32>
  %ao = nn.matmul %av, %ow {labels = "bshd,hde->bse"} : (tensor<3x7x4x4xf32>, tensor<4x4x16xf32>) -> tensor<3x7x16xf32>
  %x2 = nn.add %x, %ao : (tensor<3x7x16xf32>, tensor<3x7x16xf32>) -> tensor<3x7x16xf32>
  nn.update @cache, %x2 : tensor<3x7x16xf32>
  %flat = nn.reshape %x2 : (tensor<3x7x16xf32>) -> tensor<21x16xf32>
  %fc = nn.read @fc : tensor<16x40xf32>
  %fcb = nn.read @fcb : tensor<40xf32>
  %pr = nn.read @pr : tensor<40x16xf32>
  %h = nn.matmul %flat, %fc {labels = "mk,kn->mn"} : (tensor<21x16xf32>, tensor<16x40xf32>) -> tensor<21x40xf32>
  %hb = nn.add %h, %fcb : (tensor<21x40xf32>, tensor<40xf32>) -> tensor<21x40xf32>
  %hg = nn.gelu %hb {approximate = "tanh"} : (tensor<21x40xf32>) -> tensor<21x40xf32>
  %y = nn.matmul %hg, %pr {labels = "mk,kn->mn"} : (tensor<21x40xf32>, tensor<40x16xf32>) -> tensor<21x16xf32>
  %y3 = nn.reshape %y : (tensor<21x16xf32>) -> tensor<3x7x16xf32>
  %x3 = nn.add %x2, %y3 : (tensor<3x7x16xf32>, tensor<3x7x16xf32>) -> tensor<3x7x16xf32>
  %z = nn.matmul %x3, %emb {labels = "bse,ve->bsv"} : (tensor<3x7x16xf32>, tensor<50x16xf32>) -> tensor<3x7x50xf32>
  %t = nn.transpose %x3 {permutation = array<i64: 2, 0, 1>} : (tensor<3x7x16xf32>) -> tensor<16x3x7xf32>
  %pd = nn.pad %t {lo = array<i64: 1, 0, 2>, hi = array<i64: -1, 0, 1>, value = 0.0 : f64} : (tensor<16x3x7xf32>) -> tensor<16x3x10xf32>
  %mx = nn.pool_max %pd {kernel = array<i64: 1, 1, 3>, strides = array<i64: 1, 1, 2>, dilations = array<i64: 1, 1, 1>, pads_lo = array<i64: 0, 0, 1>, pads_hi = array<i64: 0, 0, 1>} : (tensor<16x3x10xf32>) -> tensor<16x3x5xf32>
  %cc = nn.concat %mx, %t {axis = 2 : i64} : (tensor<16x3x5xf32>, tensor<16x3x7xf32>) -> tensor<16x3x12xf32>
  %rd = nn.reduce %cc {kind = "max", axes = array<i64: 2>} : (tensor<16x3x12xf32>) -> tensor<16x3xf32>
  %rt = nn.transpose %rd {permutation = array<i64: 1, 0>} : (tensor<16x3xf32>) -> tensor<3x16xf32>
  %rb = nn.broadcast %rt {dims = array<i64: 0, 2>} : (tensor<3x16xf32>) -> tensor<3x7x16xf32>
  %out2 = nn.sub %x3, %rb : (tensor<3x7x16xf32>, tensor<3x7x16xf32>) -> tensor<3x7x16xf32>
  return %z, %out2 : tensor<3x7x50xf32>, tensor<3x7x16xf32>
}
