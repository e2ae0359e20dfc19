// Rules that are proved, where they take less; remarks say where, and why not.
// RUN: divisi-opt %s "--apply-rules=names=merge-matmuls-of-one-input,associate-matmuls-right,absorb-transposed-left" | FileCheck %s
// RUN: divisi-opt %s --apply-rules | FileCheck %s --check-prefix=ALL
// RUN: divisi-opt %s "--apply-rules=names=merge-matmuls-of-one-input,associate-matmuls-right,absorb-transposed-left,relu-of-relu" --remarks-filter=apply-rules --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=SAYS
// RUN: not divisi-opt %s --apply-rules=names=nonsense 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not divisi-opt %s --apply-rules=names=activate-before-transposing 2>&1 | FileCheck %s --check-prefix=LOOPS

// UNKNOWN: error: 'nonsense' is not a proved rule; docs/rules.md lists those that are
// LOOPS: error: the rule 'activate-before-transposing' would loop: at no sizes that were tried its target takes less than its source

nn.global @v parameter : tensor<8x3xf32>
nn.global @w parameter : tensor<8x5xf32>
nn.global @u parameter : tensor<5x8xf32>
nn.global @narrow parameter : tensor<8x1xf32>
nn.global @wide parameter : tensor<1x8xf32>
nn.global @state state : tensor<8x3xf32>

// Letters have other names here, and the second weight is read late.
// CHECK-LABEL: func.func @merged
// CHECK: %[[V:.*]] = nn.read @v
// CHECK: %[[W:.*]] = nn.read @w
// CHECK: %[[J:.*]] = nn.concat %[[V]], %[[W]] {axis = 1 : i64}
// CHECK: %[[Z:.*]] = nn.matmul %{{.*}}, %[[J]]
// CHECK: %[[S:.*]] = nn.slice %[[Z]] {limits = array<i64: 4, 3>, starts = array<i64: 0, 0>
// CHECK: %[[T:.*]] = nn.slice %[[Z]] {limits = array<i64: 4, 8>, starts = array<i64: 0, 3>
// CHECK: %[[R:.*]] = nn.relu %[[S]]
// CHECK: return %[[R]], %[[T]]
// SAYS: remark: {{.*}}merge-matmuls-of-one-input{{.*}}applied
func.func @merged(%x: tensor<4x8xf32> {nn.name = "x"})
    -> (tensor<4x3xf32> {nn.name = "y"}, tensor<4x5xf32> {nn.name = "z"}) {
  %v = nn.read @v : tensor<8x3xf32>
  %0 = nn.matmul %x, %v {labels = "sd,de->se"} : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  %1 = nn.relu %0 : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %w = nn.read @w : tensor<8x5xf32>
  %2 = nn.matmul %x, %w {labels = "mk,kn->mn"} : (tensor<4x8xf32>, tensor<8x5xf32>) -> tensor<4x5xf32>
  return %1, %2 : tensor<4x3xf32>, tensor<4x5xf32>
}

// What comes of the first product cannot be read before it.
// CHECK-LABEL: func.func @one_after_the_other
// CHECK-COUNT-3: nn.matmul
func.func @one_after_the_other(%x: tensor<4x8xf32> {nn.name = "x"})
    -> (tensor<4x5xf32> {nn.name = "z"}) {
  %v = nn.read @v : tensor<8x3xf32>
  %0 = nn.matmul %x, %v {labels = "mk,kn->mn"} : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  // SAYS: remark: {{.*}}associate-matmuls-right{{.*}}shapes or types are others
  %1 = nn.matmul %0, %x {labels = "mk,mn->kn"} : (tensor<4x3xf32>, tensor<4x8xf32>) -> tensor<3x8xf32>
  %2 = nn.transpose %1 {permutation = array<i64: 1, 0>} : (tensor<3x8xf32>) -> tensor<8x3xf32>
  %3 = nn.matmul %x, %2 {labels = "mk,kn->mn"} : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  %4 = nn.concat %3, %0 {axis = 1 : i64} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x6xf32>
  %5 = nn.slice %4 {limits = array<i64: 4, 5>, starts = array<i64: 0, 0>, steps = array<i64: 1, 1>} : (tensor<4x6xf32>) -> tensor<4x5xf32>
  return %5 : tensor<4x5xf32>
}

