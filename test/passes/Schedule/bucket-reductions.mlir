// How much is held, of which arenas may grow by half, depends on how the
// processor's kernels pack; so it is said here.
// RUN: divisi-opt %s --divisi-partition --schedule-overlap='growth=2000' | FileCheck %s
// RUN: divisi-opt %s --divisi-partition --schedule-overlap='growth=2000' --divisi-lower | FileCheck %s --check-prefix=EXEC
// RUN: divisi-opt %s --divisi-partition --schedule-overlap='growth=0' --verify-partition | FileCheck %s --check-prefix=TIGHT
// Sums that are taken out in another order are other values.
// RUN: divisi-opt %s --divisi-partition --schedule-overlap='growth=2000' \
// RUN:   | sed '/nn.slice/s/limits = array<i64: 1, 64>\(.*\)starts = array<i64: 0, 0>/limits = array<i64: 1, 128>\1starts = array<i64: 0, 64>/' \
// RUN:   | not divisi-opt - --verify-partition 2>&1 | FileCheck %s --check-prefix=OTHER
spmd.grid @g (x = 2)

// Small reductions, none of which needs another, are one: of vectors here,
// which have one row.
// CHECK-LABEL: func.func @gradients__0(
// CHECK: %[[JOINED:.*]] = nn.concat %{{.*}}, %{{.*}}, %{{.*}} {axis = 1 : i64, spmd.split = #spmd.split<@g: carry sum@x>}
// CHECK: %[[SUM:.*]] = spmd.all_reduce %[[JOINED]] {{.*}} tag = 0 : i64{{.*}} 1x160>> -> tensor<1x160xf32,
// CHECK-NOT: spmd.all_reduce
// CHECK: nn.slice %[[SUM]] {limits = array<i64: 1, 64>, {{.*}}starts = array<i64: 0, 0>,
// CHECK: nn.slice %[[SUM]] {limits = array<i64: 1, 128>, {{.*}}starts = array<i64: 0, 64>,
// CHECK: nn.slice %[[SUM]] {limits = array<i64: 1, 160>, {{.*}}starts = array<i64: 0, 128>,
// CHECK: return
// EXEC-LABEL: exec.program @gradients__0
// EXEC: exec.collective "all_reduce"
// EXEC-NOT: exec.collective
// EXEC: exec.program @scattered__0
// Where arenas may not grow each keeps its own.
// TIGHT-LABEL: func.func @gradients__0(
// TIGHT-COUNT-3: spmd.all_reduce
// OTHER: error: 'func.func' op does not compute the same as the program before partitioning, first in result 0
func.func @gradients(%x: tensor<16x8xf32> {spmd.place = #spmd.place<@g: [x, *]>},
                     %y: tensor<16x8xf32> {spmd.place = #spmd.place<@g: [x, *]>},
                     %z: tensor<16x4xf32> {spmd.place = #spmd.place<@g: [x, *]>})
    -> (tensor<8x8xf32> {spmd.place = #spmd.place<@g: [*, *]>},
        tensor<8x8xf32> {spmd.place = #spmd.place<@g: [*, *]>},
        tensor<8x4xf32> {spmd.place = #spmd.place<@g: [*, *]>}) {
  %1 = nn.matmul %x, %x {labels = "bi,bh->ih", spmd.split = #spmd.split<@g: b@x>}
      : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  %2 = nn.relu %1 {spmd.split = #spmd.split<@g>}
      : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %3 = nn.matmul %x, %y {labels = "bi,bh->ih", spmd.split = #spmd.split<@g: b@x>}
      : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  %4 = nn.relu %3 {spmd.split = #spmd.split<@g>}
      : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %5 = nn.matmul %x, %z {labels = "bi,bh->ih", spmd.split = #spmd.split<@g: b@x>}
      : (tensor<16x8xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  return %2, %4, %5 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x4xf32>
}

// Sums that are scattered have a row for each shard.
// CHECK-LABEL: func.func @scattered__0(
// CHECK: %[[JOINED:.*]] = nn.concat {{.*}} partial sum {x}, 2x48>>
// CHECK: spmd.reduce_scatter %[[JOINED]] {{.*}} -> tensor<1x48xf32, #spmd.local<(x=2), [x, *], 2x48>>
// CHECK-NOT: spmd.reduce_scatter
// CHECK: return
func.func @scattered(%x: tensor<16x8xf32> {spmd.place = #spmd.place<@g: [x, *]>},
                     %z: tensor<16x4xf32> {spmd.place = #spmd.place<@g: [x, *]>})
    -> (tensor<8x8xf32> {spmd.place = #spmd.place<@g: [x, *]>},
        tensor<8x4xf32> {spmd.place = #spmd.place<@g: [x, *]>}) {
  %1 = nn.matmul %x, %x {labels = "bi,bh->ih", spmd.split = #spmd.split<@g: b@x>}
      : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  %2 = nn.matmul %x, %z {labels = "bi,bh->ih", spmd.split = #spmd.split<@g: b@x>}
      : (tensor<16x8xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  return %1, %2 : tensor<8x8xf32>, tensor<8x4xf32>
}

// What needs another's sum is reduced on its own.
// CHECK-LABEL: func.func @chain__0(
// CHECK: spmd.all_reduce
// CHECK: spmd.all_reduce
func.func @chain(%x: tensor<16x8xf32> {spmd.place = #spmd.place<@g: [x, *]>})
    -> (tensor<8x8xf32> {spmd.place = #spmd.place<@g: [*, *]>}) {
  %1 = nn.matmul %x, %x {labels = "bi,bh->ih", spmd.split = #spmd.split<@g: b@x>}
      : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  %2 = nn.matmul %x, %1 {labels = "bi,ih->bh", spmd.split = #spmd.split<@g: b@x>}
      : (tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
  %3 = nn.matmul %x, %2 {labels = "bi,bh->ih", spmd.split = #spmd.split<@g: b@x>}
      : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  return %3 : tensor<8x8xf32>
}
