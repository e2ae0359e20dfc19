// RUN: divisi-opt %s --canonicalize --split-input-file | FileCheck %s

// Movement that changes nothing goes.
// CHECK-LABEL: @identities
// CHECK-SAME: (%[[X:.*]]: tensor<4x6xf32>)
// CHECK-NEXT: return %[[X]] : tensor<4x6xf32>
func.func @identities(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %0 = nn.reshape %x : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %1 = nn.transpose %0 {permutation = array<i64: 0, 1>}
      : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %2 = nn.cast %1 : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %3 = nn.broadcast %2 {dims = array<i64: 0, 1>}
      : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %4 = nn.slice %3 {starts = array<i64: 0, 0>, limits = array<i64: 4, 6>,
      steps = array<i64: 1, 1>} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %5 = nn.pad %4 {lo = array<i64: 0, 0>, hi = array<i64: 0, 0>,
      value = 1.0 : f64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %6 = nn.concat %5 {axis = 0} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return %6 : tensor<4x6xf32>
}

// -----

// Equal types do not make an identity.
// CHECK-LABEL: @no_identities
// CHECK-NEXT: nn.slice
// CHECK-NEXT: nn.transpose
// CHECK-NEXT: nn.pad
// CHECK-NEXT: return
func.func @no_identities(%x: tensor<6x6xf32>) -> tensor<6x6xf32> {
  %0 = nn.transpose %x {permutation = array<i64: 1, 0>}
      : (tensor<6x6xf32>) -> tensor<6x6xf32>
  %1 = nn.slice %0 {starts = array<i64: 5, 0>, limits = array<i64: -1, 6>,
      steps = array<i64: -1, 1>} : (tensor<6x6xf32>) -> tensor<6x6xf32>
  %2 = nn.pad %1 {lo = array<i64: 1, 0>, hi = array<i64: -1, 0>,
      value = 1.0 : f64} : (tensor<6x6xf32>) -> tensor<6x6xf32>
  return %2 : tensor<6x6xf32>
}

// -----

// CHECK-LABEL: @reshape_of_reshape
// CHECK-SAME: (%[[X:.*]]: tensor<4x6xf32>)
// CHECK-NEXT: nn.reshape %[[X]] {nn.scope = "outer"} : (tensor<4x6xf32>) -> tensor<8x3xf32>
// CHECK-NEXT: return
func.func @reshape_of_reshape(%x: tensor<4x6xf32>) -> tensor<8x3xf32> {
  %0 = nn.reshape %x {nn.scope = "inner"} : (tensor<4x6xf32>) -> tensor<24xf32>
  %1 = nn.reshape %0 {nn.scope = "outer"} : (tensor<24xf32>) -> tensor<8x3xf32>
  return %1 : tensor<8x3xf32>
}

// -----

// Result dimension 0 is dimension 2 of %0, which is dimension 0 of %x.
// CHECK-LABEL: @transpose_of_transpose
// CHECK-SAME: (%[[X:.*]]: tensor<2x3x4xf32>)
// CHECK-NEXT: nn.transpose %[[X]] {permutation = array<i64: 0, 2, 1>} : (tensor<2x3x4xf32>) -> tensor<2x4x3xf32>
// CHECK-NEXT: return
func.func @transpose_of_transpose(%x: tensor<2x3x4xf32>) -> tensor<2x4x3xf32> {
  %0 = nn.transpose %x {permutation = array<i64: 1, 2, 0>}
      : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32>
  %1 = nn.transpose %0 {permutation = array<i64: 2, 1, 0>}
      : (tensor<3x4x2xf32>) -> tensor<2x4x3xf32>
  return %1 : tensor<2x4x3xf32>
}

// -----

// The cast of a sum that was left in f32 does not keep the matmul from the
// transpose.
// CHECK-LABEL: @transpose_of_cast_matmul
// CHECK: %[[M:.*]] = nn.matmul {{.*}} {labels = "mk,kn->nm"} : (tensor<4x8xbf16>, tensor<8x16xbf16>) -> tensor<16x4xf32>
// CHECK-NEXT: %[[C:.*]] = nn.cast %[[M]] : (tensor<16x4xf32>) -> tensor<16x4xbf16>
// CHECK-NEXT: return %[[C]]
func.func @transpose_of_cast_matmul(%a: tensor<4x8xbf16>,
                                    %b: tensor<8x16xbf16>)
    -> tensor<16x4xbf16> {
  %0 = nn.matmul %a, %b {labels = "mk,kn->mn"} : (tensor<4x8xbf16>,
      tensor<8x16xbf16>) -> tensor<4x16xf32>
  %1 = nn.cast %0 : (tensor<4x16xf32>) -> tensor<4x16xbf16>
  %2 = nn.transpose %1 {permutation = array<i64: 1, 0>}
      : (tensor<4x16xbf16>) -> tensor<16x4xbf16>
  return %2 : tensor<16x4xbf16>
}

// -----

// Merged casts say what the last one said; infinities do not come back through
// a cast that saturates.
// CHECK-LABEL: @casts_to_eight_bits
// CHECK-SAME: (%[[H:.*]]: tensor<4xf16>, %[[X:.*]]: tensor<4xf8E5M2>)
// CHECK-NEXT: %[[A:.*]] = nn.cast %[[H]] {saturate = false} : (tensor<4xf16>) -> tensor<4xf8E5M2>
// CHECK-NEXT: %[[W:.*]] = nn.cast %[[X]] : (tensor<4xf8E5M2>) -> tensor<4xf32>
// CHECK-NEXT: %[[B:.*]] = nn.cast %[[W]] : (tensor<4xf32>) -> tensor<4xf8E5M2>
// CHECK-NEXT: return %[[A]], %[[B]], %[[X]]
func.func @casts_to_eight_bits(%h: tensor<4xf16>, %x: tensor<4xf8E5M2>)
    -> (tensor<4xf8E5M2>, tensor<4xf8E5M2>, tensor<4xf8E5M2>) {
  %0 = nn.cast %h : (tensor<4xf16>) -> tensor<4xf32>
  %1 = nn.cast %0 {saturate = false} : (tensor<4xf32>) -> tensor<4xf8E5M2>
  %2 = nn.cast %x : (tensor<4xf8E5M2>) -> tensor<4xf32>
  %3 = nn.cast %2 : (tensor<4xf32>) -> tensor<4xf8E5M2>
  %4 = nn.cast %2 {saturate = false} : (tensor<4xf32>) -> tensor<4xf8E5M2>
  return %1, %3, %4 : tensor<4xf8E5M2>, tensor<4xf8E5M2>, tensor<4xf8E5M2>
}

// -----

// The cast says what it said.
// CHECK-LABEL: @transpose_of_cast_that_does_not_saturate
// CHECK: nn.cast %{{.*}} {saturate = false} : (tensor<16x4xf32>) -> tensor<16x4xf8E5M2>
func.func @transpose_of_cast_that_does_not_saturate(
    %a: tensor<4x8xf32>, %b: tensor<8x16xf32>) -> tensor<16x4xf8E5M2> {
  %0 = nn.matmul %a, %b {labels = "mk,kn->mn"} : (tensor<4x8xf32>,
      tensor<8x16xf32>) -> tensor<4x16xf32>
  %1 = nn.cast %0 {saturate = false}
      : (tensor<4x16xf32>) -> tensor<4x16xf8E5M2>
  %2 = nn.transpose %1 {permutation = array<i64: 1, 0>}
      : (tensor<4x16xf8E5M2>) -> tensor<16x4xf8E5M2>
  return %2 : tensor<16x4xf8E5M2>
}

// -----

// CHECK-LABEL: @matmul_of_transposes
// CHECK-SAME: (%[[A:.*]]: tensor<4x8x2xf32>, %[[B:.*]]: tensor<16x8xf32>)
// CHECK-NEXT: nn.matmul %[[A]], %[[B]] {labels = "mkb,nk->bmn", nn.scope = "h"} : (tensor<4x8x2xf32>, tensor<16x8xf32>) -> tensor<2x4x16xf32>
// CHECK-NEXT: return
func.func @matmul_of_transposes(%a: tensor<4x8x2xf32>, %b: tensor<16x8xf32>)
    -> tensor<2x4x16xf32> {
  %0 = nn.transpose %a {permutation = array<i64: 2, 0, 1>}
      : (tensor<4x8x2xf32>) -> tensor<2x4x8xf32>
  %1 = nn.transpose %b {permutation = array<i64: 1, 0>}
      : (tensor<16x8xf32>) -> tensor<8x16xf32>
  %2 = nn.matmul %0, %1 {labels = "bmk,kn->bmn", nn.scope = "h"}
      : (tensor<2x4x8xf32>, tensor<8x16xf32>) -> tensor<2x4x16xf32>
  return %2 : tensor<2x4x16xf32>
}

// -----

// CHECK-LABEL: @transpose_of_matmul
// CHECK-NEXT: nn.matmul %{{.*}} {labels = "mk,kn->nm", nn.scope = "h"} : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<16x4xf32>
// CHECK-NEXT: return
func.func @transpose_of_matmul(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>)
    -> tensor<16x4xf32> {
  %0 = nn.matmul %a, %b {labels = "mk,kn->mn", nn.scope = "h"}
      : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %1 = nn.transpose %0 {permutation = array<i64: 1, 0>}
      : (tensor<4x16xf32>) -> tensor<16x4xf32>
  return %1 : tensor<16x4xf32>
}

// -----

// Another user wants the matmul as it is.
// CHECK-LABEL: @transpose_of_used_matmul
// CHECK-NEXT: nn.matmul %{{.*}} {labels = "mk,kn->mn"}
// CHECK-NEXT: nn.transpose
func.func @transpose_of_used_matmul(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>)
    -> (tensor<4x16xf32>, tensor<16x4xf32>) {
  %0 = nn.matmul %a, %b {labels = "mk,kn->mn"}
      : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %1 = nn.transpose %0 {permutation = array<i64: 1, 0>}
      : (tensor<4x16xf32>) -> tensor<16x4xf32>
  return %0, %1 : tensor<4x16xf32>, tensor<16x4xf32>
}

// -----

// An operator that broadcasts needs nothing spread out for it.
// CHECK-LABEL: @repetition
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>, %[[V:.*]]: tensor<8xf32>, %[[S:.*]]: tensor<f32>)
// CHECK-NEXT: %[[SUM:.*]] = nn.add %[[X]], %[[V]] : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT: %[[PRODUCT:.*]] = nn.mul %[[SUM]], %[[S]] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
// CHECK-NEXT: return %[[PRODUCT]]
func.func @repetition(%x: tensor<4x8xf32>, %v: tensor<8xf32>, %s: tensor<f32>)
    -> tensor<4x8xf32> {
  %0 = nn.broadcast %v {dims = array<i64: 1>}
      : (tensor<8xf32>) -> tensor<4x8xf32>
  %1 = nn.add %x, %0
      : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = nn.reshape %s : (tensor<f32>) -> tensor<1x1xf32>
  %3 = nn.mul %1, %2 : (tensor<4x8xf32>, tensor<1x1xf32>) -> tensor<4x8xf32>
  return %3 : tensor<4x8xf32>
}

