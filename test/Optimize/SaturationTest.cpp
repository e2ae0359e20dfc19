//===- SaturationTest.cpp - Searches by an e-graph ------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Programs whose cheapest form is known, and programs that are drawn at random:
// what is extracted computes the same, and is not dearer than what the search
// that goes program by program finds, where both have looked at all there is.
//
//===----------------------------------------------------------------------===//

#include "DrawnPrograms.h"

#include "test/Sample.h"

using namespace divisi;
using namespace divisi::optimize;

namespace {

/// A fixture with a machine whose launches cost, so that fewer are better.
class SaturationTest : public OptimizeTest {
protected:
  Expected<SearchResult> saturate(mlir::ModuleOp module) {
    rewrite::SiteFinder sites(rules(), axioms());
    return EqualitySaturation(&context, sites, rules(), kind, {}).run(module);
  }
  static int64_t count(mlir::ModuleOp module, llvm::StringRef name) {
    int64_t count = 0;
    module.walk([&](mlir::Operation *op) {
      count += op->getName().getStringRef() == name;
    });
    return count;
  }
  void expectSame(mlir::ModuleOp before, mlir::ModuleOp after) {
    std::vector<HostTensor> a = evaluate(before), b = evaluate(after);
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i != a.size(); ++i) {
      EXPECT_FALSE(rewrite::compare(a[i], b[i], rewrite::Tolerance::Rounding))
          << print(before) << print(after);
    }
  }

  DeviceKind kind = options("dgx-h100").kind;
};

} // namespace

static std::string global(const std::string &name, const std::string &type) {
  return "nn.global @" + name + " parameter : " + type + "\n";
}

static std::string read(const std::string &name, const std::string &type) {
  return "%" + name + " = nn.read @" + name + " : " + type + "\n";
}

/// Products of one input by so many weights, of which some may be wider.
static std::string productsOf(int count, bool areEqual) {
  std::string globals, body, results, types;
  for (int i = 0; i != count; ++i) {
    std::string n = std::to_string(i),
                width = std::to_string(areEqual ? 4 : 2 + i % 3),
                weight = "tensor<8x" + width + "xf64>",
                type = "tensor<6x" + width + "xf64>";
    globals += global("w" + n, weight);
    body += read("w" + n, weight) + "%p" + n + " = nn.matmul %x, %w" + n +
            " {labels = \"mk,kn->mn\"} : (tensor<6x8xf64>, " + weight +
            ") -> " + type + "\n";
    results += (i ? ", %p" : "%p") + n;
    types += (i ? ", " : "") + type;
  }
  return globals + "func.func @forward(%x: tensor<6x8xf64>) -> (" + types +
         ") {\n" + body + "return " + results + " : " + types + "\n}\n";
}

// On a device where copying parts costs little, but not a tile of a product.
TEST_F(SaturationTest, AnyNumberOfProductsOfOneInputIsOne) {
  kind.launchNanoseconds = 0;
  for (int products : {5, 16}) {
    for (bool areEqual : {false, true}) {
      SCOPED_TRACE(products);
      auto module = parse(productsOf(products, areEqual));
      auto found = saturate(*module);
      ASSERT_TRUE(found) << found.status().message();
      EXPECT_LT(found->best.price, found->before);
      EXPECT_EQ(count(*found->best.module, "nn.matmul"), 1)
          << print(*found->best.module);
      ASSERT_FALSE(found->best.steps.empty());
      expectSame(*module, *found->best.module);
    }
  }
}

