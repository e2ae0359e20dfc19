//===- ReplacementTest.cpp - Wrong replacements are found -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Evaluate/Replacement.h"

#include "dialects/NN/NN.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace divisi;

namespace {

/// A function whose results are a value and what is to replace it; operators
/// behind the first make the second.
class ReplacementTest : public ::testing::Test {
protected:
  ReplacementTest() {
    context_.loadDialect<nn::NNDialect, mlir::func::FuncDialect>();
  }

  /// Makes the function of its arguments, what is replaced, and what is made.
  Replacement make(const std::string &arguments, const std::string &replaced,
                   const std::string &made, const std::string &type) {
    std::string text = "func.func @f(" + arguments + ") -> (" + type + ", " +
                       type + ") {\n" + replaced + made +
                       "return %y, %z : " + type + ", " + type +
                       "\n}\n"
                       "func.func private @g(tensor<4xf32>) -> tensor<4xf32>\n";
    module_ = mlir::parseSourceString<mlir::ModuleOp>(text, &context_);
    EXPECT_TRUE(module_) << text;
    function_ = *module_->getOps<mlir::func::FuncOp>().begin();
    mlir::Operation *end = function_.getBody().front().getTerminator();
    Replacement replacement;
    replacement.replaced = end->getOperand(0);
    replacement.by = end->getOperand(1);
    for (auto *op = replacement.replaced.getDefiningOp()->getNextNode();
         op != end; op = op->getNextNode()) {
      replacement.made.push_back(op);
    }
    return replacement;
  }

  mlir::MLIRContext context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  mlir::func::FuncOp function_;
};

constexpr const char *kNumbers = "the replacement differs in f64";
constexpr const char *kReads = "it reads what the replacement does not";
constexpr const char *kField = "the replacement differs in the prime field";

/// Heads of keys and values that are repeated for two of queries, a scale that
/// no double is, and a mask that is added.
constexpr const char *kGroupedArguments =
    "%q: tensor<2x6x4x5xf32>, %k: tensor<2x3x4x5xf32>, "
    "%v: tensor<2x3x4x5xf32>, %m: tensor<2x1x4x4xf32>";
constexpr const char *kGrouped = R"mlir(
  %k1 = nn.reshape %k : (tensor<2x3x4x5xf32>) -> tensor<2x3x1x4x5xf32>
  %k2 = nn.broadcast %k1 {dims = array<i64: 0, 1, 2, 3, 4>} : (tensor<2x3x1x4x5xf32>) -> tensor<2x3x2x4x5xf32>
  %k3 = nn.reshape %k2 : (tensor<2x3x2x4x5xf32>) -> tensor<2x6x4x5xf32>
  %v1 = nn.reshape %v : (tensor<2x3x4x5xf32>) -> tensor<2x3x1x4x5xf32>
  %v2 = nn.broadcast %v1 {dims = array<i64: 0, 1, 2, 3, 4>} : (tensor<2x3x1x4x5xf32>) -> tensor<2x3x2x4x5xf32>
  %v3 = nn.reshape %v2 : (tensor<2x3x2x4x5xf32>) -> tensor<2x6x4x5xf32>
  %c = nn.constant dense<3.0> : tensor<f32>
  %a = nn.matmul %q, %k3 {labels = "bhsd,bhtd->bhst"} : (tensor<2x6x4x5xf32>, tensor<2x6x4x5xf32>) -> tensor<2x6x4x4xf32>
  %b = nn.div %a, %c : (tensor<2x6x4x4xf32>, tensor<f32>) -> tensor<2x6x4x4xf32>
  %l = nn.add %b, %m : (tensor<2x6x4x4xf32>, tensor<2x1x4x4xf32>) -> tensor<2x6x4x4xf32>
  %w = nn.softmax %l {axis = 3, log = false} : (tensor<2x6x4x4xf32>) -> tensor<2x6x4x4xf32>
  %y = nn.matmul %w, %v3 {labels = "bhst,bhte->bhse"} : (tensor<2x6x4x4xf32>, tensor<2x6x4x5xf32>) -> tensor<2x6x4x5xf32>
)mlir";

/// One attention in the place of all that.
std::string attention(const std::string &operands,
                      const std::string &attributes, bool isMasked = true) {
  return "%z = nn.attention " + operands + " {" + attributes +
         "} : (tensor<2x6x4x5xf32>, tensor<2x3x4x5xf32>, tensor<2x3x4x5xf32>" +
         (isMasked ? ", tensor<2x1x4x4xf32>" : "") +
         ") -> tensor<2x6x4x5xf32>\n";
}

