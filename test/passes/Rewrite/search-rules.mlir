// Rules that pay on the device that is priced, in any order.
// RUN: divisi-opt %s --search-rules=cluster=dgx-h100:1 --canonicalize | FileCheck %s --check-prefixes=CHECK,GPU
// RUN: divisi-opt %s --search-rules=cluster=cpu:1 --canonicalize | FileCheck %s --check-prefixes=CHECK,CPU
// RUN: divisi-opt %s "--search-rules=cluster=dgx-h100:1 class=bit-exact" --canonicalize | FileCheck %s --check-prefix=EXACT
// RUN: divisi-opt %s --search-rules=cluster=dgx-h100:1 --remarks-filter=search-rules --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=SAYS
// RUN: not divisi-opt %s --search-rules=class=discontinuous 2>&1 | FileCheck %s --check-prefix=CLASS

// SAYS: remark: {{.*}}merge-matmuls-of-one-input{{.*}}applied 1x
// SAYS: remark: {{.*}}add-weights-not-results{{.*}}applied 1x
// CLASS: error: 'discontinuous' is no class of rules: bit-exact or reassociates

nn.global @u parameter : tensor<512x256xf32>
nn.global @v parameter : tensor<512x512xf32>
nn.global @w parameter : tensor<512x512xf32>

// What is stacked needs no copies.
// CHECK-LABEL: func.func @merged
// CHECK-COUNT-1: nn.matmul
// CHECK-NOT: nn.matmul
// EXACT-LABEL: func.func @merged
// EXACT-COUNT-2: nn.matmul
func.func @merged(%x: tensor<4x512xf32> {nn.name = "x"})
    -> (tensor<4x512xf32> {nn.name = "y"}, tensor<4x512xf32> {nn.name = "z"}) {
  %v = nn.read @v : tensor<512x512xf32>
  %0 = nn.matmul %x, %v {labels = "mk,kn->mn"} : (tensor<4x512xf32>, tensor<512x512xf32>) -> tensor<4x512xf32>
  %w = nn.read @w : tensor<512x512xf32>
  %1 = nn.matmul %x, %w {labels = "mk,kn->mn"} : (tensor<4x512xf32>, tensor<512x512xf32>) -> tensor<4x512xf32>
  return %0, %1 : tensor<4x512xf32>, tensor<4x512xf32>
}

// A launch costs more than two copies on a GPU, and less on a processor.
// CHECK-LABEL: func.func @of_two_widths
// GPU-COUNT-1: nn.matmul
// GPU-NOT: nn.matmul
// CPU-COUNT-2: nn.matmul
func.func @of_two_widths(%x: tensor<64x512xf32> {nn.name = "x"})
    -> (tensor<64x512xf32> {nn.name = "y"}, tensor<64x256xf32> {nn.name = "z"}) {
  %v = nn.read @v : tensor<512x512xf32>
  %0 = nn.matmul %x, %v {labels = "mk,kn->mn"} : (tensor<64x512xf32>, tensor<512x512xf32>) -> tensor<64x512xf32>
  %u = nn.read @u : tensor<512x256xf32>
  %1 = nn.matmul %x, %u {labels = "mk,kn->mn"} : (tensor<64x512xf32>, tensor<512x256xf32>) -> tensor<64x256xf32>
  return %0, %1 : tensor<64x512xf32>, tensor<64x256xf32>
}

// Sums of products with one input become sums of weights.
// CHECK-LABEL: func.func @summed
// CHECK-COUNT-1: nn.matmul
// CHECK-NOT: nn.matmul
// CHECK: return
func.func @summed(%x: tensor<4x512xf32> {nn.name = "x"})
    -> (tensor<4x512xf32> {nn.name = "y"}) {
  %v = nn.read @v : tensor<512x512xf32>
  %0 = nn.matmul %x, %v {labels = "mk,kn->mn"} : (tensor<4x512xf32>, tensor<512x512xf32>) -> tensor<4x512xf32>
  %w = nn.read @w : tensor<512x512xf32>
  %2 = nn.matmul %x, %w {labels = "mk,kn->mn"} : (tensor<4x512xf32>, tensor<512x512xf32>) -> tensor<4x512xf32>
  %3 = nn.add %0, %2 : (tensor<4x512xf32>, tensor<4x512xf32>) -> tensor<4x512xf32>
  return %3 : tensor<4x512xf32>
}
