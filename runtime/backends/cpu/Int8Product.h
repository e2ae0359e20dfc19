//===- Int8Product.h - Products of bytes by oneDNN --------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What convolutions and matrix products of bytes have in common: oneDNN takes a
// left operand (x) of either sign with a zero point, and a right one (w) that
// is signed. An unsigned one becomes signed by another highest bit; its zero
// point is then less by 128.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_BACKENDS_CPU_INT8PRODUCT_H
#define DIVISI_RUNTIME_BACKENDS_CPU_INT8PRODUCT_H

#include "runtime/backends/cpu/FirstOperator.h"
#include "runtime/backends/cpu/Int8Epilogue.h"

#include <array>

namespace divisi::rt::cpu {

/// A product of bytes that a call begins with.
struct Int8Operator : FirstOperator {
  /// Of a call that may have no result.
  explicit Int8Operator(const CallSite &call);

  TensorInfo result; ///< Its own: i32, lying as the call's does.

  /// Whether nothing but it and its two operands makes a box like the call's.
  bool isProduct(const CallSite &call, std::string_view wanted) const;
};

/// Whether the bytes of the operand are known, and the product alone reads
/// them.
bool isPackable(const CallSite &call, size_t operand);

/// What a primitive of oneDNN computes: a product and what follows it.
struct Int8Plan {
  Int8Epilogue epilogue;             ///< What follows the product.
  std::array<int64_t, 2> zeros = {}; ///< Of x and of w, as a signed one.
  /// The operand of the call that is that of x, or of w, if there is one.
  std::array<std::optional<size_t>, 2> zeroAt = {};
  std::array<bool, 2> isSigned = {}; ///< x and w, as they are given.
  bool flips = false;                ///< w is unsigned.
  int threads = 1;
  PrimitiveDesc primitive;

  /// Reads what follows, and zero points of the operands `left` and `right`,
  /// which are called `names`; false if oneDNN cannot do it.
  bool read(const CallSite &call, const Int8Operator &first, size_t left,
            std::array<const char *, 2> names, const Dims &channels,
            bool hasValues);
  /// What the primitive is made with; null if oneDNN refuses. `scaled` are the
  /// dimensions of w along which scales differ, as oneDNN's mask.
  PrimitiveAttr attr(const CallSite &call, int scaled,
                     const MemoryDesc &channels,
                     const_dnnl_memory_desc_t result);
  /// In what constant weights that are packed for it differ from others.
  std::string weightsName() const;
};

/// A plan's primitive with its arguments.
class Int8Primitive {
public:
  Int8Primitive() = default;
  /// Empty if oneDNN refuses. x, w, y and a bias are described like `layouts`.
  Int8Primitive(Int8Plan &plan, std::array<const_dnnl_memory_desc_t, 3> layouts,
                const_dnnl_memory_desc_t bias);
  explicit operator bool() const { return bool(primitive_); }

  /// What the primitive does behind the product.
  const Int8Epilogue &epilogue() const { return epilogue_; }
  /// `tensors` are what the readers of operands read, in order; scales and zero
  /// points that are known only now are among `operands`, those of the call.
  bool run(const void *x, const void *w, void *y,
           std::span<const void *const> tensors,
           std::span<const void *const> operands, void *scratchpad);

private:
  Primitive primitive_;
  Int8Epilogue epilogue_;
  std::array<int32_t, 2> zeros_ = {};
  std::array<std::optional<size_t>, 2> zeroAt_ = {};
  std::array<bool, 2> isSigned_ = {};
  bool hasBias_ = false;
  std::vector<const void *> pointers_; ///< Of the present run.
};

/// The call as the reference computes it, in memory of its own: for scales that
/// are no numbers to compute with, which only shows when there are values.
std::unique_ptr<PreparedKernel> prepareReference(const CallSite &site,
                                                 std::string &error);

/// `count` bytes with another highest bit.
void flipBytes(const void *from, int64_t count, void *to);

} // namespace divisi::rt::cpu

#endif // DIVISI_RUNTIME_BACKENDS_CPU_INT8PRODUCT_H
