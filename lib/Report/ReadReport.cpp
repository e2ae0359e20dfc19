//===- ReadReport.cpp - Reports from JSON ---------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FieldText.h"
#include "divisi/Layout/Parse.h"
#include "divisi/Report/Report.h"

using namespace llvm;
using namespace divisi;

namespace divisi {

namespace {

/// A row whose split and layouts are text: they speak of the report's grids.
struct RowText {
  ReportRow row;
  std::string split, operands, results;

  friend bool fromJSON(const json::Value &value, RowText &text,
                       json::Path path) {
    ReportRow &row = text.row;
    json::ObjectMapper map(value, path);
    return map && map.map("entry", row.entry) && map.map("layer", row.layer) &&
           map.map("node", row.node) && map.map("op", row.op) &&
           map.map("grid", row.grid) && map.map("split", text.split) &&
           map.map("operands", text.operands) &&
           map.map("results", text.results) &&
           map.mapOptional("fused", row.isFused) &&
           map.map("nanoseconds", row.nanoseconds) &&
           map.mapOptional("arrived_nanoseconds", row.arrivedNanoseconds) &&
           map.mapOptional("least_nanoseconds", row.leastNanoseconds) &&
           map.map("bytes", row.bytes) && map.map("flops", row.flops) &&
           map.map("replication", row.replication) &&
           map.map("moved_bytes", row.movedBytes) &&
           map.map("one_device_nanoseconds", row.oneDeviceNanoseconds) &&
           map.mapOptional("kernel", row.kernel) &&
           map.mapOptional("rules", row.rules);
  }
};

/// The same of a tensor.
struct TensorText {
  ReportTensor tensor;
  std::string layout;

  friend bool fromJSON(const json::Value &value, TensorText &text,
                       json::Path path) {
    ReportTensor &tensor = text.tensor;
    json::ObjectMapper map(value, path);
    return map && map.map("name", tensor.name) &&
           map.map("kind", tensor.kind) && map.map("shape", tensor.shape) &&
           map.map("grid", tensor.grid) && map.map("layout", text.layout) &&
           map.map("entry", tensor.entry);
  }
};

} // namespace

// Found by argument-dependent lookup from llvm::json.

static bool fromJSON(const json::Value &value, ReportDevice &device,
                     json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.mapOptional("kind", device.kind) &&
         map.mapOptional("limit_bytes", device.limitBytes) &&
         map.map("shard_bytes", device.shardBytes) &&
         map.map("weight_bytes", device.weightBytes) &&
         map.map("arena_bytes", device.arenaBytes) &&
         map.mapOptional("workspace_bytes", device.workspaceBytes) &&
         map.mapOptional("packed_bytes", device.packedBytes) &&
         map.mapOptional("message_bytes", device.messageBytes) &&
         map.mapOptional("own_bytes", device.ownBytes) &&
         map.mapOptional("context_bytes", device.overhead.context) &&
         map.mapOptional("module_bytes", device.overhead.modules) &&
         map.mapOptional("nccl_bytes", device.overhead.nccl);
}

static bool fromJSON(const json::Value &value, ReportKernel &kernel,
                     json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.map("entry", kernel.entry) && map.map("op", kernel.op) &&
         map.mapOptional("head", kernel.head) &&
         map.map("backend", kernel.backend) &&
         map.mapOptional("library", kernel.library) &&
         map.map("calls", kernel.calls);
}

static bool fromJSON(const json::Value &value, ReportCopies &copies,
                     json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.map("entry", copies.entry) &&
         map.map("space", copies.space) && map.map("copies", copies.copies) &&
         map.map("bytes", copies.bytes) &&
         map.mapOptional("nanoseconds", copies.nanoseconds) &&
         map.mapOptional("one_device_nanoseconds", copies.oneDeviceNanoseconds);
}

static bool fromJSON(const json::Value &value, ReportCode &code,
                     json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.map("target", code.target) && map.map("bytes", code.bytes);
}

static bool fromJSON(const json::Value &value, ReportGrid &grid,
                     json::Path path) {
  json::ObjectMapper map(value, path);
  std::string axes;
  if (!map || !map.map("name", grid.name) || !map.map("axes", axes) ||
      !map.map("devices", grid.devices) ||
      !map.mapOptional("parallelism", grid.parallelism)) {
    return false;
  }
  llvm::Expected<Grid> read = parseGrid(axes);
  if (!read) {
    path.field("axes").report("expected axes");
    consumeError(read.takeError());
    return false;
  }
  grid.axes = std::move(*read);
  return true;
}

static bool fromJSON(const json::Value &value, ReportComparison &other,
                     json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.map("devices", other.devices) &&
         map.map("fits", other.fits) &&
         map.map("nanoseconds", other.nanoseconds) &&
         map.map("peak_bytes", other.peakBytes) &&
         map.map("parallelism", other.parallelism);
}

static bool fromJSON(const json::Value &value, ScheduleRecord &record,
                     json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.map("entry", record.entry) &&
         map.map("nanoseconds", record.nanoseconds) &&
         map.map("communication", record.communication) &&
         map.map("exposed", record.exposed);
}

static bool fromJSON(const json::Value &value, TrialRecord &record,
                     json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.map("micro_batches", record.microBatches) &&
         map.map("stages", record.stages) &&
         map.map("nanoseconds", record.nanoseconds) &&
         map.map("taken", record.isTaken) &&
         map.map("left_out", record.leftOut);
}

static bool fromJSON(const json::Value &value, std::optional<PlanRecord> &plan,
                     json::Path path) {
  if (value.getAsNull()) {
    return true;
  }
  json::ObjectMapper map(value, path);
  bool ok = bool(map);
  forEachField(plan.emplace(), [&](StringLiteral name, auto &field) {
    // Lists that are empty are left out.
    constexpr bool isList =
        std::is_same_v<decltype(field), std::vector<int64_t> &>;
    ok = ok && (isList ? map.mapOptional(name, field) : map.map(name, field));
  });
  return ok;
}

static bool fromJSON(const json::Value &value,
                     std::optional<PrecisionRecord> &precision,
                     json::Path path) {
  if (value.getAsNull()) {
    return true;
  }
  json::ObjectMapper map(value, path);
  bool ok = map && map.map("type", precision.emplace().type);
  forEachCount(*precision, [&](StringLiteral name, int64_t &count) {
    ok = ok && map.map(name, count);
  });
  return ok;
}

} // namespace divisi

