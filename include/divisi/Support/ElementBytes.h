//===- ElementBytes.h - Sizes of elements in memory -------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one formula for the bytes of a tensor. An element takes whole bytes, also
// one that is narrower than a byte:
//
//   storedBytes(3, 32) == 12    storedBytes(3, 1) == storedBytes(3, 4) == 3
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_SUPPORT_ELEMENTBYTES_H
#define DIVISI_SUPPORT_ELEMENTBYTES_H

#include "divisi/Support/CheckedMath.h"

namespace divisi {

/// The bits that an element of a type of `bits` > 0 bits takes in memory.
constexpr int64_t storedBits(int64_t bits) { return (bits + 7) / 8 * 8; }

/// The bytes of `count` >= 0 elements of a type of `bits`, or nothing if an
/// int64_t cannot hold their number.
[[nodiscard]] inline std::optional<int64_t> storedBytes(int64_t count,
                                                        int64_t bits) {
  return checkedMul(count, storedBits(bits) / 8);
}

} // namespace divisi

#endif // DIVISI_SUPPORT_ELEMENTBYTES_H
