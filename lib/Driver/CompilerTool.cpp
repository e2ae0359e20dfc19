//===- CompilerTool.cpp - The program of the compiler's verbs -------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Driver/Tool.h"

#include "Verbs.h"

using namespace divisi;

int divisi::runCompilerTool(int argc, char **argv) {
  Verbs verbs;
  verbs.push_back(makeCompileVerb());
  verbs.push_back(makePlanVerb());
  verbs.push_back(makeCheckVerb());
  verbs.push_back(makeBenchVerb());
  verbs.push_back(makeExplainVerb());
  verbs.push_back(makeSimulateVerb());
  verbs.push_back(makeClusterVerb());
  verbs.push_back(makeProfileVerb());
  verbs.push_back(makeExportVerb());
  verbs.push_back(makeExportWeightsVerb());
  verbs.push_back(makeServeVerb());
  return runVerb(argc, argv, verbs);
}
