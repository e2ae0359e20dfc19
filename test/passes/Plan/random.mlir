// Random plans are legal, use several grids, and follow from the seed alone.
// RUN: divisi-opt %s --nn-plan="devices=4 solver=random seed=1" --verify-plan
// RUN: divisi-opt %s --nn-plan="devices=4 solver=random seed=2" --verify-plan
// RUN: divisi-opt %s --nn-plan="devices=4 solver=random seed=4" --verify-plan
// RUN: divisi-opt %s --nn-plan="devices=1 solver=random seed=5" --verify-plan
// RUN: divisi-opt %s --nn-plan="devices=8 solver=random seed=6" --verify-plan
// RUN: divisi-opt %s --nn-plan="devices=4 solver=random seed=3" --verify-plan \
// RUN:   -o %t.a
// RUN: divisi-opt %s --nn-plan="devices=4 solver=random seed=3" -o %t.b
// RUN: diff %t.a %t.b
// RUN: FileCheck %s < %t.a

// CHECK-COUNT-2: spmd.grid
// CHECK: nn.global @w {{.*}}spmd.place
// CHECK: nn.matmul {{.*}}spmd.split
// CHECK: nn.softmax {{.*}}spmd.split
// CHECK: nn.add {{.*}}spmd.split
module {
  nn.global @w parameter : tensor<128x128xf32>
  func.func @forward(%x: tensor<5x7x128xf32>) -> tensor<5x7x128xf32> {
    %w = nn.read @w : tensor<128x128xf32>
    %y = nn.matmul %x, %w {labels = "bmk,kn->bmn"}
      : (tensor<5x7x128xf32>, tensor<128x128xf32>) -> tensor<5x7x128xf32>
    %s = nn.softmax %y {axis = 2, log = false}
      : (tensor<5x7x128xf32>) -> tensor<5x7x128xf32>
    %z = nn.add %y, %s : (tensor<5x7x128xf32>, tensor<5x7x128xf32>)
      -> tensor<5x7x128xf32>
    return %z : tensor<5x7x128xf32>
  }
}
