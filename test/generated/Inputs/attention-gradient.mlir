// Functions of one operator each, as in structured.mlir: what attention needs on
// its way back.

func.func @attention_lse(%q: tensor<2x4x5x3xf32>, %k: tensor<2x4x6x3xf32>) -> tensor<2x4x5xf32> {
  %0 = nn.attention_lse %q, %k {scale = 0.5 : f64, softcap = 0.0 : f64, left = -1, right = -1, offset = 0} : (tensor<2x4x5x3xf32>, tensor<2x4x6x3xf32>) -> tensor<2x4x5xf32>
  return %0 : tensor<2x4x5xf32>
}

func.func @attention_gradient_q(%q: tensor<2x4x5x3xf32>, %k: tensor<2x4x6x3xf32>, %v: tensor<2x4x6x4xf32>, %dy: tensor<2x4x5x4xf32>, %lse: tensor<2x4x5xf32>, %delta: tensor<2x4x5xf32>) -> tensor<2x4x5x3xf32> {
  %0 = nn.attention_gradient %q, %k, %v, %dy, %lse, %delta {of = "q", scale = 0.5 : f64, softcap = 0.0 : f64, left = -1, right = -1, offset = 0} : (tensor<2x4x5x3xf32>, tensor<2x4x6x3xf32>, tensor<2x4x6x4xf32>, tensor<2x4x5x4xf32>, tensor<2x4x5xf32>, tensor<2x4x5xf32>) -> tensor<2x4x5x3xf32>
  return %0 : tensor<2x4x5x3xf32>
}

func.func @attention_gradient_k(%q: tensor<2x4x5x3xf32>, %k: tensor<2x4x6x3xf32>, %v: tensor<2x4x6x4xf32>, %dy: tensor<2x4x5x4xf32>, %lse: tensor<2x4x5xf32>, %delta: tensor<2x4x5xf32>) -> tensor<2x4x6x3xf32> {
  %0 = nn.attention_gradient %q, %k, %v, %dy, %lse, %delta {of = "k", scale = 0.5 : f64, softcap = 0.0 : f64, left = -1, right = -1, offset = 0} : (tensor<2x4x5x3xf32>, tensor<2x4x6x3xf32>, tensor<2x4x6x4xf32>, tensor<2x4x5x4xf32>, tensor<2x4x5xf32>, tensor<2x4x5xf32>) -> tensor<2x4x6x3xf32>
  return %0 : tensor<2x4x6x3xf32>
}

func.func @attention_gradient_v(%q: tensor<2x4x5x3xf32>, %k: tensor<2x4x6x3xf32>, %v: tensor<2x4x6x4xf32>, %dy: tensor<2x4x5x4xf32>, %lse: tensor<2x4x5xf32>, %delta: tensor<2x4x5xf32>) -> tensor<2x4x6x4xf32> {
  %0 = nn.attention_gradient %q, %k, %v, %dy, %lse, %delta {of = "v", scale = 0.5 : f64, softcap = 0.0 : f64, left = -1, right = -1, offset = 0} : (tensor<2x4x5x3xf32>, tensor<2x4x6x3xf32>, tensor<2x4x6x4xf32>, tensor<2x4x5x4xf32>, tensor<2x4x5xf32>, tensor<2x4x5xf32>) -> tensor<2x4x6x4xf32>
  return %0 : tensor<2x4x6x4xf32>
}

func.func @attention_lse_grouped_causal(%q: tensor<2x6x5x3xf32>, %k: tensor<2x3x6x3xf32>) -> tensor<2x6x5xf32> {
  %0 = nn.attention_lse %q, %k {scale = 0.5 : f64, softcap = 2.0 : f64, left = 2, right = 0, offset = 1} : (tensor<2x6x5x3xf32>, tensor<2x3x6x3xf32>) -> tensor<2x6x5xf32>
  return %0 : tensor<2x6x5xf32>
}

func.func @attention_gradient_grouped_causal_q(%q: tensor<2x6x5x3xf32>, %k: tensor<2x3x6x3xf32>, %v: tensor<2x3x6x4xf32>, %dy: tensor<2x6x5x4xf32>, %lse: tensor<2x6x5xf32>, %delta: tensor<2x6x5xf32>) -> tensor<2x6x5x3xf32> {
  %0 = nn.attention_gradient %q, %k, %v, %dy, %lse, %delta {of = "q", scale = 0.5 : f64, softcap = 2.0 : f64, left = 2, right = 0, offset = 1} : (tensor<2x6x5x3xf32>, tensor<2x3x6x3xf32>, tensor<2x3x6x4xf32>, tensor<2x6x5x4xf32>, tensor<2x6x5xf32>, tensor<2x6x5xf32>) -> tensor<2x6x5x3xf32>
  return %0 : tensor<2x6x5x3xf32>
}

