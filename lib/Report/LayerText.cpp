//===- LayerText.cpp - The table by layer ---------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LayerText.h"

#include "FieldText.h"
#include "NumberedNames.h"
#include "VisibleNames.h"
#include "divisi/Support/Units.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace divisi;

static constexpr StringLiteral kLegend =
    R"(operator or collective; scope in the layer, or node; backend; split;
time of one; bytes that the busiest device receives; layouts of operands -> results
  oneDNN         a library; generated: native code; cpu: that backend's
                 vectorized loops; reference: plain loops
  m@x, n@y       the loop m is split over the axis x, n over y; -: not
                 split. For a collective: its axes
  [x.y, *]       dimension 0 is sharded over x, each shard over y;
                 dimension 1 is not split. {0:5, 4:9}: bounds of shards
  partial sum{x} every device along x has a part of the sum
  + nn.relu      runs in the kernel of its operand's producer
  h.0-3          layers whose names differ only in numbers; a..b: minimum to
                 maximum time
)";

/// `1.8 us`, or `1.1..1.8 us` if the rows of the group differ.
template <typename Text>
static std::string rangeOf(const LayerGroup &group, size_t index,
                           int64_t ReportRow::*number, Text text) {
  int64_t least = INT64_MAX, most = 0;
  for (ArrayRef<ReportRow> block : group.blocks) {
    least = std::min(least, block[index].*number);
    most = std::max(most, block[index].*number);
  }
  std::string first = text(least), last = text(most);
  if (first == last) {
    return last;
  }
  auto [digits, unit] = StringRef(first).split(' ');
  return (unit == StringRef(last).split(' ').second ? digits.str() : first) +
         ".." + last;
}

/// `4 x [x0, *]` for four layouts that are equal.
static std::string shorten(ArrayRef<GridLayout> layouts) {
  std::string text;
  ListSeparator separator;
  raw_string_ostream os(text);
  for (size_t begin = 0, end = 0; begin < layouts.size(); begin = end) {
    std::string run = layouts[begin].str();
    while (end < layouts.size() && layouts[end].str() == run) {
      ++end;
    }
    if (end - begin > 2) {
      os << separator << end - begin << " x " << run;
    } else {
      for (size_t i = begin; i < end; ++i) {
        os << separator << run;
      }
    }
  }
  return text;
}

void divisi::printGroupRow(const LayerGroup &group, size_t index,
                           raw_ostream &os) {
  const ReportRow &row = group.blocks.front()[index];
  std::string split = splitText(row);
  os << "  " << left_justify((row.isFused ? "+ " : "") + row.op, 20) << " "
     << left_justify(nameBeneath(row, group.headings.front()), 24) << " "
     << left_justify(row.isFused ? "" : row.kernel, 10) << " "
     << left_justify(split.empty() ? "-" : split, 20) << " "
     << right_justify(
            rangeOf(group, index, &ReportRow::nanoseconds, formatTime), 13)
     << "  "
     << right_justify(row.isCollective()
                          ? rangeOf(group, index, &ReportRow::bytes,
                                    [](int64_t bytes) {
                                      return formatBytes(double(bytes));
                                    })
                          : "",
                      9)
     << "  " << shorten(row.operands) << " -> " << shorten(row.results) << "\n";
}

void divisi::printHeading(const LayerGroup &group, raw_ostream &os) {
  os << group.label;
  if (group.blocks.size() > 1) {
    os << "  (" << group.blocks.size() << " alike)";
  }
  os << "  " << formatTime(group.nanoseconds()) << "\n";
}

static std::string shapeOf(const ReportTensor &tensor) {
  std::string text;
  for (int64_t extent : tensor.shape) {
    text += (text.empty() ? "" : "x") + std::to_string(extent);
  }
  return text.empty() ? "scalar" : text;
}

static void printTensor(const ReportTensor &tensor, StringRef name,
                        size_t alike, raw_ostream &os) {
  os << "  " << left_justify(tensor.kind, 10) << " " << left_justify(name, 45)
     << " " << left_justify(shapeOf(tensor), 15) << " " << tensor.layout.str();
  if (alike > 1) {
    os << "  (" << alike << " alike)";
  }
  os << "\n";
}

static void printTensors(const Report &report, StringRef entry, StringRef kind,
                         raw_ostream &os) {
  for (const ReportTensor &tensor : report.tensors) {
    if (tensor.entry == entry && tensor.kind == kind) {
      printTensor(tensor, tensor.name, 1, os);
    }
  }
}

/// Those whose names differ in numbers only are one line.
static void printGlobals(const Report &report, raw_ostream &os) {
  struct Group {
    const ReportTensor *first;
    std::vector<std::string> names;
  };
  std::vector<Group> groups;
  StringMap<size_t> known;
  for (const ReportTensor &tensor : report.globals) {
    std::string key =
        join(std::initializer_list<std::string>{tensor.kind,
                                                withoutNumbers(tensor.name),
                                                shapeOf(tensor), tensor.grid,
                                                tensor.layout.str()},
             "|");
    auto [it, isNew] = known.try_emplace(key, groups.size());
    if (isNew) {
      groups.push_back({&tensor, {}});
    }
    groups[it->second].names.push_back(tensor.name);
  }
  if (!groups.empty()) {
    os << "\nat rest\n";
  }
  for (const Group &group : groups) {
    printTensor(*group.first, nameAll(group.names), group.names.size(), os);
  }
}

void divisi::printLayers(const Report &named, raw_ostream &os) {
  Report report = withVisibleNames(named);
  os << kLegend;
  for (const EntryGroups &entry : groupLayers(report.rows)) {
    os << "\nentry @" << entry.entry << "\n";
    printTensors(report, entry.entry, "input", os);
    for (const LayerGroup &group : entry.groups) {
      printHeading(group, os);
      for (size_t i = 0; i < group.blocks.front().size(); ++i) {
        printGroupRow(group, i, os);
      }
    }
    printTensors(report, entry.entry, "output", os);
  }
  printGlobals(report, os);
}