constexpr const char *kOpen = "left = -1, right = -1, offset = 0, nan = true, "
                              "softcap = 0.0 : f64, scale = 1.0 : f64";

/// `text` with `from` in place of `to`, which it has.
std::string with(std::string text, const std::string &from,
                 const std::string &to) {
  text.replace(text.find(from), from.size(), to);
  return text;
}

class GroupedReplacementTest : public ReplacementTest {
protected:
  /// What is said of that in place of the grouped attention.
  std::string check(const std::string &made) {
    Replacement replacement =
        make(kGroupedArguments, kGrouped, made, "tensor<2x6x4x5xf32>");
    for (mlir::Operation *op : replacement.made) {
      if (llvm::isa<nn::AttentionOp>(op)) {
        replacement.exact[op] = ExactNumber(3).inverse();
      }
    }
    replacement.masks[function_.getArgument(3)] = false;
    return checkReplacement(replacement).message();
  }
};

} // namespace

TEST_F(GroupedReplacementTest, TheSameIsAccepted) {
  EXPECT_EQ(check(attention("%q, %k, %v, %m", kOpen)), "");
}

TEST_F(GroupedReplacementTest, WrongAttentionsAreFound) {
  EXPECT_EQ(check(attention("%q, %v, %k, %m", kOpen)), kField);
  EXPECT_EQ(check(attention("%q, %k, %k, %m", kOpen)), kReads);
  EXPECT_EQ(check(attention("%q, %k, %v", kOpen, false)), kReads);
  EXPECT_EQ(check(attention("%q, %k, %v, %m",
                            with(kOpen, "softcap = 0", "softcap = 9"))),
            kField);
  EXPECT_EQ(check(attention("%q, %k, %v, %m",
                            with(kOpen, "right = -1", "right = 0"))),
            kField);
  EXPECT_EQ(
      check(attention("%q, %k, %v, %m", with(kOpen, "left = -1", "left = 1"))),
      kField);
  EXPECT_EQ(
      check(attention("%q, %k, %v, %m", with(kOpen, "offset = 0, nan = true",
                                             "offset = 0, nan = false"))),
      kNumbers);
}

TEST_F(GroupedReplacementTest, WrongOperandsAreFound) {
  EXPECT_EQ(check("%n = nn.transpose %m {permutation = array<i64: 0, 1, 3, 2>} "
                  ": (tensor<2x1x4x4xf32>) -> tensor<2x1x4x4xf32>\n" +
                  attention("%q, %k, %v, %n", kOpen)),
            kField);
  EXPECT_EQ(check("%n = nn.neg %m : (tensor<2x1x4x4xf32>) -> "
                  "tensor<2x1x4x4xf32>\n" +
                  attention("%q, %k, %v, %n", kOpen)),
            kField);
  EXPECT_EQ(check("%x = nn.add %q, %q : (tensor<2x6x4x5xf32>, "
                  "tensor<2x6x4x5xf32>) -> tensor<2x6x4x5xf32>\n" +
                  attention("%x, %k, %v, %m", kOpen)),
            kField);
}

/// Each head of keys once behind all others.
TEST_F(GroupedReplacementTest, GroupsInAnotherOrderAreFound) {
  EXPECT_EQ(check(R"mlir(
  %q1 = nn.reshape %q : (tensor<2x6x4x5xf32>) -> tensor<2x2x3x4x5xf32>
  %q2 = nn.transpose %q1 {permutation = array<i64: 0, 2, 1, 3, 4>} : (tensor<2x2x3x4x5xf32>) -> tensor<2x3x2x4x5xf32>
  %q3 = nn.reshape %q2 : (tensor<2x3x2x4x5xf32>) -> tensor<2x6x4x5xf32>
)mlir" + attention("%q3, %k, %v, %m", kOpen)),
            kField);
}

TEST_F(GroupedReplacementTest, AWrongScaleIsFound) {
  Replacement replacement =
      make(kGroupedArguments, kGrouped, attention("%q, %k, %v, %m", kOpen),
           "tensor<2x6x4x5xf32>");
  replacement.exact[replacement.made.front()] = ExactNumber(3);
  EXPECT_EQ(checkReplacement(replacement).message(), kField);
}

