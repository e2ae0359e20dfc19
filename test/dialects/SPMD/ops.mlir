// RUN: divisi-opt %s | divisi-opt | FileCheck %s
// RUN: divisi-opt %s --mlir-print-op-generic | divisi-opt | FileCheck %s

// Devices are positions unless they are said.
// CHECK: spmd.grid @g (x = 2, y = 2)
spmd.grid @g (x = 2, y = 2)
// CHECK: spmd.grid @h (z = 3) devices [4, 5, 7]
spmd.grid @h (z = 3) devices [4, 5, 7]
// Weights have no common factor, and there are none if all are equal.
// CHECK: spmd.grid @weighted (x = 2:[3,1], y = 2)
spmd.grid @weighted (x = 2:[6,2], y = 2:[5,5])
// A grid without axes is one device.
// CHECK: spmd.grid @one () devices [7]
spmd.grid @one () devices [7]

// CHECK: nn.global @w parameter : tensor<4x8xf32>
// CHECK-SAME: spmd.place = #spmd.place<@g: [x, *]>
nn.global @w parameter : tensor<4x8xf32> from "w.bin" [0, 128] {spmd.place = #spmd.place<@g: [x, *]>}

// CHECK-LABEL: func.func @strategies
// CHECK-SAME: spmd.place = #spmd.place<@g: [x.y, *]>
// CHECK-SAME: spmd.place = #spmd.place<@g: [*, x] partial sum {y}>
func.func @strategies(%a: tensor<6x4xf32> {spmd.place = #spmd.place<@g: [x.y, *]>})
    -> (tensor<6x8xf32> {spmd.place = #spmd.place<@g: [*, x] partial sum {y}>}) {
  %w = nn.read @w : tensor<4x8xf32>
  // CHECK: spmd.places = [#spmd.place<@g: [x, *]>]
  // CHECK-SAME: spmd.split = #spmd.split<@g: m@x, n@y>
  %0 = nn.matmul %a, %w {labels = "mk,kn->mn", spmd.split = #spmd.split<@g: m@x, n@y>,
    spmd.places = [#spmd.place<@g: [x, *]>]} : (tensor<6x4xf32>, tensor<4x8xf32>) -> tensor<6x8xf32>
  // CHECK: spmd.split = #spmd.split<@g: k@x, carry sum@y in 1>
  %1 = nn.matmul %a, %w {labels = "mk,kn->mn", spmd.split = #spmd.split<@g: k@x, carry sum@y in 1>}
    : (tensor<6x4xf32>, tensor<4x8xf32>) -> tensor<6x8xf32>
  // An operator whose work is replicated.
  // CHECK: spmd.split = #spmd.split<@g>
  %2 = nn.add %0, %1 {spmd.split = #spmd.split<@g>} : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<6x8xf32>
  return %2 : tensor<6x8xf32>
}

// Bounds that equal the default leave no trace, axes of size 1 neither.
// CHECK-LABEL: func.func private @canonical_layouts
// CHECK-SAME: tensor<2xf32, #spmd.local<(x=2), [x], 4>>
// CHECK-SAME: tensor<2xf32, #spmd.local<(x=2, y=1), [x], 4>>
// CHECK-SAME: tensor<f32, #spmd.local<(x=2), []>>
// CHECK-SAME: tensor<5xf32, #spmd.local<(x=2), [x{0:5, 3:8}], 8>>
// CHECK-SAME: tensor<0x2xf32, #spmd.local<(x=2), [*, x], 0x4>>
// CHECK-SAME: tensor<6xf32, #spmd.local<(x=2:[3,1]), [x], 8>>
// CHECK-SAME: tensor<4xf32, #spmd.local<(x=2:[3,1]), [x{0:4, 4:8}], 8>>
func.func private @canonical_layouts(
  tensor<2xf32, #spmd.local<(x=2), [x{0:2, 2:4}], 4>>,
  tensor<2xf32, #spmd.local<(x=2, y=1), [x.y], 4>>,
  tensor<f32, #spmd.local<(x=2), []>>,
  tensor<5xf32, #spmd.local<(x=2), [x{0:5, 3:8}], 8>>,
  tensor<0x2xf32, #spmd.local<(x=2), [*, x], 0x4>>,
  tensor<6xf32, #spmd.local<(x=2:[3,1]), [x{0:6, 6:8}], 8>>,
  tensor<4xf32, #spmd.local<(x=2:[3,1]), [x{0:4, 4:8}], 8>>)

!rows = tensor<2x8xf32, #spmd.local<(x=2, y=2), [x, *], 4x8>>
!columns = tensor<4x4xf32, #spmd.local<(x=2, y=2), [*, x], 4x8>>
!whole = tensor<4x8xf32, #spmd.local<(x=2, y=2), [*, *], 4x8>>
!sum = tensor<4x8xf32, #spmd.local<(x=2, y=2), [*, *] partial sum {x}, 4x8>>
!halo = tensor<3x8xf32, #spmd.local<(x=2, y=2), [x{0:3, 1:4}, *], 4x8>>

// CHECK-LABEL: func.func @moves
func.func @moves(%0: !rows) -> !halo {
  // CHECK: spmd.convert %{{.*}} {grid = @g} : tensor<2x8xf32, #spmd.local<(x=2, y=2), [x, *], 4x8>> -> tensor<4x4xf32, #spmd.local<(x=2, y=2), [*, x], 4x8>>
  %1 = spmd.convert %0 {grid = @g} : !rows -> !columns
  // CHECK: spmd.all_to_all %{{.*}} {axes = ["x"], grid = @g}
  %2 = spmd.all_to_all %1 {grid = @g, axes = ["x"]} : !columns -> !rows
  // CHECK: spmd.all_gather
  %3 = spmd.all_gather %2 {grid = @g, axes = ["x"]} : !rows -> !whole
  // CHECK: spmd.mask
  %4 = spmd.mask %3 {grid = @g, axes = ["x"]} : !whole -> !sum
  // CHECK: spmd.all_reduce %{{.*}} {axes = ["x"], grid = @g, tag = 3 : i64}
  %5 = spmd.all_reduce %4 {grid = @g, axes = ["x"], tag = 3} : !sum -> !whole
  // CHECK: spmd.reduce_scatter
  %6 = spmd.reduce_scatter %4 {grid = @g, axes = ["x"]} : !sum -> !columns
  // CHECK: spmd.slice
  %7 = spmd.slice %5 {grid = @g, axes = ["x"]} : !whole -> !rows
  // CHECK: spmd.exchange
  %8 = spmd.exchange %7 {grid = @g, axes = ["x"]} : !rows -> !halo
  return %8 : !halo
}

!thirds = tensor<2x8xf32, #spmd.local<(z=3), [z, *], 4x8>>

// After split-ranks a transfer may lack its operand, or its result.
// CHECK-LABEL: func.func @transfers
func.func @transfers(%0: !rows) -> !thirds
    attributes {spmd.entry = "forward", spmd.ranks = array<i32: 0, 1>} {
  // CHECK: %[[BOTH:.*]] = spmd.transfer %{{.*}} from @g to @h : tensor<2x8xf32, #spmd.local<(x=2, y=2), [x, *], 4x8>> -> tensor<2x8xf32, #spmd.local<(z=3), [z, *], 4x8>>
  %1 = spmd.transfer %0 from @g to @h : !rows -> !thirds
  // CHECK: spmd.transfer %[[BOTH]] from @h to @g {tag = 1 : i64} :
  spmd.transfer %1 from @h to @g {tag = 1} : !thirds -> !rows
  // CHECK: %{{.*}} = spmd.transfer from @g to @h :
  %2 = spmd.transfer from @g to @h : !rows -> !thirds
  // CHECK-NEXT: spmd.transfer from @g to @h :
  spmd.transfer from @g to @h : !rows -> !thirds
  return %2 : !thirds
}
