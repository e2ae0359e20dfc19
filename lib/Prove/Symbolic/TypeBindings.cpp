//===- TypeBindings.cpp - Types of element words in proofs ----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Prove/Symbolic.h"

using namespace divisi;
using namespace divisi::rewrite;

/// The types that a word stands for where rules are proved.
static std::vector<std::string>
meaningOf(const std::string &word, const Rule &rule,
          const std::vector<std::string> &types) {
  std::vector<std::string> result;
  if (word == "float" || word == "number" || word == "any") {
    result.push_back("float");
  }
  if (word == "int" || word == "number" || word == "any") {
    result.push_back("int");
  }
  if (word == "any") {
    result.push_back("bool");
  }
  if (result.empty()) {
    return {word};
  }
  for (const std::string &type : types) {
    std::optional<rt::DType> known = rt::parseDType(type);
    bool isFloat = known && rt::isFloatType(*known);
    bool isInt = known && !isFloat && *known != rt::DType::Bool &&
                 !rt::isStoredType(*known);
    if (rule.isAxiom &&
        ((isFloat && word != "int") || (isInt && word != "float"))) {
      result.push_back(type);
    }
  }
  return result;
}

std::vector<TypeBinding>
divisi::rewrite::allTypeBindings(const Rule &rule,
                                 const std::vector<std::string> &types) {
  std::vector<TypeBinding> all(1);
  // One choice has every word of the rule.
  TypeChoice choice = typeChoices(rule).front();
  for (const auto &[word, ignored] : choice) {
    std::vector<TypeBinding> longer;
    for (const TypeBinding &binding : all) {
      for (const std::string &type : meaningOf(word, rule, types)) {
        longer.push_back(binding);
        longer.back()[word] = type;
      }
    }
    all = std::move(longer);
  }
  return all;
}
