//===- main.cpp - The optimizer driver of all dialects and passes ---------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Compiler/Registration.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

namespace divisi::test {
void registerTestPasses();
} // namespace divisi::test

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  divisi::registerAllDialects(registry);
  divisi::registerAllPasses();
  divisi::test::registerTestPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Divisi optimizer\n", registry));
}
