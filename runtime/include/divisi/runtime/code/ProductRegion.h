//===- ProductRegion.h - A product with fused operators ---------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A region that begins with a product or a convolution, for a device with a
// library of these and a code generator. There is code for all that follows,
// which goes over what the library makes:
//
//   %h = matmul %x, %w             library
//   %b = add %h, %bias             code, of a region that begins with %h
//   %s = silu %b                   code
//   %y = mul %s, %gate             code
//
// Where a library does all of a region the code is not run. Of products it may
// add a bias and a residual, and end with a GELU. Whether it does is known only
// where it runs: it has no algorithm for each type, batch and alignment.
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

  /// Whether a library of products may do all of it: with these.
  bool isFusible() const { return isFusible_; }
  /// The operand that is added to each row, to each element; -1: none.
  int bias() const { return bias_; }
  /// See bias().
  int residual() const { return residual_; }
  /// Whether it ends with GELU by tanh.
  bool hasGelu() const { return hasGelu_; }
  /// What the product makes, as the first operator that follows reads it.
  const TensorInfo &made() const { return made_; }

  /// Whether something follows.
  bool hasTail() const { return !tail_.parts.empty(); }
  /// All that follows, with `code`. It lives as long as product().
  CallSite tail(const KernelCode *code = nullptr) const;
  /// Per operand of the tail that of the call; -1: what the product makes.
  const std::vector<int> &tailOperands() const { return tailNumbers_; }

private:
  ProductRegion(const CallSite &site, const RegionPart *first);
  bool findColumns();
  bool takeAll();
  bool take(const RegionPart &part, int chain);
  bool isOnlyUse(int value, size_t part) const;
  bool isBias(const TensorInfo &operand) const;
  void makeTail();

  const CallSite *site_;
  std::vector<int> numbers_, tailNumbers_;
  std::vector<TensorInfo> operands_, tailOperands_;
  TensorInfo made_;
  Dims columnDims_; ///< Of the result.
  int bias_ = -1, residual_ = -1;
  bool isFusible_ = false, hasGelu_ = false;
  Region tail_;
  Attributes attributes_; ///< Of the tail: none.
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_CODE_PRODUCTREGION_H
