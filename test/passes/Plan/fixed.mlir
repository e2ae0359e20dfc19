// What a person has written stays, and the rest is planned around it.
// RUN: divisi-opt %s --nn-plan="devices=2" --verify-plan | FileCheck %s

// CHECK: spmd.grid @mine (left = 2)
// CHECK-NOT: spmd.grid
// CHECK: nn.global @w {{.*}}spmd.place = #spmd.place<@mine: [left, *]>
// CHECK: nn.matmul {{.*}}spmd.split = #spmd.split<@mine: k@left>
// CHECK: nn.relu {{.*}}spmd.split = #spmd.split<@mine
module {
  spmd.grid @mine (left = 2)
  nn.global @w parameter : tensor<128x128xf32>
  func.func @forward(%x: tensor<128x128xf32>) -> tensor<128x128xf32> {
    %w = nn.read @w : tensor<128x128xf32>
    %y = nn.matmul %x, %w {labels = "mk,kn->mn",
                           spmd.split = #spmd.split<@mine: k@left>}
      : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
    %z = nn.relu %y : (tensor<128x128xf32>) -> tensor<128x128xf32>
    return %z : tensor<128x128xf32>
  }
}
