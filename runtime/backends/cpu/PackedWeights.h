//===- PackedWeights.h - Constants in layouts of oneDNN ---------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A weight may be most of what a device holds, so it is never there twice: it
// is read and brought to its layout a box at a time, outer dimensions cut first
// and at whole blocks.
//
//   W[1024, 100000] in blocks of 16 rows   ->   1024 / 16 boxes [16, ...]
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_BACKENDS_CPU_PACKEDWEIGHTS_H
#define DIVISI_RUNTIME_BACKENDS_CPU_PACKEDWEIGHTS_H

#include "runtime/backends/cpu/OneDnn.h"

namespace divisi::rt::cpu {

/// How a constant lies where it is given: with strides, without blocks.
struct GivenWeights {
  const_dnnl_memory_desc_t layout; ///< Outlives this.
  int64_t base = 0;                ///< Its first element, in bytes.
  bool flips = false; ///< Whether it is packed with other highest bits.
};

/// How much of a constant of that many bytes is in memory beside what it is
/// packed to, at most.
int64_t packingBytes(const GivenWeights &given, const_dnnl_memory_desc_t to);

/// A constant in the layout that a primitive wants.
class PackedWeights {
public:
  PackedWeights() = default;
  /// `constant`, which lies as `given` says, in the layout `to`. Empty if
  /// oneDNN refuses, it cannot be read, or there is no memory. The bytes are
  /// shared where constant, `name` and layout are the same.
  PackedWeights(const Constant &constant, const GivenWeights &given,
                const std::string &name, const_dnnl_memory_desc_t to);
  /// The same of bytes that `fill` writes.
  PackedWeights(const Constant &constant, const std::string &name,
                const_dnnl_memory_desc_t to,
                const std::function<bool(std::byte *)> &fill);
  explicit operator bool() const { return bytes_ != nullptr; }

  /// The packed bytes; null if it is empty.
  const void *data() const { return bytes_.get(); }
  /// The same as a list; of none an empty one.
  std::vector<PackedBytes> list() const {
    return bytes_ ? std::vector<PackedBytes>{{data(), size_}}
                  : std::vector<PackedBytes>();
  }

  /// What one of layout `to`, made under `name` of the call's `operand`, will
  /// be; `scratch` bytes are needed to make it.
  static PackedForm formOf(size_t operand, const std::string &name,
                           const_dnnl_memory_desc_t to, int64_t scratch);

private:
  std::shared_ptr<const std::byte> bytes_;
  int64_t size_ = 0;
};

/// All that makes one layout differ from others; empty where it cannot be told.
std::string nameOfLayout(const_dnnl_memory_desc_t desc);

} // namespace divisi::rt::cpu

#endif // DIVISI_RUNTIME_BACKENDS_CPU_PACKEDWEIGHTS_H