// -----

// Without the broadcast the result would be smaller, or other elements meet.
// CHECK-LABEL: @needed_repetition
// CHECK-NEXT: nn.broadcast
// CHECK-NEXT: nn.add
// CHECK-NEXT: nn.broadcast
// CHECK-NEXT: nn.add
func.func @needed_repetition(%v: tensor<8xf32>, %s: tensor<f32>,
                             %x: tensor<8x8xf32>)
    -> (tensor<4x8xf32>, tensor<8x8xf32>) {
  %0 = nn.broadcast %v {dims = array<i64: 1>}
      : (tensor<8xf32>) -> tensor<4x8xf32>
  %1 = nn.add %0, %s : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %2 = nn.broadcast %v {dims = array<i64: 0>}
      : (tensor<8xf32>) -> tensor<8x8xf32>
  %3 = nn.add %x, %2
      : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %1, %3 : tensor<4x8xf32>, tensor<8x8xf32>
}

// -----

// What an update keeps must stay, what nobody uses goes.
// CHECK-LABEL: @effects
// CHECK-NEXT: nn.update
// CHECK-NEXT: return
nn.global @m state : tensor<4xf32> zero
func.func @effects(%x: tensor<4xf32>) {
  %0 = nn.neg %x : (tensor<4xf32>) -> tensor<4xf32>
  nn.update @m, %x : tensor<4xf32>
  return
}

