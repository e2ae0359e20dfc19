//===- OptimizeTest.cpp - Searches of programs drawn at random ------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Programs of products, sums, transposes, parts and wholes are drawn at random
// and searched. What comes of them computes the same, is not dearer, and is the
// same in each run; of small ones nothing cheaper is among all that the rules
// reach, and what is cut into segments becomes no dearer than it was.
//
//===----------------------------------------------------------------------===//

#include "DrawnPrograms.h"

#include "test/Sample.h"

using namespace divisi;
using namespace divisi::optimize;

TEST_F(OptimizeTest, WhatIsFoundComputesTheSameAndIsNotDearer) {
  int64_t applied = 0;
  for (int round = 0; round != test::sampleSize(500); ++round) {
    SCOPED_TRACE(round);
    std::string text = Drawer(4 + round % 9, uint64_t(round)).text();
    auto source = parse(text), module = parse(text);
    // On a GPU such small programs cost what their launches do.
    auto machine = round % 2 ? options() : options("dgx-h100");
    auto report = optimizeModule(*module, rules(), axioms(), machine);
    ASSERT_TRUE(report) << report.status().message();
    ASSERT_TRUE(mlir::succeeded(mlir::verify(*module))) << print(*module);
    EXPECT_LE(report->after.nanoseconds, report->before.nanoseconds);
    for (const RuleUse &use : report->rules) {
      applied += use.times;
    }
    std::vector<HostTensor> before = evaluate(*source),
                            after = evaluate(*module);
    ASSERT_EQ(before.size(), after.size());
    for (size_t i = 0; i != before.size(); ++i) {
      EXPECT_FALSE(
          rewrite::compare(before[i], after[i], rewrite::Tolerance::Rounding))
          << text << print(*module);
    }
    if (round % 10 == 0) {
      auto again = parse(text);
      ASSERT_TRUE(optimizeModule(*again, rules(), axioms(), machine));
      EXPECT_EQ(print(*again), print(*module));
    }
  }
  EXPECT_GT(applied, 0);
}

// Without slack, and without a limit, a search looks at all programs that the
// rules reach.
TEST_F(OptimizeTest, NothingThatRulesReachIsCheaper) {
  int64_t complete = 0;
  for (int round = 0; round != test::sampleSize(200); ++round) {
    SCOPED_TRACE(round);
    auto module = parse(Drawer(2 + round % 4, uint64_t(round)).text());
    rewrite::SiteFinder sites(rules(), axioms());
    DeviceKind kind = options(round % 2 ? "cpu" : "dgx-h100").kind;
    auto all =
        BestFirst(&context, sites, kind, {.programs = 1500, .slack = 1e9})
            .run(*module);
    auto found = BestFirst(&context, sites, kind, {}).run(*module);
    ASSERT_TRUE(all && found);
    if (all->isComplete) {
      ++complete;
      EXPECT_EQ(found->best.price.nanoseconds, all->best.price.nanoseconds)
          << print(*module) << print(*all->best.module);
    }
  }
  EXPECT_GT(complete, 0);
}

// A chain of equal layers, each of which is one segment or more.
TEST_F(OptimizeTest, LayersThatAreAlikeAreSearchedOnce) {
  auto layers = [](int count) {
    std::string globals, body, value = "%x";
    for (int i = 0; i != count; ++i) {
      std::string n = std::to_string(i);
      for (const char *weight : {"p", "q", "r"}) {
        globals +=
            "nn.global @" + (weight + n) + " parameter : tensor<64x64xf32>\n";
        body += "%" + (weight + n) + " = nn.read @" + (weight + n) +
                " : tensor<64x64xf32>\n";
      }
      std::string type = "tensor<8x64xf32>",
                  product = " {labels = \"mk,kn->mn\"} : (" + type +
                            ", tensor<64x64xf32>) -> " + type + "\n",
                  sum = " : (" + type + ", " + type + ") -> " + type + "\n";
      body += "%a" + n + " = nn.matmul " + value + ", %p" + n + product;
      body += "%b" + n + " = nn.matmul " + value + ", %q" + n + product;
      body += "%c" + n + " = nn.add %a" + n + ", %b" + n + sum;
      body += "%d" + n + " = nn.relu %c" + n + " : (" + type + ") -> " + type +
              "\n";
      body += "%e" + n + " = nn.matmul %d" + n + ", %r" + n + product;
      body += "%f" + n + " = nn.add %e" + n + ", " + value + sum;
      value = "%f" + n;
    }
    return globals +
           "func.func @forward(%x: tensor<8x64xf32>) -> "
           "tensor<8x64xf32> {\n" +
           body + "return " + value + " : tensor<8x64xf32>\n}\n";
  };
  auto small = parse(layers(12)), large = parse(layers(48));
  auto few = optimizeModule(*small, rules(), axioms(), options());
  auto many = optimizeModule(*large, rules(), axioms(), options());
  ASSERT_TRUE(few && many);
  // x p + x q = x (p + q), in every layer: a third of the time of products.
  EXPECT_LT(few->after.nanoseconds, few->before.nanoseconds * 8 / 10);
  EXPECT_LT(many->after.nanoseconds, many->before.nanoseconds * 8 / 10);
  EXPECT_LE(many->segments, few->segments + 4);
  ASSERT_FALSE(many->rules.empty());
  EXPECT_EQ(many->rules[0].rule, "add-weights-not-results");
  EXPECT_EQ(many->rules[0].times, 48);
}

TEST_F(OptimizeTest, ARuleIsAppliedWhereItStandsAlone) {
  auto module = parse(Drawer(3, 5).text());
  rewrite::SiteFinder sites(rules(), axioms());
  nn::KnownValues known(*module);
  for (size_t root : {0, 1000}) {
    auto applied = sites.apply(functionOf(*module), known, {0, root, 1000});
    ASSERT_FALSE(applied);
    EXPECT_EQ(applied.status().message(),
              "the rule '" + rules()[0].rule.name + "' has no such place");
  }
}
