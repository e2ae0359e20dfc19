//===- DeclineTest.cpp - Where rules are not applied, and why -------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/NN/Known.h"
#include "dialects/NN/NN.h"
#include "divisi/Rewrite/Apply.h"
#include "divisi/Rules/RuleText.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

using namespace divisi;
using namespace divisi::rewrite;

/// Why a rule is not applied to a module, place by place.
static std::vector<std::string> declines(const std::string &ruleText,
                                         const std::string &moduleText) {
  auto rules = parseRules(ruleText, "test");
  EXPECT_TRUE(rules) << rules.status().message();
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<nn::NNDialect, mlir::func::FuncDialect>();
  auto module =
      mlir::parseSourceString<mlir::ModuleOp>(moduleText, &context);
  EXPECT_TRUE(module);
  std::vector<std::string> reasons;
  if (!rules || !module) {
    return reasons;
  }
  nn::KnownValues known(*module);
  std::vector<ProvedRule> proved{{rules->front(), allRanks(rules->front())}};
  RuleApplier applier(proved, {}, known);
  for (auto function : module->getOps<mlir::func::FuncOp>()) {
    int64_t count = applier.run(function, [&](const Place &place) {
      reasons.push_back(place.declined);
    });
    EXPECT_EQ(count, 0);
  }
  EXPECT_TRUE(mlir::succeeded(mlir::verify(*module)));
  return reasons;
}

using Reasons = std::vector<std::string>;

TEST(DeclineTest, NarrowFloatsKeepTheirRange) {
  EXPECT_EQ(
      declines(R"(rule r { summary "" shape s activation x: float[s...]
        source { a = exp(x) b = log(a) return b } target { return x }
        class changes-range })",
               R"(func.func @f(%x: tensor<2xbf16>) -> tensor<2xbf16> {
        %a = nn.exp %x : (tensor<2xbf16>) -> tensor<2xbf16>
        %b = nn.log %a : (tensor<2xbf16>) -> tensor<2xbf16>
        return %b : tensor<2xbf16> })"),
      Reasons{"it changes the range, of which bf16 has little"});
}

TEST(DeclineTest, TargetsKeepTheirTypes) {
  EXPECT_EQ(
      declines(R"(rule r { summary "" size m, n activation x: float[m, n]
        source { a = relu(x) b = relu(a) return b }
        target { a = transpose(x) {permutation = [1, 0]} return a }
        class bit-exact })",
               R"(func.func @f(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
        %a = nn.relu %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
        %b = nn.relu %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
        return %b : tensor<2x3xf32> })"),
      Reasons{"the target has another type"});
}

/// A mean of two is not a third.
TEST(DeclineTest, ElementsAreWhatTheRuleSays) {
  EXPECT_EQ(
      declines(R"(rule r { summary "" shape q activation x: float[q...]
        source { n = count(q) : float[] a = div(x, n) b = neg(a) return b }
        target { b = neg(x) return b }
        class reassociates })",
               R"(func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
        %n = nn.constant dense<3.0> : tensor<f32>
        %a = nn.div %x, %n : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
        %b = nn.neg %a : (tensor<2xf32>) -> tensor<2xf32>
        return %b : tensor<2xf32> })"),
      Reasons{"'n' has another element"});
}

/// What comes of a product of weights was computed once.
TEST(DeclineTest, WhatIsKnownStaysKnown) {
  EXPECT_EQ(
      declines(R"(rule r { summary "" size m, n activation x: float[m, n]
        weight w: float[m, n]
        source { a = relu(w) b = relu(x) c = relu(b) return a, c }
        target { j = concat(w, x) {axis = 0} k = relu(j)
          a = slice(k) {starts = [0, 0], limits = [m, n], steps = [1, 1]}
          c = relu(x) return a, c }
        class bit-exact })",
               R"(func.func @f(%x: tensor<2x3xf32>)
            -> (tensor<2x3xf32>, tensor<2x3xf32>) {
        %w = nn.constant dense<1.0> : tensor<2x3xf32>
        %a = nn.relu %w : (tensor<2x3xf32>) -> tensor<2x3xf32>
        %b = nn.relu %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
        %c = nn.relu %b : (tensor<2x3xf32>) -> tensor<2x3xf32>
        return %a, %c : tensor<2x3xf32>, tensor<2x3xf32> })")
          .front(),
      "a result would no longer be the same in every run");
}

/// y comes of what the first product is read for.
TEST(DeclineTest, NothingIsReadBeforeItIsMade) {
  EXPECT_EQ(
      declines(R"(rule r { summary "" size m activation x: float[m]
        activation y: float[m]
        source { a = relu(x) b = relu(y) return a, b }
        target { j = concat(x, y) {axis = 0} k = relu(j) 
          a = slice(k) {starts = [0], limits = [m], steps = [1]}
          b = slice(k) {starts = [m], limits = [2 * m], steps = [1]}
          return a, b }
        class bit-exact })",
               R"(func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
        %a = nn.relu %x : (tensor<2xf32>) -> tensor<2xf32>
        %y = nn.neg %a : (tensor<2xf32>) -> tensor<2xf32>
        %b = nn.relu %y : (tensor<2xf32>) -> tensor<2xf32>
        return %b : tensor<2xf32> })"),
      (Reasons{"it would not take less", "it would not take less"}));
  EXPECT_EQ(
      declines(R"(rule r { summary "" size m activation x: float[m]
        activation y: float[m]
        source { a = relu(x) b = relu(y) c = relu(a) d = relu(b) return c, d }
        target { j = concat(x, y) {axis = 0} k = relu(j)
          a = slice(k) {starts = [0], limits = [m], steps = [1]}
          return a, a }
        class bit-exact })",
               R"(func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
        %a = nn.relu %x : (tensor<2xf32>) -> tensor<2xf32>
        %c = nn.relu %a : (tensor<2xf32>) -> tensor<2xf32>
        %y = nn.neg %c : (tensor<2xf32>) -> tensor<2xf32>
        %b = nn.relu %y : (tensor<2xf32>) -> tensor<2xf32>
        %d = nn.relu %b : (tensor<2xf32>) -> tensor<2xf32>
        return %d : tensor<2xf32> })")
          .front(),
      "what it reads is made after others read its results");
}
