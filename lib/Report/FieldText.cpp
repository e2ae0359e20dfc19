//===- FieldText.cpp - Fields of a report as text -------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FieldText.h"

#include "dialects/SPMD/LayoutSyntax.h"
#include "divisi/Layout/Parse.h"

#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace divisi;

std::string divisi::splitText(const ReportRow &row) {
  if (row.isCollective()) {
    return join(row.axes, ".");
  }
  std::string text;
  raw_string_ostream os(text);
  spmd::printSplit(os, row.split);
  return text;
}

bool divisi::readSplit(StringRef text, ReportRow &row) {
  if (row.isCollective()) {
    SmallVector<StringRef> names;
    text.split(names, '.', -1, /*KeepEmpty=*/false);
    for (StringRef name : names) {
      row.axes.push_back(name.str());
    }
    return true;
  }
  std::optional<spmd::NamedSplit> split = spmd::readSplit(text);
  row.split = split.value_or(spmd::NamedSplit());
  return split.has_value();
}

std::string divisi::layoutsText(ArrayRef<GridLayout> layouts) {
  return join(
      map_range(layouts, [](const GridLayout &one) { return one.str(); }),
      ", ");
}

std::optional<std::vector<GridLayout>> divisi::readLayouts(StringRef text,
                                                           const Grid &grid) {
  std::vector<GridLayout> layouts;
  while (!text.empty()) {
    size_t end = text.find(", [");
    llvm::Expected<Layout> layout = parseLayout(text.take_front(end), grid);
    if (!layout) {
      consumeError(layout.takeError());
      return std::nullopt;
    }
    layouts.push_back({grid, std::move(*layout)});
    text = text.substr(end == StringRef::npos ? end : end + 2);
  }
  return layouts;
}
