//===- TextCache.h - Finds texts that were parsed before --------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of the matrices in a file nearly all are repetitions, mostly letter by
// letter. Comparing a text with one seen before is several times faster than
// parsing it. A text has one slot in the table, by its hash, and drives out
// what is there: the cache forgets, but no input can make it slow.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_SEARCH_FILES_TEXTCACHE_H
#define DIVISI_LIB_SEARCH_FILES_TEXTCACHE_H

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

namespace divisi::search {

/// A table of texts and the numbers they were given: see above.
class TextCache {
public:
  /// For texts that have `total` bytes together.
  explicit TextCache(size_t total)
      : slots_(std::bit_ceil(std::clamp<size_t>(total >> 12, 16, 1 << 16))) {}

  /// A text and its slot in the table.
  struct Key {
    std::string_view text; ///< Not a copy.
    size_t slot;           ///< In the table.
  };
  /// Where a text belongs.
  Key key(std::string_view text) const {
    return {text, hash(text) & (slots_.size() - 1)};
  }

  /// The number that was put there for an equal text.
  std::optional<uint32_t> find(Key key) const {
    const Slot &slot = slots_[key.slot];
    return slot.text == key.text ? std::optional(slot.number) : std::nullopt;
  }

  /// Texts must stay in memory and not be empty.
  void put(Key key, uint32_t number) { slots_[key.slot] = {key.text, number}; }

private:
  struct Slot {
    std::string_view text;
    uint32_t number = 0;
  };

  /// Two lanes of eight bytes, so that multiplications overlap.
  static size_t hash(std::string_view text) {
    constexpr uint64_t factor = 0x9E3779B97F4A7C15u;
    uint64_t even = text.size(), odd = ~even;
    const char *at = text.data(), *end = at + text.size();
    for (; end - at >= 16; at += 16) {
      even = (even ^ word(at, 8)) * factor;
      odd = (odd ^ word(at + 8, 8)) * factor;
      even ^= even >> 32;
      odd ^= odd >> 29;
    }
    if (end - at >= 8) {
      even = (even ^ word(at, 8)) * factor;
      at += 8;
    }
    odd = (odd ^ word(at, size_t(end - at))) * factor;
    return size_t(((even ^ (odd >> 31)) * factor + odd) >> 32);
  }
  static uint64_t word(const char *at, size_t bytes) {
    uint64_t word = 0;
    std::memcpy(&word, at, bytes);
    return word;
  }

  std::vector<Slot> slots_;
};

} // namespace divisi::search

#endif // DIVISI_LIB_SEARCH_FILES_TEXTCACHE_H
