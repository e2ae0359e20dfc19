//===- main.cpp - The optimizer driver of all dialects and passes ---------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// mlir-opt for Divisi: a help that shows what Divisi has, locations in what is
// written, since they say which node of the model an operator is, and names of
// files that still lead there if the text goes to another folder.
//
//===----------------------------------------------------------------------===//

#include "Help.h"
#include "divisi/Compiler/ModuleText.h"
#include "divisi/Compiler/MoveNames.h"
#include "divisi/Compiler/Registration.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;

namespace divisi::test {
void registerTestPasses();
} // namespace divisi::test

namespace {
/// What divisi-opt itself does before the passes that it is asked for.
class MoveNamesPass
    : public PassWrapper<MoveNamesPass, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(MoveNamesPass)

  MoveNamesPass(std::string from, std::string to)
      : from_(std::move(from)), to_(std::move(to)) {}

  StringRef getArgument() const final { return "move-names"; }
  void runOnOperation() override {
    divisi::moveNames(getOperation(), from_, to_);
  }

private:
  std::string from_, to_;
};
} // namespace

/// Prints locations unless they are declined.
static void printLocations() {
  auto &options = llvm::cl::getRegisteredOptions();
  if (llvm::cl::Option *option = options.lookup("mlir-print-debuginfo")) {
    static_cast<llvm::cl::opt<bool> *>(option)->setInitialValue(true);
  }
}

/// What is asked for on the command line, with the names moved first.
static MlirOptMainConfig configure(const std::string &input,
                                   const std::string &output) {
  MlirOptMainConfig config = MlirOptMainConfig::createFromCLOptions();
  auto asked = std::make_shared<MlirOptMainConfig>(config);
  config.setPassPipelineSetupFn([=](PassManager &passes) {
    if (passes.getOpAnchorName() == ModuleOp::getOperationName()) {
      passes.addPass(std::make_unique<MoveNamesPass>(input, output));
    }
    return asked->setupPassPipeline(passes);
  });
  return config;
}

static LogicalResult run(const std::string &input, const std::string &output,
                         DialectRegistry &registry) {
  MlirOptMainConfig config = configure(input, output);
  if (config.shouldListPasses()) {
    printRegisteredPasses();
    return success();
  }
  std::string error;
  auto file = openInputFile(input, &error);
  auto result = file ? openOutputFile(output, &error) : nullptr;
  if (!result) {
    llvm::errs() << error << "\n";
    return failure();
  }
  if (divisi::Status status = divisi::checkModuleText(file->getBuffer(), input);
      !status.isOk()) {
    llvm::errs() << "divisi-opt: error: " << status.message() << "\n";
    return failure();
  }
  if (failed(MlirOptMain(result->os(), std::move(file), registry, config))) {
    return failure();
  }
  result->keep();
  return success();
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  DialectRegistry registry;
  divisi::registerAllDialects(registry);
  divisi::registerAllPasses();
  if (divisi::wantsHelp({argv + 1, argv + argc})) {
    divisi::printHelp();
    return EXIT_SUCCESS;
  }
  divisi::test::registerTestPasses();
  std::string header = registerCLIOptions("Divisi optimizer\n", registry);
  printLocations();
  auto [input, output] = parseCLIOptions(argc, argv, header);
  return asMainReturnCode(run(input, output, registry));
}
