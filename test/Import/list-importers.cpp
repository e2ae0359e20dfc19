//===- list-importers.cpp - Which ONNX operators can be imported ----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Prints a line "importer NAME" for each row of the tables of importers, and
// "body NAME" for each operator that is imported by the body that ONNX gives.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/NodeImporter.h"

#include "llvm/Support/raw_ostream.h"

using namespace divisi;

int main() {
  for (llvm::ArrayRef<ImporterRow> rows : importerTables()) {
    for (const ImporterRow &row : rows) {
      llvm::outs() << "importer " << row.opType << "\n";
    }
  }
  for (const char *name : operatorsWithUsableBody()) {
    llvm::outs() << "body " << name << "\n";
  }
  return 0;
}