// A state is no weight.
// CHECK-LABEL: func.func @states
// CHECK-COUNT-2: nn.matmul
func.func @states(%x: tensor<4x8xf32> {nn.name = "x"})
    -> (tensor<4x3xf32> {nn.name = "y"}, tensor<4x5xf32> {nn.name = "z"}) {
  %v = nn.read @state : tensor<8x3xf32>
  %w = nn.read @w : tensor<8x5xf32>
  // SAYS: remark: {{.*}}merge-matmuls-of-one-input{{.*}}' is no weight
  %0 = nn.matmul %x, %v {labels = "mk,kn->mn"} : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  %1 = nn.matmul %x, %w {labels = "mk,kn->mn"} : (tensor<4x8xf32>, tensor<8x5xf32>) -> tensor<4x5xf32>
  return %0, %1 : tensor<4x3xf32>, tensor<4x5xf32>
}

// Weights are multiplied once if that is less in every run, and not else.
// CHECK-LABEL: func.func @associated
// CHECK: %[[P:.*]] = nn.matmul %{{.*}} : (tensor<8x5xf32>, tensor<5x8xf32>)
// CHECK: %[[Q:.*]] = nn.matmul %{{.*}}, %[[P]]
// CHECK: %[[R:.*]] = nn.matmul %{{.*}} -> tensor<4x1xf32>
// CHECK: nn.matmul %[[R]]
func.func @associated(%x: tensor<4x8xf32> {nn.name = "x"})
    -> (tensor<4x8xf32> {nn.name = "y"}, tensor<4x8xf32> {nn.name = "z"}) {
  %w = nn.read @w : tensor<8x5xf32>
  %u = nn.read @u : tensor<5x8xf32>
  %a = nn.read @narrow : tensor<8x1xf32>
  %b = nn.read @wide : tensor<1x8xf32>
  %0 = nn.matmul %x, %w {labels = "mk,kn->mn"} : (tensor<4x8xf32>, tensor<8x5xf32>) -> tensor<4x5xf32>
  %1 = nn.matmul %0, %u {labels = "mk,kn->mn"} : (tensor<4x5xf32>, tensor<5x8xf32>) -> tensor<4x8xf32>
  %2 = nn.relu %1 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = nn.matmul %2, %a {labels = "mk,kn->mn"} : (tensor<4x8xf32>, tensor<8x1xf32>) -> tensor<4x1xf32>
  // SAYS: remark: {{.*}}associate-matmuls-right{{.*}}it would not take less
  %4 = nn.matmul %3, %b {labels = "mk,kn->mn"} : (tensor<4x1xf32>, tensor<1x8xf32>) -> tensor<4x8xf32>
  return %1, %4 : tensor<4x8xf32>, tensor<4x8xf32>
}

