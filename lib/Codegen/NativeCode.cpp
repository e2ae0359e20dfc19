//===- NativeCode.cpp - From regions to code of a processor ---------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Codegen/NativeCode.h"
#include "divisi/runtime/code/RowCall.h"
#include "divisi/runtime/code/RowCode.h"
#include "lib/Codegen/EmitRows.h"
#include "lib/Codegen/LowerRows.h"
#include "lib/Codegen/ObjectFile.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

#include <algorithm>
#include <cstdio>

using namespace mlir;
using namespace divisi;

bool divisi::generatesCode(const rt::CallSite &site) {
  std::optional<rt::RowCall> call = rt::RowCall::of(site);
  // Elements that lie elsewhere are moved by parts of the region.
  bool isMoved = call && std::ranges::any_of(call->site().region->parts,
                                             [](const rt::RegionPart &part) {
                                               return part.op == "nn.transpose";
                                             });
  if (!call || isMoved) {
    return false;
  }
  auto program = RowProgram::of(call->site(), call->nest());
  return program && program->isForVectors();
}

/// As it is exactly.
static std::string hexOf(double value) {
  char text[40];
  std::snprintf(text, sizeof(text), "%a", value);
  return text;
}

std::string divisi::codeStructure(const rt::CallSite &site) {
  rt::RowCall call = *rt::RowCall::of(site);
  const rt::RowNest &nest = call.nest();
  RowProgram program = *RowProgram::of(call.site(), nest);
  std::string text = std::to_string(nest.extents.size()) + " groups";
  for (const rt::RowNest::Tensor &tensor : nest.tensors) {
    text += "; ";
    text += rt::stringify(tensor.type);
    for (int64_t stride : tensor.strides) {
      text += stride == 0 ? " still" : " moves";
    }
  }
  for (const RowProgram::Node &node : program.nodes) {
    text += "\n" + std::to_string(int(node.kind)) + " " +
            std::to_string(node.tensor) + " " +
            std::to_string(int(node.function)) + " " + hexOf(node.value) + " " +
            std::string(rt::stringify(node.type));
    for (int operand : node.operands) {
      text += " %" + std::to_string(operand);
    }
  }
  for (int result : program.results) {
    text += "\n= %" + std::to_string(result);
  }
  return text;
}

divisi::Expected<std::string> divisi::generateCode(const rt::CallSite &site,
                                                   const std::string &level,
                                                   const UserCache *cache) {
  rt::RowCall call = *rt::RowCall::of(site);
  const rt::RowNest &nest = call.nest();
  RowProgram program = *RowProgram::of(call.site(), nest);
  MLIRContext context(MLIRContext::Threading::DISABLED);
  loadLoopDialects(context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  emitRows(*module, program, nest, level == "x86-64-v4" ? 16 : 8);
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> lowered = lowerRows(*module, llvmContext);
  if (!lowered) {
    return makeError(ExitCode::Internal, "no code could be made of a region");
  }
  return compileOnce(*lowered, level, cache, [&](llvm::Module &module) {
    return compileAndLink(module, level, rt::rowFunctionName);
  });
}
