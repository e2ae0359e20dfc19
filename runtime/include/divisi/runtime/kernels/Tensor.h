//===- Tensor.h - Element types and views of tensors ------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel sees a tensor as a dense row-major box of a global tensor: how many
// elements it has along each dimension, where the box begins, and how large the
// whole is. On one device the box is the whole tensor.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_KERNELS_TENSOR_H
#define DIVISI_RUNTIME_KERNELS_TENSOR_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace divisi::rt {

/// Element types; Element.h says what they are in memory. Those from I2 to
/// F8E8M0 are stored and converted, but nothing computes in them. Field is the
/// prime field that stands for real numbers in tests (FieldElement.h).
enum class DType : uint8_t {
  F64,
  F32,
  F16,
  BF16,
  I8,
  I16,
  I32,
  I64,
  U8,
  U16,
  U32,
  U64,
  Bool,
  I2,
  U2,
  I4,
  U4,
  F4E2M1,
  F8E4M3FN,
  F8E4M3FNUZ,
  F8E5M2,
  F8E5M2FNUZ,
  F8E8M0,
  Field
};
/// How many there are.
constexpr unsigned numDTypes = unsigned(DType::Field) + 1;

/// Bits of one element, of which its bytes may have more.
int64_t bitWidth(DType type);
/// Bytes of one element.
int64_t byteWidth(DType type);
/// `f32`, `i64`, `bool`, ...
std::string_view stringify(DType type);
/// Whether its elements are floats.
bool isFloatType(DType type);
/// Whether its elements are stored and converted, and never computed with.
bool isStoredType(DType type);
/// What sums of many elements may be left in: f32 for narrower floats, i32 for
/// integers of up to 16 bits, else the type itself.
DType sumType(DType type);
/// The type of that name, or nothing.
std::optional<DType> parseDType(std::string_view name);

/// The name of the memory space that every rank has.
inline constexpr std::string_view hostSpace = "host";

/// The format in which dimension 1, a tensor's channels, is the innermost one:
/// those of an image are in the order 0, 2, 3, 1. From rank 3 on.
inline constexpr std::string_view channelsLast = "channels_last";

/// Extents, or an index, one per dimension.
using Dims = std::vector<int64_t>;

/// The product of `dims`; 1 for none. The caller has checked overflow.
int64_t numElements(const Dims &dims);

/// What a kernel knows of an operand or result before it runs.
struct TensorInfo {
  DType type = DType::F32; ///< Of its elements.
  Dims extents;            ///< Of this rank's box: valid elements only, dense.
  Dims offset;             ///< Global index of the box's first element.
  Dims global;             ///< Extents of the whole tensor.
  /// How the elements are ordered, by a name that kernels know; empty:
  /// row-major.
  std::string format = {};

  /// The number of elements in the box.
  int64_t count() const { return numElements(extents); }
  /// The bytes of the box.
  int64_t bytes() const { return count() * byteWidth(type); }
  /// The number of dimensions.
  size_t rank() const { return extents.size(); }

  /// The box that is the whole tensor.
  static TensorInfo whole(DType type, Dims dims);
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_KERNELS_TENSOR_H