// A head of the keys that several heads of the queries read is repeated by no
// letter; the scale in between goes first.
// CHECK-LABEL: func.func @scaled_and_repeated
// CHECK-NEXT: %[[C:.*]] = nn.constant
// CHECK-NEXT: %[[S:.*]] = nn.mul %arg1, %[[C]] : (tensor<3x8x4xf32>, tensor<f32>) -> tensor<3x8x4xf32>
// CHECK-NEXT: %[[Y:.*]] = nn.matmul %arg0, %[[S]] {labels = "hgqd,hkd->hgqk"}
// CHECK-NEXT: return %[[Y]]
func.func @scaled_and_repeated(%q: tensor<3x2x8x4xf32>, %k: tensor<3x8x4xf32>) -> tensor<3x2x8x8xf32> {
  %c = nn.constant dense<0.5> : tensor<f32>
  %0 = nn.reshape %k : (tensor<3x8x4xf32>) -> tensor<3x1x8x4xf32>
  %1 = nn.broadcast %0 {dims = array<i64: 0, 1, 2, 3>} : (tensor<3x1x8x4xf32>) -> tensor<3x2x8x4xf32>
  %2 = nn.transpose %1 {permutation = array<i64: 0, 1, 3, 2>} : (tensor<3x2x8x4xf32>) -> tensor<3x2x4x8xf32>
  %3 = nn.mul %2, %c : (tensor<3x2x4x8xf32>, tensor<f32>) -> tensor<3x2x4x8xf32>
  %4 = nn.matmul %q, %3 {labels = "hgqd,hgdk->hgqk"} : (tensor<3x2x8x4xf32>, tensor<3x2x4x8xf32>) -> tensor<3x2x8x8xf32>
  return %4 : tensor<3x2x8x8xf32>
}

