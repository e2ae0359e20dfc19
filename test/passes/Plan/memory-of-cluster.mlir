// A plan that is given no limit has to fit into what a device of the cluster
// has: 16 GiB for `cpu`. The weight alone fills one; two share it.
// RUN: not divisi-opt %s --nn-plan="devices=1" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=ONE
// RUN: divisi-opt %s --nn-plan="devices=2" | FileCheck %s --check-prefix=TWO
// RUN: divisi-opt %s --nn-plan="devices=1 memory-limit=18000000000" \
// RUN:   | FileCheck %s --check-prefix=MORE

// ONE: error: no plan fits into the memory limit of 17179869184 bytes per device (what a device of the cluster cpu has): {{at|when}} 
// ONE-SAME: raise --memory-limit or take more devices
// TWO: nn.global @w {{.*}}#spmd.place<@g: [{{x0, \*|\*, x0}}]>
// MORE: nn.global @w {{.*}}#spmd.place<@g: [*, *]>
module {
  nn.global @w parameter : tensor<65536x65536xf32>
  func.func @forward(%x: tensor<8x65536xf32>) -> tensor<8x65536xf32> {
    %w = nn.read @w : tensor<65536x65536xf32>
    %y = nn.matmul %x, %w {labels = "mk,kn->mn"}
      : (tensor<8x65536xf32>, tensor<65536x65536xf32>) -> tensor<8x65536xf32>
    return %y : tensor<8x65536xf32>
  }
}
