spmd.grid @g (x = 2)
nn.global @u0 parameter : tensor<256x512xf32> from "weights.bin" [0, 524288] {spmd.place = #spmd.place<@g: [x, *]>}
nn.global @d0 parameter : tensor<512x256xf32> from "weights.bin" [524288, 524288] {spmd.place = #spmd.place<@g: [x, *]>}
nn.global @u1 parameter : tensor<256x512xf32> from "weights.bin" [1048576, 524288] {spmd.place = #spmd.place<@g: [x, *]>}
nn.global @d1 parameter : tensor<512x256xf32> from "weights.bin" [1572864, 524288] {spmd.place = #spmd.place<@g: [x, *]>}
func.func @train_step(%x: tensor<256x256xf32> {nn.name = "x", spmd.place = #spmd.place<@g: [x, *]>}, %t: tensor<256x256xf32> {nn.name = "t", spmd.place = #spmd.place<@g: [x, *]>}) -> (tensor<f32> {nn.name = "loss", spmd.place = #spmd.place<@g: []>}) {
  %u0 = nn.read @u0 : tensor<256x512xf32>
  %d0 = nn.read @d0 : tensor<512x256xf32>
  %u1 = nn.read @u1 : tensor<256x512xf32>
  %d1 = nn.read @d1 : tensor<512x256xf32>
  %rate = nn.constant dense<1.000000e-02> : tensor<f32>
  %none = nn.constant dense<0.000000e+00> : tensor<f32>
  %share = nn.constant dense<3.051758e-05> : tensor<f32>
  %1 = nn.matmul %x, %u0 {labels = "bi,ih->bh", spmd.split = #spmd.split<@g: b@x>} : (tensor<256x256xf32>, tensor<256x512xf32>) -> tensor<256x512xf32>
  %2 = nn.relu %1 {spmd.split = #spmd.split<@g: d0@x>} : (tensor<256x512xf32>) -> tensor<256x512xf32>
  %3 = nn.matmul %2, %d0 {labels = "bh,ho->bo", spmd.split = #spmd.split<@g: b@x>} : (tensor<256x512xf32>, tensor<512x256xf32>) -> tensor<256x256xf32>
  %4 = nn.add %3, %x {spmd.split = #spmd.split<@g: d0@x>} : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %5 = nn.matmul %4, %u1 {labels = "bi,ih->bh", spmd.split = #spmd.split<@g: b@x>} : (tensor<256x256xf32>, tensor<256x512xf32>) -> tensor<256x512xf32>
  %6 = nn.relu %5 {spmd.split = #spmd.split<@g: d0@x>} : (tensor<256x512xf32>) -> tensor<256x512xf32>
  %7 = nn.matmul %6, %d1 {labels = "bh,ho->bo", spmd.split = #spmd.split<@g: b@x>} : (tensor<256x512xf32>, tensor<512x256xf32>) -> tensor<256x256xf32>
  %8 = nn.add %7, %4 {spmd.split = #spmd.split<@g: d0@x>} : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %9 = nn.sub %8, %t {spmd.split = #spmd.split<@g: d0@x>} : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %10 = nn.mul %9, %9 {spmd.split = #spmd.split<@g: d0@x>} : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %11 = nn.reduce %10 {kind = "sum", axes = array<i64: 0, 1>, spmd.split = #spmd.split<@g: d0@x>} : (tensor<256x256xf32>) -> tensor<f32>
  %12 = nn.mul %9, %share {spmd.split = #spmd.split<@g: d0@x>} : (tensor<256x256xf32>, tensor<f32>) -> tensor<256x256xf32>
  %13 = nn.matmul %6, %12 {labels = "bh,bo->ho", spmd.split = #spmd.split<@g: b@x>} : (tensor<256x512xf32>, tensor<256x256xf32>) -> tensor<512x256xf32>
  %14 = nn.mul %13, %rate {spmd.split = #spmd.split<@g: d0@x>} : (tensor<512x256xf32>, tensor<f32>) -> tensor<512x256xf32>
  %15 = nn.sub %d1, %14 {spmd.split = #spmd.split<@g: d0@x>} : (tensor<512x256xf32>, tensor<512x256xf32>) -> tensor<512x256xf32>
  nn.update @d1, %15 : tensor<512x256xf32>
  %16 = nn.matmul %12, %d1 {labels = "bo,ho->bh", spmd.split = #spmd.split<@g: b@x>} : (tensor<256x256xf32>, tensor<512x256xf32>) -> tensor<256x512xf32>
  %17 = nn.compare %5, %none {predicate = "gt", spmd.split = #spmd.split<@g: d0@x>} : (tensor<256x512xf32>, tensor<f32>) -> tensor<256x512xi1>
  %18 = nn.select %17, %16, %none {spmd.split = #spmd.split<@g: d0@x>} : (tensor<256x512xi1>, tensor<256x512xf32>, tensor<f32>) -> tensor<256x512xf32>
  %19 = nn.matmul %4, %18 {labels = "bi,bh->ih", spmd.split = #spmd.split<@g: b@x>} : (tensor<256x256xf32>, tensor<256x512xf32>) -> tensor<256x512xf32>
  %20 = nn.mul %19, %rate {spmd.split = #spmd.split<@g: d0@x>} : (tensor<256x512xf32>, tensor<f32>) -> tensor<256x512xf32>
  %21 = nn.sub %u1, %20 {spmd.split = #spmd.split<@g: d0@x>} : (tensor<256x512xf32>, tensor<256x512xf32>) -> tensor<256x512xf32>
  nn.update @u1, %21 : tensor<256x512xf32>
  %22 = nn.matmul %18, %u1 {labels = "bh,ih->bi", spmd.split = #spmd.split<@g: b@x>} : (tensor<256x512xf32>, tensor<256x512xf32>) -> tensor<256x256xf32>
  %23 = nn.add %22, %12 {spmd.split = #spmd.split<@g: d0@x>} : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %24 = nn.matmul %2, %23 {labels = "bh,bo->ho", spmd.split = #spmd.split<@g: b@x>} : (tensor<256x512xf32>, tensor<256x256xf32>) -> tensor<512x256xf32>
  %25 = nn.mul %24, %rate {spmd.split = #spmd.split<@g: d0@x>} : (tensor<512x256xf32>, tensor<f32>) -> tensor<512x256xf32>
  %26 = nn.sub %d0, %25 {spmd.split = #spmd.split<@g: d0@x>} : (tensor<512x256xf32>, tensor<512x256xf32>) -> tensor<512x256xf32>
  nn.update @d0, %26 : tensor<512x256xf32>
  %27 = nn.matmul %23, %d0 {labels = "bo,ho->bh", spmd.split = #spmd.split<@g: b@x>} : (tensor<256x256xf32>, tensor<512x256xf32>) -> tensor<256x512xf32>
  %28 = nn.compare %1, %none {predicate = "gt", spmd.split = #spmd.split<@g: d0@x>} : (tensor<256x512xf32>, tensor<f32>) -> tensor<256x512xi1>
  %29 = nn.select %28, %27, %none {spmd.split = #spmd.split<@g: d0@x>} : (tensor<256x512xi1>, tensor<256x512xf32>, tensor<f32>) -> tensor<256x512xf32>
  %30 = nn.matmul %x, %29 {labels = "bi,bh->ih", spmd.split = #spmd.split<@g: b@x>} : (tensor<256x256xf32>, tensor<256x512xf32>) -> tensor<256x512xf32>
  %31 = nn.mul %30, %rate {spmd.split = #spmd.split<@g: d0@x>} : (tensor<256x512xf32>, tensor<f32>) -> tensor<256x512xf32>
  %32 = nn.sub %u0, %31 {spmd.split = #spmd.split<@g: d0@x>} : (tensor<256x512xf32>, tensor<256x512xf32>) -> tensor<256x512xf32>
  nn.update @u0, %32 : tensor<256x512xf32>
  return %11 : tensor<f32>
}
