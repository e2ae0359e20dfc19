//===- FirstProducts.cpp - The products that inputs meet first ------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FirstProducts.h"

#include "TypeChoice.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace divisi;

namespace {

/// A product of activations.
struct Product {
  Operation *op;
  int64_t before;  ///< The most products on a way to it.
  int64_t weights; ///< How many elements its weights have.
};

} // namespace

static int64_t countWeights(Operation *op, const Origins &origins) {
  int64_t count = 0;
  for (Value operand : op->getOperands()) {
    if (origins.isStatic(operand)) {
      count += cast<RankedTensorType>(operand.getType()).getNumElements();
    }
  }
  return count;
}

/// In the order of `before`, then of the program.
static SmallVector<Product> findProducts(func::FuncOp function,
                                         const Origins &origins) {
  SmallVector<Product> products;
  DenseMap<Value, int64_t> depths; ///< Products on the longest way.
  for (Operation &op : function.getOps()) {
    int64_t depth = 0;
    for (Value operand : op.getOperands()) {
      depth = std::max(depth, depths.lookup(operand));
    }
    bool isProduct = op.getNumResults() == 1 &&
                     roundingOf(&op) == nn::Rounding::SumsProducts &&
                     isF32(op.getResult(0).getType()) &&
                     origins.of(op.getResult(0)) == Origin::Activation;
    if (isProduct) {
      products.push_back({&op, depth, countWeights(&op, origins)});
    }
    for (Value result : op.getResults()) {
      depths[result] = depth + isProduct;
    }
  }
  llvm::stable_sort(products, [](const Product &a, const Product &b) {
    return a.before < b.before;
  });
  return products;
}

DenseSet<Operation *>
divisi::findFirstProducts(func::FuncOp function, const Origins &origins,
                          const DenseSet<Operation *> &named) {
  SmallVector<Product> products = findProducts(function, origins);
  int64_t all = 0;
  for (const Product &product : products) {
    all += product.weights;
  }
  DenseSet<Operation *> first;
  int64_t left = all / kFirstProductsPart;
  for (const Product &product : products) {
    if (named.contains(product.op)) {
      continue;
    }
    if (product.weights > left) {
      break;
    }
    if (product.weights > 0 || !first.empty()) {
      first.insert(product.op);
    }
    left -= product.weights;
  }
  return first;
}
