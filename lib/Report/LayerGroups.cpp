//===- LayerGroups.cpp - Layers that differ in numbers only ---------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LayerGroups.h"

#include "FieldText.h"
#include "NumberedNames.h"
#include "Repeats.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace llvm;
using namespace divisi;

int64_t LayerGroup::nanoseconds() const {
  int64_t sum = 0;
  for (ArrayRef<ReportRow> block : blocks) {
    for (const ReportRow &row : block) {
      sum += row.nanoseconds;
    }
  }
  return sum;
}

std::string divisi::headingOf(StringRef scope) {
  SmallVector<StringRef> parts;
  scope.split(parts, '.');
  size_t end = parts.size();
  if (end > 1 && !all_of(parts.back(), isDigit)) {
    --end;
  }
  while (end > 1 && none_of(parts[end - 1], isDigit)) {
    --end;
  }
  return join(parts.begin(), parts.begin() + end, ".");
}

std::string divisi::nameBeneath(const ReportRow &row, StringRef heading) {
  StringRef rest = row.layer;
  if (!heading.empty() && rest.consume_front(heading) &&
      rest.consume_front(".")) {
    return rest.str();
  }
  return row.node;
}

namespace {

/// Consecutive rows of one heading.
struct Block {
  std::string heading; ///< Empty without module names.
  ArrayRef<ReportRow> rows;
};

} // namespace

/// Rows without a scope belong to the block that they stand in.
static std::vector<Block> blocksOf(ArrayRef<ReportRow> rows) {
  std::vector<Block> blocks;
  for (size_t begin = 0; begin < rows.size();) {
    std::string heading = headingOf(rows[begin].layer);
    size_t end = begin + 1;
    while (end < rows.size() &&
           (rows[end].layer.empty() || headingOf(rows[end].layer) == heading)) {
      ++end;
    }
    blocks.push_back({std::move(heading), rows.slice(begin, end - begin)});
    begin = end;
  }
  return blocks;
}

/// `[x0, *], [x0, *], [x0, *]` is `[x0, *] …`: a concatenation of more parts is
/// the same one. Bounds of uneven shards are numbers like those of names.
static std::string layoutsKey(ArrayRef<GridLayout> layouts) {
  std::string key, previous;
  for (const GridLayout &layout : layouts) {
    bool hasBounds = any_of(layout.layout.dims, [](const DimLayout &dim) {
      return !dim.bounds.empty();
    });
    std::string text = hasBounds ? withoutNumbers(layout.str()) : layout.str();
    if (text != previous) {
      key += text + ";";
    }
    previous = std::move(text);
  }
  return key;
}

/// What a row has in common with its twin in a repeated layer.
static std::string rowKey(const ReportRow &row) {
  return join(
      std::initializer_list<std::string>{
          row.op, row.isFused ? "fused" : "", row.kernel, row.grid,
          splitText(row), layoutsKey(row.operands), layoutsKey(row.results)},
      "|");
}

namespace {

/// Cuts a block without module names where something repeats.
class RepeatCutter {
public:
  explicit RepeatCutter(ArrayRef<ReportRow> rows) : rows_(rows) {
    for (const ReportRow &row : rows) {
      keys_.push_back(rowKey(row));
    }
  }

  std::vector<Block> cut() && {
    cut(0, rows_.size(), repeatsIn(0, rows_.size()));
    return std::move(blocks_);
  }

private:
  std::vector<Repeat> repeatsIn(size_t begin, size_t count) const {
    return findRepeats(ArrayRef(keys_).slice(begin, count));
  }
  void add(size_t begin, size_t end) {
    if (begin < end) {
      blocks_.push_back({rows_[begin].node, rows_.slice(begin, end - begin)});
    }
  }
  void cut(size_t begin, size_t end, ArrayRef<Repeat> repeats);
  void cutUnit(size_t begin, size_t period);

  ArrayRef<ReportRow> rows_;
  std::vector<std::string> keys_;
  std::vector<Block> blocks_;
};

} // namespace

/// `repeats` are those from `begin` to `end`.
void RepeatCutter::cut(size_t begin, size_t end, ArrayRef<Repeat> repeats) {
  size_t at = begin;
  for (const Repeat &repeat : repeats) {
    add(at, begin + repeat.begin);
    at = begin + repeat.begin;
    for (size_t i = 0; i < repeat.count; ++i, at += repeat.period) {
      cutUnit(at, repeat.period);
    }
  }
  add(at, end);
}

/// What repeats may be a block of layers: if it repeats itself for the most
/// part, the layers are what is looked for.
void RepeatCutter::cutUnit(size_t begin, size_t period) {
  std::vector<Repeat> inner = repeatsIn(begin, period);
  size_t covered = 0;
  for (const Repeat &repeat : inner) {
    covered += repeat.count * repeat.period;
  }
  if (2 * covered >= period) {
    cut(begin, begin + period, inner);
  } else {
    add(begin, begin + period);
  }
}

static EntryGroups groupEntry(ArrayRef<ReportRow> rows) {
  EntryGroups entry{rows.front().entry, {}};
  std::vector<Block> blocks;
  for (const Block &block : blocksOf(rows)) {
    if (block.heading.empty()) {
      append_range(blocks, RepeatCutter(block.rows).cut());
    } else {
      blocks.push_back(block);
    }
  }
  StringMap<size_t> known;
  for (const Block &block : blocks) {
    std::string key = withoutNumbers(block.heading);
    for (const ReportRow &row : block.rows) {
      key += "\n" + rowKey(row);
    }
    auto [it, isNew] = known.try_emplace(key, entry.groups.size());
    if (isNew) {
      entry.groups.emplace_back();
    }
    LayerGroup &group = entry.groups[it->second];
    group.headings.push_back(block.heading);
    group.blocks.push_back(block.rows);
  }
  for (LayerGroup &group : entry.groups) {
    group.label =
        group.headings.front().empty() ? "(no scope)" : nameAll(group.headings);
  }
  return entry;
}

std::vector<EntryGroups> divisi::groupLayers(ArrayRef<ReportRow> rows) {
  std::vector<EntryGroups> entries;
  while (!rows.empty()) {
    size_t count = 0;
    while (count < rows.size() && rows[count].entry == rows.front().entry) {
      ++count;
    }
    entries.push_back(groupEntry(rows.take_front(count)));
    rows = rows.drop_front(count);
  }
  return entries;
}
