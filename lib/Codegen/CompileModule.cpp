//===- CompileModule.cpp - From LLVM's IR to an object --------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/ObjectFile.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

#include <mutex>

using namespace llvm;
using namespace divisi;

extern "C" {
void LLVMInitializeX86TargetInfo();
void LLVMInitializeX86Target();
void LLVMInitializeX86TargetMC();
void LLVMInitializeX86AsmPrinter();
}

static const Target *findTarget(const Triple &triple, std::string &error) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
  return TargetRegistry::lookupTarget(triple, error);
}

static void optimize(llvm::Module &module, TargetMachine &machine) {
  PassBuilder builder(&machine);
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager components;
  ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(OptimizationLevel::O2)
      .run(module, modules);
}

divisi::Expected<std::string> divisi::compileModule(llvm::Module &module,
                                                    const std::string &level) {
  Triple triple("x86_64-unknown-linux-gnu");
  std::string error;
  const Target *target = findTarget(triple, error);
  if (!target) {
    return makeError(ExitCode::Internal, "no code generator: ", error);
  }
  TargetOptions options;
  // A product and a sum may be one instruction.
  options.AllowFPOpFusion = FPOpFusion::Fast;
  std::unique_ptr<TargetMachine> machine(target->createTargetMachine(
      triple, level, "-prefer-256-bit", options, Reloc::PIC_, CodeModel::Small,
      CodeGenOptLevel::Aggressive));
  module.setTargetTriple(triple);
  module.setDataLayout(machine->createDataLayout());
  for (llvm::Function &function : module) {
    if (!function.isDeclaration()) {
      function.setDoesNotThrow();
      // A loop that fills or copies stays one: there is no library to call.
      function.addFnAttr("no-builtins");
      function.setDSOLocal(true);
    }
  }
  optimize(module, *machine);
  SmallString<0> object;
  raw_svector_ostream stream(object);
  legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, stream, nullptr,
                                   CodeGenFileType::ObjectFile)) {
    return makeError(ExitCode::Internal, "no objects are made for ",
                     triple.str());
  }
  passes.run(module);
  return std::string(object);
}
