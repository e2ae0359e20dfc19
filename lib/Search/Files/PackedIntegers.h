//===- PackedIntegers.h - Many small integers as base64 ---------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tree of bounds has hundreds of thousands of potentials a node, most of them
// near those of the node above. What is kept is the difference; its sign goes
// to the lowest bit (zigzag), so that small ones have few bits; seven bits a
// byte, the lowest first, the high bit set in all but the last (LEB128); and
// the bytes become base64 (RFC 4648, with padding):
//
//   base {5, 5, 5}   values {5, 4, 105}
//   differences 0, -1, 100  ->  zigzag 0, 1, 200  ->  00 01 c8 01  ->  AAHIAQ==
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_SEARCH_FILES_PACKEDINTEGERS_H
#define DIVISI_LIB_SEARCH_FILES_PACKEDINTEGERS_H

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace divisi::search {

/// Values are within plus and minus this, so that differences fit 64 bits.
inline constexpr int64_t kMostPacked = int64_t(1) << 62;

/// Appends `values` to `out`. A base of another size counts as zeros.
void packIntegers(std::string &out, std::span<const int64_t> values,
                  std::span<const int64_t> base);

/// What packIntegers() of that base has packed. On failure returns nothing and
/// sets `error`.
std::optional<std::vector<int64_t>>
unpackIntegers(std::string_view text, std::span<const int64_t> base,
               std::string &error);

} // namespace divisi::search

#endif // DIVISI_LIB_SEARCH_FILES_PACKEDINTEGERS_H
