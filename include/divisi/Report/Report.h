//===- Report.h - What a plan does, as numbers ------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Read off a partitioned module: what every operator does where, what moves
// between layouts, what it is predicted to cost. `explain` prints it, the
// artifact carries it as JSON, so that a plan can be explained where it runs.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_REPORT_REPORT_H
#define DIVISI_REPORT_REPORT_H

#include "divisi/Cluster/Cluster.h"
#include "divisi/Support/Status.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/JSON.h"

#include <string>
#include <vector>

namespace divisi {

/// The version of the JSON form; grows when a field changes its meaning.
inline constexpr int64_t kReportSchemaVersion = 1;

/// One operator, or one collective between two.
struct ReportRow {
  std::string entry; ///< The entry function.
  std::string layer; ///< The module scope or the node's name; may be empty.
  std::string node;  ///< The ONNX node's name.
  std::string op;    ///< `nn.matmul`, `spmd.all_reduce`
  std::string grid;
  std::string split;    ///< `m@x, n@y`; the axes of a collective.
  std::string operands; ///< Layouts, joined by `, `.
  std::string results;
  int64_t nanoseconds = 0;
  int64_t bytes = 0; ///< A collective's: received by the busiest device.
  double flops = 0;  ///< An operator's, all devices' work counted once.
  /// How many devices do the same work: 1 if it is split over the whole grid.
  double replication = 1;

  /// Whether it moves data between layouts.
  bool isCollective() const { return op.rfind("spmd.", 0) == 0; }
};

/// A global at rest.
struct ReportGlobal {
  std::string name; ///< The symbol, which the model's name for it is made of.
  std::string kind; ///< parameter, state, constant or derived.
  std::vector<int64_t> shape;
  std::string grid;
  std::string layout;
};

/// What the memory of one device holds: the sum that the memory limit is
/// compared with. Only weights are known before Stage::Lower.
struct ReportDevice {
  int64_t weightBytes = 0;    ///< Its boxes of all globals.
  int64_t arenaBytes = 0;     ///< Activations: the largest program's arena.
  int64_t workspaceBytes = 0; ///< Scratch of kernels beside the arena.
  int64_t packedBytes = 0;    ///< Constants in the layouts of kernels.

  /// All of it.
  int64_t totalBytes() const {
    return weightBytes + arenaBytes + workspaceBytes + packedBytes;
  }
};

/// A grid of devices.
struct ReportGrid {
  std::string name;             ///< The symbol.
  std::string axes;             ///< `(x=2, y=2)`
  std::vector<int64_t> devices; ///< By position, row-major.
};

/// Who computes the calls of one operator when the default backends run.
struct ReportKernel {
  std::string op;      ///< `nn.matmul`
  std::string backend; ///< cpu; reference where cpu has nothing for a call.
  int64_t calls = 0;
};

/// Of one module, all entries together.
struct Report {
  std::string model;   ///< The ONNX file's name; empty for hand-written IR.
  std::string cluster; ///< The assumptions, one per line.
  std::vector<ReportGrid> grids;
  std::vector<ReportGlobal> globals;
  std::vector<ReportDevice> devices;
  std::vector<ReportRow> rows; ///< In program order.
  /// By operator and backend; empty before Stage::Lower.
  std::vector<ReportKernel> kernels;
  int64_t nanoseconds = 0; ///< Of one run, predicted, nothing overlapping.
  int64_t weightBytes = 0; ///< Of all globals, once.
  double flops = 0;
  /// The share of all arithmetic, and of all bytes that operators move, done by
  /// more than one device.
  double replicatedFlops = 0, replicatedBytes = 0;
};

/// Reads the report off `module` after the partition stage. Arenas and kernels
/// are not known yet. ExitCode::Invalid for an operator without a strategy.
Expected<Report> makeReport(mlir::ModuleOp module, const Cluster &cluster);
/// Adds what is known of `module` once it is lowered: arenas and kernels.
void addLoweredFacts(mlir::ModuleOp module, Report &report);

/// The JSON form: what `explain --json` prints, and artifacts and dumps carry.
llvm::json::Value toJSON(const Report &report);
/// ExitCode::Invalid if `text` is no report in JSON, Version if it is one of
/// another version.
Expected<Report> reportFromText(llvm::StringRef text);

/// One screen: grid, time, memory, communication, replication.
void printSummary(const Report &report, llvm::raw_ostream &os);
/// One line per operator and collective; equal neighbouring layers collapse
/// into one block with a count.
void printLayers(const Report &report, llvm::raw_ostream &os);
/// What is known of the operators whose node's name contains `node`.
/// ExitCode::Usage if there is none.
Status printNode(const Report &report, llvm::StringRef node,
                 llvm::raw_ostream &os);

} // namespace divisi

#endif // DIVISI_REPORT_REPORT_H
