// Data axes split what the batch reaches, model axes the rest: also where the
// batch is the major factor of a flattened dimension, and in two entry
// functions that share a parameter.
// RUN: divisi-opt %s --nn-plan="cluster=tpu-v4:4 \
// RUN:   data-parallel-size=2 tensor-parallel-size=2" -o %t
// RUN: divisi-opt %t --verify-plan | FileCheck %s
// RUN: divisi-opt %s --nn-plan="cluster=tpu-v4:4 mesh=data=2,model=2" \
// RUN:   --verify-plan | FileCheck %s --check-prefix=NAMED

// CHECK: spmd.grid @g (d0 = 2, m0 = 2)
// CHECK: nn.global @w {{.*}}#spmd.place<@g: [*, m0]>
// CHECK: func.func @train
// CHECK: nn.reshape {{.*}}#spmd.split<@g: f0@d0>
// CHECK: nn.matmul {{.*}}#spmd.split<@g: t@d0, f@m0>
// CHECK: func.func @infer
// CHECK: nn.matmul {{.*}}#spmd.split<@g: b@d0, f@m0>

// NAMED: spmd.grid @g (data = 2, model = 2)
// NAMED: nn.matmul {{.*}}#spmd.split<@g: t@data, f@model>
module {
  nn.global @w parameter : tensor<768x3072xf32>
  func.func @train(%x: tensor<8x512x768xf32>) -> tensor<4096x3072xf32> {
    %w = nn.read @w : tensor<768x3072xf32>
    %0 = nn.reshape %x : (tensor<8x512x768xf32>) -> tensor<4096x768xf32>
    %1 = nn.matmul %0, %w {labels = "te,ef->tf"}
      : (tensor<4096x768xf32>, tensor<768x3072xf32>) -> tensor<4096x3072xf32>
    return %1 : tensor<4096x3072xf32>
  }
  func.func @infer(%x: tensor<4x16x768xf32>) -> tensor<4x16x3072xf32> {
    %w = nn.read @w : tensor<768x3072xf32>
    %0 = nn.matmul %x, %w {labels = "bse,ef->bsf"}
      : (tensor<4x16x768xf32>, tensor<768x3072xf32>) -> tensor<4x16x3072xf32>
    return %0 : tensor<4x16x3072xf32>
  }
}
