//===- GradientCases.cpp - Programs to be derived -------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientCases.h"

using namespace divisi::test;

namespace {
struct UnaryRow {
  const char *name;
  double low = -2, high = 2;
};
struct WrittenRow {
  const char *op, *arguments, *lines, *result;
  double low = -2, high = 2;
};
} // namespace

static constexpr UnaryRow kUnary[] = {{"neg"},
                                      {"abs"},
                                      {"relu"},
                                      {"sqrt", 0.2, 3},
                                      {"rsqrt", 0.2, 3},
                                      {"exp"},
                                      {"log", 0.2, 3},
                                      {"erf"},
                                      {"sin"},
                                      {"cos"},
                                      {"tan", -1, 1},
                                      {"asin", -0.8, 0.8},
                                      {"acos", -0.8, 0.8},
                                      {"atan"},
                                      {"sinh"},
                                      {"cosh"},
                                      {"asinh"},
                                      {"acosh", 1.2, 3},
                                      {"atanh", -0.8, 0.8},
                                      {"tanh"},
                                      {"sigmoid"},
                                      {"silu"},
                                      {"hard_swish", -5, 5}};

static constexpr UnaryRow kBinary[] = {
    {"add"},         {"sub"}, {"mul"}, {"div", 0.4, 2},
    {"pow", 0.4, 2}, {"max"}, {"min"}};

/// What operands of binary operators broadcast to.
static constexpr const char *kShapes[][3] = {
    {"3x5xT", "3x5xT", "3x5xT"}, {"3x1x5xT", "5xT", "3x1x5xT"},
    {"T", "7xT", "7xT"},         {"3x1xT", "1x5xT", "3x5xT"},
    {"1xT", "T", "1xT"},         {"1x3x1xT", "2x1x5xT", "2x3x5xT"}};

