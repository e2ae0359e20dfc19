//===- AccessLog.cpp - Who touched which bytes ----------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/emulator/AccessLog.h"

#include <algorithm>

using namespace divisi::emulator;

using Agent = AccessLog::Agent;

/// Whether nothing says which of the two comes first.
static bool areBeside(const Agent &a, const Agent &b) {
  return a.block != b.block || (a.thread != b.thread && a.epoch == b.epoch);
}

static std::string nameOf(const Agent &agent) {
  return "thread " + std::to_string(agent.thread) + " of block " +
         std::to_string(agent.block);
}

AccessLog::Use &AccessLog::useOf(uint64_t address) {
  std::unique_ptr<Page> &page = pages_[address / pageBytes];
  if (!page) {
    page = std::make_unique<Page>();
  }
  return (*page)[address % pageBytes];
}

std::optional<std::string> AccessLog::note(uint64_t address, uint64_t bytes,
                                           bool writes, const Agent &agent) {
  auto conflict = [&](const Agent &other) {
    return other.block != nobody && areBeside(other, agent);
  };
  std::optional<std::string> wrong;
  for (uint64_t at = address; at < address + bytes; ++at) {
    Use &use = useOf(at);
    const Agent *other = conflict(use.writer)                ? &use.writer
                         : !writes                           ? nullptr
                         : conflict(use.reader)              ? &use.reader
                         : conflict(use.otherReader)         ? &use.otherReader
                                                             : nullptr;
    if (other && !wrong) {
      wrong = nameOf(agent) + (writes ? " writes" : " reads") +
              " what " + nameOf(*other) + " touches, and no barrier between";
    }
    if (writes) {
      use.writer = agent;
    } else if (use.reader.block == nobody || !areBeside(use.reader, agent)) {
      use.reader = agent;
    } else {
      use.otherReader = agent;
    }
  }
  return wrong;
}

std::vector<ByteRange> AccessLog::touched(bool written) const {
  std::vector<uint64_t> bytes;
  for (const auto &[number, page] : pages_) {
    for (uint64_t i = 0; i < pageBytes; ++i) {
      const Use &use = (*page)[i];
      if ((written ? use.writer : use.reader).block != nobody) {
        bytes.push_back(number * pageBytes + i);
      }
    }
  }
  std::sort(bytes.begin(), bytes.end());
  std::vector<ByteRange> ranges;
  for (uint64_t byte : bytes) {
    if (ranges.empty() || ranges.back().end != byte) {
      ranges.push_back({byte, byte});
    }
    ++ranges.back().end;
  }
  return ranges;
}
