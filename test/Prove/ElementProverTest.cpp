//===- ElementProverTest.cpp - What elements prove, and must not ----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the definitions of operators say of single elements is what the
// reference kernels compute; what follows from them is all that is shipped of
// some kinds, and nothing that is false.
//
//===----------------------------------------------------------------------===//

#include "test/Rules/ParsedRules.h"

#include "divisi/Prove/Check.h"
#include "divisi/Prove/ElementProver.h"
#include "divisi/Rules/Shipped.h"

#include "test/Sample.h"

#include "gtest/gtest.h"

#include <numeric>
#include <random>

using namespace divisi;
using namespace divisi::rewrite;

static std::vector<SymbolicRule> definitionsFor(const std::vector<Rule> &rules,
                                                Instantiator &instantiator) {
  auto axioms = shippedAxioms();
  EXPECT_TRUE(axioms) << axioms.status().message();
  std::erase_if(*axioms, [](const Rule &axiom) { return !axiom.isDefinition; });
  EXPECT_GE(axioms->size(), 25u);
  return symbolicAxioms(*axioms, rules, instantiator);
}

static bool isProved(const Rule &rule, const std::vector<SymbolicRule> &axioms,
                     Instantiator &instantiator) {
  Obligations obligations = obligationsOf(rule, instantiator);
  return !obligations.empty() &&
         std::all_of(obligations.begin(), obligations.end(),
                     [&](const SymbolicRule &each) {
                       return proveByElements(each, axioms).isProved;
                     });
}

TEST(ElementProverTest, ElementsProveNothingFalse) {
  std::vector<Rule> rules = parsedFile(DIVISI_FALSE_RULES);
  ASSERT_GT(rules.size(), 50u);
  // What is only not bit-exact is true.
  std::erase_if(rules, [](const Rule &rule) {
    return !rule.comments.empty() &&
           rule.comments.front() == "refused by its floats";
  });
  rules = test::sampleOf(rules, "false rules");
  Instantiator instantiator;
  auto axioms = definitionsFor(rules, instantiator);
  for (const Rule &rule : rules) {
    for (const SymbolicRule &each : obligationsOf(rule, instantiator)) {
      EXPECT_FALSE(proveByElements(each, axioms).isProved)
          << rule.name << " " << each.place;
    }
  }
}

TEST(ElementProverTest, ElementsProveMostOfWhatIsShipped) {
  auto rules = shippedRules();
  ASSERT_TRUE(rules) << rules.status().message();
  *rules = test::sampleOf(*rules, "shipped rules", 30);
  Instantiator instantiator;
  auto axioms = definitionsFor(*rules, instantiator);
  size_t proved = 0;
  for (const Rule &rule : *rules) {
    proved += isProved(rule, axioms, instantiator);
  }
  EXPECT_GE(proved * 10, rules->size() * 6) << proved;
}

TEST(ElementProverTest, ElementsProveWhatFollowsFromThem) {
  std::vector<Rule> rules = parsedFile(DIVISI_TRUE_RULES);
  ASSERT_GT(rules.size(), 14u);
  Instantiator instantiator;
  auto axioms = definitionsFor(rules, instantiator);
  for (const Rule &rule : rules) {
    EXPECT_FALSE(tryRule(rule, instantiator).refusal) << rule.name;
    EXPECT_TRUE(isProved(rule, axioms, instantiator)) << rule.name;
  }
}

