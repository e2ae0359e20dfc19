//===- LeaveOut.cpp - Compiling without some passes -----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LeaveOut.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

llvm::ArrayRef<StringRef> divisi::optionalPasses() {
  static constexpr StringRef names[] = {
      "apply-rules",   "nn-fuse-attention",   "nn-fold-scales",
      "nn-move-codes", "nn-integer-products", "choose-formats"};
  return names;
}

void divisi::leaveOut(MLIRContext &context, std::vector<std::string> passes,
                      std::function<bool()> isCut) {
  if (passes.empty() && !isCut) {
    context.registerActionHandler(nullptr);
    return;
  }
  // MLIR asks the handler before each pass; what it does not call, is not done.
  context.registerActionHandler(
      [passes = std::move(passes), isCut = std::move(isCut)](
          function_ref<void()> run, const tracing::Action &action) {
        const auto *execution = dyn_cast<PassExecutionAction>(&action);
        bool isLeftOut =
            execution &&
            ((isCut && isCut()) ||
             is_contained(passes, execution->getPass().getArgument()));
        if (!isLeftOut) {
          run();
        }
      });
}