// A sum over a repeated dim counts the repetitions, and a letter of the result
// has to stand somewhere: all broadcasts stay.
// CHECK-LABEL: func.func @repeated_and_needed
// CHECK-COUNT-3: nn.broadcast
func.func @repeated_and_needed(%x: tensor<5x3xf32>, %w: tensor<3xf32>, %v: tensor<3x1xf32>) -> (tensor<5xf32>, tensor<5x4xf32>) {
  %0 = nn.broadcast %w {dims = array<i64: 0>} : (tensor<3xf32>) -> tensor<3x7xf32>
  %1 = nn.broadcast %x {dims = array<i64: 0, 1>} : (tensor<5x3xf32>) -> tensor<5x3x7xf32>
  %2 = nn.matmul %1, %0 {labels = "mkj,kj->m"} : (tensor<5x3x7xf32>, tensor<3x7xf32>) -> tensor<5xf32>
  %3 = nn.broadcast %v {dims = array<i64: 0, 1>} : (tensor<3x1xf32>) -> tensor<3x4xf32>
  %4 = nn.matmul %x, %3 {labels = "mk,kn->mn"} : (tensor<5x3xf32>, tensor<3x4xf32>) -> tensor<5x4xf32>
  return %2, %4 : tensor<5xf32>, tensor<5x4xf32>
}

// Widening loses nothing: to narrow again undoes it, and to go on to another
// type begins at the first. What was rounded stays rounded.
// CHECK-LABEL: func @casts_of_casts
// CHECK-SAME: %[[N:.*]]: tensor<4xbf16>, %[[W:.*]]: tensor<4xf32>
// CHECK-NEXT: %[[D:.*]] = nn.cast %[[N]] : (tensor<4xbf16>) -> tensor<4xf64>
// CHECK-NEXT: %[[R:.*]] = nn.cast %[[W]] : (tensor<4xf32>) -> tensor<4xf16>
// CHECK-NEXT: %[[B:.*]] = nn.cast %[[R]] : (tensor<4xf16>) -> tensor<4xf32>
// CHECK-NEXT: return %[[N]], %[[D]], %[[B]]
func.func @casts_of_casts(%narrow: tensor<4xbf16>, %wide: tensor<4xf32>) -> (tensor<4xbf16>, tensor<4xf64>, tensor<4xf32>) {
  %0 = nn.cast %narrow : (tensor<4xbf16>) -> tensor<4xf32>
  %1 = nn.cast %0 : (tensor<4xf32>) -> tensor<4xbf16>
  %2 = nn.cast %0 : (tensor<4xf32>) -> tensor<4xf64>
  %3 = nn.cast %wide : (tensor<4xf32>) -> tensor<4xf16>
  %4 = nn.cast %3 : (tensor<4xf16>) -> tensor<4xf32>
  return %1, %2, %4 : tensor<4xbf16>, tensor<4xf64>, tensor<4xf32>
}