/// Convolutions of x: float[2, 3, 4] with k: float[2, 3, 2], or d: float[3, 1,
/// 2] in groups, and sums of its windows.
static std::vector<std::string> windowOperators() {
  std::vector<std::string> all;
  for (int stride : {1, 2}) {
    for (int dilation : {1, 2}) {
      for (int pad : {0, 1, 2}) {
        auto window = "strides = [" + std::to_string(stride) +
                      "], dilations = [" + std::to_string(dilation) +
                      "], pads_lo = [" + std::to_string(pad) +
                      "], pads_hi = [1]";
        all.push_back("conv(x, k) {" + window + ", groups = 1}");
        all.push_back("conv(x, d) {" + window + ", groups = 3}");
        auto pool = "kernel = [1, 2, 2], strides = [1, 1, " +
                    std::to_string(stride) + "], dilations = [1, 1, " +
                    std::to_string(dilation) + "], pads_lo = [0, 0, " +
                    std::to_string(pad) + "], pads_hi = [0, 0, 1]}";
        all.push_back("pool_sum(x) {" + pool);
      }
    }
  }
  return all;
}

/// Operators on x: float[2, 3, 4], y: float[1, 3, 4] and w: float[2, 1, 2], and
/// on conditions c: bool[2, 3, 4]; and those of windows.
static std::vector<std::string> operators() {
  std::vector<std::string> all = {
      "add(x, y)",
      "sub(x, y)",
      "mul(x, y)",
      "div(x, y)",
      "neg(x)",
      "max(x, y)",
      "min(y, x)",
      "abs(x)",
      "select(c, x, y)",
      R"(matmul(x, y) {labels = "abc,dbc->ad"})",
      R"(matmul(x, w) {labels = "abc,ade->bcde"})",
      R"(matmul(x, y) {labels = "abc,dbc->badc"})",
      "concat(x, y) {axis = 0}",
      "concat(x, x, y) {axis = 0}",
      "concat(x, x) {axis = 2}",
      "broadcast(y) {dims = [0, 2, 3]} : float[2, 2, 3, 4]",
      "reshape(x) : float[4, 3, 2]",
      "reshape(x) : float[2, 2, 1, 2, 3]",
      "reshape(x) : float[3, 4, 2]",
      "reshape(y) : float[3, 1, 2, 2]"};
  for (const char *permutation :
       {"0, 1, 2", "0, 2, 1", "1, 0, 2", "1, 2, 0", "2, 0, 1", "2, 1, 0"}) {
    all.push_back("transpose(x) {permutation = [" + std::string(permutation) +
                  "]}");
  }
  for (const char *kind : {"sum", "max", "min"}) {
    for (const char *axes : {"0", "1", "2", "0, 2", "0, 1, 2"}) {
      all.push_back("reduce(x) {kind = \"" + std::string(kind) +
                    "\", axes = [" + axes + "]}");
    }
  }
  for (const char *predicate : {"eq", "ne", "lt", "le", "gt", "ge"}) {
    all.push_back("compare(x, y) {predicate = \"" + std::string(predicate) +
                  "\"}");
  }
  for (int axis : {0, 1, 2}) {
    for (const char *flags : {"exclusive = false, reverse = false",
                              "exclusive = true, reverse = false",
                              "exclusive = false, reverse = true",
                              "exclusive = true, reverse = true"}) {
      all.push_back("cumulate(x) {axis = " + std::to_string(axis) +
                    ", kind = \"sum\", " + flags + "}");
    }
  }
  for (int start : {0, 1, 2}) {
    for (int step : {1, 2, 3}) {
      auto from = std::to_string(start), by = std::to_string(step);
      all.push_back("slice(x) {starts = [0, 0, " + from +
                    "], limits = [2, 3, 4], steps = [1, 1, " + by + "]}");
      all.push_back("slice(x) {starts = [1, 2, " + from +
                    "], limits = [-1, 0, -1], steps = [-1, -1, -" + by + "]}");
    }
  }
  for (int lo : {-1, 0, 2}) {
    for (int hi : {-1, 0, 1}) {
      all.push_back("pad(x) {lo = [" + std::to_string(lo) + ", 0, " +
                    std::to_string(hi) + "], hi = [1, 0, " +
                    std::to_string(hi) + "], value = 1.5}");
    }
  }
  std::vector<std::string> windows = windowOperators();
  all.insert(all.end(), windows.begin(), windows.end());
  return all;
}

