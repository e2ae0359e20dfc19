// One block of GPT-2 with its embeddings and logits, 124 million parameters of
// width 768, 12 heads, 8 x 1024 tokens. Asked for tensor parallelism over 4 and
// nothing else, the planner finds Megatron's plan: heads and the inner width of
// the MLP are split, the tied embedding by vocabulary, and all that is moved
// are sums after the embedding, the attention and the MLP (scattered over the
// tokens, and gathered again before the next product).

// RUN: divisi-opt %s -o %t \
// RUN:   --nn-plan="cluster=dgx-h100:4 tensor-parallel-size=4" --verify-plan
// RUN: FileCheck %s < %t
// RUN: divisi-opt %t --divisi-partition | FileCheck %s --check-prefix=MOVES \
// RUN:   --implicit-check-not="= spmd."
// RUN: divisi-opt %s -o /dev/null \
// RUN:   --nn-plan="cluster=dgx-h100:4 tensor-parallel-size=4 report" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REPORT

// A quarter of the weights and whole vectors of the norms.
// REPORT: remark: predicted {{[0-9]+}} ns, peak {{[0-9]+}} bytes; of 185892864 bytes of globals 4649{{[0-9]+}} rest on a device

// CHECK-DAG: nn.global @wte {{.*}}#spmd.place<@g: [m0.m1, *]>
// CHECK-DAG: nn.global @h0_qkv_w {{.*}}#spmd.place<@g: [*, *, m0.m1, *]>
// CHECK-DAG: nn.global @h0_proj_w {{.*}}#spmd.place<@g: [m0.m1, *, *]>
// CHECK-DAG: nn.global @h0_fc_w {{.*}}#spmd.place<@g: [*, m0.m1]>
// CHECK-DAG: nn.global @h0_out_w {{.*}}#spmd.place<@g: [m0.m1, *]>
// CHECK: nn.gather {{.*}}#spmd.split<@g: v@m0.m1>
// CHECK: nn.matmul {{.*}}"bse,echd->bschd", spmd.split = #spmd.split<@g: h@m0.m1>
// CHECK: nn.matmul {{.*}}"bqhd,bkhd->bhqk", spmd.split = #spmd.split<@g: h@m0.m1>
// CHECK: nn.softmax {{.*}}#spmd.split<@g: d1@m0.m1>
// CHECK: nn.matmul {{.*}}"bhqk,bkhd->bqhd", spmd.split = #spmd.split<@g: h@m0.m1>
// CHECK: nn.matmul {{.*}}"bqhd,hde->bqe", spmd.split = #spmd.split<@g: h@m0.m1>
// CHECK: nn.matmul {{.*}}"bse,ef->bsf", spmd.split = #spmd.split<@g: f@m0.m1>
// CHECK: nn.gelu {{.*}}#spmd.split<@g: d2@m0.m1>
// CHECK: nn.matmul {{.*}}"bsf,fe->bse", spmd.split = #spmd.split<@g: f@m0.m1>
// CHECK: nn.matmul {{.*}}"bse,ve->bsv", spmd.split = #spmd.split<@g: v@m0.m1>

