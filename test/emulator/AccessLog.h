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
#include <string>
#include <unordered_map>
#include <vector>

namespace divisi::emulator {

/// Bytes, by address.
struct ByteRange {
  uint64_t begin = 0, end = 0;
  friend bool operator==(const ByteRange &, const ByteRange &) = default;
};

/// What the threads of one kernel have read and written. Two of them may touch
/// a byte that one of them writes only if a barrier of their block lies
/// between. What is known is known of bytes, but as long as all accesses to a
/// page have the same width it is written down once for each of these.
class AccessLog {
public:
  /// A thread at a time between two barriers of its block.
  class Agent {
  public:
    Agent() = default;
    Agent(uint64_t block, uint64_t epoch, uint64_t thread)
        : bits_(block << blockShift | epoch << epochShift | thread) {}

    explicit operator bool() const { return bits_ != nobody; }
    uint64_t block() const { return bits_ >> blockShift; }
    uint64_t thread() const { return bits_ & ((1 << epochShift) - 1); }
    /// Whether nothing says which of the two comes first: other blocks, or
    /// other threads with no barrier between.
    bool isBeside(const Agent &other) const {
      uint64_t difference = bits_ ^ other.bits_;
      return difference >> blockShift != 0 ||
             (difference != 0 && difference >> epochShift == 0);
    }

  private:
    static constexpr int epochShift = 10, blockShift = 36;
    static constexpr uint64_t nobody = ~uint64_t(0);
    uint64_t bits_ = nobody;
  };

  /// Notes an access; false if something is wrong with it, which wrong() says.
  bool note(uint64_t address, uint64_t bytes, bool writes, const Agent &agent) {
    bool isGood = true;
    for (uint64_t at = address; at < address + bytes;) {
      Page &page = pageOf(at / pageBytes, bytes);
      uint64_t width = uint64_t(1) << page.shift;
      if (((at | bytes) & (width - 1)) != 0) {
        refine(page, ((at | bytes) & -(at | bytes)));
        width = uint64_t(1) << page.shift;
      }
      isGood &= noteUse(page.uses[at % pageBytes >> page.shift], writes, agent);
      at += width;
    }
    return isGood;
  }
  /// Of the first such access.
  const std::string &wrong() const { return wrong_; }
  /// The bytes that were written, or read, as few ranges as there can be.
  std::vector<ByteRange> touched(bool written) const;
  /// Forgets all.
  void clear();

private:
  static constexpr uint64_t pageBytes = 512;
  /// Of one element. Of several readers one is enough: any two others differ.
  struct Use {
    Agent writer, reader, otherReader;
  };
  /// Bytes side by side, and who has used them, by elements of 2^shift bytes.
  struct Page {
    uint64_t round = 0; ///< That it belongs to.
    unsigned shift = 0;
    std::vector<Use> uses = {};
  };

  Page &pageOf(uint64_t number, uint64_t bytes) {
    auto &[cached, page] = recent_[number % recent_.size()];
    if (!page || cached != number) {
      cached = number;
      page = &pages_[number];
    }
    if (page->round != round_) {
      renew(*page, bytes);
    }
    return *page;
  }
  bool noteUse(Use &use, bool writes, const Agent &agent) {
    auto conflicts = [&](const Agent &other) {
      return other && other.isBeside(agent);
    };
    bool isWrong =
        conflicts(use.writer) ||
        (writes && (conflicts(use.reader) || conflicts(use.otherReader)));
    if (isWrong) {
      describe(use, writes, agent);
    }
    if (writes) {
      use.writer = agent;
    } else if (!use.reader || !use.reader.isBeside(agent)) {
      use.reader = agent;
    } else {
      use.otherReader = agent;
    }
    return !isWrong;
  }
  void renew(Page &page, uint64_t bytes) const;
  void refine(Page &page, uint64_t bytes) const;
  void describe(const Use &use, bool writes, const Agent &agent);

  std::unordered_map<uint64_t, Page> pages_;
  uint64_t round_ = 1;
  /// Pages that were asked for last.
  std::array<std::pair<uint64_t, Page *>, 256> recent_ = {};
  std::string wrong_;
};

} // namespace divisi::emulator

#endif // DIVISI_TEST_EMULATOR_ACCESSLOG_H