// Where the mapper looks for it.
namespace divisi::rewrite {

static bool fromJSON(const json::Value &value, RuleRecord &rule,
                     json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.map("name", rule.name) && map.map("file", rule.file) &&
         map.map("class", rule.numericClass) && map.map("times", rule.times) &&
         map.map("nodes", rule.nodes) && map.map("declined", rule.declined);
}

static bool fromJSON(const json::Value &value, SavingRecord &saving,
                     json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.map("devices", saving.devices) &&
         map.map("nanoseconds_before", saving.before) &&
         map.map("nanoseconds_after", saving.after);
}

static bool fromJSON(const json::Value &value, ProgramRecord &program,
                     json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.map("share", program.share) &&
         map.map("nanoseconds", program.nanoseconds) &&
         map.map("lower_bound", program.lowerBound) &&
         map.map("taken", program.isTaken) &&
         map.map("left_out", program.leftOut) &&
         map.map("rules", program.rules);
}

} // namespace divisi::rewrite

static bool mapMemory(const json::Value &value, Report &report,
                      json::Path path) {
  const json::Object *object = value.getAsObject();
  const json::Value *memory = object ? object->get("memory") : nullptr;
  if (!memory) {
    path.report("no memory");
    return false;
  }
  json::ObjectMapper map(*memory, path.field("memory"));
  return map && map.map("limit_bytes", report.memoryLimit) &&
         map.map("limit_is_given", report.memoryLimitIsGiven) &&
         map.map("weight_bytes", report.weightBytes) &&
         map.map("counts_kernels", report.countsKernels) &&
         map.map("per_device", report.devices);
}

//===----------------------------------------------------------------------===//
// Splits and layouts
//===----------------------------------------------------------------------===//

/// Null if the report has no grid of that name.
static const Grid *gridOf(const Report &report, StringRef name) {
  auto found = find_if(
      report.grids, [&](const ReportGrid &grid) { return grid.name == name; });
  return found == report.grids.end() ? nullptr : &found->axes;
}