// No elements; sums in another type; letters that mean something else.
// CHECK-LABEL: func.func @nearly
// CHECK-COUNT-6: nn.matmul
func.func @nearly(%x: tensor<0x8xf32> {nn.name = "x"},
    %h: tensor<4x8xbf16> {nn.name = "h"}, %s: tensor<8x8xf32> {nn.name = "s"})
    -> (tensor<0x8xf32> {nn.name = "y"}, tensor<4x8xf32> {nn.name = "z"},
        tensor<8x8xf32> {nn.name = "t"}) {
  %w = nn.read @w : tensor<8x5xf32>
  %u = nn.read @u : tensor<5x8xf32>
  %0 = nn.matmul %x, %w {labels = "mk,kn->mn"} : (tensor<0x8xf32>, tensor<8x5xf32>) -> tensor<0x5xf32>
  // SAYS: remark: {{.*}}associate-matmuls-right{{.*}}a tensor has no elements
  %1 = nn.matmul %0, %u {labels = "mk,kn->mn"} : (tensor<0x5xf32>, tensor<5x8xf32>) -> tensor<0x8xf32>
  %2 = nn.cast %w : (tensor<8x5xf32>) -> tensor<8x5xbf16>
  %3 = nn.cast %u : (tensor<5x8xf32>) -> tensor<5x8xbf16>
  %4 = nn.matmul %h, %2 {labels = "mk,kn->mn"} : (tensor<4x8xbf16>, tensor<8x5xbf16>) -> tensor<4x5xbf16>
  // SAYS: remark: {{.*}}associate-matmuls-right{{.*}}'z' has another type
  %5 = nn.matmul %4, %3 {labels = "mk,kn->mn"} : (tensor<4x5xbf16>, tensor<5x8xbf16>) -> tensor<4x8xf32>
  %6 = nn.constant dense<1.0> : tensor<8x8xf32>
  %7 = nn.matmul %s, %6 {labels = "mk,nk->mn"} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  // SAYS: remark: {{.*}}associate-matmuls-right{{.*}}'u' has other attributes
  %8 = nn.matmul %7, %6 {labels = "mk,kn->mn"} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %1, %5, %8 : tensor<0x8xf32>, tensor<4x8xf32>, tensor<8x8xf32>
}

// Others read what is inside.
// CHECK-LABEL: func.func @read_inside
// CHECK: nn.transpose
// CHECK: nn.matmul
// ALL-LABEL: func.func @read_inside
func.func @read_inside(%x: tensor<8x4xf32> {nn.name = "x"})
    -> (tensor<4x3xf32> {nn.name = "y"}, tensor<4x8xf32> {nn.name = "z"}) {
  %v = nn.read @v : tensor<8x3xf32>
  %0 = nn.transpose %x {permutation = array<i64: 1, 0>} : (tensor<8x4xf32>) -> tensor<4x8xf32>
  // SAYS: remark: {{.*}}absorb-transposed-left{{.*}}others read 't' too
  %1 = nn.matmul %0, %v {labels = "mk,kn->mn"} : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  return %1, %0 : tensor<4x3xf32>, tensor<4x8xf32>
}

// Of floats with fewer bits rules are as true.
// ALL-LABEL: func.func @halves
// ALL: %[[S:.*]] = nn.silu
// ALL: return %[[S]]
func.func @halves(%x: tensor<2x3x4xf16> {nn.name = "x"})
    -> (tensor<2x3x4xf16> {nn.name = "y"}) {
  %0 = nn.sigmoid %x : (tensor<2x3x4xf16>) -> tensor<2x3x4xf16>
  %1 = nn.mul %0, %x : (tensor<2x3x4xf16>, tensor<2x3x4xf16>) -> tensor<2x3x4xf16>
  return %1 : tensor<2x3x4xf16>
}

// At ranks at which it is not proved a rule is not applied.
// ALL-LABEL: func.func @five_dims
// ALL: nn.relu
// ALL: nn.relu
// ALL: return
func.func @five_dims(%x: tensor<1x2x3x4x5xf32> {nn.name = "x"})
    -> (tensor<1x2x3x4x5xf32> {nn.name = "y"}) {
  %0 = nn.abs %x : (tensor<1x2x3x4x5xf32>) -> tensor<1x2x3x4x5xf32>
  %1 = nn.relu %0 : (tensor<1x2x3x4x5xf32>) -> tensor<1x2x3x4x5xf32>
  // SAYS: remark: {{.*}}relu-of-relu{{.*}}it is proved at no ranks of these tensors
  %2 = nn.relu %1 : (tensor<1x2x3x4x5xf32>) -> tensor<1x2x3x4x5xf32>
  return %2 : tensor<1x2x3x4x5xf32>
}
