//===- FourDims.cpp - Tensors as an attention has them --------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/Import/FourDims.h"
#include "passes/Import/Codes.h"

using namespace divisi;
using namespace mlir;

std::string divisi::join(const Groups &groups) {
  return groups[0] + groups[1] + groups[2] + groups[3];
}

SmallVector<int64_t> divisi::permutationOf(StringRef from, StringRef to) {
  return llvm::map_to_vector(
      to, [&](char letter) { return int64_t(from.find(letter)); });
}

/// In which order `letters` has the groups, if it has each in one piece, its
/// letters as they are, and the last group last. Empty ones come first.
static std::optional<SmallVector<size_t>> orderOf(StringRef letters,
                                                  const Groups &groups) {
  SmallVector<size_t> order;
  for (size_t i = 0; i < groups.size(); ++i) {
    if (groups[i].empty()) {
      order.push_back(i);
    }
  }
  while (!letters.empty()) {
    const auto *group = llvm::find_if(groups, [&](const std::string &group) {
      return !group.empty() && letters.consume_front(group);
    });
    if (group == groups.end()) {
      return std::nullopt;
    }
    order.push_back(group - groups.begin());
  }
  return order.back() == groups.size() - 1 ? std::optional(order)
                                           : std::nullopt;
}

/// The extents of `shape`, whose dimensions are `letters`, by groups.
static SmallVector<int64_t> grouped(ArrayRef<int64_t> shape, StringRef letters,
                                    const Groups &groups,
                                    ArrayRef<size_t> order) {
  SmallVector<int64_t> extents;
  for (size_t i : order) {
    extents.push_back(1);
    for (char letter : groups[i]) {
      extents.back() *= shape[letters.find(letter)];
    }
  }
  return extents;
}

/// The same, or the groups as they stand if they have to be brought together.
static SmallVector<size_t> orderOrSorted(StringRef letters,
                                         const Groups &groups) {
  return orderOf(letters, groups).value_or(SmallVector<size_t>{0, 1, 2, 3});
}

Value divisi::reshaped(OpBuilder &builder, Value x, ArrayRef<int64_t> shape) {
  return typeOf(x).getShape() == shape
             ? x
             : nn::ReshapeOp::create(builder, x.getLoc(), x, shape);
}

Value divisi::transposed(OpBuilder &builder, Value x,
                         ArrayRef<int64_t> permutation) {
  return llvm::is_sorted(permutation)
             ? x
             : nn::TransposeOp::create(builder, x.getLoc(), x, permutation);
}

std::string divisi::lettersOfFour(size_t i, const Lettered &x,
                                  const Groups &groups) {
  std::string letters;
  for (size_t dim : orderOrSorted(x.letters, groups)) {
    letters += nn::AttentionLabels::sorted[i][dim];
  }
  return letters;
}

Value divisi::toFour(OpBuilder &builder, const Lettered &x,
                     const Groups &groups) {
  auto extents = grouped(typeOf(x.value).getShape(), x.letters, groups,
                         orderOrSorted(x.letters, groups));
  Value value = orderOf(x.letters, groups)
                    ? x.value
                    : transposed(builder, x.value,
                                 permutationOf(x.letters, join(groups)));
  return reshaped(builder, value, extents);
}

Value divisi::fromFour(OpBuilder &builder, Value y, const Lettered &replaced,
                       const Groups &groups) {
  if (orderOf(replaced.letters, groups)) {
    return reshaped(builder, y, typeOf(replaced.value).getShape());
  }
  std::string letters = join(groups);
  SmallVector<int64_t> shape;
  for (int64_t dim : permutationOf(replaced.letters, letters)) {
    shape.push_back(typeOf(replaced.value).getShape()[dim]);
  }
  return transposed(builder, reshaped(builder, y, shape),
                    permutationOf(letters, replaced.letters));
}
