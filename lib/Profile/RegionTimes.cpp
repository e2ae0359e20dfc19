//===- RegionTimes.cpp - Whether code is faster ---------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Profile/RegionTimes.h"

#include "divisi/runtime/code/RowCall.h"

#include <algorithm>
#include <array>

using namespace divisi;

namespace {

/// Per element, in picoseconds.
struct PartTimes {
  int code, parts;
};

/// The columns of what was measured: what has fewer than the next is like it.
constexpr std::array<int64_t, 10> kColumns = {8,  16, 24,  32,  48,
                                              64, 96, 128, 256, 768};

struct Row {
  std::string_view op; ///< Empty: what a region costs beside its parts.
  PartTimes times[kColumns.size()];
};

constexpr Row kRows[] = {
#include "PartTimes.inc"
};

} // namespace

static const Row *rowOf(std::string_view op) {
  const Row *row = std::find_if(std::begin(kRows), std::end(kRows),
                                [&](const Row &row) { return row.op == op; });
  return row == std::end(kRows) ? nullptr : row;
}

static bool isMeasured(const rt::TensorInfo &info) {
  return info.type == rt::DType::F32 || info.type == rt::DType::Bool;
}

/// The rows of `site`, which makes something, each with the share of its
/// elements that it is of; nothing if a row is missing.
static std::optional<std::vector<std::pair<const Row *, double>>>
rowsOf(const rt::CallSite &site) {
  std::vector<std::pair<const Row *, double>> rows = {{rowOf(""), 1}};
  if (!site.region) {
    rows.emplace_back(rowOf(site.op), 1);
  } else {
    double whole = double(site.results[0].count());
    for (const rt::RegionPart &part : site.region->parts) {
      rows.emplace_back(rowOf(part.op),
                        double(part.results[0].count()) / whole);
    }
  }
  bool isWhole = std::ranges::all_of(
      rows, [](const auto &row) { return row.first != nullptr; });
  return isWhole ? std::optional(std::move(rows)) : std::nullopt;
}

std::optional<RegionTimes> divisi::regionTimes(const rt::CallSite &site) {
  if (!std::ranges::all_of(site.operands, isMeasured) ||
      !std::ranges::all_of(site.results, isMeasured) ||
      site.results[0].count() == 0) {
    return std::nullopt;
  }
  auto rows = rowsOf(site);
  if (!rows) {
    return std::nullopt;
  }
  RegionTimes times{0, 0};
  for (const rt::RowCall::Piece &piece : rt::RowCall::of(site)->pieces()) {
    double elements = 1e-3; // per picosecond
    for (int64_t extent : piece.nest.extents) {
      elements *= double(extent);
    }
    auto above = std::upper_bound(kColumns.begin() + 1, kColumns.end(),
                                  piece.nest.columns());
    size_t column = size_t(above - kColumns.begin()) - 1;
    for (auto [row, share] : *rows) {
      times.code += elements * share * row->times[column].code;
      times.parts += elements * share * row->times[column].parts;
    }
  }
  return times;
}