TEST_F(GroupedReplacementTest, WhatIsWrongIsNotApplied) {
  Replacement wrong =
      make(kGroupedArguments, kGrouped, attention("%q, %v, %k, %m", kOpen),
           "tensor<2x6x4x5xf32>");
  mlir::Operation *end = function_.getBody().front().getTerminator();
  end->setOperand(1, wrong.replaced);
  EXPECT_EQ(replaceChecked(wrong).message(), kField);
  EXPECT_TRUE(function_.getOps<nn::AttentionOp>().empty());
  EXPECT_EQ(end->getOperand(0), wrong.replaced);
}

TEST_F(GroupedReplacementTest, WhatIsRightIsApplied) {
  Replacement right =
      make(kGroupedArguments, kGrouped, attention("%q, %k, %v, %m", kOpen),
           "tensor<2x6x4x5xf32>");
  right.exact[right.made.front()] = ExactNumber(3).inverse();
  EXPECT_TRUE(replaceChecked(right).isOk());
  mlir::Operation *end = function_.getBody().front().getTerminator();
  EXPECT_EQ(end->getOperand(0), right.by);
}

/// Booleans choose products, or a number in their place.
static std::string chosen(const std::string &number) {
  return "%n = nn.constant dense<" + number + R"mlir(> : tensor<f16>
  %a = nn.matmul %q, %k {labels = "hsd,htd->hst"} : (tensor<3x4x5xf16>, tensor<3x4x5xf16>) -> tensor<3x4x4xf32>
  %b = nn.cast %a : (tensor<3x4x4xf32>) -> tensor<3x4x4xf16>
  %l = nn.select %m, %b, %n : (tensor<4x4xi1>, tensor<3x4x4xf16>, tensor<f16>) -> tensor<3x4x4xf16>
  %w = nn.softmax %l {axis = 2, log = false} : (tensor<3x4x4xf16>) -> tensor<3x4x4xf16>
  %y = nn.matmul %w, %v {labels = "hst,hte->hse"} : (tensor<3x4x4xf16>, tensor<3x4x5xf16>) -> tensor<3x4x5xf16>
  %q1 = nn.reshape %q : (tensor<3x4x5xf16>) -> tensor<1x3x4x5xf16>
  %k1 = nn.reshape %k : (tensor<3x4x5xf16>) -> tensor<1x3x4x5xf16>
  %v1 = nn.reshape %v : (tensor<3x4x5xf16>) -> tensor<1x3x4x5xf16>
)mlir";
}

/// The same by a mask.
static std::string masked(const std::string &mask, const std::string &type,
                          const std::string &attributes = kOpen) {
  return mask + "%o = nn.reshape %p : (tensor<4x4x" + type +
         ">) -> tensor<1x1x4x4x" + type +
         ">\n%u = nn.attention %q1, %k1, %v1, %o {" + attributes +
         "} : (tensor<1x3x4x5xf16>, tensor<1x3x4x5xf16>, tensor<1x3x4x5xf16>, "
         "tensor<1x1x4x4x" +
         type +
         ">) -> tensor<1x3x4x5xf16>\n%z = nn.reshape %u : "
         "(tensor<1x3x4x5xf16>) -> tensor<3x4x5xf16>\n";
}

namespace {

class ChosenReplacementTest : public ReplacementTest {
protected:
  std::string check(const std::string &number, const std::string &made,
                    const std::string &more = "") {
    Replacement replacement =
        make("%q: tensor<3x4x5xf16>, %k: tensor<3x4x5xf16>, "
             "%v: tensor<3x4x5xf16>, %m: tensor<4x4xi1>" +
                 more,
             chosen(number), made, "tensor<3x4x5xf16>");
    replacement.masks[function_.getArgument(3)] = false;
    return checkReplacement(replacement).message();
  }
};

} // namespace

/// `%p` is the mask itself.
static const char *const kMask =
    "%p = nn.reshape %m : (tensor<4x4xi1>) -> tensor<4x4xi1>\n";
static const char *const kNoMask =
    "%p = nn.not %m : (tensor<4x4xi1>) -> tensor<4x4xi1>\n";
static const char *const kTransposedMask =
    "%p = nn.transpose %m {permutation = array<i64: 1, 0>} : (tensor<4x4xi1>) "
    "-> tensor<4x4xi1>\n";
