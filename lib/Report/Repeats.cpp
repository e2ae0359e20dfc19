//===- Repeats.cpp - What repeats in a sequence ---------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Repeats.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace llvm;
using namespace divisi;

/// A longer layer is not looked for, a shorter repeat not worth a heading.
static constexpr size_t kLongestPeriod = 256, kFewest = 6;

/// The repeat that covers most of `ids`, which starts at `offset` of the
/// sequence; its count is 0 if there is none.
static Repeat largest(ArrayRef<unsigned> ids, size_t offset) {
  Repeat best;
  for (size_t period = 1; period <= std::min(kLongestPeriod, ids.size() / 2);
       ++period) {
    // How many elements from here on equal those one period later.
    size_t equal = 0;
    for (size_t at = ids.size() - period; at-- > 0;) {
      equal = ids[at] == ids[at + period] ? equal + 1 : 0;
      size_t count = equal / period + 1;
      size_t covered = count * period, most = best.count * best.period;
      bool isFirst = period == best.period && covered == most;
      if (count > 1 && covered >= kFewest && (covered > most || isFirst)) {
        best = {offset + at, period, count};
      }
    }
  }
  return best;
}

std::vector<Repeat> divisi::findRepeats(ArrayRef<std::string> sequence) {
  StringMap<unsigned> known;
  std::vector<unsigned> ids;
  for (const std::string &element : sequence) {
    ids.push_back(known.try_emplace(element, known.size()).first->second);
  }
  std::vector<Repeat> repeats;
  std::vector<std::pair<size_t, size_t>> open = {{0, ids.size()}};
  while (!open.empty()) {
    auto [begin, end] = open.back();
    open.pop_back();
    Repeat repeat = largest(ArrayRef(ids).slice(begin, end - begin), begin);
    if (repeat.count > 0) {
      repeats.push_back(repeat);
      open.push_back({begin, repeat.begin});
      open.push_back({repeat.begin + repeat.period * repeat.count, end});
    }
  }
  llvm::sort(repeats, [](const Repeat &a, const Repeat &b) {
    return a.begin < b.begin;
  });
  return repeats;
}
