//===- AutodiffTest.h - A context with gradients ----------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_AUTODIFF_AUTODIFFTEST_H
#define DIVISI_TEST_AUTODIFF_AUTODIFFTEST_H

#include "dialects/NN/NN.h"
#include "divisi/Autodiff/Gradients.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"

#include "gtest/gtest.h"

namespace divisi {

/// With all that programs and their gradients are made of.
class AutodiffTest : public testing::Test {
protected:
  AutodiffTest() {
    mlir::DialectRegistry registry;
    registry.insert<nn::NNDialect, mlir::func::FuncDialect>();
    registerGradients(registry);
    context_.appendDialectRegistry(registry);
    context_.loadAllAvailableDialects();
  }

  mlir::MLIRContext context_;
};

} // namespace divisi

#endif // DIVISI_TEST_AUTODIFF_AUTODIFFTEST_H