static constexpr WrittenRow kWritten[] = {
    {"nn.gelu", "%x: tensor<3x5xT>", R"(
      %r = nn.gelu %x {approximate = "none"} : (tensor<3x5xT>)
          -> tensor<3x5xT>)",
     "tensor<3x5xT>"},
    {"nn.gelu", "%x: tensor<3x5xT>", R"(
      %r = nn.gelu %x {approximate = "tanh"} : (tensor<3x5xT>)
          -> tensor<3x5xT>)",
     "tensor<3x5xT>"},
    {"nn.cast", "%x: tensor<5xT>", R"(
      %0 = nn.cast %x : (tensor<5xT>) -> tensor<5xf64>
      %1 = nn.mul %0, %0 : (tensor<5xf64>, tensor<5xf64>) -> tensor<5xf64>
      %r = nn.cast %1 : (tensor<5xf64>) -> tensor<5xT>)",
     "tensor<5xT>"},
    // Bases below 0 have powers of whole numbers.
    {"nn.pow", "%x: tensor<2x5xT>", R"(
      %e = nn.constant dense<[0.0, 1.0, 2.0, 3.0, -2.0]> : tensor<5xT>
      %r = nn.pow %x, %e : (tensor<2x5xT>, tensor<5xT>) -> tensor<2x5xT>)",
     "tensor<2x5xT>"},
    {"nn.pow", "%x: tensor<5xT>", R"(
      %e = nn.constant dense<2.0> : tensor<T>
      %r = nn.pow %x, %e : (tensor<5xT>, tensor<T>) -> tensor<5xT>)",
     "tensor<5xT>"},
    {"nn.pow", "%x: tensor<5xT>", R"(
      %e = nn.constant dense<3.0> : tensor<T>
      %r = nn.pow %x, %e : (tensor<5xT>, tensor<T>) -> tensor<5xT>)",
     "tensor<5xT>"},
    {"nn.mod", "%x: tensor<3x5xT>, %y: tensor<5xT>", R"(
      %r = nn.mod %x, %y {fmod = false} : (tensor<3x5xT>, tensor<5xT>)
          -> tensor<3x5xT>)",
     "tensor<3x5xT>", -5, 5},
    {"nn.mod", "%x: tensor<3x5xT>, %y: tensor<5xT>", R"(
      %r = nn.mod %x, %y {fmod = true} : (tensor<3x5xT>, tensor<5xT>)
          -> tensor<3x5xT>)",
     "tensor<3x5xT>", -5, 5},
    {"nn.select", "%x: tensor<3x5xT>, %y: tensor<1x5xT>", R"(
      %c = nn.compare %x, %y {predicate = "lt"} : (tensor<3x5xT>, tensor<1x5xT>)
          -> tensor<3x5xi1>
      %0 = nn.mul %x, %x : (tensor<3x5xT>, tensor<3x5xT>) -> tensor<3x5xT>
      %r = nn.select %c, %0, %y : (tensor<3x5xi1>, tensor<3x5xT>, tensor<1x5xT>)
          -> tensor<3x5xT>)",
     "tensor<3x5xT>"},
    {"nn.matmul", "%x: tensor<2x3x5xT>, %y: tensor<5x4xT>", R"(
      %r = nn.matmul %x, %y {labels = "bmk,kn->nbm"} : (tensor<2x3x5xT>,
          tensor<5x4xT>) -> tensor<4x2x3xT>)",
     "tensor<4x2x3xT>"},
    {"nn.matmul", "%x: tensor<3x1x5xT>, %y: tensor<3x5xT>", R"(
      %r = nn.matmul %x, %y {labels = "abk,ak->ab"} : (tensor<3x1x5xT>,
          tensor<3x5xT>) -> tensor<3x1xT>)",
     "tensor<3x1xT>"},
    {"nn.matmul", "%x: tensor<5xT>, %y: tensor<5xT>", R"(
      %r = nn.matmul %x, %y {labels = "k,k->"} : (tensor<5xT>, tensor<5xT>)
          -> tensor<T>)",
     "tensor<T>"},
    {"nn.matmul", "%x: tensor<3xT>, %y: tensor<5xT>", R"(
      %r = nn.matmul %x, %y {labels = "a,b->ba"} : (tensor<3xT>, tensor<5xT>)
          -> tensor<5x3xT>)",
     "tensor<5x3xT>"},
    {"nn.matmul", "%x: tensor<3x3xT>", R"(
      %r = nn.matmul %x, %x {labels = "ab,bc->ac"} : (tensor<3x3xT>,
          tensor<3x3xT>) -> tensor<3x3xT>)",
     "tensor<3x3xT>"},
    {"nn.reduce", "%x: tensor<3x4x5xT>", R"(
      %r = nn.reduce %x {kind = "sum", axes = array<i64: 0, 2>}
          : (tensor<3x4x5xT>) -> tensor<4xT>)",
     "tensor<4xT>"},
    {"nn.reduce", "%x: tensor<3x4x5xT>", R"(
      %r = nn.reduce %x {kind = "prod", axes = array<i64: 0, 2>}
          : (tensor<3x4x5xT>) -> tensor<4xT>)",
     "tensor<4xT>"},
    {"nn.reduce", "%x: tensor<3x4x5xT>", R"(
      %r = nn.reduce %x {kind = "max", axes = array<i64: 1>}
          : (tensor<3x4x5xT>) -> tensor<3x5xT>)",
     "tensor<3x5xT>"},
    {"nn.reduce", "%x: tensor<3x1x5xT>", R"(
      %r = nn.reduce %x {kind = "min", axes = array<i64: 0, 1, 2>}
          : (tensor<3x1x5xT>) -> tensor<T>)",
     "tensor<T>"},
    {"nn.softmax", "%x: tensor<3x1x5xT>", R"(
      %r = nn.softmax %x {axis = 0, log = false} : (tensor<3x1x5xT>)
          -> tensor<3x1x5xT>)",
     "tensor<3x1x5xT>"},
    {"nn.softmax", "%x: tensor<3x5xT>", R"(
      %r = nn.softmax %x {axis = 1, log = true} : (tensor<3x5xT>)
          -> tensor<3x5xT>)",
     "tensor<3x5xT>"},
    {"nn.normalize", "%x: tensor<3x4x5xT>", R"(
      %r = nn.normalize %x {axes = array<i64: 1, 2>, center = true,
          epsilon = 1.0e-2 : f64} : (tensor<3x4x5xT>) -> tensor<3x4x5xT>)",
     "tensor<3x4x5xT>"},
    {"nn.normalize", "%x: tensor<3x4x1xT>", R"(
      %r = nn.normalize %x {axes = array<i64: 0>, center = false,
          epsilon = 1.0e-5 : f64} : (tensor<3x4x1xT>) -> tensor<3x4x1xT>)",
     "tensor<3x4x1xT>"},
    {"nn.reshape", "%x: tensor<4x6xT>", R"(
      %r = nn.reshape %x : (tensor<4x6xT>) -> tensor<8x1x3xT>)",
     "tensor<8x1x3xT>"},
    {"nn.transpose", "%x: tensor<4x1x3xT>", R"(
      %r = nn.transpose %x {permutation = array<i64: 2, 0, 1>}
          : (tensor<4x1x3xT>) -> tensor<3x4x1xT>)",
     "tensor<3x4x1xT>"},
    {"nn.broadcast", "%x: tensor<3x1xT>", R"(
      %r = nn.broadcast %x {dims = array<i64: 1, 2>} : (tensor<3x1xT>)
          -> tensor<2x3x4x5xT>)",
     "tensor<2x3x4x5xT>"},
    {"nn.broadcast", "%x: tensor<1xT>", R"(
      %r = nn.broadcast %x {dims = array<i64: 0>} : (tensor<1xT>)
          -> tensor<1x3xT>)",
     "tensor<1x3xT>"},
    {"nn.slice", "%x: tensor<4x9xT>", R"(
      %r = nn.slice %x {starts = array<i64: 1, 7>, limits = array<i64: 3, -1>,
          steps = array<i64: 1, -2>} : (tensor<4x9xT>) -> tensor<2x4xT>)",
     "tensor<2x4xT>"},
    {"nn.slice", "%x: tensor<10x5xT>", R"(
      %r = nn.slice %x {starts = array<i64: 1, 4>, limits = array<i64: 10, 1>,
          steps = array<i64: 3, -1>} : (tensor<10x5xT>) -> tensor<3x3xT>)",
     "tensor<3x3xT>"},
    {"nn.pad", "%x: tensor<4x5xT>", R"(
      %r = nn.pad %x {lo = array<i64: 0, 2>, hi = array<i64: 1, -1>,
          value = 1.5 : f64} : (tensor<4x5xT>) -> tensor<5x6xT>)",
     "tensor<5x6xT>"},
    {"nn.concat", "%x: tensor<4x3xT>, %y: tensor<4x1xT>", R"(
      %r = nn.concat %x, %y, %x {axis = 1} : (tensor<4x3xT>, tensor<4x1xT>,
          tensor<4x3xT>) -> tensor<4x7xT>)",
     "tensor<4x7xT>"},
    {"nn.conv", "%x: tensor<2x3x7xT>, %w: tensor<4x3x3xT>", R"(
      %r = nn.conv %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>,
          pads_lo = array<i64: 1>, pads_hi = array<i64: 1>, groups = 1}
          : (tensor<2x3x7xT>, tensor<4x3x3xT>) -> tensor<2x4x7xT>)",
     "tensor<2x4x7xT>"},
    // One element of each row is in no window.
    {"nn.conv", "%x: tensor<2x4x8x5xT>, %w: tensor<6x2x3x2xT>", R"(
      %r = nn.conv %x, %w {strides = array<i64: 2, 1>,
          dilations = array<i64: 1, 2>, pads_lo = array<i64: 0, 2>,
          pads_hi = array<i64: 0, 1>, groups = 2} : (tensor<2x4x8x5xT>,
          tensor<6x2x3x2xT>) -> tensor<2x6x3x6xT>)",
     "tensor<2x6x3x6xT>"},
    {"nn.conv", "%x: tensor<1x3x5xT>, %w: tensor<3x1x2xT>", R"(
      %r = nn.conv %x, %w {strides = array<i64: 3>, dilations = array<i64: 2>,
          pads_lo = array<i64: 4>, pads_hi = array<i64: 3>, groups = 3}
          : (tensor<1x3x5xT>, tensor<3x1x2xT>) -> tensor<1x3x4xT>)",
     "tensor<1x3x4xT>"},
    // Windows of one element: the last of each row is in none.
    {"nn.conv", "%x: tensor<2x3x7x6xT>, %w: tensor<4x3x1x1xT>", R"(
      %r = nn.conv %x, %w {strides = array<i64: 1, 2>,
          dilations = array<i64: 1, 1>, pads_lo = array<i64: 0, 0>,
          pads_hi = array<i64: 0, 0>, groups = 1} : (tensor<2x3x7x6xT>,
          tensor<4x3x1x1xT>) -> tensor<2x4x7x3xT>)",
     "tensor<2x4x7x3xT>"},
    {"nn.conv", "%x: tensor<2x3x4xT>, %w: tensor<4x3x1xT>", R"(
      %r = nn.conv %x, %w {strides = array<i64: 2>, dilations = array<i64: 1>,
          pads_lo = array<i64: 0>, pads_hi = array<i64: 2>, groups = 1}
          : (tensor<2x3x4xT>, tensor<4x3x1xT>) -> tensor<2x4x3xT>)",
     "tensor<2x4x3xT>"},
    {"nn.conv_dgrad", "%x: tensor<2x4x4xT>, %w: tensor<4x3x3xT>", R"(
      %r = nn.conv_dgrad %x, %w {strides = array<i64: 2>,
          dilations = array<i64: 1>, pads_lo = array<i64: 1>,
          extents = array<i64: 9>, groups = 1}
          : (tensor<2x4x4xT>, tensor<4x3x3xT>) -> tensor<2x3x9xT>)",
     "tensor<2x3x9xT>"},
    {"nn.conv_dgrad", "%x: tensor<1x4x5xT>, %w: tensor<4x1x2xT>", R"(
      %r = nn.conv_dgrad %x, %w {strides = array<i64: 1>,
          dilations = array<i64: 2>, pads_lo = array<i64: 0>,
          extents = array<i64: 4>, groups = 2}
          : (tensor<1x4x5xT>, tensor<4x1x2xT>) -> tensor<1x2x4xT>)",
     "tensor<1x2x4xT>"},
    {"nn.pool_sum", "%x: tensor<2x8x5xT>", R"(
      %r = nn.pool_sum %x {kernel = array<i64: 1, 3, 2>,
          strides = array<i64: 1, 2, 1>, dilations = array<i64: 1, 1, 2>,
          pads_lo = array<i64: 0, 1, 0>, pads_hi = array<i64: 0, 0, 1>}
          : (tensor<2x8x5xT>) -> tensor<2x4x4xT>)",
     "tensor<2x4x4xT>"},
    {"nn.pool_sum", "%x: tensor<9xT>", R"(
      %r = nn.pool_sum %x {kernel = array<i64: 2>, strides = array<i64: 3>,
          dilations = array<i64: 1>, pads_lo = array<i64: 2>,
          pads_hi = array<i64: 0>} : (tensor<9xT>) -> tensor<4xT>)",
     "tensor<4xT>"},
    {"nn.pool_max", "%x: tensor<2x8x5xT>", R"(
      %r = nn.pool_max %x {kernel = array<i64: 1, 3, 2>,
          strides = array<i64: 1, 2, 1>, dilations = array<i64: 1, 1, 2>,
          pads_lo = array<i64: 0, 1, 0>, pads_hi = array<i64: 0, 0, 1>}
          : (tensor<2x8x5xT>) -> tensor<2x4x4xT>)",
     "tensor<2x4x4xT>"},
    {"nn.cumulate", "%x: tensor<3x4xT>", R"(
      %r = nn.cumulate %x {axis = 1, kind = "sum", exclusive = true,
          reverse = false} : (tensor<3x4xT>) -> tensor<3x4xT>)",
     "tensor<3x4xT>"},
    {"nn.cumulate", "%x: tensor<4x3xT>", R"(
      %r = nn.cumulate %x {axis = 0, kind = "prod", exclusive = false,
          reverse = false} : (tensor<4x3xT>) -> tensor<4x3xT>)",
     "tensor<4x3xT>"},
    {"nn.cumulate", "%x: tensor<2x4x3xT>", R"(
      %r = nn.cumulate %x {axis = 1, kind = "prod", exclusive = true,
          reverse = true} : (tensor<2x4x3xT>) -> tensor<2x4x3xT>)",
     "tensor<2x4x3xT>"},
    {"nn.gather", "%x: tensor<5x3xT>", R"(
      %i = nn.constant dense<[[0, 2], [2, -1]]> : tensor<2x2xi64>
      %r = nn.gather %x, %i {axis = 0, batch_dims = 0} : (tensor<5x3xT>,
          tensor<2x2xi64>) -> tensor<2x2x3xT>)",
     "tensor<2x2x3xT>"},
    {"nn.gather", "%x: tensor<2x3x5x4xT>", R"(
      %i = nn.constant dense<[[[0, 2, 2]], [[4, -1, 0]]]> : tensor<2x1x3xi64>
      %r = nn.gather %x, %i {axis = 2, batch_dims = 1} : (tensor<2x3x5x4xT>,
          tensor<2x1x3xi64>) -> tensor<2x3x1x3x4xT>)",
     "tensor<2x3x1x3x4xT>"},
    {"nn.take_along", "%x: tensor<2x4x3xT>", R"(
      %i = nn.constant dense<[[[0, 1, 1], [0, -1, 3]], [[2, 2, 1], [1, 1, 1]]]>
          : tensor<2x2x3xi64>
      %r = nn.take_along %x, %i {axis = 1} : (tensor<2x4x3xT>,
          tensor<2x2x3xi64>) -> tensor<2x2x3xT>)",
     "tensor<2x2x3xT>"},
    {"nn.insert", "%x: tensor<2x5x3xT>, %s: tensor<2x2x3xT>", R"(
      %o = nn.constant dense<-1> : tensor<i64>
      %r = nn.insert %x, %s, %o {axis = 1} : (tensor<2x5x3xT>,
          tensor<2x2x3xT>, tensor<i64>) -> tensor<2x5x3xT>)",
     "tensor<2x5x3xT>"},
    {"nn.insert", "%x: tensor<5xT>, %s: tensor<1xT>", R"(
      %o = nn.constant dense<2> : tensor<i32>
      %r = nn.insert %x, %s, %o {axis = 0} : (tensor<5xT>,
          tensor<1xT>, tensor<i32>) -> tensor<5xT>)",
     "tensor<5xT>"},
    {"nn.scatter", "%x: tensor<5x3xT>, %u: tensor<2x2x3xT>", R"(
      %i = nn.constant dense<[[0, 2], [2, -1]]> : tensor<2x2xi64>
      %r = nn.scatter %x, %i, %u {batch_dims = 0, kind = "add"}
          : (tensor<5x3xT>, tensor<2x2xi64>, tensor<2x2x3xT>)
          -> tensor<5x3xT>)",
     "tensor<5x3xT>"},
    {"nn.scatter", "%x: tensor<2x5xT>, %u: tensor<2x2xT>", R"(
      %i = nn.constant dense<[[0, 2], [3, -1]]> : tensor<2x2xi64>
      %r = nn.scatter %x, %i, %u {batch_dims = 1, kind = "set"}
          : (tensor<2x5xT>, tensor<2x2xi64>, tensor<2x2xT>)
          -> tensor<2x5xT>)",
     "tensor<2x5xT>"},
    {"nn.resample", "%x: tensor<5x2xT>", R"(
      %r = nn.resample %x {axis = 0, taps = 2, indices = array<i64: 0, 1, 1, 1,
          2, 4>, weights = array<f64: 0.5, 0.25, 0.5, 2.0, -0.5, 0.5>}
          : (tensor<5x2xT>) -> tensor<3x2xT>)",
     "tensor<3x2xT>"},
    {"nn.attention",
     "%q: tensor<2x4x3x4xT>, %k: tensor<2x2x5x4xT>, "
     "%v: tensor<2x2x5x3xT>",
     R"(
      %r = nn.attention %q, %k, %v {scale = 0.5 : f64, softcap = 0.0 : f64,
          left = -1, right = -1, offset = 0} : (tensor<2x4x3x4xT>,
          tensor<2x2x5x4xT>, tensor<2x2x5x3xT>) -> tensor<2x4x3x3xT>)",
     "tensor<2x4x3x3xT>"},
    // Causal, and the first query attends nothing.
    {"nn.attention",
     "%q: tensor<2x3x2x4xT>, %k: tensor<2x5x2x4xT>, "
     "%v: tensor<2x5x2x3xT>",
     R"(
      %r = nn.attention %q, %k, %v {scale = 0.5 : f64, softcap = 1.5 : f64,
          left = 1, right = 0, offset = -1,
          labels = "bshd,bthd,bthe->bshe"} : (tensor<2x3x2x4xT>,
          tensor<2x5x2x4xT>, tensor<2x5x2x3xT>) -> tensor<2x3x2x3xT>)",
     "tensor<2x3x2x3xT>"},
    {"nn.attention",
     "%q: tensor<1x4x3x2xT>, %k: tensor<1x2x4x2xT>, "
     "%v: tensor<1x2x4x3xT>, %m: tensor<1x4x1x4xT>",
     R"(
      %r = nn.attention %q, %k, %v, %m {scale = 1.0 : f64, softcap = 0.0 : f64,
          left = -1, right = 1, offset = 0} : (tensor<1x4x3x2xT>,
          tensor<1x2x4x2xT>, tensor<1x2x4x3xT>, tensor<1x4x1x4xT>)
          -> tensor<1x4x3x3xT>)",
     "tensor<1x4x3x3xT>"},
    {"nn.attention",
     "%q: tensor<2x2x2x2xT>, %k: tensor<2x1x3x2xT>, "
     "%v: tensor<2x1x3x2xT>",
     R"(
      %m = nn.constant dense<[[[[true, false, true]]], [[[false, false, false]]
          ]]> : tensor<2x1x1x3xi1>
      %r = nn.attention %q, %k, %v, %m {scale = 1.0 : f64, softcap = 0.0 : f64,
          left = -1, right = -1, offset = 0} : (tensor<2x2x2x2xT>,
          tensor<2x1x3x2xT>, tensor<2x1x3x2xT>, tensor<2x1x1x3xi1>)
          -> tensor<2x2x2x2xT>)",
     "tensor<2x2x2x2xT>"},
    // Other lengths, a window, and a gradient by the mask.
    {"nn.attention",
     "%q: tensor<1x2x5x2xT>, %k: tensor<1x2x3x2xT>, "
     "%v: tensor<1x2x3x2xT>, %m: tensor<1x1x5x3xT>",
     R"(
      %r = nn.attention %q, %k, %v, %m {scale = 1.0 : f64, softcap = 2.0 : f64,
          left = 1, right = 1, offset = -1} : (tensor<1x2x5x2xT>,
          tensor<1x2x3x2xT>, tensor<1x2x3x2xT>, tensor<1x1x5x3xT>)
          -> tensor<1x2x5x2xT>)",
     "tensor<1x2x5x2xT>"},
    {"nn.attention_lse", "%q: tensor<1x4x3x2xT>, %k: tensor<1x4x2x2xT>", R"(
      %r = nn.attention_lse %q, %k {scale = 0.5 : f64, softcap = 0.0 : f64,
          left = -1, right = 0, offset = 0,
          labels = "bhsd,bthd,bthe->bshe"} : (tensor<1x4x3x2xT>,
          tensor<1x4x2x2xT>) -> tensor<1x4x3xT>)",
     "tensor<1x4x3xT>"},
    {"nn.attention_gradient",
     "%q: tensor<1x2x3x2xT>, %k: tensor<1x1x4x2xT>, "
     "%v: tensor<1x1x4x3xT>, %dy: tensor<1x2x3x3xT>, %lse: tensor<1x2x3xT>, "
     "%delta: tensor<1x2x3xT>, %m: tensor<1x1x3x4xT>",
     R"(
      %r = nn.attention_gradient %q, %k, %v, %dy, %lse, %delta, %m {of = "q",
          scale = 0.5 : f64, softcap = 1.5 : f64, left = -1, right = 1,
          offset = 0} : (tensor<1x2x3x2xT>, tensor<1x1x4x2xT>,
          tensor<1x1x4x3xT>, tensor<1x2x3x3xT>, tensor<1x2x3xT>,
          tensor<1x2x3xT>, tensor<1x1x3x4xT>) -> tensor<1x2x3x2xT>)",
     "tensor<1x2x3x2xT>"},
    {"nn.rotary", "%x: tensor<2x3x5xT>", R"(
      %c = nn.constant dense<0.6> : tensor<1x3x2xT>
      %s = nn.constant dense<0.8> : tensor<1x3x2xT>
      %r = nn.rotary %x, %c, %s {interleaved = false} : (tensor<2x3x5xT>,
          tensor<1x3x2xT>, tensor<1x3x2xT>) -> tensor<2x3x5xT>)",
     "tensor<2x3x5xT>"},
    {"nn.rotary", "%x: tensor<2x3x4xT>", R"(
      %c = nn.constant dense<0.6> : tensor<1x3x2xT>
      %s = nn.constant dense<0.8> : tensor<1x3x2xT>
      %r = nn.rotary %x, %c, %s {interleaved = true} : (tensor<2x3x4xT>,
          tensor<1x3x2xT>, tensor<1x3x2xT>) -> tensor<2x3x4xT>)",
     "tensor<2x3x4xT>"}};

std::vector<GradientCase> divisi::test::gradientCases() {
  std::vector<GradientCase> cases;
  auto tensor = [](std::string shape) { return "tensor<" + shape + ">"; };
  for (const UnaryRow &row : kUnary) {
    for (const char *shape : {"T", "1xT", "7xT", "3x1x5xT"}) {
      std::string type = tensor(shape), op = std::string("nn.") + row.name;
      cases.push_back({op, "%x: " + type,
                       "%r = " + op + " %x : (" + type + ") -> " + type, type,
                       row.low, row.high});
    }
  }
  for (const UnaryRow &row : kBinary) {
    for (const auto &[x, y, r] : kShapes) {
      std::string op = std::string("nn.") + row.name;
      cases.push_back({op, "%x: " + tensor(x) + ", %y: " + tensor(y),
                       "%r = " + op + " %x, %y : (" + tensor(x) + ", " +
                           tensor(y) + ") -> " + tensor(r),
                       tensor(r), row.low, row.high});
    }
  }
  for (const WrittenRow &row : kWritten) {
    cases.push_back(
        {row.op, row.arguments, row.lines, row.result, row.low, row.high});
  }
  return cases;
}
