//===- ParsedRules.h - Rules of a test's text -------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_RULES_PARSEDRULES_H
#define DIVISI_TEST_RULES_PARSEDRULES_H

#include "divisi/Rules/RuleText.h"
#include "divisi/Support/InputText.h"

#include "gtest/gtest.h"

namespace divisi::rewrite {

/// The rules of `text`, which has to be right.
inline std::vector<Rule> parsed(const std::string &text) {
  auto rules = parseRules(text, "test");
  EXPECT_TRUE(rules) << rules.status().message();
  return rules ? *rules : std::vector<Rule>();
}

/// The rules of a file, which has to be right.
inline std::vector<Rule> parsedFile(const std::string &path) {
  auto text = InputText::readFile(path);
  EXPECT_TRUE(text) << path;
  return text ? parsed(std::string(text->text())) : std::vector<Rule>();
}

} // namespace divisi::rewrite

#endif // DIVISI_TEST_RULES_PARSEDRULES_H
