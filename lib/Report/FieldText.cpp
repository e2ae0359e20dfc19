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
#include "divisi/Support/Units.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <cstdlib>

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

std::string divisi::savingText(const rewrite::SavingRecord &saving) {
  int64_t less = saving.before - saving.after;
  std::string change;
  if (less != 0 && saving.before > 0) {
    change =
        llvm::formatv(", {0:F1} % {1}",
                      100.0 * double(std::abs(less)) / double(saving.before),
                      less > 0 ? "less" : "more");
  }
  return llvm::formatv("predicted to take {0} a run on {1} instead of {2}{3}",
                       formatTime(saving.after),
                       saving.devices == 1
                           ? std::string("one device")
                           : std::to_string(saving.devices) + " devices",
                       formatTime(saving.before), change);
}
