//===- Summary.cpp - A rule in one line -----------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Generate/Summary.h"

#include "divisi/Rules/RuleText.h"

#include <algorithm>

using namespace divisi::rewrite;

static std::string print(const Graph &side, const std::string &value) {
  auto node =
      std::find_if(side.nodes.begin(), side.nodes.end(),
                   [&](const Node &each) { return each.name == value; });
  if (node == side.nodes.end()) {
    return value;
  }
  if (node->op.empty()) {
    return printValue(node->element);
  }
  std::string text = node->op + "(";
  for (size_t i = 0; i != node->operands.size(); ++i) {
    text += (i ? ", " : "") + print(side, node->operands[i]);
  }
  return text + ")";
}

std::string divisi::rewrite::summaryOf(const Rule &rule) {
  return print(rule.source, rule.source.results[0]) + " = " +
         print(rule.target, rule.target.results[0]);
}
