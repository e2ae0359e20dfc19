//===- CompileModule.cpp - From LLVM's IR to an object --------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/ObjectFile.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
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
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

namespace {

/// What code is made for.
struct Machine {
  Triple triple;
  std::string processor, features;
  CodeGenFileType output;
};

} // namespace

static const Target *findTarget(const Triple &triple, std::string &error) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
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

/// Optimizes the module for `machine`; what LLVM writes of it.
static divisi::Expected<std::string> compileFor(const Machine &machine,
                                                llvm::Module &module) {
  std::string error;
  const Target *target = findTarget(machine.triple, error);
  if (!target) {
    return divisi::makeError(ExitCode::Internal, "no code generator: ", error);
  }
  // Asked of one of no processor: LLVM would print that it goes on without.
  std::unique_ptr<MCSubtargetInfo> known(
      target->createMCSubtargetInfo(machine.triple, "", ""));
  if (!known->isCPUStringValid(machine.processor)) {
    return divisi::makeError(ExitCode::Unsupported, "there is no code for '",
                             machine.processor, "', which LLVM does not know");
  }
  TargetOptions options;
  // A product and a sum may be one instruction.
  options.AllowFPOpFusion = FPOpFusion::Fast;
  std::unique_ptr<TargetMachine> made(target->createTargetMachine(
      machine.triple, machine.processor, machine.features, options, Reloc::PIC_,
      CodeModel::Small, CodeGenOptLevel::Aggressive));
  module.setTargetTriple(machine.triple);
  module.setDataLayout(made->createDataLayout());
  optimize(module, *made);
  SmallString<0> output;
  raw_svector_ostream stream(output);
  legacy::PassManager passes;
  if (made->addPassesToEmitFile(passes, stream, nullptr, machine.output)) {
    return divisi::makeError(ExitCode::Internal, "nothing is made for ",
                             machine.triple.str());
  }
  passes.run(module);
  return std::string(output);
}

divisi::Expected<std::string> divisi::compileModule(llvm::Module &module,
                                                    const std::string &level) {
  for (llvm::Function &function : module) {
    if (!function.isDeclaration()) {
      function.setDoesNotThrow();
      // A loop that fills or copies stays one: there is no library to call.
      function.addFnAttr("no-builtins");
      function.setDSOLocal(true);
    }
  }
  return compileFor({Triple("x86_64-unknown-linux-gnu"), level,
                     "-prefer-256-bit", CodeGenFileType::ObjectFile},
                    module);
}

divisi::Expected<std::string>
divisi::assemblePtx(llvm::Module &module, const std::string &architecture) {
  // Drivers of CUDA 12.0 on read the version that GPUs up to H100 need; later
  // ones have the first that knows them.
  int number = 0;
  StringRef(architecture).drop_front(3).getAsInteger(10, number);
  return compileFor({Triple("nvptx64-nvidia-cuda"), architecture,
                     number <= 90 ? "+ptx80" : "",
                     CodeGenFileType::AssemblyFile},
                    module);
}

divisi::Expected<std::string> divisi::compileAndLink(Module &module,
                                                     const std::string &level,
                                                     const std::string &name) {
  divisi::Expected<std::string> object = compileModule(module, level);
  return object ? linkObject(*object, name) : object;
}

/// What the generator makes of a region is what the cache goes by, not the
/// region: another generator makes something else.
divisi::Expected<std::string> divisi::compileOnce(
    Module &module, const std::string &target, const UserCache *cache,
    function_ref<divisi::Expected<std::string>(Module &module)> compile) {
  if (!cache) {
    return compile(module);
  }
  std::string source = "LLVM " LLVM_VERSION_STRING ", " + target + "\n";
  raw_string_ostream(source) << module;
  if (std::optional<std::string> known = cache->find(source)) {
    return std::move(*known);
  }
  divisi::Expected<std::string> code = compile(module);
  if (code) {
    cache->keep(source, *code);
  }
  return code;
}
