//===- ProductRegion.h - A product with fused operators ---------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A region that begins with a product, for a device with a library of products
// and a code generator. The library adds a bias and a residual on the way, and
// ends with a GELU; code does the rest:
//
//   %h = matmul %x, %w             library
//   %b = add %h, %bias             library
//   %s = silu %b                   code, of a region that begins with %b
//   %y = mul %s, %gate             code
//
// For one that begins with a convolution there is code for all fused operators:
// which of them a library of convolutions fuses is known only where it runs,
// and the others need code then.
//
// This division is the same for all ranks.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_CODE_PRODUCTREGION_H
#define DIVISI_RUNTIME_CODE_PRODUCTREGION_H

#include "divisi/runtime/kernels/Kernel.h"

#include <optional>

namespace divisi::rt {

/// See the file's head. It points into the site that it was made of.
class ProductRegion {
public:
  /// That of `site`, one product or convolution, or a region that begins with
  /// one; nothing of others.
  static std::optional<ProductRegion> of(const CallSite &site);

  /// The product, or convolution, alone, with operands and results of its own.
  /// It lives as long as this object stays where it is.
  CallSite product() const;
  /// Which operands of the call it has.
  const std::vector<int> &productOperands() const { return numbers_; }

  /// The operand that is added to each row, to each element; -1: none.
  int bias() const { return bias_; }
  /// See bias().
  int residual() const { return residual_; }
  /// Whether the library ends with GELU by tanh.
  bool hasGelu() const { return hasGelu_; }
  /// How many operators the library does.
  size_t done() const { return done_; }
  /// What the library makes.
  const TensorInfo &made() const { return made_; }

  /// Whether something is left to code.
  bool hasTail() const { return !tail_.parts.empty(); }
  /// What is left, with `code`. It lives as long as product().
  CallSite tail(const KernelCode *code = nullptr) const;
  /// Per operand of the tail that of the call; -1: what the library makes.
  const std::vector<int> &tailOperands() const { return tailNumbers_; }

private:
  ProductRegion(const CallSite &site, const RegionPart *first);
  bool findColumns();
  int takeAll();
  bool take(const RegionPart &part, int chain);
  bool isOnlyUse(int value, size_t part) const;
  bool isBias(const TensorInfo &operand) const;
  bool makeTail(int chain);

  const CallSite *site_;
  std::vector<int> numbers_, tailNumbers_;
  std::vector<TensorInfo> operands_, tailOperands_;
  TensorInfo made_;
  Dims columnDims_; ///< Of the result.
  int bias_ = -1, residual_ = -1;
  bool hasGelu_ = false;
  size_t done_ = 1;
  Region tail_;
  Attributes attributes_; ///< Of the tail: none.
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_CODE_PRODUCTREGION_H
