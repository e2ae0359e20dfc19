//===- ReportText.cpp - Reports as text -----------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Report/Report.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>

using namespace llvm;
using namespace divisi;

/// `1.5 GiB`, `320 KiB`, `12 B`.
static std::string formatBytes(double bytes) {
  static constexpr StringLiteral kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < std::size(kUnits)) {
    bytes /= 1024;
    ++unit;
  }
  return unit == 0 ? formatv("{0:F0} B", bytes).str()
                   : formatv("{0:F1} {1}", bytes, kUnits[unit]).str();
}

/// `1.50 s`, `3.20 ms`, `14.0 us`.
static std::string formatTime(int64_t nanoseconds) {
  double time = double(nanoseconds);
  return time >= 1e9   ? formatv("{0:F2} s", time / 1e9).str()
         : time >= 1e6 ? formatv("{0:F2} ms", time / 1e6).str()
                       : formatv("{0:F1} us", time / 1e3).str();
}

namespace {

/// What one kind of collective adds up to.
struct CollectiveSum {
  int64_t count = 0, bytes = 0, nanoseconds = 0;
};

} // namespace

/// Sums by kind: a plan has hundreds of collectives.
static void printCommunication(const Report &report, raw_ostream &os) {
  std::map<std::string, CollectiveSum> sums;
  for (const ReportRow &row : report.rows) {
    if (row.isCollective()) {
      CollectiveSum &sum = sums[row.op];
      sum.count += 1;
      sum.bytes += row.bytes;
      sum.nanoseconds += row.nanoseconds;
    }
  }
  if (sums.empty()) {
    os << left_justify("communication", 18) << "none\n";
  }
  for (const auto &[op, sum] : sums) {
    os << left_justify(op, 17) << " "
       << formatv("{0} x, {1} per device, {2}\n", sum.count,
                  formatBytes(sum.bytes), formatTime(sum.nanoseconds));
  }
}

/// Of the fullest device: it decides whether a plan fits.
static void printMemory(const Report &report, raw_ostream &os) {
  ReportDevice fullest;
  for (const ReportDevice &device : report.devices) {
    fullest.weightBytes = std::max(fullest.weightBytes, device.weightBytes);
    fullest.arenaBytes = std::max(fullest.arenaBytes, device.arenaBytes);
  }
  os << left_justify("weights", 18) << formatBytes(fullest.weightBytes)
     << " per device of " << formatBytes(report.weightBytes);
  if (report.weightBytes > 0) {
    os << formatv(" ({0:F1} %)",
                  100.0 * fullest.weightBytes / double(report.weightBytes));
  }
  os << "\n";
  if (fullest.arenaBytes > 0) {
    os << left_justify("activations", 18) << formatBytes(fullest.arenaBytes)
       << " per device at the peak\n";
  }
}

/// `cpu: matmul gelu; reference: gather (2 of 2)`: what has no fast kernel.
static void printKernels(const Report &report, raw_ostream &os) {
  std::map<std::string, std::string> byBackend;
  for (const ReportKernel &kernel : report.kernels) {
    StringRef op = kernel.op;
    op.consume_front("nn.");
    byBackend[kernel.backend] += formatv(" {0} ({1})", op, kernel.calls).str();
  }
  for (const auto &[backend, calls] : byBackend) {
    os << left_justify("kernels: " + backend, 20) << StringRef(calls).ltrim()
       << "\n";
  }
}

void divisi::printSummary(const Report &report, raw_ostream &os) {
  auto line = [&](const Twine &name) -> raw_ostream & {
    return os << left_justify(name.str(), 18);
  };
  if (!report.model.empty()) {
    line("model") << report.model << "\n";
  }
  line("devices") << report.devices.size() << "\n";
  for (const ReportGrid &grid : report.grids) {
    line("grid @" + grid.name) << grid.axes << "\n";
  }
  line("predicted time") << formatTime(report.nanoseconds)
                         << " a run, nothing overlapping\n";
  printMemory(report, os);
  line("arithmetic") << formatv("{0:F2} GFLOP, {1:F1} % of it replicated\n",
                                report.flops / 1e9,
                                100 * report.replicatedFlops);
  line("memory traffic") << formatv("{0:F1} % of it replicated\n",
                                    100 * report.replicatedBytes);
  printCommunication(report, os);
  printKernels(report, os);
  os << "\nassumptions\n";
  SmallVector<StringRef> lines;
  StringRef(report.cluster).trim().split(lines, '\n');
  for (StringRef text : lines) {
    os << "  " << text << "\n";
  }
}

