//===- Report.h - The numbers of a plan -------------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Collected from a partitioned module: the work and place of operators,
// conversions between layouts, predicted costs. `explain` prints it, the
// artifact carries it as JSON, so that a plan can be explained where it runs.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_REPORT_REPORT_H
#define DIVISI_REPORT_REPORT_H

#include "dialects/SPMD/NamedSplit.h"
#include "divisi/Cluster/Cluster.h"
#include "divisi/Cost/HostCopies.h"
#include "divisi/Cost/ScheduleRecord.h"
#include "divisi/Cost/TrialRecord.h"
#include "divisi/Plan/PlanRecord.h"
#include "divisi/Precision/Precision.h"
#include "divisi/Rewrite/RuleRecord.h"
#include "divisi/Support/Status.h"
#include "divisi/runtime/device/GpuOverhead.h"
#include "divisi/runtime/kernels/Kernel.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/JSON.h"

#include <string>
#include <vector>

namespace divisi {

/// The version of the JSON form; grows when a field changes its meaning.
inline constexpr int64_t kReportSchemaVersion = 2;

/// How one tensor lies on devices.
struct GridLayout {
  Grid grid;     ///< Its axes.
  Layout layout; ///< On that grid.

  /// `[x, *] partial sum {y}`
  std::string str() const { return layout.str(grid); }
  friend bool operator==(const GridLayout &, const GridLayout &) = default;
};

/// One operator, or one collective between two.
struct ReportRow {
  std::string entry; ///< The entry function.
  std::string layer; ///< The module scope or the node's name; may be empty.
  std::string node;  ///< The ONNX node's name.
  std::string op;    ///< `nn.matmul`, `spmd.all_reduce`
  std::string grid;  ///< The symbol; `a to b` of a transfer.
  spmd::NamedSplit split;                 ///< Of an operator.
  llvm::SmallVector<std::string, 2> axes; ///< Of a collective, by name.
  std::vector<GridLayout> operands;       ///< Of those that are tensors.
  std::vector<GridLayout> results;        ///< One per result.
  /// Whether an operator goes on in the kernel that makes an operand of it.
  bool isFused = false;
  int64_t nanoseconds = 0;
  int64_t bytes = 0; ///< A collective's: received by the busiest device.
  /// Of a transfer between grids, with gathering the parts that it sends: what
  /// it takes until they are whole, and what no way takes less than.
  int64_t arrivedNanoseconds = 0, leastNanoseconds = 0;
  double flops = 0; ///< An operator's, all devices' work counted once.
  /// How many devices do the same work: 1 if it is split over the whole grid.
  double replication = 1;
  /// By an operator through memory, all parts of its work once.
  int64_t movedBytes = 0;
  /// An operator's time if one device did all of it.
  int64_t oneDeviceNanoseconds = 0;
  /// Who computes it: ReportKernel::name(). Empty if nothing is lowered, and
  /// where it takes no call.
  std::string kernel = {};

  /// The substitution rules that led to an operator, one behind the other.
  std::vector<std::string> rules = {};

  /// Whether it moves data between layouts.
  bool isCollective() const { return op.rfind("spmd.", 0) == 0; }
};

/// A tensor at rest: a global, or an input or output of an entry.
struct ReportTensor {
  /// A global's symbol, which the model's name for it is made of; the model's
  /// name for an input or output.
  std::string name;
  /// parameter, state, constant or derived; input or output.
  std::string kind;
  std::vector<int64_t> shape;
  std::string grid;  ///< The symbol.
  GridLayout layout; ///< Where it rests, on that grid.
  std::string entry; ///< Empty of a global.
};

/// What the memory of one device holds: the sum that the memory limit is
/// compared with. Only weights are known before Stage::Lower.
struct ReportDevice {
  int64_t shardBytes = 0;     ///< Its boxes of all globals.
  int64_t weightBytes = 0;    ///< Of these what is kept as it is, not packed.
  int64_t arenaBytes = 0;     ///< Activations: the largest program's arena.
  int64_t workspaceBytes = 0; ///< Scratch that is not in it.
  int64_t packedBytes = 0;    ///< Constants in the layouts of kernels.
  int64_t messageBytes = 0;   ///< Of collectives between processes.
  std::string kind = {};      ///< DeviceKind::name
  int64_t limitBytes = 0;     ///< What it may hold in all.
  /// In memory of its own, beside the host's: arenas, scratch, and copies of
  /// globals.
  int64_t ownBytes = 0;
  /// What GPUs hold beside that.
  rt::GpuOverhead overhead = {};

