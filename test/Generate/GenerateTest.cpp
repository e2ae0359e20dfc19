//===- GenerateTest.cpp - All graphs of small vocabularies ----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Rules/RuleText.h"
#include "lib/Generate/Deriver.h"
#include "lib/Generate/Generalizer.h"
#include "lib/Generate/Orient.h"

#include "gtest/gtest.h"

#include <map>
#include <regex>
#include <set>

using namespace divisi::rewrite;

/// Three matrices that are added and multiplied, element by element.
static Vocabulary sumsAndProducts() {
  Leaf matrix;
  matrix.dims = {{'k', 1}, {'k', 1}};
  matrix.count = 3;
  return {"test",
          {matrix},
          {{"add", {2, 2}, {}, Extra::None, 0},
           {"mul", {2, 2}, {}, Extra::None, 0}},
          4};
}

/// A polynomial in three variables: how often each monomial stands in it.
using Polynomial = std::map<std::vector<int>, int>;

static Polynomial plus(const Polynomial &a, const Polynomial &b) {
  Polynomial sum = a;
  for (const auto &[monomial, count] : b) {
    sum[monomial] += count;
  }
  return sum;
}

static Polynomial times(const Polynomial &a, const Polynomial &b) {
  Polynomial product;
  for (const auto &[left, i] : a) {
    for (const auto &[right, j] : b) {
      product[{left[0] + right[0], left[1] + right[1], left[2] + right[2]}] +=
          i * j;
    }
  }
  return product;
}

/// All that programs of up to `steps` sums and products make.
static void addPrograms(std::vector<Polynomial> &values, size_t steps,
                        std::set<Polynomial> &found) {
  found.insert(values.back());
  for (size_t a = 0; steps != 0 && a != values.size(); ++a) {
    for (size_t b = 0; b <= a; ++b) {
      for (bool isSum : {true, false}) {
        values.push_back(isSum ? plus(values[a], values[b])
                               : times(values[a], values[b]));
        addPrograms(values, steps - 1, found);
        values.pop_back();
      }
    }
  }
}

// Graphs that stand for their classes, and those that share operators, are
// enough: nothing that up to four operators make is missing, and nothing is
// twice.
TEST(Generate, ClassesAreThePolynomials) {
  Universe universe(sumsAndProducts(), 1);
  std::vector<Polynomial> values = {
      {{{1, 0, 0}, 1}}, {{{0, 1, 0}, 1}}, {{{0, 0, 1}, 1}}};
  for (size_t size = 1; size <= 4; ++size) {
    std::set<Polynomial> found(values.begin(), values.end());
    addPrograms(values, size, found);
    universe.enumerate(uint8_t(size), size != 4,
                       [](const Term &, const Term &) {});
    EXPECT_EQ(universe.classes(), found.size()) << size;
  }
}

/// The equations of up to `size` operators, in order, up to names.
static std::vector<std::pair<Term, Term>> equations(Universe &universe,
                                                    uint8_t size) {
  std::vector<std::pair<Term, Term>> found;
  std::set<std::string> seen;
  for (uint8_t each = 1; each <= size; ++each) {
    universe.enumerate(each, true, [&](const Term &term, const Term &first) {
      if (seen.insert(canonicalText(universe, term, first)).second) {
        found.emplace_back(term, first);
      }
    });
  }
  return found;
}

// Of one operator only the order of operands can differ.
TEST(Generate, EquationsAreMetOnceUpToNames) {
  Universe universe(sumsAndProducts(), 1);
  EXPECT_EQ(equations(universe, 1).size(), 2u);
}

