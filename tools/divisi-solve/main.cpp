//===- main.cpp - The search's verb of divisi -----------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Driver/Tool.h"

int main(int argc, char **argv) {
  return divisi::runProgram(divisi::runSolveTool, argc, argv);
}
