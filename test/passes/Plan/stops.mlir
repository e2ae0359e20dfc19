// Three products take the same value and a residual takes it, too: it is
// gathered for the products once, and the residual takes it as it lies.
// RUN: divisi-opt %s --nn-plan --verify-plan \
// RUN:   | FileCheck %s
// RUN: divisi-opt %s --nn-plan --divisi-partition \
// RUN:   | FileCheck %s --check-prefix=MADE

// CHECK-COUNT-3: nn.matmul {{.*}}spmd.stops = [#spmd.place<@g: [*, *]>, unit]
// MADE: spmd.all_gather
// MADE-NOT: spmd.all_gather
// MADE: nn.matmul
// MADE: nn.matmul
// MADE: nn.matmul
module {
  spmd.grid @g (x = 4)
  nn.global @a parameter : tensor<512x512xf32>
  nn.global @b parameter : tensor<512x512xf32>
  nn.global @c parameter : tensor<512x512xf32>
  nn.global @d parameter : tensor<512x512xf32>
  func.func @forward(%x: tensor<4096x512xf32>) -> tensor<4096x512xf32> {
    %a = nn.read @a : tensor<512x512xf32>
    %b = nn.read @b : tensor<512x512xf32>
    %c = nn.read @c : tensor<512x512xf32>
    %d = nn.read @d : tensor<512x512xf32>
    %n = nn.softmax %x {axis = 1 : i64, log = false,
                        spmd.split = #spmd.split<@g: d0@x>,
                        spmd.places = [#spmd.place<@g: [x, *]>]} : (tensor<4096x512xf32>) -> tensor<4096x512xf32>
    %q = nn.matmul %n, %a {labels = "mk,kn->mn", spmd.split = #spmd.split<@g: n@x>}
      : (tensor<4096x512xf32>, tensor<512x512xf32>) -> tensor<4096x512xf32>
    %k = nn.matmul %n, %b {labels = "mk,kn->mn", spmd.split = #spmd.split<@g: n@x>}
      : (tensor<4096x512xf32>, tensor<512x512xf32>) -> tensor<4096x512xf32>
    %v = nn.matmul %n, %c {labels = "mk,kn->mn", spmd.split = #spmd.split<@g: n@x>}
      : (tensor<4096x512xf32>, tensor<512x512xf32>) -> tensor<4096x512xf32>
    %0 = nn.mul %q, %k : (tensor<4096x512xf32>, tensor<4096x512xf32>) -> tensor<4096x512xf32>
    %1 = nn.mul %0, %v : (tensor<4096x512xf32>, tensor<4096x512xf32>) -> tensor<4096x512xf32>
    %o = nn.matmul %1, %d {labels = "mk,kn->mn"}
      : (tensor<4096x512xf32>, tensor<512x512xf32>) -> tensor<4096x512xf32>
    %r = nn.add %o, %n {spmd.split = #spmd.split<@g: d0@x>} : (tensor<4096x512xf32>, tensor<4096x512xf32>) -> tensor<4096x512xf32>
    %y = nn.softmax %r {axis = 1 : i64, log = false} : (tensor<4096x512xf32>) -> tensor<4096x512xf32>
    return %y : tensor<4096x512xf32>
  }
}