func.func @attention_gradient_grouped_causal_k(%q: tensor<2x6x5x3xf32>, %k: tensor<2x3x6x3xf32>, %v: tensor<2x3x6x4xf32>, %dy: tensor<2x6x5x4xf32>, %lse: tensor<2x6x5xf32>, %delta: tensor<2x6x5xf32>) -> tensor<2x3x6x3xf32> {
  %0 = nn.attention_gradient %q, %k, %v, %dy, %lse, %delta {of = "k", scale = 0.5 : f64, softcap = 2.0 : f64, left = 2, right = 0, offset = 1} : (tensor<2x6x5x3xf32>, tensor<2x3x6x3xf32>, tensor<2x3x6x4xf32>, tensor<2x6x5x4xf32>, tensor<2x6x5xf32>, tensor<2x6x5xf32>) -> tensor<2x3x6x3xf32>
  return %0 : tensor<2x3x6x3xf32>
}

func.func @attention_gradient_grouped_causal_v(%q: tensor<2x6x5x3xf32>, %k: tensor<2x3x6x3xf32>, %v: tensor<2x3x6x4xf32>, %dy: tensor<2x6x5x4xf32>, %lse: tensor<2x6x5xf32>, %delta: tensor<2x6x5xf32>) -> tensor<2x3x6x4xf32> {
  %0 = nn.attention_gradient %q, %k, %v, %dy, %lse, %delta {of = "v", scale = 0.5 : f64, softcap = 2.0 : f64, left = 2, right = 0, offset = 1} : (tensor<2x6x5x3xf32>, tensor<2x3x6x3xf32>, tensor<2x3x6x4xf32>, tensor<2x6x5x4xf32>, tensor<2x6x5xf32>, tensor<2x6x5xf32>) -> tensor<2x3x6x4xf32>
  return %0 : tensor<2x3x6x4xf32>
}

func.func @attention_lse_mask(%q: tensor<2x6x5x3xf32>, %k: tensor<2x2x6x3xf32>, %m: tensor<2x6x1x6xf32>) -> tensor<2x6x5xf32> {
  %0 = nn.attention_lse %q, %k, %m {scale = 0.5 : f64, softcap = 0.0 : f64, left = -1, right = 1, offset = 0} : (tensor<2x6x5x3xf32>, tensor<2x2x6x3xf32>, tensor<2x6x1x6xf32>) -> tensor<2x6x5xf32>
  return %0 : tensor<2x6x5xf32>
}

func.func @attention_gradient_mask_q(%q: tensor<2x6x5x3xf32>, %k: tensor<2x2x6x3xf32>, %v: tensor<2x2x6x4xf32>, %dy: tensor<2x6x5x4xf32>, %lse: tensor<2x6x5xf32>, %delta: tensor<2x6x5xf32>, %m: tensor<2x6x1x6xf32>) -> tensor<2x6x5x3xf32> {
  %0 = nn.attention_gradient %q, %k, %v, %dy, %lse, %delta, %m {of = "q", scale = 0.5 : f64, softcap = 0.0 : f64, left = -1, right = 1, offset = 0} : (tensor<2x6x5x3xf32>, tensor<2x2x6x3xf32>, tensor<2x2x6x4xf32>, tensor<2x6x5x4xf32>, tensor<2x6x5xf32>, tensor<2x6x5xf32>, tensor<2x6x1x6xf32>) -> tensor<2x6x5x3xf32>
  return %0 : tensor<2x6x5x3xf32>
}

func.func @attention_gradient_mask_k(%q: tensor<2x6x5x3xf32>, %k: tensor<2x2x6x3xf32>, %v: tensor<2x2x6x4xf32>, %dy: tensor<2x6x5x4xf32>, %lse: tensor<2x6x5xf32>, %delta: tensor<2x6x5xf32>, %m: tensor<2x6x1x6xf32>) -> tensor<2x2x6x3xf32> {
  %0 = nn.attention_gradient %q, %k, %v, %dy, %lse, %delta, %m {of = "k", scale = 0.5 : f64, softcap = 0.0 : f64, left = -1, right = 1, offset = 0} : (tensor<2x6x5x3xf32>, tensor<2x2x6x3xf32>, tensor<2x2x6x4xf32>, tensor<2x6x5x4xf32>, tensor<2x6x5xf32>, tensor<2x6x5xf32>, tensor<2x6x1x6xf32>) -> tensor<2x2x6x3xf32>
  return %0 : tensor<2x2x6x3xf32>
}

