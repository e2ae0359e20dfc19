//===- ProgramPrice.cpp - What a program takes on one device --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Optimize/ProgramPrice.h"

#include "dialects/NN/Functions.h"
#include "dialects/NN/Known.h"
#include "dialects/NN/Locations.h"
#include "divisi/Cost/Fusion.h"

using namespace divisi;
using namespace divisi::optimize;

nn::LoopInterface divisi::optimize::asComputed(mlir::Operation &op,
                                               const nn::KnownValues &known) {
  auto loops = llvm::dyn_cast<nn::LoopInterface>(op);
  bool isKept = !loops || op.getNumRegions() != 0 || op.getNumResults() == 0 ||
                llvm::isa<nn::ReadOp, nn::UpdateOp, nn::ConstantOp>(op) ||
                known.isKnown(op.getResult(0)) ||
                // What somebody has decided of it would be lost.
                llvm::any_of(op.getDiscardableAttrs(), [](auto attribute) {
                  return attribute.getName() != nn::kScopeAttr;
                });
  return isKept ? nn::LoopInterface() : loops;
}

Price divisi::optimize::priceOf(mlir::Block &body, const nn::KnownValues &known,
                                const DeviceKind &kind) {
  GridPace pace(kind);
  Grid grid;
  auto fusions = pace.fuses() ? fusionsOf(body)
                              : llvm::DenseMap<mlir::Operation *, OpFusion>();
  nn::HoistedOperators hoisted = nn::hoistedOperators(body, known);
  Price price;
  for (mlir::Operation &op : body) {
    if (auto loops = llvm::dyn_cast<nn::LoopInterface>(op)) {
      ++price.operators;
      if (!asComputed(op, known) && !hoisted.kept.contains(&op)) {
        continue;
      }
      LoopNest nest = loops.getLoopNest();
      price.nanoseconds +=
          opNanoseconds(nest, grid, Split::replicated(nest), profileOf(loops),
                        pace, fusions.lookup(&op).fusible);
    }
  }
  return price;
}

Price divisi::optimize::priceOf(mlir::ModuleOp module, const DeviceKind &kind) {
  nn::KnownValues known(module);
  Price sum;
  for (auto function : module.getOps<mlir::func::FuncOp>()) {
    if (nn::isEntry(function)) {
      sum = sum + priceOf(function.front(), known, kind);
    }
  }
  return sum;
}
