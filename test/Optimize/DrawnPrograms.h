//===- DrawnPrograms.h - Programs that are drawn at random ------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_OPTIMIZE_DRAWNPROGRAMS_H
#define DIVISI_TEST_OPTIMIZE_DRAWNPROGRAMS_H

#include "divisi/Optimize/OptimizeModule.h"

#include "dialects/NN/Known.h"
#include "divisi/Cluster/Cluster.h"
#include "divisi/Evaluate/Evaluator.h"
#include "divisi/Optimize/Segments.h"
#include "divisi/Rewrite/Apply.h"
#include "divisi/Rules/SampleTensors.h"
#include "divisi/Rules/Shipped.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

#include <random>
#include <sstream>

namespace divisi::optimize {

using rt::HostTensor;

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

inline size_t Drawer::weight(int64_t rows, int64_t columns) {
  std::string name = "w" + std::to_string(names_++);
  globals_ +=
      "nn.global @" + name + " parameter : " + type(rows, columns) + "\n";
  body_ +=
      "%" + name + " = nn.read @" + name + " : " + type(rows, columns) + "\n";
  matrices_.push_back({"%" + name, rows, columns, true});
  return matrices_.size() - 1;
}

/// A matrix of that form: one that there is, or a weight.
inline size_t Drawer::like(int64_t rows, int64_t columns) {
  std::vector<size_t> fitting;
  for (size_t i = 0; i != matrices_.size(); ++i) {
    if (matrices_[i].rows == rows && matrices_[i].columns == columns) {
      fitting.push_back(i);
    }
  }
  size_t chosen = size_t(random_() % (fitting.size() + 1));
  return chosen == fitting.size() ? weight(rows, columns) : fitting[chosen];
}

inline void Drawer::add(const std::string &op,
                        std::initializer_list<size_t> operands, int64_t rows,
                        int64_t columns, const std::string &attributes) {
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

inline void Drawer::addSlice(size_t a) {
  const Matrix &matrix = matrices_[a];
  int64_t half = matrix.columns / 2, from = random_() % 2 ? 0 : half;
  std::ostringstream attributes;
  attributes << " {starts = array<i64: 0, " << from
             << ">, limits = array<i64: " << matrix.rows << ", " << from + half
             << ">, steps = array<i64: 1, 1>}";
  add("slice", {a}, matrix.rows, half, attributes.str());
}

inline void Drawer::addOperator() {
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

inline std::string Drawer::text() const {
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

/// On inputs and weights that are the same for all programs.
inline std::vector<HostTensor> OptimizeTest::evaluate(mlir::ModuleOp module) {
  std::mt19937_64 random(11);
  auto drawn = [&](mlir::Type type) {
    auto tensor = cast<mlir::RankedTensorType>(type);
    rewrite::TensorForm form{*fromMLIRType(tensor.getElementType()), {}};
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

} // namespace divisi::optimize

#endif // DIVISI_TEST_OPTIMIZE_DRAWNPROGRAMS_H
