// RUN: divisi-opt %s --split-input-file --verify-diagnostics

// spmd.grid C1
// expected-error @+1 {{'spmd.grid' op the grid has two axes 'x'}}
spmd.grid @g (x = 2, x = 2)

// -----

// spmd.grid C1
// expected-error @+1 {{axis name 'x.y' is not an identifier of letters, digits and '_'}}
spmd.grid @g (x.y = 2)

// -----

// spmd.grid C2
// expected-error @+1 {{axis 'x' has size 0, expected at least 1}}
spmd.grid @g (x = 0)

// -----

// spmd.grid C2
// expected-error @+1 {{the grid has 8192 positions, expected at most 4096}}
spmd.grid @g (x = 2, y = 4096)

// -----

// spmd.grid C3
// expected-error @+1 {{has 2 positions, got 3 devices}}
spmd.grid @g (x = 2) devices [0, 1, 2]

// -----

// spmd.grid C4
// expected-error @+1 {{device -1 is not a device number}}
spmd.grid @g (x = 2) devices [0, -1]

// -----

// spmd.grid C4
// expected-error @+1 {{device 3 occurs twice}}
spmd.grid @g (x = 2) devices [3, 3]

// -----

// spmd.grid C5
// expected-error @+1 {{axis 'x' has the weight 0, expected 1 to 1024}}
spmd.grid @g (x = 2:[1,0])

// -----

// spmd.grid C5
// expected-error @+1 {{axis 'x' has 3 weights, expected 2, one per position}}
spmd.grid @g (x = 2:[1,1,1])

// -----

// spmd.grid C5
// expected-error @+1 {{has 1 axis names, got weights of 2}}
"spmd.grid"() {sym_name = "g", axis_names = ["x"], axis_sizes = array<i64: 2>,
  axis_weights = [array<i64: 1, 2>, array<i64: 1, 2>]} : () -> ()

// -----

