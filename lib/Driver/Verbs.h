//===- Verbs.h - The verbs of the divisi command ----------------*- C++ -*-===//
//
// Part of Divisi, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DRIVER_VERBS_H
#define LIB_DRIVER_VERBS_H

#include "divisi/Support/Status.h"

#include "llvm/Support/CommandLine.h"

#include <memory>
#include <vector>

namespace divisi {

/// One sub-command: its flags are members of the derived class.
class Verb {
public:
  Verb(llvm::StringRef name, llvm::StringRef description)
      : command(name, description) {}
  virtual ~Verb() = default;
  virtual Status run() = 0;

  llvm::cl::SubCommand command;
};

std::unique_ptr<Verb> makeCompileVerb();
std::unique_ptr<Verb> makePlanVerb();
std::unique_ptr<Verb> makeRunVerb();
std::unique_ptr<Verb> makeCheckVerb();
std::unique_ptr<Verb> makeExplainVerb();
std::unique_ptr<Verb> makeSolveVerb();
std::unique_ptr<Verb> makeVersionVerb();

/// All of them, in the order of the help.
std::vector<std::unique_ptr<Verb>> makeVerbs();

} // namespace divisi

#endif // LIB_DRIVER_VERBS_H
