// RUN: divisi-opt %s --pass-pipeline='builtin.module(canonicalize,func.func(nn-fuse-attention),canonicalize)' | FileCheck %s --implicit-check-not=nn.attention
// RUN: divisi-opt %s --pass-pipeline='builtin.module(canonicalize,func.func(nn-fuse-attention))' --remarks-filter=nn-fuse-attention --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=SAYS

// What is nearly attention stays as it is.

// The weights of a key, not of a query, are one.
// CHECK-LABEL: func @other_axis
// CHECK: nn.softmax
func.func @other_axis(%q: tensor<2x3x4x5xf32>, %k: tensor<2x3x6x5xf32>, %v: tensor<2x3x6x7xf32>) -> tensor<2x3x4x7xf32> {
  %0 = nn.matmul %q, %k {labels = "bhsd,bhtd->bhst"} : (tensor<2x3x4x5xf32>, tensor<2x3x6x5xf32>) -> tensor<2x3x4x6xf32>
  %1 = nn.softmax %0 {axis = 2, log = false} : (tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32>
  %y = nn.matmul %1, %v {labels = "bhst,bhte->bhse"} : (tensor<2x3x4x6xf32>, tensor<2x3x6x7xf32>) -> tensor<2x3x4x7xf32>
  return %y : tensor<2x3x4x7xf32>
}

// Logarithms of weights.
// CHECK-LABEL: func @logarithm
// CHECK: nn.softmax
func.func @logarithm(%q: tensor<2x3x4x5xf32>, %k: tensor<2x3x6x5xf32>, %v: tensor<2x3x6x7xf32>) -> tensor<2x3x4x7xf32> {
  %0 = nn.matmul %q, %k {labels = "bhsd,bhtd->bhst"} : (tensor<2x3x4x5xf32>, tensor<2x3x6x5xf32>) -> tensor<2x3x4x6xf32>
  %1 = nn.softmax %0 {axis = 3, log = true} : (tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32>
  %y = nn.matmul %1, %v {labels = "bhst,bhte->bhse"} : (tensor<2x3x4x6xf32>, tensor<2x3x6x7xf32>) -> tensor<2x3x4x7xf32>
  return %y : tensor<2x3x4x7xf32>
}

// Somebody else wants the weights.
// CHECK-LABEL: func @weights_are_used
// CHECK: nn.softmax
func.func @weights_are_used(%q: tensor<2x3x4x5xf32>, %k: tensor<2x3x6x5xf32>, %v: tensor<2x3x6x7xf32>) -> (tensor<2x3x4x7xf32>, tensor<2x3x4x6xf32>) {
  %0 = nn.matmul %q, %k {labels = "bhsd,bhtd->bhst"} : (tensor<2x3x4x5xf32>, tensor<2x3x6x5xf32>) -> tensor<2x3x4x6xf32>
  %1 = nn.softmax %0 {axis = 3, log = false} : (tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32>
  %y = nn.matmul %1, %v {labels = "bhst,bhte->bhse"} : (tensor<2x3x4x6xf32>, tensor<2x3x6x7xf32>) -> tensor<2x3x4x7xf32>
  return %y, %1 : tensor<2x3x4x7xf32>, tensor<2x3x4x6xf32>
}

// Somebody else wants the products.
// CHECK-LABEL: func @products_are_used
// CHECK: nn.softmax
func.func @products_are_used(%q: tensor<2x3x4x5xf32>, %k: tensor<2x3x6x5xf32>, %v: tensor<2x3x6x7xf32>) -> (tensor<2x3x4x7xf32>, tensor<2x3x4x6xf32>) {
  %0 = nn.matmul %q, %k {labels = "bhsd,bhtd->bhst"} : (tensor<2x3x4x5xf32>, tensor<2x3x6x5xf32>) -> tensor<2x3x4x6xf32>
  %1 = nn.softmax %0 {axis = 3, log = false} : (tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32>
  %y = nn.matmul %1, %v {labels = "bhst,bhte->bhse"} : (tensor<2x3x4x6xf32>, tensor<2x3x6x7xf32>) -> tensor<2x3x4x7xf32>
  return %y, %0 : tensor<2x3x4x7xf32>, tensor<2x3x4x6xf32>
}

// The mask is multiplied, too, and its lowest number is infinite then.
// CHECK-LABEL: func @scaled_mask
// CHECK: nn.softmax
func.func @scaled_mask(%q: tensor<2x3x4x5xf32>, %k: tensor<2x3x6x5xf32>, %v: tensor<2x3x6x7xf32>, %m: tensor<2x3x4x6xf32>) -> tensor<2x3x4x7xf32> {
  %c = nn.constant dense<2.0> : tensor<f32>
  %0 = nn.matmul %q, %k {labels = "bhsd,bhtd->bhst"} : (tensor<2x3x4x5xf32>, tensor<2x3x6x5xf32>) -> tensor<2x3x4x6xf32>
  %1 = nn.add %0, %m : (tensor<2x3x4x6xf32>, tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32>
  %2 = nn.mul %1, %c : (tensor<2x3x4x6xf32>, tensor<f32>) -> tensor<2x3x4x6xf32>
  %3 = nn.softmax %2 {axis = 3, log = false} : (tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32>
  %y = nn.matmul %3, %v {labels = "bhst,bhte->bhse"} : (tensor<2x3x4x6xf32>, tensor<2x3x6x7xf32>) -> tensor<2x3x4x7xf32>
  return %y : tensor<2x3x4x7xf32>
}

// A scale that differs by key is none of queries.
// CHECK-LABEL: func @scales
// CHECK: nn.softmax
func.func @scales(%q: tensor<2x3x4x5xf32>, %k: tensor<2x3x6x5xf32>, %v: tensor<2x3x6x7xf32>, %c: tensor<3x1x6xf32>) -> tensor<2x3x4x7xf32> {
  %0 = nn.matmul %q, %k {labels = "bhsd,bhtd->bhst"} : (tensor<2x3x4x5xf32>, tensor<2x3x6x5xf32>) -> tensor<2x3x4x6xf32>
  %1 = nn.mul %0, %c : (tensor<2x3x4x6xf32>, tensor<3x1x6xf32>) -> tensor<2x3x4x6xf32>
  %2 = nn.softmax %1 {axis = 3, log = false} : (tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32>
  %y = nn.matmul %2, %v {labels = "bhst,bhte->bhse"} : (tensor<2x3x4x6xf32>, tensor<2x3x6x7xf32>) -> tensor<2x3x4x7xf32>
  return %y : tensor<2x3x4x7xf32>
}

// A scale is finite.
// CHECK-LABEL: func @divided_by_zero
// CHECK: nn.softmax
func.func @divided_by_zero(%q: tensor<2x3x4x5xf32>, %k: tensor<2x3x6x5xf32>, %v: tensor<2x3x6x7xf32>) -> tensor<2x3x4x7xf32> {
  %c = nn.constant dense<0.0> : tensor<f32>
  %0 = nn.matmul %q, %k {labels = "bhsd,bhtd->bhst"} : (tensor<2x3x4x5xf32>, tensor<2x3x6x5xf32>) -> tensor<2x3x4x6xf32>
  %1 = nn.div %0, %c : (tensor<2x3x4x6xf32>, tensor<f32>) -> tensor<2x3x4x6xf32>
  %2 = nn.softmax %1 {axis = 3, log = false} : (tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32>
  %y = nn.matmul %2, %v {labels = "bhst,bhte->bhse"} : (tensor<2x3x4x6xf32>, tensor<2x3x6x7xf32>) -> tensor<2x3x4x7xf32>
  return %y : tensor<2x3x4x7xf32>
}

// A row of which all is masked has equal weights.
// CHECK-LABEL: func @finite_choice
// CHECK: nn.softmax
func.func @finite_choice(%q: tensor<2x3x4x5xf32>, %k: tensor<2x3x6x5xf32>, %v: tensor<2x3x6x7xf32>, %m: tensor<4x6xi1>) -> tensor<2x3x4x7xf32> {
  %c = nn.constant dense<-1.0e9> : tensor<f32>
  %0 = nn.matmul %q, %k {labels = "bhsd,bhtd->bhst"} : (tensor<2x3x4x5xf32>, tensor<2x3x6x5xf32>) -> tensor<2x3x4x6xf32>
  %1 = nn.select %m, %0, %c : (tensor<4x6xi1>, tensor<2x3x4x6xf32>, tensor<f32>) -> tensor<2x3x4x6xf32>
  %2 = nn.softmax %1 {axis = 3, log = false} : (tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32>
  %y = nn.matmul %2, %v {labels = "bhst,bhte->bhse"} : (tensor<2x3x4x6xf32>, tensor<2x3x6x7xf32>) -> tensor<2x3x4x7xf32>
  return %y : tensor<2x3x4x7xf32>
}

// Rows that attend nothing get a mean of all values.
// CHECK-LABEL: func @other_cleanup
// CHECK: nn.softmax
func.func @other_cleanup(%q: tensor<2x3x4x5xf32>, %k: tensor<2x3x6x5xf32>, %v: tensor<2x3x6x7xf32>) -> tensor<2x3x4x7xf32> {
  %c = nn.constant dense<0.1> : tensor<f32>
  %0 = nn.matmul %q, %k {labels = "bhsd,bhtd->bhst"} : (tensor<2x3x4x5xf32>, tensor<2x3x6x5xf32>) -> tensor<2x3x4x6xf32>
  %1 = nn.softmax %0 {axis = 3, log = false} : (tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32>
  %2 = nn.is_nan %1 : (tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xi1>
  %3 = nn.select %2, %c, %1 : (tensor<2x3x4x6xi1>, tensor<f32>, tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32>
  %y = nn.matmul %3, %v {labels = "bhst,bhte->bhse"} : (tensor<2x3x4x6xf32>, tensor<2x3x6x7xf32>) -> tensor<2x3x4x7xf32>
  return %y : tensor<2x3x4x7xf32>
}

// The test is not of the weights.
// CHECK-LABEL: func @cleanup_of_another
// CHECK: nn.softmax
func.func @cleanup_of_another(%q: tensor<2x3x4x5xf32>, %k: tensor<2x3x6x5xf32>, %v: tensor<2x3x6x7xf32>, %m: tensor<2x3x4x6xf32>) -> tensor<2x3x4x7xf32> {
  %c = nn.constant dense<0.0> : tensor<f32>
  %0 = nn.matmul %q, %k {labels = "bhsd,bhtd->bhst"} : (tensor<2x3x4x5xf32>, tensor<2x3x6x5xf32>) -> tensor<2x3x4x6xf32>
  %1 = nn.softmax %0 {axis = 3, log = false} : (tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32>
  %2 = nn.is_nan %m : (tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xi1>
  %3 = nn.select %2, %c, %1 : (tensor<2x3x4x6xi1>, tensor<f32>, tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32>
  %y = nn.matmul %3, %v {labels = "bhst,bhte->bhse"} : (tensor<2x3x4x6xf32>, tensor<2x3x6x7xf32>) -> tensor<2x3x4x7xf32>
  return %y : tensor<2x3x4x7xf32>
}

// Nothing is masked: products that are infinite become a number.
// CHECK-LABEL: func @bounded_products
// CHECK: nn.softmax
func.func @bounded_products(%q: tensor<2x3x4x5xf32>, %k: tensor<2x3x6x5xf32>, %v: tensor<2x3x6x7xf32>) -> tensor<2x3x4x7xf32> {
  %c = nn.constant dense<-3.0e38> : tensor<f32>
  %0 = nn.matmul %q, %k {labels = "bhsd,bhtd->bhst"} : (tensor<2x3x4x5xf32>, tensor<2x3x6x5xf32>) -> tensor<2x3x4x6xf32>
  %1 = nn.max %0, %c : (tensor<2x3x4x6xf32>, tensor<f32>) -> tensor<2x3x4x6xf32>
  %2 = nn.softmax %1 {axis = 3, log = false} : (tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32>
  %y = nn.matmul %2, %v {labels = "bhst,bhte->bhse"} : (tensor<2x3x4x6xf32>, tensor<2x3x6x7xf32>) -> tensor<2x3x4x7xf32>
  return %y : tensor<2x3x4x7xf32>
}

// A bound that products reach.
// CHECK-LABEL: func @bounded_by_zero
// CHECK: nn.softmax
func.func @bounded_by_zero(%q: tensor<2x3x4x5xf32>, %k: tensor<2x3x6x5xf32>, %v: tensor<2x3x6x7xf32>, %m: tensor<4x6xf32>) -> tensor<2x3x4x7xf32> {
  %c = nn.constant dense<0.0> : tensor<f32>
  %0 = nn.matmul %q, %k {labels = "bhsd,bhtd->bhst"} : (tensor<2x3x4x5xf32>, tensor<2x3x6x5xf32>) -> tensor<2x3x4x6xf32>
  %1 = nn.add %0, %m : (tensor<2x3x4x6xf32>, tensor<4x6xf32>) -> tensor<2x3x4x6xf32>
  %2 = nn.max %1, %c : (tensor<2x3x4x6xf32>, tensor<f32>) -> tensor<2x3x4x6xf32>
  %3 = nn.softmax %2 {axis = 3, log = false} : (tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32>
  %y = nn.matmul %3, %v {labels = "bhst,bhte->bhse"} : (tensor<2x3x4x6xf32>, tensor<2x3x6x7xf32>) -> tensor<2x3x4x7xf32>
  return %y : tensor<2x3x4x7xf32>
}

// In f16 no number is so low that products do not count beside it.
// CHECK-LABEL: func @lowest_half
// CHECK: nn.softmax
func.func @lowest_half(%q: tensor<2x3x4x5xf16>, %k: tensor<2x3x6x5xf16>, %v: tensor<2x3x6x7xf16>, %m: tensor<4x6xi1>) -> tensor<2x3x4x7xf16> {
  %c = nn.constant dense<-6.55e4> : tensor<f16>
  %0 = nn.matmul %q, %k {labels = "bhsd,bhtd->bhst"} : (tensor<2x3x4x5xf16>, tensor<2x3x6x5xf16>) -> tensor<2x3x4x6xf16>
  %1 = nn.select %m, %0, %c : (tensor<4x6xi1>, tensor<2x3x4x6xf16>, tensor<f16>) -> tensor<2x3x4x6xf16>
  %2 = nn.softmax %1 {axis = 3, log = false} : (tensor<2x3x4x6xf16>) -> tensor<2x3x4x6xf16>
  %y = nn.matmul %2, %v {labels = "bhst,bhte->bhse"} : (tensor<2x3x4x6xf16>, tensor<2x3x6x7xf16>) -> tensor<2x3x4x7xf16>
  return %y : tensor<2x3x4x7xf16>
}

// What is added before is capped as well.
// CHECK-LABEL: func @capped_mask
// CHECK: nn.softmax
func.func @capped_mask(%q: tensor<2x3x4x5xf32>, %k: tensor<2x3x6x5xf32>, %v: tensor<2x3x6x7xf32>, %m: tensor<4x6xf32>) -> tensor<2x3x4x7xf32> {
  %0 = nn.matmul %q, %k {labels = "bhsd,bhtd->bhst"} : (tensor<2x3x4x5xf32>, tensor<2x3x6x5xf32>) -> tensor<2x3x4x6xf32>
  %1 = nn.add %0, %m : (tensor<2x3x4x6xf32>, tensor<4x6xf32>) -> tensor<2x3x4x6xf32>
  %2 = nn.tanh %1 : (tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32>
  %3 = nn.softmax %2 {axis = 3, log = false} : (tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32>
  %y = nn.matmul %3, %v {labels = "bhst,bhte->bhse"} : (tensor<2x3x4x6xf32>, tensor<2x3x6x7xf32>) -> tensor<2x3x4x7xf32>
  return %y : tensor<2x3x4x7xf32>
}

// A cap is positive.
// CHECK-LABEL: func @negative_cap
// CHECK: nn.softmax
func.func @negative_cap(%q: tensor<2x3x4x5xf32>, %k: tensor<2x3x6x5xf32>, %v: tensor<2x3x6x7xf32>) -> tensor<2x3x4x7xf32> {
  %c = nn.constant dense<-2.0> : tensor<f32>
  %0 = nn.matmul %q, %k {labels = "bhsd,bhtd->bhst"} : (tensor<2x3x4x5xf32>, tensor<2x3x6x5xf32>) -> tensor<2x3x4x6xf32>
  %1 = nn.tanh %0 : (tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32>
  %2 = nn.mul %1, %c : (tensor<2x3x4x6xf32>, tensor<f32>) -> tensor<2x3x4x6xf32>
  %3 = nn.softmax %2 {axis = 3, log = false} : (tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32>
  %y = nn.matmul %3, %v {labels = "bhst,bhte->bhse"} : (tensor<2x3x4x6xf32>, tensor<2x3x6x7xf32>) -> tensor<2x3x4x7xf32>
  return %y : tensor<2x3x4x7xf32>
}

// Products are subtracted from something.
// CHECK-LABEL: func @subtracted
// CHECK: nn.softmax
func.func @subtracted(%q: tensor<2x3x4x5xf32>, %k: tensor<2x3x6x5xf32>, %v: tensor<2x3x6x7xf32>, %m: tensor<2x3x4x6xf32>) -> tensor<2x3x4x7xf32> {
  %0 = nn.matmul %q, %k {labels = "bhsd,bhtd->bhst"} : (tensor<2x3x4x5xf32>, tensor<2x3x6x5xf32>) -> tensor<2x3x4x6xf32>
  %1 = nn.sub %m, %0 : (tensor<2x3x4x6xf32>, tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32>
  %2 = nn.softmax %1 {axis = 3, log = false} : (tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32>
  %y = nn.matmul %2, %v {labels = "bhst,bhte->bhse"} : (tensor<2x3x4x6xf32>, tensor<2x3x6x7xf32>) -> tensor<2x3x4x7xf32>
  return %y : tensor<2x3x4x7xf32>
}

// Weights are rounded before they meet values, which queries are not.
// CHECK-LABEL: func @rounded_later
// CHECK: nn.softmax
func.func @rounded_later(%q: tensor<2x4x5xf32>, %k: tensor<2x6x5xf32>, %v: tensor<2x6x7xf16>) -> tensor<2x4x7xf16> {
  %0 = nn.matmul %q, %k {labels = "hsd,htd->hst"} : (tensor<2x4x5xf32>, tensor<2x6x5xf32>) -> tensor<2x4x6xf32>
  %1 = nn.softmax %0 {axis = 2, log = false} : (tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %2 = nn.cast %1 : (tensor<2x4x6xf32>) -> tensor<2x4x6xf16>
  %3 = nn.matmul %2, %v {labels = "hst,hte->hse"} : (tensor<2x4x6xf16>, tensor<2x6x7xf16>) -> tensor<2x4x7xf16>
  return %3 : tensor<2x4x7xf16>
}

// Products are rounded to what nothing around them is.
// CHECK-LABEL: func @rounded_products
// CHECK: nn.softmax
func.func @rounded_products(%q: tensor<2x4x5xf32>, %k: tensor<2x6x5xf32>, %v: tensor<2x6x7xf32>) -> tensor<2x4x7xf32> {
  %0 = nn.matmul %q, %k {labels = "hsd,htd->hst"} : (tensor<2x4x5xf32>, tensor<2x6x5xf32>) -> tensor<2x4x6xf32>
  %1 = nn.cast %0 : (tensor<2x4x6xf32>) -> tensor<2x4x6xbf16>
  %2 = nn.cast %1 : (tensor<2x4x6xbf16>) -> tensor<2x4x6xf32>
  %3 = nn.softmax %2 {axis = 2, log = false} : (tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %4 = nn.matmul %3, %v {labels = "hst,hte->hse"} : (tensor<2x4x6xf32>, tensor<2x6x7xf32>) -> tensor<2x4x7xf32>
  return %4 : tensor<2x4x7xf32>
}

// Queries and keys are rounded on purpose before their products.
// CHECK-LABEL: func @rounded_queries
// CHECK: nn.softmax
func.func @rounded_queries(%q: tensor<2x4x5xf32>, %k: tensor<2x6x5xf32>, %v: tensor<2x6x7xf32>) -> tensor<2x4x7xf32> {
  %0 = nn.cast %q : (tensor<2x4x5xf32>) -> tensor<2x4x5xbf16>
  %1 = nn.cast %k : (tensor<2x6x5xf32>) -> tensor<2x6x5xbf16>
  %2 = nn.matmul %0, %1 {labels = "hsd,htd->hst"} : (tensor<2x4x5xbf16>, tensor<2x6x5xbf16>) -> tensor<2x4x6xf32>
  %3 = nn.softmax %2 {axis = 2, log = false} : (tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %4 = nn.matmul %3, %v {labels = "hst,hte->hse"} : (tensor<2x4x6xf32>, tensor<2x6x7xf32>) -> tensor<2x4x7xf32>
  return %4 : tensor<2x4x7xf32>
}

// The mask has numbers that the type of queries has not.
// CHECK-LABEL: func @wide_mask
// CHECK: nn.softmax
func.func @wide_mask(%q: tensor<2x4x5xbf16>, %k: tensor<2x6x5xbf16>, %v: tensor<2x6x7xbf16>, %m: tensor<4x6xf32>) -> tensor<2x4x7xbf16> {
  %0 = nn.matmul %q, %k {labels = "hsd,htd->hst"} : (tensor<2x4x5xbf16>, tensor<2x6x5xbf16>) -> tensor<2x4x6xf32>
  %1 = nn.add %0, %m : (tensor<2x4x6xf32>, tensor<4x6xf32>) -> tensor<2x4x6xf32>
  %2 = nn.softmax %1 {axis = 2, log = false} : (tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %3 = nn.cast %2 : (tensor<2x4x6xf32>) -> tensor<2x4x6xbf16>
  %4 = nn.matmul %3, %v {labels = "hst,hte->hse"} : (tensor<2x4x6xbf16>, tensor<2x6x7xbf16>) -> tensor<2x4x7xbf16>
  return %4 : tensor<2x4x7xbf16>
}

// The sum of both masks would be rounded.
// CHECK-LABEL: func @two_wide_masks
// CHECK: nn.softmax
func.func @two_wide_masks(%q: tensor<2x4x5xbf16>, %k: tensor<2x6x5xbf16>, %v: tensor<2x6x7xbf16>, %m: tensor<4x6xbf16>, %n: tensor<6xbf16>) -> tensor<2x4x7xbf16> {
  %0 = nn.matmul %q, %k {labels = "hsd,htd->hst"} : (tensor<2x4x5xbf16>, tensor<2x6x5xbf16>) -> tensor<2x4x6xf32>
  %1 = nn.cast %m : (tensor<4x6xbf16>) -> tensor<4x6xf32>
  %2 = nn.add %0, %1 : (tensor<2x4x6xf32>, tensor<4x6xf32>) -> tensor<2x4x6xf32>
  %3 = nn.cast %n : (tensor<6xbf16>) -> tensor<6xf32>
  %4 = nn.add %2, %3 : (tensor<2x4x6xf32>, tensor<6xf32>) -> tensor<2x4x6xf32>
  %5 = nn.softmax %4 {axis = 2, log = false} : (tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %6 = nn.cast %5 : (tensor<2x4x6xf32>) -> tensor<2x4x6xbf16>
  %7 = nn.matmul %6, %v {labels = "hst,hte->hse"} : (tensor<2x4x6xbf16>, tensor<2x6x7xbf16>) -> tensor<2x4x7xbf16>
  return %7 : tensor<2x4x7xbf16>
}

// In f16 the lowest number of f32 would be infinite.
// CHECK-LABEL: func @wide_choice
// CHECK: nn.softmax
func.func @wide_choice(%q: tensor<2x4x5xf16>, %k: tensor<2x6x5xf16>, %v: tensor<2x6x7xf16>, %m: tensor<4x6xi1>) -> tensor<2x4x7xf16> {
  %0 = nn.matmul %q, %k {labels = "hsd,htd->hst"} : (tensor<2x4x5xf16>, tensor<2x6x5xf16>) -> tensor<2x4x6xf32>
  %1 = nn.constant dense<-3.40282347E+38> : tensor<f32>
  %2 = nn.select %m, %0, %1 : (tensor<4x6xi1>, tensor<2x4x6xf32>, tensor<f32>) -> tensor<2x4x6xf32>
  %3 = nn.softmax %2 {axis = 2, log = false} : (tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %4 = nn.cast %3 : (tensor<2x4x6xf32>) -> tensor<2x4x6xf16>
  %5 = nn.matmul %4, %v {labels = "hst,hte->hse"} : (tensor<2x4x6xf16>, tensor<2x6x7xf16>) -> tensor<2x4x7xf16>
  return %5 : tensor<2x4x7xf16>
}

// Sums are left in f32.
// CHECK-LABEL: func @wider_result
// CHECK: nn.softmax
func.func @wider_result(%q: tensor<2x4x5xf16>, %k: tensor<2x6x5xf16>, %v: tensor<2x6x7xf16>) -> tensor<2x4x7xf32> {
  %0 = nn.matmul %q, %k {labels = "hsd,htd->hst"} : (tensor<2x4x5xf16>, tensor<2x6x5xf16>) -> tensor<2x4x6xf16>
  %1 = nn.softmax %0 {axis = 2, log = false} : (tensor<2x4x6xf16>) -> tensor<2x4x6xf16>
  %2 = nn.matmul %1, %v {labels = "hst,hte->hse"} : (tensor<2x4x6xf16>, tensor<2x6x7xf16>) -> tensor<2x4x7xf32>
  return %2 : tensor<2x4x7xf32>
}

// So is the result, beside one that is not.
// CHECK-LABEL: func @two_results
// CHECK: nn.softmax
func.func @two_results(%q: tensor<2x4x5xf16>, %k: tensor<2x6x5xf16>, %v: tensor<2x6x7xf16>) -> (tensor<2x4x7xf32>, tensor<2x4x7xf16>) {
  %0 = nn.matmul %q, %k {labels = "hsd,htd->hst"} : (tensor<2x4x5xf16>, tensor<2x6x5xf16>) -> tensor<2x4x6xf16>
  %1 = nn.softmax %0 {axis = 2, log = false} : (tensor<2x4x6xf16>) -> tensor<2x4x6xf16>
  %2 = nn.matmul %1, %v {labels = "hst,hte->hse"} : (tensor<2x4x6xf16>, tensor<2x6x7xf16>) -> tensor<2x4x7xf32>
  %3 = nn.cast %2 : (tensor<2x4x7xf32>) -> tensor<2x4x7xf16>
  return %2, %3 : tensor<2x4x7xf32>, tensor<2x4x7xf16>
}

// Values belong to queries.
// CHECK-LABEL: func @sum_over_queries
// CHECK: nn.softmax
func.func @sum_over_queries(%q: tensor<2x6x5xf32>, %k: tensor<2x6x5xf32>, %v: tensor<2x6x7xf32>) -> tensor<2x6x7xf32> {
  %0 = nn.matmul %q, %k {labels = "hsd,htd->hst"} : (tensor<2x6x5xf32>, tensor<2x6x5xf32>) -> tensor<2x6x6xf32>
  %1 = nn.softmax %0 {axis = 2, log = false} : (tensor<2x6x6xf32>) -> tensor<2x6x6xf32>
  %2 = nn.matmul %1, %v {labels = "hts,hte->hse"} : (tensor<2x6x6xf32>, tensor<2x6x7xf32>) -> tensor<2x6x7xf32>
  return %2 : tensor<2x6x7xf32>
}

// Heads are summed.
// CHECK-LABEL: func @sum_over_heads
// CHECK: nn.softmax
func.func @sum_over_heads(%q: tensor<2x4x5xf32>, %k: tensor<2x6x5xf32>, %v: tensor<2x6x7xf32>) -> tensor<4x7xf32> {
  %0 = nn.matmul %q, %k {labels = "hsd,htd->hst"} : (tensor<2x4x5xf32>, tensor<2x6x5xf32>) -> tensor<2x4x6xf32>
  %1 = nn.softmax %0 {axis = 2, log = false} : (tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %2 = nn.matmul %1, %v {labels = "hst,hte->se"} : (tensor<2x4x6xf32>, tensor<2x6x7xf32>) -> tensor<4x7xf32>
  return %2 : tensor<4x7xf32>
}

// Each query has values of its own.
// CHECK-LABEL: func @values_by_queries
// CHECK: nn.softmax
func.func @values_by_queries(%q: tensor<2x4x5xf32>, %k: tensor<2x6x5xf32>, %v: tensor<4x6x7xf32>) -> tensor<2x4x7xf32> {
  %0 = nn.matmul %q, %k {labels = "hsd,htd->hst"} : (tensor<2x4x5xf32>, tensor<2x6x5xf32>) -> tensor<2x4x6xf32>
  %1 = nn.softmax %0 {axis = 2, log = false} : (tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %2 = nn.matmul %1, %v {labels = "hst,ste->hse"} : (tensor<2x4x6xf32>, tensor<4x6x7xf32>) -> tensor<2x4x7xf32>
  return %2 : tensor<2x4x7xf32>
}

// Two layers: products of packed weights are faster than keys and values.
// SAYS: remark: [Missed] attention | Category:nn-fuse-attention | Remark="it has weights for keys and values"
nn.global @keys parameter : tensor<6x5xf32>
nn.global @values parameter : tensor<6x7xf32>
// CHECK-LABEL: func @layers
// CHECK: nn.softmax
func.func @layers(%q: tensor<4x5xf32>) -> tensor<4x7xf32> {
  %k = nn.read @keys : tensor<6x5xf32>
  %v = nn.read @values : tensor<6x7xf32>
  %0 = nn.matmul %q, %k {labels = "sd,td->st"} : (tensor<4x5xf32>, tensor<6x5xf32>) -> tensor<4x6xf32>
  %1 = nn.softmax %0 {axis = 1, log = false} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %y = nn.matmul %1, %v {labels = "st,te->se"} : (tensor<4x6xf32>, tensor<6x7xf32>) -> tensor<4x7xf32>
  return %y : tensor<4x7xf32>
}

// What is not found equal is not replaced: no double is 50 / 3.
// CHECK-LABEL: func @rounded_cap
// CHECK: nn.softmax
// SAYS: remark: [Missed] attention | Category:nn-fuse-attention | Remark="the replacement differs in the prime field"
func.func @rounded_cap(%q: tensor<2x4x5xf32>, %k: tensor<2x6x5xf32>, %v: tensor<2x6x7xf32>) -> tensor<2x4x7xf32> {
  %c = nn.constant dense<50.0> : tensor<f32>
  %d = nn.constant dense<3.0> : tensor<f32>
  %0 = nn.matmul %q, %k {labels = "hsd,htd->hst"} : (tensor<2x4x5xf32>, tensor<2x6x5xf32>) -> tensor<2x4x6xf32>
  %1 = nn.tanh %0 : (tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %2 = nn.mul %1, %c : (tensor<2x4x6xf32>, tensor<f32>) -> tensor<2x4x6xf32>
  %3 = nn.div %2, %d : (tensor<2x4x6xf32>, tensor<f32>) -> tensor<2x4x6xf32>
  %4 = nn.softmax %3 {axis = 2, log = false} : (tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %y = nn.matmul %4, %v {labels = "hst,hte->hse"} : (tensor<2x4x6xf32>, tensor<2x6x7xf32>) -> tensor<2x4x7xf32>
  return %y : tensor<2x4x7xf32>
}