// expected-error @+1 {{axis 'x' has the weight 0, expected 1 to 1024}}
func.func private @f(tensor<2xf32, #spmd.local<(x=2:[0,1]), [x], 2>>)

// -----

// expected-error @+1 {{has 1 axis names, got 2 sizes}}
"spmd.grid"() {sym_name = "g", axis_names = ["x"], axis_sizes = array<i64: 2, 2>} : () -> ()

// -----

// expected-error @+1 {{'y$' is not the name of an axis}}
#place = #spmd.place<@"g": [x.y$]>

// -----

// expected-error @+1 {{'m.n' is not the name of a loop}}
#split = #spmd.split<@g: m.n@x>

// -----

// expected-error @+1 {{'a b' is not the name of an axis}}
#split = #spmd.split<@g: m@"a b">

// -----

// expected-error @+1 {{loop 'm' occurs twice}}
#split = #spmd.split<@g: m@x, m@y>

// -----

// expected-error @+1 {{carry is given twice}}
#split = #spmd.split<@g: carry sum@x, carry sum@y>

// -----

// expected-error @+1 {{the grid has no axis 'y'}}
func.func private @f(tensor<2xf32, #spmd.local<(x=2), [y], 4>>)

// -----

// expected-error @+1 {{'most' is not a kind of partial value, expected one of sum, prod, max, min, and, or}}
func.func private @f(tensor<4xf32, #spmd.local<(x=2), [*] partial most {x}, 4>>)

// -----

// expected-error @+1 {{axis 'x' has size -2, expected at least 1}}
func.func private @f(tensor<2xf32, #spmd.local<(x=-2), [x], 4>>)

// -----

// expected-error @+1 {{the layout has 1 dimensions, expected 2 as the tensor has}}
func.func private @f(tensor<2x2xf32, #spmd.local<(x=2), [x], 4x2>>)

// -----

// expected-error @+1 {{the local shape is [4, 2], expected [2, 2], the largest box of [x, *] on a tensor of [4, 2]}}
func.func private @f(tensor<4x2xf32, #spmd.local<(x=2), [x, *], 4x2>>)

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{spmd.split: expected #spmd.split, got 1 : i64}}
  %0 = nn.neg %x {spmd.split = 1} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

spmd.grid @g (x = 2)
// expected-error @+1 {{spmd.split: the operation has no loops to split}}
func.func private @f() attributes {spmd.split = #spmd.split<@g>}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{names the grid @g, but no spmd.grid has that name}}
  %0 = nn.neg %x {spmd.split = #spmd.split<@g>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

spmd.grid @g (x = 2)
func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{spmd.split: the operator has no loop 'q', its loops are}}
  %0 = nn.neg %x {spmd.split = #spmd.split<@g: q@x>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

spmd.grid @g (x = 2)
func.func @f(%a: tensor<4x4xf32>) {
  // expected-error @+1 {{spmd.split: the grid has no axis 'y'}}
  %0 = nn.matmul %a, %a {labels = "mk,kn->mn", spmd.split = #spmd.split<@g: m@y>}
    : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

// What verifySplit says is passed on.
spmd.grid @g (x = 2)
func.func @f(%a: tensor<4x4xf32>) {
  // expected-error @+1 {{spmd.split: }}
  %0 = nn.matmul %a, %a {labels = "mk,kn->mn", spmd.split = #spmd.split<@g: m@x, n@x>}
    : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

// An illegal operator is not asked for its loops.
spmd.grid @g (x = 2)
func.func @f(%a: tensor<4x4xf32>) {
  // expected-error @+1 {{'nn.matmul' op}}
  %0 = nn.matmul %a, %a {labels = "nonsense", spmd.split = #spmd.split<@g: m@x>}
    : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{spmd.places: expected an array with one entry per result, got []}}
  %0 = nn.neg %x {spmd.places = []} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{spmd.places: expected #spmd.place or unit, got 1 : i64}}
  %0 = nn.neg %x {spmd.places = [1]} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{spmd.stops: expected #spmd.place or unit, got 1 : i64}}
  %0 = nn.neg %x {spmd.stops = [1]} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

spmd.grid @g (x = 2)
func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{spmd.places: the layout has 2 dimensions, expected 1}}
  %0 = nn.neg %x {spmd.places = [#spmd.place<@g: [x, *]>]} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

spmd.grid @g (x = 2)
// expected-error @+1 {{spmd.place: expected on nn.global, or on an argument or result of a function}}
func.func private @f() attributes {spmd.place = #spmd.place<@g: [x]>}

// -----

// expected-error @+1 {{spmd.place: expected #spmd.place, got 1 : i64}}
nn.global @w parameter : tensor<4xf32> {spmd.place = 1}

// -----

spmd.grid @g (x = 2)
// expected-error @+1 {{spmd.place: the grid has no axis 'y'}}
nn.global @w parameter : tensor<4xf32> {spmd.place = #spmd.place<@g: [y]>}

// -----

// What lies at rest lies somewhere as a whole.
spmd.grid @g (x = 2)
// expected-error @+1 {{spmd.place: the bounds of dimension 0 leave index 1 to no position}}
nn.global @w parameter : tensor<4xf32> {spmd.place = #spmd.place<@g: [x{0:1, 2:4}]>}

// -----

spmd.grid @g (x = 2)
// expected-error @+1 {{spmd.place: expected a tensor of static shape, got 'tensor<?xf32>'}}
func.func private @f(tensor<?xf32> {spmd.place = #spmd.place<@g: [x]>})

// -----

// expected-error @+1 {{spmd.entry: expected a string}}
func.func private @f() attributes {spmd.entry = 1}

// -----

// expected-error @+1 {{spmd.ranks: expected array<i32: ...>}}
func.func private @f() attributes {spmd.ranks = [1]}

// -----

func.func @fuse_of_no_operand(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = nn.neg %x : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error @below {{spmd.fuse: expected the number (i64) of an operand that is the only result of an operator and has no other use}}
  %1 = nn.neg %0 {spmd.fuse = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

func.func @fuse_of_two_uses(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = nn.neg %x : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error @below {{spmd.fuse: expected the number (i64) of an operand}}
  %1 = nn.neg %0 {spmd.fuse = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

func.func @fuse_of_an_argument(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{spmd.fuse: expected the number (i64) of an operand}}
  %1 = nn.neg %x {spmd.fuse = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// expected-error @+1 {{spmd.overlap: expected a unit attribute}}
func.func private @f() attributes {spmd.overlap = true}

// -----

// expected-error @+1 {{spmd.computes: expected array<i64: ...>}}
func.func private @f() attributes {spmd.computes = 1}

// -----

// expected-error @+1 {{unknown attribute 'spmd.what', expected spmd.split, spmd.place, spmd.places, spmd.stops, spmd.entry, spmd.ranks, spmd.fuse, spmd.overlap or spmd.computes}}
func.func private @f() attributes {spmd.what}

// -----

// expected-error @+1 {{spmd.index: expected an i64, not negative}}
func.func private @f(tensor<4xf32> {spmd.index = -1})

// -----

// expected-error @+1 {{unknown attribute 'spmd.what' of an argument or result, expected spmd.place or spmd.index}}
func.func private @f() -> (tensor<4xf32> {spmd.what})

// -----

// C1 of all moves
!rows = tensor<2xf32, #spmd.local<(x=2), [x], 4>>
func.func @f(%x: !rows) {
  // expected-error @+1 {{names the grid @g, but no spmd.grid has that name}}
  %0 = spmd.convert %x {grid = @g} : !rows -> !rows
  return
}

// -----

spmd.grid @g (x = 2)
func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected tensors with #spmd.local, got 'tensor<4xf32>'}}
  %0 = spmd.convert %x {grid = @g} : tensor<4xf32> -> tensor<4xf32>
  return
}

// -----

// expected-note @+1 {{the grid is defined here}}
spmd.grid @g (x = 3)
!rows = tensor<2xf32, #spmd.local<(x=2), [x], 4>>
func.func @f(%x: !rows) {
  // expected-error @+1 {{is not on the grid @g}}
  %0 = spmd.all_gather %x {grid = @g, axes = ["x"]} : !rows -> !rows
  return
}

// -----

// C2 of all moves
spmd.grid @g (x = 2)
!rows = tensor<2xf32, #spmd.local<(x=2), [x], 4>>
!more = tensor<2xf32, #spmd.local<(x=2), [x], 3>>
func.func @f(%x: !rows) {
  // expected-error @+1 {{goes from a 'tensor<4xf32>' to a 'tensor<3xf32>', expected equal global shapes and element types}}
  %0 = spmd.convert %x {grid = @g} : !rows -> !more
  return
}

// -----

// C3 of the steps
spmd.grid @g (x = 2)
!rows = tensor<2xf32, #spmd.local<(x=2), [x], 4>>
!whole = tensor<4xf32, #spmd.local<(x=2), [*], 4>>
func.func @f(%x: !rows) {
  // expected-error @+1 {{the grid has no axis "y"}}
  %0 = spmd.all_gather %x {grid = @g, axes = ["y"]} : !rows -> !whole
  return
}

// -----

// C4 of the steps: what verifyStep says is passed on.
spmd.grid @g (x = 2)
!rows = tensor<2xf32, #spmd.local<(x=2), [x], 4>>
!whole = tensor<4xf32, #spmd.local<(x=2), [*], 4>>
func.func @f(%x: !rows) {
  // expected-error @+1 {{'spmd.all_reduce' op}}
  %0 = spmd.all_reduce %x {grid = @g, axes = ["x"]} : !rows -> !whole
  return
}

// -----

// spmd.transfer C3
spmd.grid @g (x = 2)
spmd.grid @h (z = 2)
!sum = tensor<4xf32, #spmd.local<(x=2), [*] partial sum {x}, 4>>
!whole = tensor<4xf32, #spmd.local<(z=2), [*], 4>>
func.func @f(%x: !sum) {
  // expected-error @+1 {{moves partial values; combine them first}}
  %0 = spmd.transfer %x from @g to @h : !sum -> !whole
  return
}

// -----

// spmd.transfer C4
spmd.grid @g (x = 2)
!rows = tensor<2xf32, #spmd.local<(x=2), [x], 4>>
!whole = tensor<4xf32, #spmd.local<(x=2), [*], 4>>
func.func @f(%x: !rows) {
  // expected-error @+1 {{the operand has type}}
  %0 = "spmd.transfer"(%x) {source_grid = @g, target_grid = @g, source_type = !whole, target_type = !rows} : (!rows) -> !rows
  return
}

// -----

// spmd.transfer C4
spmd.grid @g (x = 2)
!rows = tensor<2xf32, #spmd.local<(x=2), [x], 4>>
!whole = tensor<4xf32, #spmd.local<(x=2), [*], 4>>
func.func @f(%x: !rows) {
  // expected-error @+1 {{the result has type}}
  %0 = "spmd.transfer"(%x) {source_grid = @g, target_grid = @g, source_type = !rows, target_type = !whole} : (!rows) -> !rows
  return
}

// -----

// An illegal grid is not asked for its axes: the error is its own.
func.func @f(%x: tensor<4xf32>) {
  %0 = nn.neg %x {spmd.split = #spmd.split<@g: d0@x>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}
// expected-error @+1 {{failed to satisfy constraint: string array attribute}}
"spmd.grid"() {sym_name = "g", axis_names = [1], axis_sizes = array<i64: 2>} : () -> ()

// -----

// An illegal global is not asked for its type.
spmd.grid @g (x = 2)
// expected-error @+1 {{failed to satisfy constraint}}
"nn.global"() {sym_name = "w", kind = 0 : i32, type = i32, spmd.place = #spmd.place<@g: [x]>} : () -> ()