/// A rule whose source is the operator alone.
static std::string ruleOf(const std::string &op) {
  std::string text = "rule r {\n  summary \"\"\n";
  for (auto [name, type] : {std::pair("x", "float[2, 3, 4]"),
                            {"y", "float[1, 3, 4]"},
                            {"w", "float[2, 1, 2]"},
                            {"k", "float[2, 3, 2]"},
                            {"d", "float[3, 1, 2]"},
                            {"c", "bool[2, 3, 4]"}}) {
    bool isUsed = op.find("(" + std::string(name)) != std::string::npos ||
                  op.find(std::string(" ") + name + ",") != std::string::npos ||
                  op.find(std::string(" ") + name + ")") != std::string::npos;
    text +=
        isUsed ? "  activation " + std::string(name) + ": " + type + "\n" : "";
  }
  bool isFloat = op.find("compare") == std::string::npos;
  std::string again = isFloat ? "neg" : "not";
  return text + "  source {\n    z = " + op + "\n    return z\n  }\n" +
         "  target {\n    t = " + op + "\n    n = " + again +
         "(t)\n    z = " + again + "(n)\n    return z\n  }\n" +
         "  class bit-exact\n}\n";
}

/// Compares all elements of what the operator makes of small integers.
static void compareWithKernel(const std::string &op) {
  Rule rule = parsed(ruleOf(op))[0];
  Instantiator instantiator;
  TypeBinding binding;
  TypeChoice types;
  for (const Variable &variable : rule.variables) {
    bool isFloat = variable.type.element == "float";
    binding[variable.type.element] = variable.type.element;
    types[variable.type.element] = isFloat ? rt::DType::F64 : rt::DType::Bool;
  }
  auto symbolic =
      makeSymbolic(rule, {}, binding, PassThroughQuery::Tested, instantiator);
  ASSERT_TRUE(symbolic) << op;
  auto forms = Instantiator::variables(rule, {}, types);
  ASSERT_TRUE(forms) << op;
  auto side = instantiator.instantiate(rule, rule.source, *forms, {}, types);
  ASSERT_TRUE(side) << op << side.status().message();
  std::mt19937 random(7);
  std::vector<rt::HostTensor> inputs;
  for (const TensorForm &form : *forms) {
    auto tensor = rt::HostTensor::zeros(rt::DType::F64, form.dims);
    ASSERT_TRUE(tensor);
    for (double &each : tensor->as<double>()) {
      each = form.type == rt::DType::Bool ? double(random() % 2)
                                          : double(random() % 15) - 7.5;
    }
    auto cast = tensor->castTo(form.type);
    ASSERT_TRUE(cast);
    inputs.push_back(std::move(*cast));
  }
  auto results = evaluate(*side, inputs);
  ASSERT_TRUE(results) << op << results.status().message();
  const rt::HostTensor &result = (*results)[0];
  auto elements = [&](size_t variable, const std::vector<int64_t> &index) {
    int64_t flat = 0;
    for (size_t i = 0; i != index.size(); ++i) {
      flat = flat * inputs[variable].dims()[i] + index[i];
    }
    return inputs[variable].floatAt(flat);
  };
  for (int64_t flat = 0; flat != result.count(); ++flat) {
    std::vector<int64_t> index(result.dims().size());
    int64_t rest = flat;
    for (size_t i = index.size(); i-- != 0;) {
      index[i] = rest % result.dims()[i];
      rest /= result.dims()[i];
    }
    auto element = evaluateElement(*symbolic, index, elements);
    ASSERT_TRUE(element) << op;
    EXPECT_NEAR(*element, result.floatAt(flat), 1e-9) << op << " " << flat;
  }
}

TEST(ElementProverTest, DefinitionsAreWhatKernelsCompute) {
  std::vector<std::string> all = operators();
  EXPECT_GT(all.size(), 90u);
  for (const std::string &op : all) {
    compareWithKernel(op);
  }
}
