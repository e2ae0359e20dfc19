//===- AccessLog.h - Who touched which bytes --------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_EMULATOR_ACCESSLOG_H
#define DIVISI_TEST_EMULATOR_ACCESSLOG_H

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace divisi::emulator {

/// Bytes, by address.
struct ByteRange {
  uint64_t begin = 0, end = 0;
  friend bool operator==(const ByteRange &, const ByteRange &) = default;
};

/// What the threads of one kernel have read and written, byte by byte. Two of
/// them may touch a byte that one of them writes only if a barrier of their
/// block lies between.
class AccessLog {
public:
  /// A thread at a time between two barriers of its block.
  struct Agent {
    uint32_t block, thread, epoch;
  };

  /// Notes an access; what is wrong with it, if something is.
  std::optional<std::string> note(uint64_t address, uint64_t bytes, bool writes,
                                  const Agent &agent);
  /// The bytes that were written, or read, as few ranges as there can be.
  std::vector<ByteRange> touched(bool written) const;
  void clear() { pages_.clear(); }

private:
  static constexpr uint64_t pageBytes = 256;
  static constexpr uint32_t nobody = ~0U;
  /// Of one byte. Of several readers one is enough: any two others differ.
  struct Use {
    Agent writer{nobody, 0, 0}, reader{nobody, 0, 0}, otherReader{nobody, 0, 0};
  };
  using Page = std::array<Use, pageBytes>;

  Use &useOf(uint64_t address);

  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages_;
};

} // namespace divisi::emulator

#endif // DIVISI_TEST_EMULATOR_ACCESSLOG_H