TEST(Generate, DerivesByRewriting) {
  Universe universe(sumsAndProducts(), 1);
  auto seen = equations(universe, 2);
  Deriver deriver(universe);
  EXPECT_FALSE(deriver.derives(seen[0].first, seen[0].second));
  // Sums commute, and products still need not.
  deriver.use(equationOf(universe, seen[0].first, seen[0].second));
  EXPECT_TRUE(deriver.derives(seen[0].first, seen[0].second));
  EXPECT_FALSE(deriver.derives(seen[1].first, seen[1].second));
  deriver.use(equationOf(universe, seen[1].first, seen[1].second));
  // Of two operators the equations that are left are those that associate and
  // distribute, in some order of operands.
  size_t left = 0;
  for (size_t i = 2; i != seen.size(); ++i) {
    if (!deriver.derives(seen[i].first, seen[i].second)) {
      deriver.use(equationOf(universe, seen[i].first, seen[i].second));
      ++left;
    }
  }
  EXPECT_GE(left, 3u);
  EXPECT_LT(left, seen.size() / 4);
}

// A graph that shares an operator with another operand need not stand for its
// class; what the classes of its operands say is found all the same.
TEST(Generate, DerivesWhereOperandsShare) {
  Universe universe(sumsAndProducts(), 1);
  auto seen = equations(universe, 3);
  Deriver deriver(universe);
  size_t left = 0, all = 0;
  for (const auto &[term, first] : seen) {
    all += term.size == 3;
    if (!deriver.derives(term, first)) {
      deriver.use(equationOf(universe, term, first));
      left += term.size == 3;
    }
  }
  EXPECT_GT(all, 500u);
  EXPECT_LE(left, 2u);
}

// Where all elements are negative by chance, relu makes them all alike: but not
// each time that they are drawn.
TEST(Generate, NothingIsEqualByChance) {
  Vocabulary vocabulary = sumsAndProducts();
  vocabulary.leaves[0].dims = {{'k', 1}};
  vocabulary.operators = {{"add", {1, 1}, {}, Extra::None, 0},
                          {"relu", {1}, {}, Extra::None, 0}};
  Instantiator instantiator;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    Universe universe(vocabulary, seed);
    Generalizer generalizer(universe, instantiator);
    for (const auto &[term, first] : equations(universe, 2)) {
      EXPECT_TRUE(generalizer.run(equationOf(universe, term, first)))
          << canonicalText(universe, term, first);
    }
  }
}

// Rows of a softmax sum up to one, whatever it is of: with that nothing is left
// to say of them.
TEST(Generate, DerivesWhatDoesNotDependOnALeaf) {
  Vocabulary vocabulary = sumsAndProducts();
  vocabulary.operators = {
      {"softmax",
       {2},
       {{"axis", DimReference::Axis, {}, {1}},
        {"log", DimReference::None, false, {}}},
       Extra::None,
       0},
      {"reduce",
       {2},
       {{"kind", DimReference::None, std::string("sum"), {}},
        {"axes", DimReference::Axes, {}, {1}}},
       Extra::None,
       0}};
  Universe universe(vocabulary, 1);
  auto seen = equations(universe, 3);
  ASSERT_GE(seen.size(), 2u);
  Deriver deriver(universe);
  for (const auto &[term, first] : seen) {
    EXPECT_FALSE(deriver.derives(term, first) && &term == &seen[0].first);
    deriver.use(equationOf(universe, seen[0].first, seen[0].second));
    EXPECT_TRUE(deriver.derives(term, first))
        << canonicalText(universe, term, first);
  }
}

/// The text of the equation of a universe whose printed rule has `summary`.
static std::vector<std::string> generalRules(Universe &universe, uint8_t size,
                                             bool isWide) {
  Instantiator instantiator;
  Generalizer generalizer(universe, instantiator);
  std::vector<std::string> texts;
  for (const auto &[term, first] : equations(universe, size)) {
    Equation equation = generalizer.separate(equationOf(universe, term, first));
    auto rule = generalizer.run(equation);
    if (rule) {
      texts.push_back(printRule(isWide ? generalizer.widen() : *rule));
    }
  }
  return texts;
}

// Extents become names of their own as far as operators allow, then any dims.
TEST(Generate, RulesAreAsGeneralAsTheyCanBe) {
  Universe universe(sumsAndProducts(), 1);
  auto narrow = generalRules(universe, 1, false);
  ASSERT_EQ(narrow.size(), 2u);
  EXPECT_NE(narrow[0].find("size a, b\n"), std::string::npos) << narrow[0];
  EXPECT_NE(narrow[0].find("x: float[a, b]"), std::string::npos) << narrow[0];
  EXPECT_NE(narrow[0].find("y: float[a, b]"), std::string::npos) << narrow[0];
  Universe again(sumsAndProducts(), 1);
  auto wide = generalRules(again, 1, true);
  EXPECT_NE(wide[0].find("shape a\n"), std::string::npos) << wide[0];
  EXPECT_NE(wide[0].find("x: float[a...]"), std::string::npos) << wide[0];
}