// MOVES: = spmd.reduce_scatter
// MOVES: = spmd.all_gather
// MOVES: = spmd.reduce_scatter
// MOVES: = spmd.all_gather
// MOVES: = spmd.reduce_scatter
// MOVES: = spmd.all_gather
module {
  nn.global @wte parameter : tensor<50257x768xf32>
  nn.global @wpe parameter : tensor<1024x768xf32>
  nn.global @h0_ln1_w parameter : tensor<768xf32>
  nn.global @h0_ln1_b parameter : tensor<768xf32>
  nn.global @h0_qkv_w parameter : tensor<768x3x12x64xf32>
  nn.global @h0_qkv_b parameter : tensor<3x12x64xf32>
  nn.global @h0_proj_w parameter : tensor<12x64x768xf32>
  nn.global @h0_proj_b parameter : tensor<768xf32>
  nn.global @h0_ln2_w parameter : tensor<768xf32>
  nn.global @h0_ln2_b parameter : tensor<768xf32>
  nn.global @h0_fc_w parameter : tensor<768x3072xf32>
  nn.global @h0_fc_b parameter : tensor<3072xf32>
  nn.global @h0_out_w parameter : tensor<3072x768xf32>
  nn.global @h0_out_b parameter : tensor<768xf32>
  nn.global @lnf_w parameter : tensor<768xf32>
  nn.global @lnf_b parameter : tensor<768xf32>
  func.func @forward(%ids: tensor<8x1024xi64>) -> tensor<8x1024x50257xf32> {
    %scale = nn.constant dense<0.125> : tensor<f32>
    %low = nn.constant dense<-1.0e9> : tensor<f32>
    %rows = nn.iota {axis = 0} : () -> tensor<1024x1xi64>
    %columns = nn.iota {axis = 1} : () -> tensor<1x1024xi64>
    %mask = nn.compare %columns, %rows {predicate = "le"} : (tensor<1x1024xi64>, tensor<1024x1xi64>) -> tensor<1024x1024xi1>
    %0 = nn.read @wte : tensor<50257x768xf32>
    %1 = nn.read @wpe : tensor<1024x768xf32>
    %2 = nn.gather %0, %ids {axis = 0, batch_dims = 0} : (tensor<50257x768xf32>, tensor<8x1024xi64>) -> tensor<8x1024x768xf32>
    %3 = nn.slice %1 {starts = array<i64: 0, 0>, limits = array<i64: 1024, 768>, steps = array<i64: 1, 1>} : (tensor<1024x768xf32>) -> tensor<1024x768xf32>
    %4 = nn.add %2, %3 : (tensor<8x1024x768xf32>, tensor<1024x768xf32>) -> tensor<8x1024x768xf32>
    %5 = nn.read @h0_ln1_w : tensor<768xf32>
    %6 = nn.read @h0_ln1_b : tensor<768xf32>
    %7 = nn.normalize %4 {axes = array<i64: 2>, center = true, epsilon = 1.0e-5} : (tensor<8x1024x768xf32>) -> tensor<8x1024x768xf32>
    %8 = nn.mul %7, %5 : (tensor<8x1024x768xf32>, tensor<768xf32>) -> tensor<8x1024x768xf32>
    %9 = nn.add %8, %6 : (tensor<8x1024x768xf32>, tensor<768xf32>) -> tensor<8x1024x768xf32>
    %10 = nn.read @h0_qkv_w : tensor<768x3x12x64xf32>
    %11 = nn.read @h0_qkv_b : tensor<3x12x64xf32>
    %12 = nn.matmul %9, %10 {labels = "bse,echd->bschd"} : (tensor<8x1024x768xf32>, tensor<768x3x12x64xf32>) -> tensor<8x1024x3x12x64xf32>
    %13 = nn.add %12, %11 : (tensor<8x1024x3x12x64xf32>, tensor<3x12x64xf32>) -> tensor<8x1024x3x12x64xf32>
    %14 = nn.slice %13 {starts = array<i64: 0, 0, 0, 0, 0>, limits = array<i64: 8, 1024, 1, 12, 64>, steps = array<i64: 1, 1, 1, 1, 1>} : (tensor<8x1024x3x12x64xf32>) -> tensor<8x1024x1x12x64xf32>
    %15 = nn.reshape %14 : (tensor<8x1024x1x12x64xf32>) -> tensor<8x1024x12x64xf32>
    %16 = nn.slice %13 {starts = array<i64: 0, 0, 1, 0, 0>, limits = array<i64: 8, 1024, 2, 12, 64>, steps = array<i64: 1, 1, 1, 1, 1>} : (tensor<8x1024x3x12x64xf32>) -> tensor<8x1024x1x12x64xf32>
    %17 = nn.reshape %16 : (tensor<8x1024x1x12x64xf32>) -> tensor<8x1024x12x64xf32>
    %18 = nn.slice %13 {starts = array<i64: 0, 0, 2, 0, 0>, limits = array<i64: 8, 1024, 3, 12, 64>, steps = array<i64: 1, 1, 1, 1, 1>} : (tensor<8x1024x3x12x64xf32>) -> tensor<8x1024x1x12x64xf32>
    %19 = nn.reshape %18 : (tensor<8x1024x1x12x64xf32>) -> tensor<8x1024x12x64xf32>
    %20 = nn.matmul %15, %17 {labels = "bqhd,bkhd->bhqk"} : (tensor<8x1024x12x64xf32>, tensor<8x1024x12x64xf32>) -> tensor<8x12x1024x1024xf32>
    %21 = nn.mul %20, %scale : (tensor<8x12x1024x1024xf32>, tensor<f32>) -> tensor<8x12x1024x1024xf32>
    %22 = nn.select %mask, %21, %low : (tensor<1024x1024xi1>, tensor<8x12x1024x1024xf32>, tensor<f32>) -> tensor<8x12x1024x1024xf32>
    %23 = nn.softmax %22 {axis = 3, log = false} : (tensor<8x12x1024x1024xf32>) -> tensor<8x12x1024x1024xf32>
    %24 = nn.matmul %23, %19 {labels = "bhqk,bkhd->bqhd"} : (tensor<8x12x1024x1024xf32>, tensor<8x1024x12x64xf32>) -> tensor<8x1024x12x64xf32>
    %25 = nn.read @h0_proj_w : tensor<12x64x768xf32>
    %26 = nn.read @h0_proj_b : tensor<768xf32>
    %27 = nn.matmul %24, %25 {labels = "bqhd,hde->bqe"} : (tensor<8x1024x12x64xf32>, tensor<12x64x768xf32>) -> tensor<8x1024x768xf32>
    %28 = nn.add %27, %26 : (tensor<8x1024x768xf32>, tensor<768xf32>) -> tensor<8x1024x768xf32>
    %29 = nn.add %4, %28 : (tensor<8x1024x768xf32>, tensor<8x1024x768xf32>) -> tensor<8x1024x768xf32>
    %30 = nn.read @h0_ln2_w : tensor<768xf32>
    %31 = nn.read @h0_ln2_b : tensor<768xf32>
    %32 = nn.normalize %29 {axes = array<i64: 2>, center = true, epsilon = 1.0e-5} : (tensor<8x1024x768xf32>) -> tensor<8x1024x768xf32>
    %33 = nn.mul %32, %30 : (tensor<8x1024x768xf32>, tensor<768xf32>) -> tensor<8x1024x768xf32>
    %34 = nn.add %33, %31 : (tensor<8x1024x768xf32>, tensor<768xf32>) -> tensor<8x1024x768xf32>
    %35 = nn.read @h0_fc_w : tensor<768x3072xf32>
    %36 = nn.read @h0_fc_b : tensor<3072xf32>
    %37 = nn.matmul %34, %35 {labels = "bse,ef->bsf"} : (tensor<8x1024x768xf32>, tensor<768x3072xf32>) -> tensor<8x1024x3072xf32>
    %38 = nn.add %37, %36 : (tensor<8x1024x3072xf32>, tensor<3072xf32>) -> tensor<8x1024x3072xf32>
    %39 = nn.gelu %38 {approximate = "tanh"} : (tensor<8x1024x3072xf32>) -> tensor<8x1024x3072xf32>
    %40 = nn.read @h0_out_w : tensor<3072x768xf32>
    %41 = nn.read @h0_out_b : tensor<768xf32>
    %42 = nn.matmul %39, %40 {labels = "bsf,fe->bse"} : (tensor<8x1024x3072xf32>, tensor<3072x768xf32>) -> tensor<8x1024x768xf32>
    %43 = nn.add %42, %41 : (tensor<8x1024x768xf32>, tensor<768xf32>) -> tensor<8x1024x768xf32>
    %44 = nn.add %29, %43 : (tensor<8x1024x768xf32>, tensor<8x1024x768xf32>) -> tensor<8x1024x768xf32>
    %45 = nn.read @lnf_w : tensor<768xf32>
    %46 = nn.read @lnf_b : tensor<768xf32>
    %47 = nn.normalize %44 {axes = array<i64: 2>, center = true, epsilon = 1.0e-5} : (tensor<8x1024x768xf32>) -> tensor<8x1024x768xf32>
    %48 = nn.mul %47, %45 : (tensor<8x1024x768xf32>, tensor<768xf32>) -> tensor<8x1024x768xf32>
    %49 = nn.add %48, %46 : (tensor<8x1024x768xf32>, tensor<768xf32>) -> tensor<8x1024x768xf32>
    %50 = nn.matmul %49, %0 {labels = "bse,ve->bsv"} : (tensor<8x1024x768xf32>, tensor<50257x768xf32>) -> tensor<8x1024x50257xf32>
    return %50 : tensor<8x1024x50257xf32>
  }
}
