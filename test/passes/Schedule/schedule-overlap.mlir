// RUN: divisi-opt %s --divisi-partition --schedule-overlap --verify-partition | FileCheck %s
// RUN: divisi-opt %s --divisi-partition --schedule-overlap='growth=0' --verify-partition | FileCheck %s --check-prefix=TIGHT
// RUN: divisi-opt %s --divisi-partition --divisi-schedule --divisi-lower | FileCheck %s --check-prefix=EXEC

// What entries are predicted to take stands on the module.
// CHECK: module
// CHECK-SAME: divisi.schedule = [{communication = {{[0-9]+}} : i64, entry = "backward", exposed = {{[0-9]+}} : i64, nanoseconds = {{[0-9]+}} : i64},
// CHECK-SAME: divisi.stage = "schedule"
spmd.grid @g (x = 2)

nn.global @w1 parameter : tensor<256x256xf32> {spmd.place = #spmd.place<@g: [x, *]>}
nn.global @w2 parameter : tensor<256x256xf32> {spmd.place = #spmd.place<@g: [x, *]>}
nn.global @w3 parameter : tensor<256x256xf32> {spmd.place = #spmd.place<@g: [x, *]>}

// The gradient of an input is reduced beside the gradient of a weight, which
// does not need it, and so comes later than in the model.
// CHECK-LABEL: func.func @backward__0(
// CHECK-SAME: spmd.overlap
// CHECK: %[[P:.*]] = nn.matmul {{.*}}labels = "bh,ih->bi"
// CHECK-NEXT: %[[R:.*]] = spmd.all_reduce %[[P]] {{.*}} tag = 0
// CHECK: nn.matmul {{.*}}labels = "bi,bh->ih"
// CHECK: nn.relu %[[R]]
// EXEC-LABEL: exec.program @backward__0
// EXEC-SAME: overlap {
// EXEC: %[[DONE:.*]] = exec.collective "all_reduce"
// EXEC-NOT: after %[[DONE]]
// EXEC: exec.call "nn.matmul"
// EXEC: exec.call "nn.relu"{{.*}} after {{.*}}%[[DONE]]
func.func @backward(
    %x: tensor<256x256xf32> {spmd.place = #spmd.place<@g: [*, *]>},
    %dy: tensor<256x512xf32> {spmd.place = #spmd.place<@g: [*, x]>},
    %w: tensor<256x512xf32> {spmd.place = #spmd.place<@g: [*, x]>})
    -> (tensor<256x512xf32> {spmd.place = #spmd.place<@g: [*, x]>},
        tensor<256x256xf32> {spmd.place = #spmd.place<@g: [*, *]>}) {
  %dw = nn.matmul %x, %dy {labels = "bi,bh->ih", spmd.split = #spmd.split<@g: h@x>}
      : (tensor<256x256xf32>, tensor<256x512xf32>) -> tensor<256x512xf32>
  %dx = nn.matmul %dy, %w {labels = "bh,ih->bi", spmd.split = #spmd.split<@g: h@x>}
      : (tensor<256x512xf32>, tensor<256x512xf32>) -> tensor<256x256xf32>
  %a = nn.relu %dx {spmd.split = #spmd.split<@g>}
      : (tensor<256x256xf32>) -> tensor<256x256xf32>
  return %dw, %a : tensor<256x512xf32>, tensor<256x256xf32>
}

// Weights that lie split are fetched while the layer before computes: one is
// always on its way, and not all at once.
// CHECK-LABEL: func.func @layers__0(
// CHECK-SAME: spmd.overlap
// CHECK: spmd.all_gather {{.*}} tag = 0
// CHECK: spmd.all_gather {{.*}} tag = 1
// CHECK: nn.matmul
// CHECK: spmd.all_gather {{.*}} tag = 2
// CHECK: nn.matmul
// CHECK-NOT: all_gather
// CHECK: nn.matmul
// Without memory for it, each is fetched when it is used.
// TIGHT-LABEL: func.func @layers__0(
// TIGHT-NOT: spmd.overlap
// TIGHT: spmd.all_gather
// TIGHT-NEXT: nn.matmul
// TIGHT: spmd.all_gather
// TIGHT-NEXT: nn.matmul
func.func @layers(%x: tensor<1024x256xf32> {spmd.place = #spmd.place<@g: [x, *]>})
    -> (tensor<1024x256xf32> {spmd.place = #spmd.place<@g: [x, *]>}) {
  %w1 = nn.read @w1 : tensor<256x256xf32>
  %w2 = nn.read @w2 : tensor<256x256xf32>
  %w3 = nn.read @w3 : tensor<256x256xf32>
  %1 = nn.matmul %x, %w1 {labels = "mk,kn->mn", spmd.split = #spmd.split<@g: m@x>}
      : (tensor<1024x256xf32>, tensor<256x256xf32>) -> tensor<1024x256xf32>
  %2 = nn.matmul %1, %w2 {labels = "mk,kn->mn", spmd.split = #spmd.split<@g: m@x>}
      : (tensor<1024x256xf32>, tensor<256x256xf32>) -> tensor<1024x256xf32>
  %3 = nn.matmul %2, %w3 {labels = "mk,kn->mn", spmd.split = #spmd.split<@g: m@x>}
      : (tensor<1024x256xf32>, tensor<256x256xf32>) -> tensor<1024x256xf32>
  return %3 : tensor<1024x256xf32>
}

// Where all depends on the collective nothing changes.
// CHECK-LABEL: func.func @chain__0(
// CHECK-NOT: spmd.overlap
// CHECK: nn.matmul
// CHECK-NEXT: spmd.all_reduce
// CHECK-NEXT: nn.relu
func.func @chain(%x: tensor<256x256xf32> {spmd.place = #spmd.place<@g: [*, x]>},
                 %w: tensor<256x256xf32> {spmd.place = #spmd.place<@g: [x, *]>})
    -> (tensor<256x256xf32> {spmd.place = #spmd.place<@g: [*, *]>}) {
  %1 = nn.matmul %x, %w {labels = "mk,kn->mn", spmd.split = #spmd.split<@g: k@x>}
      : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %2 = nn.relu %1 {spmd.split = #spmd.split<@g>}
      : (tensor<256x256xf32>) -> tensor<256x256xf32>
  return %2 : tensor<256x256xf32>
}