func.func @attention_gradient_mask_v(%q: tensor<2x6x5x3xf32>, %k: tensor<2x2x6x3xf32>, %v: tensor<2x2x6x4xf32>, %dy: tensor<2x6x5x4xf32>, %lse: tensor<2x6x5xf32>, %delta: tensor<2x6x5xf32>, %m: tensor<2x6x1x6xf32>) -> tensor<2x2x6x4xf32> {
  %0 = nn.attention_gradient %q, %k, %v, %dy, %lse, %delta, %m {of = "v", scale = 0.5 : f64, softcap = 0.0 : f64, left = -1, right = 1, offset = 0} : (tensor<2x6x5x3xf32>, tensor<2x2x6x3xf32>, tensor<2x2x6x4xf32>, tensor<2x6x5x4xf32>, tensor<2x6x5xf32>, tensor<2x6x5xf32>, tensor<2x6x1x6xf32>) -> tensor<2x2x6x4xf32>
  return %0 : tensor<2x2x6x4xf32>
}

func.func @attention_lse_bools(%q: tensor<2x4x5x3xf32>, %k: tensor<2x4x6x3xf32>, %m: tensor<1x4x5x6xi1> {test.range = array<i64: 0, 1>}) -> tensor<2x4x5xf32> {
  %0 = nn.attention_lse %q, %k, %m {scale = 0.5 : f64, softcap = 0.0 : f64, left = -1, right = -1, offset = 0} : (tensor<2x4x5x3xf32>, tensor<2x4x6x3xf32>, tensor<1x4x5x6xi1>) -> tensor<2x4x5xf32>
  return %0 : tensor<2x4x5xf32>
}

func.func @attention_gradient_bools_q(%q: tensor<2x4x5x3xf32>, %k: tensor<2x4x6x3xf32>, %v: tensor<2x4x6x4xf32>, %dy: tensor<2x4x5x4xf32>, %lse: tensor<2x4x5xf32>, %delta: tensor<2x4x5xf32>, %m: tensor<1x4x5x6xi1> {test.range = array<i64: 0, 1>}) -> tensor<2x4x5x3xf32> {
  %0 = nn.attention_gradient %q, %k, %v, %dy, %lse, %delta, %m {of = "q", scale = 0.5 : f64, softcap = 0.0 : f64, left = -1, right = -1, offset = 0} : (tensor<2x4x5x3xf32>, tensor<2x4x6x3xf32>, tensor<2x4x6x4xf32>, tensor<2x4x5x4xf32>, tensor<2x4x5xf32>, tensor<2x4x5xf32>, tensor<1x4x5x6xi1>) -> tensor<2x4x5x3xf32>
  return %0 : tensor<2x4x5x3xf32>
}

func.func @attention_gradient_bools_k(%q: tensor<2x4x5x3xf32>, %k: tensor<2x4x6x3xf32>, %v: tensor<2x4x6x4xf32>, %dy: tensor<2x4x5x4xf32>, %lse: tensor<2x4x5xf32>, %delta: tensor<2x4x5xf32>, %m: tensor<1x4x5x6xi1> {test.range = array<i64: 0, 1>}) -> tensor<2x4x6x3xf32> {
  %0 = nn.attention_gradient %q, %k, %v, %dy, %lse, %delta, %m {of = "k", scale = 0.5 : f64, softcap = 0.0 : f64, left = -1, right = -1, offset = 0} : (tensor<2x4x5x3xf32>, tensor<2x4x6x3xf32>, tensor<2x4x6x4xf32>, tensor<2x4x5x4xf32>, tensor<2x4x5xf32>, tensor<2x4x5xf32>, tensor<1x4x5x6xi1>) -> tensor<2x4x6x3xf32>
  return %0 : tensor<2x4x6x3xf32>
}