//===----------------------------------------------------------------------===//
// The table by layer
//===----------------------------------------------------------------------===//

namespace {

/// Consecutive rows of one layer.
struct LayerBlock {
  std::string layer; ///< `transformer.h.3`
  ArrayRef<ReportRow> rows;
};

} // namespace

/// The scope up to and with its first numbered part, which is what repeats:
/// `transformer.h.3.attn.c_attn` is in the layer `transformer.h.3`.
static StringRef layerOf(StringRef scope) {
  size_t begin = 0;
  while (begin < scope.size()) {
    size_t end = std::min(scope.find_first_of("./", begin), scope.size());
    StringRef part = scope.slice(begin, end);
    if (!part.empty() && all_of(part, isDigit)) {
      return scope.take_front(end);
    }
    begin = end + 1;
  }
  return scope.take_front(scope.find_first_of("./"));
}

/// What a row has in common with its twin in a repeated layer.
static bool isTwin(const ReportRow &a, const ReportRow &b) {
  return a.op == b.op && a.split == b.split && a.operands == b.operands &&
         a.results == b.results && a.grid == b.grid &&
         a.nanoseconds == b.nanoseconds;
}

static bool isTwin(const LayerBlock &a, const LayerBlock &b) {
  return a.rows.size() == b.rows.size() &&
         std::equal(a.rows.begin(), a.rows.end(), b.rows.begin(),
                    [](const ReportRow &x, const ReportRow &y) {
                      return isTwin(x, y);
                    });
}

/// Rows without a scope belong to the block that they stand in.
static std::vector<LayerBlock> layerBlocks(ArrayRef<ReportRow> rows) {
  std::vector<LayerBlock> blocks;
  size_t begin = 0;
  for (size_t end = 1; end <= rows.size(); ++end) {
    if (end < rows.size() &&
        (rows[end].layer.empty() ||
         layerOf(rows[end].layer) == layerOf(rows[begin].layer)) &&
        rows[end].entry == rows[begin].entry) {
      continue;
    }
    blocks.push_back(
        {layerOf(rows[begin].layer).str(), rows.slice(begin, end - begin)});
    begin = end;
  }
  return blocks;
}

static void printRow(const ReportRow &row, raw_ostream &os) {
  os << "  " << left_justify(row.op, 20) << " "
     << left_justify(row.split.empty() ? "-" : row.split, 26) << " "
     << right_justify(formatTime(row.nanoseconds), 10) << "  "
     << right_justify(row.isCollective() ? formatBytes(row.bytes) : "", 10)
     << "  " << row.operands << " -> " << row.results << "\n";
}

void divisi::printLayers(const Report &report, raw_ostream &os) {
  std::vector<LayerBlock> blocks = layerBlocks(report.rows);
  for (size_t begin = 0; begin < blocks.size();) {
    // The shortest period of blocks that repeats here, if there is one: layers
    // can come in pairs (attention, then experts).
    size_t period = 1, count = 1;
    for (size_t length = 1; length <= 4 && count == 1; ++length) {
      size_t repeats = 1;
      auto twins = [&](size_t at) {
        for (size_t i = 0; i < length; ++i) {
          if (at + i >= blocks.size() ||
              !isTwin(blocks[begin + i], blocks[at + i])) {
            return false;
          }
        }
        return true;
      };
      while (twins(begin + repeats * length)) {
        ++repeats;
      }
      if (repeats > 1) {
        period = length;
        count = repeats;
      }
    }
    for (size_t i = 0; i < period; ++i) {
      const LayerBlock &block = blocks[begin + i];
      os << (block.layer.empty() ? "(no scope)" : block.layer);
      if (count > 1) {
        os << " ... " << blocks[begin + (count - 1) * period + i].layer << "  ("
           << count << " alike)";
      }
      os << "\n";
      for (const ReportRow &row : block.rows) {
        printRow(row, os);
      }
    }
    begin += period * count;
  }
}

Status divisi::printNode(const Report &report, StringRef node,
                         raw_ostream &os) {
  bool found = false;
  for (const ReportRow &row : report.rows) {
    if (StringRef(row.node).contains(node)) {
      found = true;
      os << row.node << "\n";
      printRow(row, os);
      os << formatv("  {0:F2} MFLOP, done by {1:F1} devices each\n",
                    row.flops / 1e6, row.replication);
    }
  }
  if (!found) {
    return Status(ExitCode::Usage, ("no operator's node contains '" + node +
                                    "'; explain without --why lists all")
                                       .str());
  }
  return Status();
}
