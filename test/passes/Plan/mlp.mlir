// RUN: divisi-opt %s --nn-plan="cluster=dgx-h100:2 tensor-parallel-size=2" \
// RUN:   --verify-plan | FileCheck %s --check-prefix=TP2
// RUN: divisi-opt %s --nn-plan="cluster=dgx-h100:4 tensor-parallel-size=4" \
// RUN:   --verify-plan | FileCheck %s --check-prefix=TP4
// RUN: divisi-opt %s --nn-plan="cluster=dgx-h100:4 data-parallel-size=4" \
// RUN:   --verify-plan | FileCheck %s --check-prefix=DP

// Tensor parallel: the first product is split by columns, the second by rows,
// so that one partial sum is all that has to be moved.
// TP2: spmd.grid @g (m0 = 2)
// TP2: nn.global @a {{.*}}spmd.place = #spmd.place<@g: [*, m0]>
// TP2: nn.global @b {{.*}}spmd.place = #spmd.place<@g: [m0, *]>
// TP2: nn.matmul {{.*}}spmd.split = #spmd.split<@g: n@m0>
// TP2: nn.relu {{.*}}spmd.split = #spmd.split<@g: d1@m0>
// TP2: nn.matmul {{.*}}spmd.split = #spmd.split<@g: k@m0>
// TP2-NOT: #spmd.split

// TP4: spmd.grid @g (m0 = 2, m1 = 2)
// TP4: nn.global @a {{.*}}spmd.place = #spmd.place<@g: [*, m0.m1]>
// TP4: nn.global @b {{.*}}spmd.place = #spmd.place<@g: [m0.m1, *]>
// TP4: nn.matmul {{.*}}spmd.split = #spmd.split<@g: n@m0.m1>
// TP4: nn.matmul {{.*}}spmd.split = #spmd.split<@g: k@m0.m1>

// Data parallel: rows everywhere, and nothing is moved.
// DP: spmd.grid @g (d0 = 2, d1 = 2)
// DP: nn.global @a {{.*}}spmd.place = #spmd.place<@g: [*, *]>
// DP: func.func @forward(%{{.*}}: tensor<1024x1024xf32> {{{.*}}spmd.place = #spmd.place<@g: [d0.d1, *]>}) -> (tensor<1024x1024xf32> {{{.*}}spmd.place = #spmd.place<@g: [d0.d1, *]>})
// DP: nn.matmul {{.*}}spmd.split = #spmd.split<@g: m@d0.d1>
// DP: nn.matmul {{.*}}spmd.split = #spmd.split<@g: m@d0.d1>
module {
  nn.global @a parameter : tensor<1024x4096xf32>
  nn.global @b parameter : tensor<4096x1024xf32>
  func.func @forward(%x: tensor<1024x1024xf32> {nn.name = "x"})
      -> (tensor<1024x1024xf32> {nn.name = "y"}) {
    %a = nn.read @a : tensor<1024x4096xf32>
    %b = nn.read @b : tensor<4096x1024xf32>
    %0 = nn.matmul %x, %a {labels = "mk,kn->mn"}
      : (tensor<1024x1024xf32>, tensor<1024x4096xf32>) -> tensor<1024x4096xf32>
    %1 = nn.relu %0 : (tensor<1024x4096xf32>) -> tensor<1024x4096xf32>
    %2 = nn.matmul %1, %b {labels = "mk,kn->mn"}
      : (tensor<1024x4096xf32>, tensor<4096x1024xf32>) -> tensor<1024x1024xf32>
    return %2 : tensor<1024x1024xf32>
  }
}
