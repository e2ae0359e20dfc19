//===- RunTool.cpp - The verbs of divisi-run ------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Driver/Tool.h"

#include "Verbs.h"

using namespace divisi;

int divisi::runRunTool(int argc, char **argv) {
  Verbs verbs;
  verbs.push_back(makeRunVerb());
  verbs.push_back(makeTrainVerb());
  return runVerb(argc, argv, verbs);
}
