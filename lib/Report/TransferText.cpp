//===- TransferText.cpp - Transfers between grids -------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FieldText.h"
#include "divisi/Support/Units.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>

using namespace llvm;
using namespace divisi;

/// So many are named, those that take most.
static constexpr size_t kMostLines = 8;

namespace {
/// Those that are alike.
struct Alike {
  const ReportRow *row = nullptr;
  int64_t count = 0;
  int64_t nanoseconds() const { return count * row->arrivedNanoseconds; }
};
} // namespace

/// `2.1 us, 1.3 times the least`
static std::string timeText(int64_t nanoseconds, int64_t least) {
  std::string text = formatTime(nanoseconds);
  if (least > 0) {
    text += formatv(", {0:F2} times the least, {1}",
                    double(nanoseconds) / double(least), formatTime(least));
  }
  return text;
}

std::vector<std::pair<std::string, std::string>>
divisi::transferLines(const Report &report) {
  std::map<std::pair<std::string, int64_t>, Alike> groups;
  int64_t nanoseconds = 0, least = 0, count = 0, bytes = 0;
  for (const ReportRow &row : report.rows) {
    if (row.arrivedNanoseconds == 0) {
      continue;
    }
    std::string what =
        formatv("{0}: {1} to {2}", row.grid, layoutsText(row.operands),
                layoutsText(row.results));
    // Of equal layouts, shapes may differ.
    Alike &alike = groups[{what, row.bytes}];
    alike.row = &row;
    ++alike.count;
    ++count;
    nanoseconds += row.arrivedNanoseconds;
    least += row.leastNanoseconds;
    bytes += row.bytes;
  }
  std::vector<std::pair<std::string, std::string>> lines;
  if (count == 0) {
    return lines;
  }
  std::vector<std::pair<std::pair<std::string, int64_t>, Alike>> sorted(
      groups.begin(), groups.end());
  llvm::stable_sort(sorted, [](const auto &a, const auto &b) {
    return a.second.nanoseconds() > b.second.nanoseconds();
  });
  lines.emplace_back(
      "between grids",
      formatv("{0} transfers, {1} per device, with what gathers them {2}",
              count, formatBytes(double(bytes)), timeText(nanoseconds, least)));
  for (const auto &[key, alike] : ArrayRef(sorted).take_front(kMostLines)) {
    lines.emplace_back("",
                       formatv("{0} x {1}: {2}, {3}", alike.count, key.first,
                               formatBytes(double(alike.row->bytes)),
                               timeText(alike.row->arrivedNanoseconds,
                                        alike.row->leastNanoseconds)));
  }
  return lines;
}
