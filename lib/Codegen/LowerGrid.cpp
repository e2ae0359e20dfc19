//===- LowerGrid.cpp - From blocks of threads to a machine's --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/LowerGrid.h"
#include "divisi/runtime/code/GridCode.h"
#include "lib/Codegen/LowerRows.h"

#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Transforms/DialectConversion.h"

using namespace mlir;
using namespace divisi;

void divisi::loadGridDialects(MLIRContext &context) {
  DialectRegistry registry;
  registerGPUDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
  context.appendDialectRegistry(registry);
  loadLoopDialects(context);
  context.loadDialect<gpu::GPUDialect, NVVM::NVVMDialect>();
}

void divisi::limitThreads(LLVM::LLVMFuncOp kernel, int warps, int blocks) {
  Builder builder(kernel.getContext());
  kernel->setAttr(NVVM::NVVMDialect::getMaxntidAttrName(),
                  builder.getDenseI32ArrayAttr({rt::warpSize * warps, 1, 1}));
  kernel->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                  builder.getI32IntegerAttr(blocks));
}

LogicalResult divisi::mapToNvvm(ModuleOp module) {
  MLIRContext *context = module.getContext();
  auto kernel = module.lookupSymbol<LLVM::LLVMFuncOp>(rt::gridFunctionName);
  Builder builder(context);
  kernel->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(),
                  builder.getUnitAttr());
  if (!kernel->hasAttr(NVVM::NVVMDialect::getMaxntidAttrName())) {
    limitThreads(kernel, rt::mostWarps, 2);
  }
  LLVMTypeConverter types(context);
  RewritePatternSet patterns(context);
  populateGpuToNVVMConversionPatterns(types, patterns);
  ConversionTarget target(*context);
  target.addIllegalDialect<gpu::GPUDialect>();
  target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
  return applyPartialConversion(module, target, std::move(patterns));
}