  /// All of it, but for the overhead.
  int64_t totalBytes() const {
    return weightBytes + arenaBytes + workspaceBytes + packedBytes +
           messageBytes + ownBytes;
  }
  /// What lies in the host's memory beside that of the device.
  int64_t hostBytes() const {
    return ownBytes > 0 ? totalBytes() - ownBytes : 0;
  }
  /// What is compared with the limit: a device's own memory, if it is used.
  int64_t limitedBytes() const {
    return ownBytes > 0 ? ownBytes + overhead.total() : totalBytes();
  }
};

/// A grid of devices.
struct ReportGrid {
  std::string name;             ///< The symbol.
  Grid axes;                    ///< What the devices are arranged along.
  std::vector<int64_t> devices; ///< By position, row-major.
  /// What the plan does along the axes, as people call it: `DP 2, TP 4`; empty
  /// if nothing is split, and of reports that do not say.
  std::string parallelism = {};
};

/// Who computes the calls of one operator when the default backends run.
struct ReportKernel {
  std::string entry;   ///< The entry function.
  std::string op;      ///< `nn.matmul`; `fused` for several in one call.
  std::string head;    ///< Of several the one that the others are done with.
  std::string backend; ///< cpu; reference where cpu has nothing for a call;
                       ///< native for code that was generated for it.
  std::string library; ///< Whose code the backend calls; empty: its own.
  int64_t calls = 0;

  /// `oneDNN`, `generated`, `cpu` or `reference`.
  std::string name() const;
};

/// What a rank copies in one run between the host and the memory of a device:
/// inputs and outputs, and after Stage::Lower all that the program copies.
struct ReportCopies : HostCopies {
  std::string entry; ///< The entry function.
  std::string space; ///< Of the device; empty before Stage::Lower.
};

/// Native code that calls name.
struct ReportCode {
  std::string target; ///< What it is for.
  int64_t bytes = 0;  ///< In the artifact.
};

/// What another plan on devices of the same cluster is predicted to take.
struct ReportComparison {
  int64_t devices = 1;     ///< As many as the plan has, or fewer.
  bool fits = true;        ///< Whether there is one within the memory limit.
  int64_t nanoseconds = 0; ///< If it fits.
  int64_t peakBytes = 0;   ///< If it fits: of tensors on the fullest device.
  /// `DP`, `TP` or `FSDP (ZeRO-3)`, of all devices; empty: the best there is.
  std::string parallelism = "";
  friend bool operator==(const ReportComparison &,
                         const ReportComparison &) = default;
};

/// Of one module, all entries together.
struct Report {
  std::string model;      ///< The ONNX file's name; empty for hand-written IR.
  std::string cluster;    ///< The assumptions, one per line.
  std::string deviceKind; ///< DeviceKind::name
  /// How the plan was found; none if it was written by hand.
  std::optional<PlanRecord> plan;
  /// What --precision has changed, if it was given.
  std::optional<PrecisionRecord> precision;
  /// A user's own, of --rules, and those that --rewrite has applied.
  std::vector<rewrite::RuleRecord> rules;
  /// What --rewrite saves; none if it did nothing.
  std::optional<rewrite::SavingRecord> saving;
  /// Those that --rewrite joint has compared; none where rules made no other.
  std::vector<rewrite::ProgramRecord> programs;
  /// Numbers of micro-batches and stages that were searched; mostly none.
  std::vector<TrialRecord> trials;
  std::vector<ReportGrid> grids;
  std::vector<ReportTensor> globals;
  std::vector<ReportTensor> tensors; ///< Inputs and outputs of all entries.
  std::vector<ReportDevice> devices;
  int64_t memoryLimit = 0;         ///< Bytes; of devices in use, the least.
  bool memoryLimitIsGiven = false; ///< Else it is what a device has.
  /// Whether `devices` count what kernels hold: those of the target are known
  /// if it is a CPU, as this machine is.
  bool countsKernels = false;
  std::vector<ReportRow> rows; ///< In program order.
  /// What entries take, collectives beside operators; empty before
  /// Stage::Schedule, and where nothing overlaps.
  std::vector<ScheduleRecord> schedule;
  /// By entry, operator and backend; empty before Stage::Lower, and where no
  /// backend of this build runs on the cluster's devices.
  std::vector<ReportKernel> kernels;
  std::vector<ReportCopies> spaceCopies; ///< None where memory is the host's.
  std::vector<ReportCode> codes;         ///< None without --native.
  /// Most devices first; empty if nobody has compared.
  std::vector<ReportComparison> fewer;
  /// On as many devices, of one kind of parallelism each; likewise.
  std::vector<ReportComparison> ofOneKind;
  int64_t comparisonWork = 0; ///< Matrix entries that the plans in it took.
  int64_t weightBytes = 0;    ///< Of all globals, once.