// With a bias between what an adapter is added to and the adapter, which no
// rule names, but a sum of three terms has.
TEST_F(SaturationTest, AnAdapterBehindABiasIsMerged) {
  std::string wide = "tensor<8x8xf64>", down = "tensor<8x2xf64>",
              up = "tensor<2x8xf64>", row = "tensor<8xf64>";
  std::string product = " {labels = \"mk,kn->mn\"} : (";
  auto module =
      parse(global("w", wide) + global("v", down) + global("u", up) +
            global("b", row) +
            "func.func @forward(%x: tensor<4x8xf64>) -> tensor<4x8xf64> {\n" +
            read("w", wide) + read("v", down) + read("u", up) + read("b", row) +
            "%y = nn.matmul %x, %w" + product + "tensor<4x8xf64>, " + wide +
            ") -> tensor<4x8xf64>\n"
            "%z = nn.add %y, %b : (tensor<4x8xf64>, " +
            row + ") -> tensor<4x8xf64>\n%d = nn.matmul %x, %v" + product +
            "tensor<4x8xf64>, " + down +
            ") -> tensor<4x2xf64>\n%r = nn.matmul %d, %u" + product +
            "tensor<4x2xf64>, " + up +
            ") -> tensor<4x8xf64>\n"
            "%s = nn.add %z, %r : (tensor<4x8xf64>, tensor<4x8xf64>) -> "
            "tensor<4x8xf64>\nreturn %s : tensor<4x8xf64>\n}\n");
  auto found = saturate(*module);
  ASSERT_TRUE(found) << found.status().message();
  nn::KnownValues known(*found->best.module);
  int64_t products = 0;
  found->best.module->walk(
      [&](nn::MatmulOp op) { products += !known.isKnown(op.getResult()); });
  EXPECT_EQ(products, 1) << print(*found->best.module);
  expectSame(*module, *found->best.module);
}

// What rules turn back and forth makes no cycle, and no end is missed.
TEST_F(SaturationTest, WhatUndoesItselfIsOneClass) {
  std::string type = "tensor<4x6xf64>", turned = "tensor<6x4xf64>";
  auto module = parse(
      "func.func @forward(%x: " + type + ") -> " + type +
      " {\n%a = nn.transpose %x {permutation = array<i64: 1, 0>} : (" + type +
      ") -> " + turned + "\n%b = nn.relu %a : (" + turned + ") -> " + turned +
      "\n%c = nn.relu %b : (" + turned + ") -> " + turned +
      "\n%d = nn.transpose %c {permutation = array<i64: 1, 0>} : (" + turned +
      ") -> " + type + "\nreturn %d : " + type + "\n}\n");
  auto found = saturate(*module);
  ASSERT_TRUE(found) << found.status().message();
  EXPECT_TRUE(found->isComplete);
  EXPECT_EQ(count(*found->best.module, "nn.transpose"), 0);
  EXPECT_EQ(count(*found->best.module, "nn.relu"), 1);
  expectSame(*module, *found->best.module);
}

TEST_F(SaturationTest, WhatIsExtractedComputesTheSame) {
  int64_t complete = 0, cheaper = 0;
  for (int round = 0; round != test::sampleSize(300); ++round) {
    SCOPED_TRACE(round);
    auto module = parse(Drawer(3 + round % 10, 7000 + uint64_t(round)).text());
    auto found = saturate(*module);
    ASSERT_TRUE(found) << found.status().message();
    ASSERT_TRUE(mlir::succeeded(mlir::verify(*found->best.module)));
    EXPECT_LE(found->best.price, found->before);
    complete += found->isComplete;
    cheaper += found->best.price < found->before;
    // That sums commute is no rule, and may make two of them one.
    EXPECT_TRUE(found->best.price < found->before || found->best.steps.empty());
    expectSame(*module, *found->best.module);
    if (round % 10 == 0) {
      auto again = saturate(*module);
      ASSERT_TRUE(again);
      EXPECT_EQ(print(*again->best.module), print(*found->best.module));
    }
  }
  EXPECT_GT(complete, 0);
  EXPECT_GT(cheaper, 0);
}

TEST_F(SaturationTest, NothingThatRulesReachOneByOneIsCheaper) {
  int64_t compared = 0;
  for (int round = 0; round != test::sampleSize(300); ++round) {
    SCOPED_TRACE(round);
    auto module = parse(Drawer(2 + round % 5, 9000 + uint64_t(round)).text());
    rewrite::SiteFinder sites(rules(), axioms());
    auto all =
        BestFirst(&context, sites, kind, {.programs = 1000, .slack = 1e9})
            .run(*module);
    auto found = saturate(*module);
    ASSERT_TRUE(all && found);
    if (all->isComplete && found->isComplete) {
      ++compared;
      // Extraction adds up rounded prices, here of operators of a nanosecond.
      EXPECT_LE(found->best.price.nanoseconds, all->best.price.nanoseconds + 1)
          << print(*module) << print(*all->best.module)
          << print(*found->best.module);
    }
  }
  EXPECT_GT(compared, 0);
}
