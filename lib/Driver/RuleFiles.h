//===- RuleFiles.h - Files of rules on the command line ---------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_DRIVER_RULEFILES_H
#define DIVISI_LIB_DRIVER_RULEFILES_H

#include "divisi/Rules/Rule.h"
#include "divisi/Support/Status.h"

#include <string>
#include <vector>

namespace divisi {

/// The rules and axioms of a file; `-` is standard input. Fails with File, and
/// as parseRules does.
Expected<std::vector<rewrite::Rule>> readRuleFile(const std::string &path);

} // namespace divisi

#endif // DIVISI_LIB_DRIVER_RULEFILES_H