  // Sums of the rows, and of copies.
  int64_t nanoseconds = 0; ///< Of one run, predicted, nothing overlapping.
  /// The same program on one device of the cluster, by the same prices.
  int64_t oneDeviceNanoseconds = 0;
  double flops = 0;
  /// The share of all arithmetic, and of all bytes that operators move, done by
  /// more than one device.
  double replicatedFlops = 0, replicatedBytes = 0;

  /// How many devices its grids have; others are idle.
  int64_t numDevices() const;
  /// Of one run: `nanoseconds`, but of the stages of a pipeline, which run
  /// beside each other, what the schedule says.
  int64_t runNanoseconds() const;
  /// The sums over all entries, without a name.
  ScheduleRecord allSchedules() const;
  /// How many times faster than one device; 0 if nothing takes time.
  double speedUp() const {
    int64_t time = runNanoseconds();
    return time > 0 ? double(oneDeviceNanoseconds) / double(time) : 0;
  }
};

/// How fast outputs follow each other.
struct ReportThroughput {
  std::string of;          ///< What counts as one: `row` or `batch`.
  int64_t outputs = 1;     ///< Of a run.
  int64_t nanoseconds = 0; ///< Of a run.
  /// No plan of the program on these devices has less of a run: its operators
  /// alone, shared evenly. None where devices differ.
  std::optional<int64_t> lowerBound;

  /// From one output to the next.
  int64_t interval() const { return nanoseconds / outputs; }
  /// Outputs.
  double perSecond() const {
    return nanoseconds > 0 ? 1e9 * double(outputs) / double(nanoseconds) : 0;
  }
};
/// Of a plan that is to have a high one; nothing of others.
std::optional<ReportThroughput> throughputOf(const Report &report);

/// Reads the report off `module` after the partition stage. Of the memory only
/// weights are known yet, and no kernels. ExitCode::Invalid for an operator
/// without a strategy, or a broken record of the plan.
Expected<Report> makeReport(mlir::ModuleOp module, const Cluster &cluster);
/// Adds what is known of `module` once it is lowered, for the device with the
/// kernels `device` unless that is null: its kernels, and instead of what would
/// be copied on `cluster` what is.
void addLoweredFacts(mlir::ModuleOp module, const Cluster &cluster,
                     Report &report, const rt::Backend *device = nullptr);

/// Computes the sums of `report` from its rows and copies.
void sumRows(Report &report);
/// Leaves only what belongs to `entry`. ExitCode::Usage names those there are.
Status keepEntry(Report &report, llvm::StringRef entry);

/// The fastest plan on fewer devices that is known, if it is faster than this
/// one: one device is always known.
std::optional<ReportComparison> fasterOnFewer(const Report &report);

/// A part of the predicted time.
struct ReportShare {
  std::string op;          ///< `nn.matmul`, `spmd.all_reduce`
  std::string where;       ///< The heading of the table; empty of a collective.
  int64_t count = 0;       ///< How many rows it sums up.
  int64_t nanoseconds = 0; ///< What these take together.
};
/// Where the time goes: operators by heading of the table, collectives by kind;
/// what takes most first.
std::vector<ReportShare> timeShares(const Report &report);

/// The JSON form: what `explain --json` prints, and artifacts and dumps carry.
llvm::json::Value toJSON(const Report &report);
/// One row, as the report has it.
llvm::json::Value toJSON(const ReportRow &row);
/// One tensor, as the report has it.
llvm::json::Value toJSON(const ReportTensor &tensor);
/// The same of a grid.
llvm::json::Value toJSON(const ReportGrid &grid);
/// ExitCode::Invalid if `text` is no report in JSON, Version if it is one of
/// another version.
Expected<Report> reportFromText(llvm::StringRef text);

/// One screen: time and how good it is, where it goes, memory, communication.
void printSummary(const Report &report, llvm::raw_ostream &os);
/// A legend, and for each entry a line per operator and collective; layers that
/// differ in numbers only are one group with a count.
void printLayers(const Report &report, llvm::raw_ostream &os);

} // namespace divisi

#endif // DIVISI_REPORT_REPORT_H
