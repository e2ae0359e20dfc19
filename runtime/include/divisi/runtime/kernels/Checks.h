//===- Checks.h - Checks of kernel calls ------------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A call may come from a hostile artifact: assumptions of a kernel's loops are
// checked here when it is prepared. Every check returns false and leaves a
// message that begins with the operator's name.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_KERNELS_CHECKS_H
#define DIVISI_RUNTIME_KERNELS_CHECKS_H

#include "divisi/runtime/kernels/Kernel.h"

namespace divisi::rt {

/// The largest rank of a tensor: loop nests live in arrays of this size, so
/// that a launch allocates nothing.
constexpr size_t maxRank = 16;
/// Bounds of extents, and of strides and dilations; their product, and a sum of
/// a few of them, fits int64.
constexpr int64_t maxExtent = int64_t(1) << 40;
/// See maxExtent.
constexpr int64_t maxStep = int64_t(1) << 20;

/// Checks one call.
class Checks {
public:
  /// Of `site`; messages are left in `error`.
  Checks(const CallSite &site, std::string &error)
      : site_(site), error_(error) {}

  /// Leaves `message` and returns false.
  bool fail(const std::string &message) const;

  /// That many operands and results, each a box within its tensor.
  bool counts(size_t operands, size_t results) const;
  /// The type of an operand.
  bool operandType(size_t index, DType type) const;
  /// The type of a result.
  bool resultType(size_t index, DType type) const;
  /// The result has operand 0's type, or what sums of it may be left in.
  bool sumType(size_t index) const;
  /// How many dimensions an operand has.
  bool operandRank(size_t index, size_t rank) const;
  /// How many dimensions a result has.
  bool resultRank(size_t index, size_t rank) const;
  /// The global extent of a dimension of the result.
  bool resultExtent(size_t dim, int64_t expected) const;

  /// The operand's box holds the global indices [begin, end) of `dim`; an empty
  /// range always.
  bool covers(size_t operand, size_t dim, int64_t begin, int64_t end) const;
  /// The operand's box is the whole of dimension `dim`.
  bool whole(size_t operand, size_t dim) const;

  /// An attribute within [low, high].
  bool getInt(const char *name, int64_t low, int64_t high,
              int64_t &value) const;
  /// A list of `length` integers within [low, high].
  bool getInts(const char *name, size_t length, int64_t low, int64_t high,
               Dims &values) const;
  /// A list of dimensions of a tensor of `rank`, ascending.
  bool getDims(const char *name, size_t rank, Dims &values) const;
  /// An attribute that is a number.
  bool getFloat(const char *name, double &value) const;
  /// One of `choices`.
  bool getChoice(const char *name, std::span<const std::string_view> choices,
                 size_t &index) const;

private:
  const CallSite &site_;
  std::string &error_;
};

/// `[2, 3]`, for messages.
std::string stringify(const Dims &dims);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_KERNELS_CHECKS_H
