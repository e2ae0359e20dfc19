// Four matrices of 4 MB lie on both devices as long as they may. Under a limit
// some are split at rest and gathered for their use, one after the other.
// RUN: divisi-opt %s --nn-plan="devices=2 data-parallel-size=2" \
// RUN:   | FileCheck %s --check-prefix=FREE
// RUN: divisi-opt %s -o %t --nn-plan="devices=2 \
// RUN:   data-parallel-size=2 memory-limit=15500000 report" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=LIMIT
// RUN: not divisi-opt %s --nn-plan="devices=2 data-parallel-size=2 \
// RUN:   memory-limit=9000000" 2>&1 | FileCheck %s --check-prefix=NONE

// FREE-COUNT-4: nn.global {{.*}}#spmd.place<@g: [*, *]>
// LIMIT: peak {{1[0-5]......}} bytes; of 16777216 bytes of globals {{(8|10|12)......}} rest on a device
// NONE: error: no plan fits into the memory limit
module {
  nn.global @a parameter : tensor<1024x1024xf32>
  nn.global @b parameter : tensor<1024x1024xf32>
  nn.global @c parameter : tensor<1024x1024xf32>
  nn.global @d parameter : tensor<1024x1024xf32>
  func.func @forward(%x: tensor<8x1024xf32>) -> tensor<8x1024xf32> {
    %a = nn.read @a : tensor<1024x1024xf32>
    %b = nn.read @b : tensor<1024x1024xf32>
    %c = nn.read @c : tensor<1024x1024xf32>
    %d = nn.read @d : tensor<1024x1024xf32>
    %0 = nn.matmul %x, %a {labels = "mk,kn->mn"}
      : (tensor<8x1024xf32>, tensor<1024x1024xf32>) -> tensor<8x1024xf32>
    %1 = nn.matmul %0, %b {labels = "mk,kn->mn"}
      : (tensor<8x1024xf32>, tensor<1024x1024xf32>) -> tensor<8x1024xf32>
    %2 = nn.matmul %1, %c {labels = "mk,kn->mn"}
      : (tensor<8x1024xf32>, tensor<1024x1024xf32>) -> tensor<8x1024xf32>
    %3 = nn.matmul %2, %d {labels = "mk,kn->mn"}
      : (tensor<8x1024xf32>, tensor<1024x1024xf32>) -> tensor<8x1024xf32>
    return %3 : tensor<8x1024xf32>
  }
}
