//===- LoopGradientCases.cpp - Programs with loops to derive --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientCases.h"

using divisi::test::GradientCase;

/// Rows of %x come in, the states go out as rows of %y.
static const char *const kRecurrence = R"(
  func.func private @step(%i: tensor<i64>, %h: tensor<2xT>, %y: tensor<4x2xT>,
      %x: tensor<4x2xT>, %w: tensor<2x2xT>) -> (tensor<2xT>, tensor<4x2xT>) {
    %xt = nn.gather %x, %i {axis = 0, batch_dims = 0}
        : (tensor<4x2xT>, tensor<i64>) -> tensor<2xT>
    %p = nn.matmul %h, %w {labels = "k,kn->n"}
        : (tensor<2xT>, tensor<2x2xT>) -> tensor<2xT>
    %s = nn.add %p, %xt : (tensor<2xT>, tensor<2xT>) -> tensor<2xT>
    %t = nn.tanh %s : (tensor<2xT>) -> tensor<2xT>
    %row = nn.reshape %t : (tensor<2xT>) -> tensor<1x2xT>
    %y1 = nn.insert %y, %row, %i {axis = 0}
        : (tensor<4x2xT>, tensor<1x2xT>, tensor<i64>) -> tensor<4x2xT>
    return %t, %y1 : tensor<2xT>, tensor<4x2xT>
  })";

/// Runs @body while the sum of its value is below 3, each step of a loop.
static const char *const kWhile = R"(
  func.func private @steps(%i: tensor<i64>, %c: tensor<i1>, %v: tensor<3xT>,
      %x: tensor<3xT>) -> (tensor<i1>, tensor<3xT>) {
    %n = nn.cast %c : (tensor<i1>) -> tensor<i64>
    %c1, %v1 = nn.loop @body(%n, %c, %v, %x) max 1
        : (tensor<i64>, tensor<i1>, tensor<3xT>, tensor<3xT>)
        -> (tensor<i1>, tensor<3xT>)
    return %c1, %v1 : tensor<i1>, tensor<3xT>
  }
  func.func private @body(%i: tensor<i64>, %c: tensor<i1>, %v: tensor<3xT>,
      %x: tensor<3xT>) -> (tensor<i1>, tensor<3xT>) {
    %a = nn.mul %v, %x : (tensor<3xT>, tensor<3xT>) -> tensor<3xT>
    %b = nn.add %a, %x : (tensor<3xT>, tensor<3xT>) -> tensor<3xT>
    %s = nn.reduce %b {kind = "sum", axes = array<i64: 0>}
        : (tensor<3xT>) -> tensor<T>
    %l = nn.constant dense<3.0> : tensor<T>
    %go = nn.compare %s, %l {predicate = "lt"}
        : (tensor<T>, tensor<T>) -> tensor<i1>
    return %go, %b : tensor<i1>, tensor<3xT>
  })";

/// A loop in a loop; %k is what no iteration changes.
static const char *const kNested = R"(
  func.func private @outer(%i: tensor<i64>, %v: tensor<2xT>, %u: tensor<2xT>,
      %k: tensor<T>) -> (tensor<2xT>, tensor<2xT>) {
    %n = nn.constant dense<2> : tensor<i64>
    %w = nn.loop @inner(%n, %v, %u, %k) max 3
        : (tensor<i64>, tensor<2xT>, tensor<2xT>, tensor<T>) -> tensor<2xT>
    return %w, %v : tensor<2xT>, tensor<2xT>
  }
  func.func private @inner(%i: tensor<i64>, %v: tensor<2xT>, %u: tensor<2xT>,
      %k: tensor<T>) -> tensor<2xT> {
    %0 = nn.mul %v, %k : (tensor<2xT>, tensor<T>) -> tensor<2xT>
    %1 = nn.sin %0 : (tensor<2xT>) -> tensor<2xT>
    %2 = nn.mul %1, %u : (tensor<2xT>, tensor<2xT>) -> tensor<2xT>
    %3 = nn.add %2, %v : (tensor<2xT>, tensor<2xT>) -> tensor<2xT>
    return %3 : tensor<2xT>
  })";

static GradientCase recurrence(const char *count) {
  GradientCase program;
  program.op = "nn.loop";
  program.functions = kRecurrence;
  program.arguments = "%h: tensor<2xT>, %x: tensor<4x2xT>, %w: tensor<2x2xT>";
  program.lines = std::string("%n = nn.constant dense<") + count +
                  R"(> : tensor<i64>
      %y = nn.constant dense<0.5> : tensor<4x2xT>
      %last, %r = nn.loop @step(%n, %h, %y, %x, %w) max 4
          : (tensor<i64>, tensor<2xT>, tensor<4x2xT>, tensor<4x2xT>,
             tensor<2x2xT>) -> (tensor<2xT>, tensor<4x2xT>))";
  program.result = "tensor<4x2xT>";
  return program;
}

std::vector<GradientCase> divisi::test::loopGradientCases() {
  std::vector<GradientCase> cases = {recurrence("4"), recurrence("3"),
                                     recurrence("1"), recurrence("0")};
  GradientCase open;
  open.op = "nn.loop";
  open.functions = kWhile;
  open.arguments = "%v: tensor<3xT>, %x: tensor<3xT>";
  open.lines = R"(
      %c = nn.constant dense<true> : tensor<i1>
      %n = nn.constant dense<5> : tensor<i64>
      %e, %r = nn.loop @steps(%n, %c, %v, %x) max 5
          : (tensor<i64>, tensor<i1>, tensor<3xT>, tensor<3xT>)
          -> (tensor<i1>, tensor<3xT>))";
  open.result = "tensor<3xT>";
  open.low = 0.5;
  open.high = 1;
  cases.push_back(open);
  GradientCase nested;
  nested.op = "nn.loop";
  nested.functions = kNested;
  nested.arguments = "%v: tensor<2xT>, %u: tensor<2xT>, %k: tensor<T>";
  nested.lines = R"(
      %n = nn.constant dense<3> : tensor<i64>
      %a, %b = nn.loop @outer(%n, %v, %u, %k) max 3
          : (tensor<i64>, tensor<2xT>, tensor<2xT>, tensor<T>)
          -> (tensor<2xT>, tensor<2xT>)
      %r = nn.add %a, %b : (tensor<2xT>, tensor<2xT>) -> tensor<2xT>)";
  nested.result = "tensor<2xT>";
  nested.low = -0.6;
  nested.high = 0.6;
  cases.push_back(nested);
  GradientCase none = nested; // runs never
  none.lines = R"(
      %n = nn.constant dense<0> : tensor<i64>
      %a, %b = nn.loop @outer(%n, %v, %u, %k) max 0
          : (tensor<i64>, tensor<2xT>, tensor<2xT>, tensor<T>)
          -> (tensor<2xT>, tensor<2xT>)
      %r = nn.mul %a, %b : (tensor<2xT>, tensor<2xT>) -> tensor<2xT>)";
  cases.push_back(none);
  return cases;
}
