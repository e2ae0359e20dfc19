//===- Modules.cpp - Any bytes as a module --------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Modules are read as compile resumes them, and what has been partitioned is
// proved. The stages behind that are not fuzzed here: mutate.py runs them.
//
//===----------------------------------------------------------------------===//

#include "Readers.h"

#include "dialects/Exec/Exec.h"
#include "dialects/SPMD/SPMD.h"
#include "divisi/Verify/Partition.h"
#include "lib/Compiler/ModuleFile.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace divisi;

/// A context with all that dumps may hold.
static std::unique_ptr<mlir::MLIRContext> makeContext() {
  mlir::DialectRegistry registry;
  registry.insert<mlir::func::FuncDialect, nn::NNDialect, spmd::SPMDDialect,
                  exec::ExecDialect>();
  auto context = std::make_unique<mlir::MLIRContext>(
      registry, mlir::MLIRContext::Threading::DISABLED);
  context->loadAllAvailableDialects();
  return context;
}

void fuzz::readModules(std::string_view bytes) {
  // Making one takes longer than most inputs do, and none forgets what it has
  // seen.
  constexpr int most = 500;
  static std::unique_ptr<mlir::MLIRContext> context;
  static int uses = 0;
  if (uses++ % most == 0) {
    context = makeContext();
  }
  InputFile input;
  input.name = "fuzz.mlir";
  input.folder = "/nonexistent";
  input.isModule = true;
  input.content = llvm::MemoryBuffer::getMemBufferCopy(bytes, input.name);
  GlobalStore store;
  auto read = readModule(std::move(input), *context, {}, store);
  if (!read) {
    return fuzz::requireFailure(read.status());
  }
  if (read->stage == Stage::Partition) {
    mlir::ScopedDiagnosticHandler silent(
        context.get(), [](mlir::Diagnostic &) { return mlir::success(); });
    (void)verifyPartition(*read->module);
  }
}