static const char *const kLowestMask = R"mlir(
  %0 = nn.constant dense<0.0> : tensor<f16>
  %1 = nn.constant dense<0xFC00> : tensor<f16>
  %p = nn.select %m, %0, %1 : (tensor<4x4xi1>, tensor<f16>, tensor<f16>) -> tensor<4x4xf16>
)mlir";

TEST_F(ChosenReplacementTest, MasksAreCompared) {
  const char *infinite = "0xFC00";
  EXPECT_EQ(check(infinite, masked(kMask, "i1")), "");
  EXPECT_EQ(check(infinite, masked(kLowestMask, "f16")), "");
  EXPECT_EQ(check(infinite, masked(kNoMask, "i1")), kField);
  EXPECT_EQ(check(infinite, masked(kTransposedMask, "i1")), kNumbers);
  // In f64 something is left of -1e4 and products.
  EXPECT_EQ(check("-1.0e4", masked(kLowestMask, "f16")), kNumbers);
  EXPECT_EQ(check("-1.0e4", masked(kMask, "i1")), kNumbers);
}

TEST_F(ReplacementTest, WhatCannotBeComparedIsRefused) {
  const std::string type = "tensor<4xf32>", of = " : (tensor<4xf32>) -> ";
  auto check = [&](const std::string &arguments, const std::string &replaced,
                   const std::string &made) {
    return checkReplacement(make(arguments, replaced, made, type)).message();
  };
  std::string negative = "%z = nn.neg %x" + of + type + "\n";
  EXPECT_EQ(check("%x: tensor<4xf32>, %u: tensor<4xf32>",
                  "%y = nn.sub %u, %x : (tensor<4xf32>, tensor<4xf32>) -> "
                  "tensor<4xf32>\n",
                  negative),
            kReads);
  EXPECT_EQ(check("%x: tensor<4xf32>",
                  "%0 = nn.constant dense<[1., 2., 3., 4.]> : tensor<4xf32>\n"
                  "%y = nn.sub %0, %x : (tensor<4xf32>, tensor<4xf32>) -> "
                  "tensor<4xf32>\n",
                  negative),
            "it has a constant of several numbers");
  EXPECT_EQ(check("%x: tensor<4xi32>",
                  "%y = nn.cast %x : (tensor<4xi32>) -> tensor<4xf32>\n",
                  "%z = nn.cast %x : (tensor<4xi32>) -> tensor<4xf32>\n"),
            "it reads neither floats nor booleans");
  EXPECT_EQ(check("%x: tensor<4xf32>",
                  "%y = func.call @g(%x)" + of + type + "\n", negative),
            "'func.call' states no loops");
  EXPECT_EQ(check("%x: tensor<4xf32>",
                  "%0 = nn.pad %x {lo = array<i64: 1>, hi = array<i64: -1>, "
                  "value = 0.0 : f64}" +
                      of + type + "\n%y = nn.neg %0" + of + type + "\n",
                  negative),
            "'nn.pad' has dims that are not made of whole loops");
}

TEST_F(ReplacementTest, WhatStaysLargeIsRefused) {
  auto check = [&](const std::string &from, const std::string &to) {
    std::string turned = "nn.reshape %x : (" + from + ") -> " + to + "\n";
    return checkReplacement(
               make("%x: " + from, "%y = " + turned, "%z = " + turned, to))
        .message();
  };
  EXPECT_EQ(check("tensor<1000x999xf32>", "tensor<999x1000xf32>"),
            "its extents cannot be made small");
  EXPECT_EQ(check("tensor<9x4xf32>", "tensor<4x9xf32>"), "");
  EXPECT_EQ(check("tensor<1024x999xf32>", "tensor<512x2x999xf32>"), "");
}

TEST_F(ReplacementTest, TypesHaveToBeTheSame) {
  Replacement replacement =
      make("%x: tensor<4xf32>",
           "%y = nn.neg %x : (tensor<4xf32>) -> tensor<4xf32>\n",
           "%0 = nn.reshape %x : (tensor<4xf32>) -> tensor<2x2xf32>\n"
           "%z = nn.reshape %0 : (tensor<2x2xf32>) -> tensor<4xf32>\n",
           "tensor<4xf32>");
  replacement.by = replacement.made.front()->getResult(0);
  EXPECT_EQ(checkReplacement(replacement).message(),
            "the replacement has another type");
}