func.func @attention_gradient_bools_v(%q: tensor<2x4x5x3xf32>, %k: tensor<2x4x6x3xf32>, %v: tensor<2x4x6x4xf32>, %dy: tensor<2x4x5x4xf32>, %lse: tensor<2x4x5xf32>, %delta: tensor<2x4x5xf32>, %m: tensor<1x4x5x6xi1> {test.range = array<i64: 0, 1>}) -> tensor<2x4x6x4xf32> {
  %0 = nn.attention_gradient %q, %k, %v, %dy, %lse, %delta, %m {of = "v", scale = 0.5 : f64, softcap = 0.0 : f64, left = -1, right = -1, offset = 0} : (tensor<2x4x5x3xf32>, tensor<2x4x6x3xf32>, tensor<2x4x6x4xf32>, tensor<2x4x5x4xf32>, tensor<2x4x5xf32>, tensor<2x4x5xf32>, tensor<1x4x5x6xi1>) -> tensor<2x4x6x4xf32>
  return %0 : tensor<2x4x6x4xf32>
}

func.func @attention_lse_labels(%q: tensor<5x2x6x3xf32>, %k: tensor<2x6x3x3xf32>, %m: tensor<2x1x5x6xf32>) -> tensor<2x6x5xf32> {
  %0 = nn.attention_lse %q, %k, %m {labels = "sbhd,bthd,hbte->bshe", scale = 0.5 : f64, softcap = 0.0 : f64, left = -1, right = 1, offset = 0} : (tensor<5x2x6x3xf32>, tensor<2x6x3x3xf32>, tensor<2x1x5x6xf32>) -> tensor<2x6x5xf32>
  return %0 : tensor<2x6x5xf32>
}

func.func @attention_gradient_labels_q(%q: tensor<5x2x6x3xf32>, %k: tensor<2x6x3x3xf32>, %v: tensor<3x2x6x4xf32>, %dy: tensor<2x5x6x4xf32>, %lse: tensor<2x6x5xf32>, %delta: tensor<2x6x5xf32>, %m: tensor<2x1x5x6xf32>) -> tensor<5x2x6x3xf32> {
  %0 = nn.attention_gradient %q, %k, %v, %dy, %lse, %delta, %m {of = "q", labels = "sbhd,bthd,hbte->bshe", scale = 0.5 : f64, softcap = 0.0 : f64, left = -1, right = 1, offset = 0} : (tensor<5x2x6x3xf32>, tensor<2x6x3x3xf32>, tensor<3x2x6x4xf32>, tensor<2x5x6x4xf32>, tensor<2x6x5xf32>, tensor<2x6x5xf32>, tensor<2x1x5x6xf32>) -> tensor<5x2x6x3xf32>
  return %0 : tensor<5x2x6x3xf32>
}

func.func @attention_gradient_labels_k(%q: tensor<5x2x6x3xf32>, %k: tensor<2x6x3x3xf32>, %v: tensor<3x2x6x4xf32>, %dy: tensor<2x5x6x4xf32>, %lse: tensor<2x6x5xf32>, %delta: tensor<2x6x5xf32>, %m: tensor<2x1x5x6xf32>) -> tensor<2x6x3x3xf32> {
  %0 = nn.attention_gradient %q, %k, %v, %dy, %lse, %delta, %m {of = "k", labels = "sbhd,bthd,hbte->bshe", scale = 0.5 : f64, softcap = 0.0 : f64, left = -1, right = 1, offset = 0} : (tensor<5x2x6x3xf32>, tensor<2x6x3x3xf32>, tensor<3x2x6x4xf32>, tensor<2x5x6x4xf32>, tensor<2x6x5xf32>, tensor<2x6x5xf32>, tensor<2x1x5x6xf32>) -> tensor<2x6x3x3xf32>
  return %0 : tensor<2x6x3x3xf32>
}

func.func @attention_gradient_labels_v(%q: tensor<5x2x6x3xf32>, %k: tensor<2x6x3x3xf32>, %v: tensor<3x2x6x4xf32>, %dy: tensor<2x5x6x4xf32>, %lse: tensor<2x6x5xf32>, %delta: tensor<2x6x5xf32>, %m: tensor<2x1x5x6xf32>) -> tensor<3x2x6x4xf32> {
  %0 = nn.attention_gradient %q, %k, %v, %dy, %lse, %delta, %m {of = "v", labels = "sbhd,bthd,hbte->bshe", scale = 0.5 : f64, softcap = 0.0 : f64, left = -1, right = 1, offset = 0} : (tensor<5x2x6x3xf32>, tensor<2x6x3x3xf32>, tensor<3x2x6x4xf32>, tensor<2x5x6x4xf32>, tensor<2x6x5xf32>, tensor<2x6x5xf32>, tensor<2x1x5x6xf32>) -> tensor<3x2x6x4xf32>
  return %0 : tensor<3x2x6x4xf32>
}