// Attention reads and writes heads wherever they stand, in whole rows.
// CHECK-LABEL: func @attention_of_transposes
// CHECK-NEXT: %[[K:.*]] = nn.transpose %arg1
// CHECK-NEXT: %[[Y:.*]] = nn.attention %arg0, %[[K]], %arg2 {labels = "bshd,bhtd,bthe->bshe"
// CHECK-NEXT: return %[[Y]]
func.func @attention_of_transposes(%q: tensor<2x5x4x3xf32>, %k: tensor<2x4x3x6xf32>, %v: tensor<2x6x4x7xf32>) -> tensor<2x5x4x7xf32> {
  %0 = nn.transpose %q {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x5x4x3xf32>) -> tensor<2x4x5x3xf32>
  %1 = nn.transpose %k {permutation = array<i64: 0, 1, 3, 2>} : (tensor<2x4x3x6xf32>) -> tensor<2x4x6x3xf32>
  %2 = nn.transpose %v {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x6x4x7xf32>) -> tensor<2x4x6x7xf32>
  %3 = nn.attention %0, %1, %2 {scale = 0.5 : f64, softcap = 0.0 : f64, left = -1, right = -1, offset = 0} : (tensor<2x4x5x3xf32>, tensor<2x4x6x3xf32>, tensor<2x4x6x7xf32>) -> tensor<2x4x5x7xf32>
  %4 = nn.transpose %3 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x4x5x7xf32>) -> tensor<2x5x4x7xf32>
  return %4 : tensor<2x5x4x7xf32>
}

// Where heads that are alone are dropped between two transposes, the product
// absorbs both; what moves with a larger extent stays.
// CHECK-LABEL: func @dropped_between
// CHECK-NEXT: %[[P:.*]] = nn.matmul %arg0, %arg1 {labels = "abmk,anbk->abmn"}
// CHECK-NEXT: return %[[P]]
func.func @dropped_between(%q: tensor<1x4x5x3xf32>, %k: tensor<1x6x4x3xf32>) -> tensor<1x4x5x6xf32> {
  %0 = nn.transpose %k {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x6x4x3xf32>) -> tensor<1x4x6x3xf32>
  %1 = nn.reshape %0 : (tensor<1x4x6x3xf32>) -> tensor<4x6x3xf32>
  %2 = nn.transpose %1 {permutation = array<i64: 0, 2, 1>} : (tensor<4x6x3xf32>) -> tensor<4x3x6xf32>
  %3 = nn.reshape %2 : (tensor<4x3x6xf32>) -> tensor<1x4x3x6xf32>
  %4 = nn.matmul %q, %3 {labels = "abmk,abkn->abmn"} : (tensor<1x4x5x3xf32>, tensor<1x4x3x6xf32>) -> tensor<1x4x5x6xf32>
  return %4 : tensor<1x4x5x6xf32>
}

// A slice is inserted where its tensor lies, not where the exporter has moved
// it to; without a transpose before it, the one behind it stays.
// CHECK-LABEL: func @insert_between_transposes
// CHECK-NEXT: %[[S:.*]] = nn.transpose %arg1 {permutation = array<i64: 2, 1, 0>}
// CHECK-NEXT: %[[Y:.*]] = nn.insert %arg0, %[[S]], %arg2 {axis = 1 : i64}
// CHECK-NEXT: %[[U:.*]] = nn.transpose %arg1 {permutation = array<i64: 2, 1, 0>}
// CHECK-NEXT: %[[Z:.*]] = nn.insert %arg0, %[[U]], %arg2 {axis = 1 : i64}
// CHECK-NEXT: %[[T:.*]] = nn.transpose %[[Z]]
// CHECK-NEXT: return %[[Y]], %[[T]]
func.func @insert_between_transposes(%x: tensor<2x8x3xf32>, %s: tensor<3x1x2xf32>, %o: tensor<i64>) -> (tensor<2x8x3xf32>, tensor<3x8x2xf32>) {
  %0 = nn.transpose %x {permutation = array<i64: 1, 0, 2>} : (tensor<2x8x3xf32>) -> tensor<8x2x3xf32>
  %1 = nn.transpose %s {permutation = array<i64: 1, 2, 0>} : (tensor<3x1x2xf32>) -> tensor<1x2x3xf32>
  %2 = nn.insert %0, %1, %o {axis = 0} : (tensor<8x2x3xf32>, tensor<1x2x3xf32>, tensor<i64>) -> tensor<8x2x3xf32>
  %3 = nn.transpose %2 {permutation = array<i64: 1, 0, 2>} : (tensor<8x2x3xf32>) -> tensor<2x8x3xf32>
  %4 = nn.transpose %s {permutation = array<i64: 2, 1, 0>} : (tensor<3x1x2xf32>) -> tensor<2x1x3xf32>
  %5 = nn.insert %x, %4, %o {axis = 1} : (tensor<2x8x3xf32>, tensor<2x1x3xf32>, tensor<i64>) -> tensor<2x8x3xf32>
  %6 = nn.transpose %5 {permutation = array<i64: 2, 1, 0>} : (tensor<2x8x3xf32>) -> tensor<3x8x2xf32>
  return %3, %6 : tensor<2x8x3xf32>, tensor<3x8x2xf32>
}
