//===- RuleFiles.cpp - Files of rules on the command line -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuleFiles.h"

#include "divisi/Rules/RuleText.h"
#include "divisi/Support/InputText.h"
#include "divisi/Support/OutputFile.h"

using namespace divisi;

Expected<std::vector<rewrite::Rule>>
divisi::readRuleFile(const std::string &path) {
  auto text = InputText::readFile(path);
  if (!text) {
    return text.status();
  }
  return rewrite::parseRules(text->text(), isStdout(path) ? "<stdin>" : path);
}
