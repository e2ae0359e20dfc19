//===- AccessLog.cpp - Who touched which bytes ----------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/emulator/AccessLog.h"

#include <algorithm>
#include <bit>

using namespace divisi::emulator;

using Agent = AccessLog::Agent;

static std::string nameOf(const Agent &agent) {
  return "thread " + std::to_string(agent.thread()) + " of block " +
         std::to_string(agent.block());
}

/// The widest elements of which so many bytes consist.
static unsigned shiftOf(uint64_t bytes) {
  return unsigned(std::min(std::countr_zero(bytes), 3));
}

/// Of elements that are as wide as the first one.
void AccessLog::renew(Page &page, uint64_t bytes) const {
  page.round = round_;
  page.shift = shiftOf(bytes);
  page.uses.assign(pageBytes >> page.shift, Use());
}

/// Says the same of narrower elements.
void AccessLog::refine(Page &page, uint64_t bytes) const {
  Page fine{page.round, std::min(shiftOf(bytes), page.shift)};
  for (uint64_t at = 0; at < pageBytes; at += uint64_t(1) << fine.shift) {
    fine.uses.push_back(page.uses[at >> page.shift]);
  }
  page = std::move(fine);
}

void AccessLog::describe(const Use &use, bool writes, const Agent &agent) {
  if (!wrong_.empty()) {
    return;
  }
  auto conflicts = [&](const Agent &other) {
    return other && other.isBeside(agent);
  };
  const Agent &other = conflicts(use.writer)   ? use.writer
                       : conflicts(use.reader) ? use.reader
                                               : use.otherReader;
  wrong_ = nameOf(agent) + (writes ? " writes" : " reads") + " what " +
           nameOf(other) + " touches, and no barrier between";
}

std::vector<ByteRange> AccessLog::touched(bool written) const {
  std::vector<std::pair<uint64_t, const Page *>> pages;
  for (const auto &[number, page] : pages_) {
    if (page.round == round_) {
      pages.emplace_back(number, &page);
    }
  }
  std::sort(pages.begin(), pages.end());
  std::vector<ByteRange> ranges;
  for (const auto &[number, page] : pages) {
    uint64_t at = number * pageBytes, width = uint64_t(1) << page->shift;
    for (const Use &use : page->uses) {
      if (written ? use.writer : use.reader) {
        if (ranges.empty() || ranges.back().end != at) {
          ranges.push_back({at, at});
        }
        ranges.back().end += width;
      }
      at += width;
    }
  }
  return ranges;
}

/// Pages are kept, since the next kernel will touch many of them.
void AccessLog::clear() {
  constexpr size_t mostKept = 1 << 14;
  if (pages_.size() > mostKept) {
    pages_.clear();
    recent_ = {};
  }
  ++round_;
  wrong_.clear();
}
