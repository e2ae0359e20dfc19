//===- SmallExtents.cpp - Programs of a few elements ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Evaluate/SmallExtents.h"

#include "dialects/NN/NN.h"

using namespace divisi;
using llvm::ArrayRef;

SmallExtents::Number SmallExtents::make(int64_t extent) {
  given_.push_back(extent);
  isKept_.push_back(extent == 1);
  equal_.grow(given_.size());
  return given_.size() - 1;
}

ArrayRef<SmallExtents::Number> SmallExtents::numbersOf(mlir::Value value) {
  auto [it, isNew] = dims_.try_emplace(value);
  if (isNew) {
    auto type = llvm::cast<mlir::RankedTensorType>(value.getType());
    for (int64_t extent : type.getShape()) {
      it->second.push_back(make(extent));
    }
  }
  return it->second;
}

Status SmallExtents::add(mlir::Operation *op) {
  auto looped = llvm::dyn_cast<nn::LoopInterface>(op);
  if (!looped) {
    return Status(ExitCode::Unsupported,
                  "'" + op->getName().getStringRef().str() +
                      "' states no loops");
  }
  LoopNest nest = looped.getLoopNest();
  llvm::SmallVector<Number> loops;
  for (const Loop &loop : nest.loops) {
    loops.push_back(make(loop.extent));
    // What a reshape cannot factor is a loop of one side alone.
    isKept_.back() |= llvm::isa<nn::ReshapeOp>(op) && !loop.isSplittable();
  }
  auto addTensor = [&](mlir::Value value, const TensorMap &map) {
    for (auto [number, dim] : llvm::zip_equal(numbersOf(value), map.dims)) {
      Product product{number, {}};
      for (LoopId id : dim.loops) {
        product.loops.push_back(loops[id.index]);
      }
      if (dim.kind != DimMap::Kind::Product) {
        return false;
      }
      if (dim.loops.size() == 1) {
        equal_.join(number, product.loops.front());
      } else if (dim.loops.empty()) {
        isKept_[number] = true;
      } else {
        products_.push_back(product);
      }
    }
    return true;
  };
  bool fits = true;
  for (auto [value, map] : llvm::zip_equal(op->getOperands(), nest.operands)) {
    fits &= addTensor(value, map);
  }
  for (auto [value, map] : llvm::zip_equal(op->getResults(), nest.results)) {
    fits &= addTensor(value, map);
  }
  return fits ? Status()
              : Status(ExitCode::Unsupported,
                       "'" + op->getName().getStringRef().str() +
                           "' has dims that are not made of whole loops");
}

/// Where a dim is two products that differ in one factor each, these are equal:
/// x y = x z. Whether they could be made so, or are.
bool SmallExtents::cancel(const Product &a, const Product &b) {
  llvm::SmallVector<Number> left, right;
  auto leaders = [&](ArrayRef<Number> loops) {
    return llvm::map_to_vector(loops,
                               [&](Number n) { return equal_.findLeader(n); });
  };
  left = leaders(a.loops);
  right = leaders(b.loops);
  llvm::erase_if(left, [&](Number factor) {
    auto *same = llvm::find(right, factor);
    bool isShared = same != right.end();
    if (isShared) {
      right.erase(same);
    }
    return isShared;
  });
  if (left.size() == 1 && right.size() == 1 &&
      given_[left.front()] == given_[right.front()]) {
    equal_.join(left.front(), right.front());
    return true;
  }
  return left.empty() && right.empty();
}

/// Joins factors of equal products, and keeps the extents of those that remain
/// different.
void SmallExtents::joinFactors() {
  auto forPairs = [&](auto visit) {
    for (const Product &a : products_) {
      for (const Product &b : products_) {
        if (&a < &b && equal_.findLeader(a.dim) == equal_.findLeader(b.dim)) {
          visit(a, b);
        }
      }
    }
  };
  // What is joined may make others equal.
  for (size_t i = 0; i != products_.size(); ++i) {
    forPairs([&](const Product &a, const Product &b) { cancel(a, b); });
  }
  forPairs([&](const Product &a, const Product &b) {
    if (!cancel(a, b)) {
      isKept_[a.dim] = true;
    }
  });
}

/// Tells leaders what is kept: a product is if all of its factors are.
void SmallExtents::keepExtents() {
  for (bool isChanged = true; isChanged;) {
    isChanged = false;
    auto keep = [&](Number number) {
      Number leader = equal_.findLeader(number);
      isChanged |= !isKept_[leader];
      isKept_[leader] = true;
    };
    for (Number number = 0; number != given_.size(); ++number) {
      if (isKept_[number]) {
        keep(number);
      }
    }
    for (const Product &product : products_) {
      if (isKept_[equal_.findLeader(product.dim)]) {
        llvm::for_each(product.loops, keep);
      }
    }
  }
}

int64_t SmallExtents::extentOf(Number leader) {
  int64_t &extent = chosen_[leader];
  if (extent != 0 || isKept_[leader]) {
    return isKept_[leader] ? given_[leader] : extent;
  }
  const Product *product = llvm::find_if(products_, [&](const Product &each) {
    return equal_.findLeader(each.dim) == leader;
  });
  extent = product == products_.end() ? 2 + next_++ % 3 : 1;
  if (product != products_.end()) {
    for (Number factor : product->loops) {
      extent *= extentOf(equal_.findLeader(factor));
    }
  }
  return extent;
}

void SmallExtents::choose() {
  joinFactors();
  keepExtents();
  chosen_.assign(given_.size(), 0);
  for (Number number = 0; number != given_.size(); ++number) {
    chosen_[number] = extentOf(equal_.findLeader(number));
  }
}

rt::Dims SmallExtents::dimsOf(mlir::Value value) const {
  rt::Dims dims;
  for (Number number : dims_.at(value)) {
    dims.push_back(chosen_[number]);
  }
  return dims;
}