/// Sets `layouts` to what `text` says on `grid`.
static Status resolve(const Report &report, StringRef grid, StringRef text,
                      std::vector<GridLayout> &layouts) {
  const Grid *axes = gridOf(report, grid);
  auto read = axes ? readLayouts(text, *axes) : std::nullopt;
  if (!read) {
    return makeError(ExitCode::Invalid, "the report has '", text.str(),
                     "' where layouts on its grid '", grid.str(),
                     "' are expected");
  }
  layouts = std::move(*read);
  return Status();
}

/// The operand of a transfer is on another grid than its result.
static Status addRow(RowText text, Report &report) {
  ReportRow &row = text.row;
  auto [source, target] = StringRef(row.grid).split(" to ");
  Status status = resolve(report, source, text.operands, row.operands);
  if (status.isOk()) {
    status = resolve(report, target.empty() ? source : target, text.results,
                     row.results);
  }
  if (status.isOk() && !readSplit(text.split, row)) {
    status = makeError(ExitCode::Invalid, "the report has '", text.split,
                       "' where the split of '", row.op, "' is expected");
  }
  if (status.isOk()) {
    report.rows.push_back(std::move(row));
  }
  return status;
}

static Status addTensor(TensorText text, const Report &report,
                        std::vector<ReportTensor> &tensors) {
  std::vector<GridLayout> layouts;
  Status status = resolve(report, text.tensor.grid, text.layout, layouts);
  if (status.isOk() && layouts.size() != 1) {
    status =
        makeError(ExitCode::Invalid, "the report has '", text.layout,
                  "' where one layout of '", text.tensor.name, "' is expected");
  }
  if (status.isOk()) {
    text.tensor.layout = std::move(layouts.front());
    tensors.push_back(std::move(text.tensor));
  }
  return status;
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

divisi::Expected<Report> divisi::reportFromText(StringRef text) {
  llvm::Expected<json::Value> parsed = json::parse(text);
  if (!parsed) {
    return Status(ExitCode::Invalid, toString(parsed.takeError()));
  }
  const json::Value &value = *parsed;
  Report report;
  std::vector<RowText> rows;
  std::vector<TensorText> globals, tensors;
  int64_t version = 0;
  json::Path::Root root("report");
  json::ObjectMapper map(value, root);
  bool ok = map && map.map("schema_version", version);
  if (ok && version != kReportSchemaVersion) {
    return Status(ExitCode::Version,
                  "the report has schema version " + std::to_string(version) +
                      ", expected " + std::to_string(kReportSchemaVersion));
  }
  ok = ok && map.map("model", report.model) &&
       map.map("cluster", report.cluster) &&
       map.map("device_kind", report.deviceKind) &&
       map.map("plan", report.plan) &&
       map.mapOptional("precision", report.precision) &&
       map.mapOptional("rules", report.rules) &&
       map.map("saving", report.saving) &&
       map.mapOptional("programs", report.programs) &&
       map.mapOptional("pipelines", report.trials) &&
       map.map("grids", report.grids) && mapMemory(value, report, root) &&
       map.map("globals", globals) && map.map("tensors", tensors) &&
       map.map("rows", rows) && map.map("kernels", report.kernels) &&
       map.mapOptional("schedule", report.schedule) &&
       map.mapOptional("space_copies", report.spaceCopies) &&
       map.mapOptional("codes", report.codes) &&
       map.map("fewer_devices", report.fewer) &&
       map.map("of_one_kind", report.ofOneKind) &&
       map.map("comparison_work", report.comparisonWork);
  if (!ok) {
    return Status(ExitCode::Invalid, toString(root.getError()));
  }
  for (auto [texts, out] : {std::pair(&globals, &report.globals),
                            std::pair(&tensors, &report.tensors)}) {
    for (TensorText &text : *texts) {
      Status status = addTensor(std::move(text), report, *out);
      if (!status.isOk()) {
        return status;
      }
    }
  }
  for (RowText &text : rows) {
    if (Status status = addRow(std::move(text), report); !status.isOk()) {
      return status;
    }
  }
  sumRows(report);
  return report;
}
