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

#include "divisi/Optimize/OptimizeModule.h"

#include "dialects/NN/Known.h"
#include "divisi/Cluster/Cluster.h"
#include "divisi/Evaluate/Evaluator.h"
#include "divisi/Optimize/Segments.h"
#include "divisi/Rewrite/Apply.h"
#include "divisi/Rules/SampleTensors.h"
#include "divisi/Rules/Shipped.h"
#include "test/Sample.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

#include <random>
#include <sstream>

using namespace divisi;
using namespace divisi::optimize;
using rt::HostTensor;

namespace {

/// A matrix of a program that is being drawn.
struct Matrix {
  std::string name;
  int64_t rows = 0, columns = 0;
  bool isRead = false; ///< By another operator.
};

/// Draws the text of a program of so many operators.
class Drawer {
public:
  Drawer(int64_t operators, uint64_t seed) : random_(seed) {
    for (int i = 0; i != 2; ++i) {
      int64_t rows = extent(), columns = extent();
      std::string name = "%x" + std::to_string(i);
      arguments_ += (i ? ", " : "") + name + ": " + type(rows, columns);
      matrices_.push_back({name, rows, columns, true});
    }
    for (int64_t i = 0; i != operators; ++i) {
      addOperator();
    }
  }

  std::string text() const;

private:
  int64_t extent() { return 2 + 2 * int64_t(random_() % 2); }
  static std::string type(int64_t rows, int64_t columns) {
    return "tensor<" + std::to_string(rows) + "x" + std::to_string(columns) +
           "xf64>";
  }
  std::string typeOf(size_t i) const {
    return type(matrices_[i].rows, matrices_[i].columns);
  }
  size_t pick() { return size_t(random_() % matrices_.size()); }
  size_t weight(int64_t rows, int64_t columns);
  size_t like(int64_t rows, int64_t columns);
  void add(const std::string &op, std::initializer_list<size_t> operands,
           int64_t rows, int64_t columns, const std::string &attributes = "");
  void addOperator();
  void addSlice(size_t a);

  std::mt19937_64 random_;
  std::vector<Matrix> matrices_;
  std::string globals_, arguments_, body_;
  int names_ = 0;
};

} // namespace

size_t Drawer::weight(int64_t rows, int64_t columns) {
  std::string name = "w" + std::to_string(names_++);
  globals_ +=
      "nn.global @" + name + " parameter : " + type(rows, columns) + "\n";
  body_ +=
      "%" + name + " = nn.read @" + name + " : " + type(rows, columns) + "\n";
  matrices_.push_back({"%" + name, rows, columns, true});
  return matrices_.size() - 1;
}

/// A matrix of that form: one that there is, or a weight.
size_t Drawer::like(int64_t rows, int64_t columns) {
  std::vector<size_t> fitting;
  for (size_t i = 0; i != matrices_.size(); ++i) {
    if (matrices_[i].rows == rows && matrices_[i].columns == columns) {
      fitting.push_back(i);
    }
  }
  size_t chosen = size_t(random_() % (fitting.size() + 1));
  return chosen == fitting.size() ? weight(rows, columns) : fitting[chosen];
}

void Drawer::add(const std::string &op, std::initializer_list<size_t> operands,
                 int64_t rows, int64_t columns, const std::string &attributes) {
  std::string name = "%v" + std::to_string(names_++), names, types;
  for (size_t operand : operands) {
    names += (names.empty() ? "" : ", ") + matrices_[operand].name;
    types += (types.empty() ? "" : ", ") + typeOf(operand);
    matrices_[operand].isRead = true;
  }
  body_ += name + " = nn." + op + " " + names + attributes + " : (" + types +
           ") -> " + type(rows, columns) + "\n";
  matrices_.push_back({name, rows, columns, false});
}

void Drawer::addSlice(size_t a) {
  const Matrix &matrix = matrices_[a];
  int64_t half = matrix.columns / 2, from = random_() % 2 ? 0 : half;
  std::ostringstream attributes;
  attributes << " {starts = array<i64: 0, " << from
             << ">, limits = array<i64: " << matrix.rows << ", " << from + half
             << ">, steps = array<i64: 1, 1>}";
  add("slice", {a}, matrix.rows, half, attributes.str());
}

