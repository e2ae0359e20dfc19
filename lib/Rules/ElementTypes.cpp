//===- ElementTypes.cpp - The element types of rules ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Rules/ElementTypes.h"

#include <set>

using namespace divisi::rewrite;
using divisi::rt::DType;

std::vector<DType> divisi::rewrite::typesOf(const std::string &element) {
  static const std::map<std::string, std::vector<DType>> families = {
      {"float", {DType::Field}},
      {"int", {DType::I64, DType::I8, DType::U8}},
      {"number", {DType::Field, DType::I64, DType::U8}},
      {"any", {DType::Field, DType::I64, DType::Bool}}};
  auto family = families.find(element);
  if (family != families.end()) {
    return family->second;
  }
  std::optional<DType> type = rt::parseDType(element);
  return type && *type != DType::Field ? std::vector<DType>{*type}
                                       : std::vector<DType>();
}

std::vector<TypeChoice> divisi::rewrite::typeChoices(const Rule &rule) {
  std::set<std::string> words;
  for (const Variable &variable : rule.variables) {
    words.insert(variable.type.element);
  }
  for (const Graph *side : {&rule.source, &rule.target}) {
    for (const Node &node : side->nodes) {
      if (node.type) {
        words.insert(node.type->element);
      }
    }
  }
  std::vector<TypeChoice> choices(1);
  for (const std::string &word : words) {
    std::vector<TypeChoice> longer;
    for (const TypeChoice &choice : choices) {
      for (DType type : typesOf(word)) {
        longer.push_back(choice);
        longer.back()[word] = type;
      }
    }
    choices = std::move(longer);
  }
  return choices;
}