/// Matrices that are joined and multiplied.
static Vocabulary joinedProducts() {
  Vocabulary vocabulary = sumsAndProducts();
  TableAttribute axis{"axis", DimReference::Axis, {}, {1}};
  TableAttribute labels{
      "labels", DimReference::Letters, std::string("mk,kn->mn"), {}};
  vocabulary.operators = {{"concat", {2, 2}, {axis}, Extra::None, 0},
                          {"matmul", {2, 2}, {labels}, Extra::None, 0},
                          {"slice", {2}, {}, Extra::FirstPart, 1}};
  return vocabulary;
}

// A cut follows from what was joined, a contracted dim keeps one name, and an
// equation in which a tensor stands twice is one of two tensors.
TEST(Generate, PartsAndProductsHaveTheirExtents) {
  Universe universe(joinedProducts(), 1);
  auto rules = generalRules(universe, 2, false);
  auto count = [&](const char *text) {
    return std::count_if(rules.begin(), rules.end(), [&](const auto &rule) {
      return std::regex_search(rule, std::regex(text));
    });
  };
  EXPECT_GE(count("x: float\\[(.), (.)\\][^]*limits = \\[\\1, \\2\\]"), 1);
  EXPECT_GE(count("x: float\\[., (.)\\]\n  activation y: float\\[\\1, .\\]"),
            1);
  for (const std::string &rule : rules) {
    EXPECT_EQ(rule.find("concat(x, x)"), std::string::npos) << rule;
  }
}

// Both operands of an operator have the extents of what makes them, whichever
// was made last: a product of joined matrices is one of any dims.
TEST(Generate, ExtentsAreThoseOfEachOperand) {
  Vocabulary vocabulary = joinedProducts();
  TableAttribute axis{"axis", DimReference::Axis, {}, {0}};
  vocabulary.operators[2] = {"concat", {2, 2}, {axis}, Extra::None, 0};
  Universe universe(vocabulary, 1);
  Sketch side{{{0, {0, 1}}, {2, {2, 3}}, {1, {4, 5}}}, 6};
  Instantiator instantiator;
  Generalizer generalizer(universe, instantiator);
  ASSERT_TRUE(generalizer.run({{0, 0, 0, 0}, side, side}));
  std::string text = printRule(generalizer.widen());
  EXPECT_TRUE(std::regex_search(
      text,
      std::regex("labels = \"\\{(.)\\}k,k\\{(.)\\}->\\{\\1\\}\\{\\2\\}\"")))
      << text;
}

// Two products that are added take more than one of sums.
TEST(Generate, RulesGoWhereLessIsTaken) {
  auto read = parseRules(
      "rule r { summary \"\" size m, k, n activation x: float[m, k]\n"
      "activation v: float[k, n] activation w: float[k, n]\n"
      "source { s = add(v, w) z = matmul(x, s) {labels = \"mk,kn->mn\"} "
      "return z }\n"
      "target { s = matmul(x, v) {labels = \"mk,kn->mn\"}\n"
      "t = matmul(x, w) {labels = \"mk,kn->mn\"} z = add(s, t) return z }\n"
      "class reassociates }\n",
      "test");
  ASSERT_TRUE(read) << read.status().message();
  Instantiator instantiator;
  auto way = bestWay((*read)[0], instantiator);
  ASSERT_TRUE(way);
  EXPECT_TRUE(way->isReversed);
  EXPECT_EQ(way->gain, Gain::Contractions);
  EXPECT_EQ(onWay((*read)[0], *way).source.nodes.size(), 3u);
  for (VariableKind kind : way->kinds) {
    EXPECT_EQ(kind, VariableKind::Activation);
  }
}