void Drawer::addOperator() {
  size_t a = pick();
  auto [name, rows, columns, isRead] = matrices_[a];
  static constexpr const char *pairs[] = {"add", "mul", "sub"};
  static constexpr const char *singles[] = {"neg", "relu"};
  switch (random_() % 10) {
  case 0:
  case 1:
  case 2:
  case 3: {
    int64_t width = extent();
    add("matmul", {a, like(columns, width)}, rows, width,
        " {labels = \"mk,kn->mn\"}");
    break;
  }
  case 4:
  case 5:
    add(pairs[random_() % 3], {a, like(rows, columns)}, rows, columns);
    break;
  case 6:
    add("transpose", {a}, columns, rows, " {permutation = array<i64: 1, 0>}");
    break;
  case 7:
    add("concat", {a, like(rows, columns)}, rows, 2 * columns,
        " {axis = 1 : i64}");
    break;
  case 8:
    addSlice(a);
    break;
  default:
    add(singles[random_() % 2], {a}, rows, columns);
  }
}

std::string Drawer::text() const {
  std::string names, types;
  for (size_t i = 0; i != matrices_.size(); ++i) {
    if (!matrices_[i].isRead) {
      names += (names.empty() ? "" : ", ") + matrices_[i].name;
      types += (types.empty() ? "" : ", ") + typeOf(i);
    }
  }
  return globals_ + "func.func @forward(" + arguments_ + ") -> (" + types +
         ") {\n" + body_ + "return " + names + " : " + types + "\n}\n";
}

namespace {

/// The rules, read once, and a device on which every operator costs much.
class OptimizeTest : public testing::Test {
protected:
  OptimizeTest() {
    context.loadDialect<nn::NNDialect, mlir::func::FuncDialect>();
  }

  static const std::vector<rewrite::Rule> &axioms() {
    static const auto axioms = *rewrite::shippedAxioms();
    return axioms;
  }
  static const std::vector<rewrite::ProvedRule> &rules() {
    static const auto rules = rewrite::rulesForSearch(
        *rewrite::provedRules(axioms()), rewrite::NumericClass::Reassociates);
    return rules;
  }
  OptimizeOptions options(llvm::StringRef machine = "cpu") const {
    OptimizeOptions options;
    options.kind = presetCluster(machine, 1)->pace();
    options.limits.programs = 300;
    return options;
  }
  mlir::OwningOpRef<mlir::ModuleOp> parse(const std::string &text) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module) << text;
    return module;
  }
  std::vector<HostTensor> evaluate(mlir::ModuleOp module);
  static std::string print(mlir::ModuleOp module) {
    std::string text;
    llvm::raw_string_ostream os(text);
    module.print(os);
    return text;
  }

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
};

} // namespace

/// On inputs and weights that are the same for all programs.
std::vector<HostTensor> OptimizeTest::evaluate(mlir::ModuleOp module) {
  std::mt19937_64 random(11);
  auto drawn = [&](mlir::Type type) {
    auto tensor = cast<mlir::RankedTensorType>(type);
    rewrite::TensorForm form{rt::DType::F64, {}};
    form.dims.assign(tensor.getShape().begin(), tensor.getShape().end());
    return *rewrite::drawTensor(form, rewrite::Distribution::Normal, random);
  };
  GlobalStore store;
  GlobalValues globals(module, store);
  std::map<std::string, nn::GlobalOp> sorted;
  for (auto global : module.getOps<nn::GlobalOp>()) {
    sorted[global.getSymName().str()] = global;
  }
  for (auto &[name, global] : sorted) {
    globals.write(name, drawn(global.getType()));
  }
  mlir::func::FuncOp function = functionOf(module);
  std::vector<HostTensor> inputs;
  for (mlir::Type type : function.getArgumentTypes()) {
    inputs.push_back(drawn(type));
  }
  auto results = evaluateFunction(function, inputs, globals);
  EXPECT_TRUE(results) << results.status().message();
  return results ? *results : std::vector<HostTensor>();
}

TEST_F(OptimizeTest, WhatIsFoundComputesTheSameAndIsNotDearer) {
  int64_t applied = 0;
  for (int round = 0; round != test::sampleSize(1000); ++round) {
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
