//===- ReportJSON.cpp - Reports as JSON -----------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FieldText.h"
#include "LayerGroups.h"
#include "divisi/Report/Report.h"
#include "divisi/Search/Solvers.h"

using namespace llvm;
using namespace divisi;

namespace divisi {

// Found by argument-dependent lookup from llvm::json.

json::Value toJSON(const ReportRow &row) {
  json::Object object{
      {"entry", row.entry},
      {"layer", row.layer},
      {"node", row.node},
      {"op", row.op},
      {"grid", row.grid},
      {"split", splitText(row)},
      {"operands", layoutsText(row.operands)},
      {"results", layoutsText(row.results)},
      {"fused", row.isFused},
      {"nanoseconds", row.nanoseconds},
      {"bytes", row.bytes},
      {"flops", row.flops},
      {"replication", row.replication},
      {"moved_bytes", row.movedBytes},
      {"one_device_nanoseconds", row.oneDeviceNanoseconds},
      {"kernel", row.kernel},
      {"rules", json::Array(row.rules)},
  };
  if (row.arrivedNanoseconds > 0) {
    object["arrived_nanoseconds"] = row.arrivedNanoseconds;
    object["least_nanoseconds"] = row.leastNanoseconds;
  }
  return object;
}

json::Value toJSON(const ReportTensor &tensor) {
  return json::Object{{"name", tensor.name},
                      {"kind", tensor.kind},
                      {"shape", json::Array(tensor.shape)},
                      {"grid", tensor.grid},
                      {"layout", tensor.layout.str()},
                      {"entry", tensor.entry}};
}

static json::Value toJSON(const ReportDevice &device) {
  json::Object object{{"kind", device.kind},
                      {"limit_bytes", device.limitBytes},
                      {"shard_bytes", device.shardBytes},
                      {"weight_bytes", device.weightBytes},
                      {"arena_bytes", device.arenaBytes},
                      {"workspace_bytes", device.workspaceBytes},
                      {"packed_bytes", device.packedBytes},
                      {"message_bytes", device.messageBytes},
                      {"total_bytes", device.totalBytes()}};
  if (device.ownBytes > 0) {
    object["own_bytes"] = device.ownBytes;
    object["context_bytes"] = device.overhead.context;
    object["module_bytes"] = device.overhead.modules;
    object["nccl_bytes"] = device.overhead.nccl;
  }
  return object;
}

static json::Value toJSON(const ReportKernel &kernel) {
  return json::Object{{"entry", kernel.entry},     {"op", kernel.op},
                      {"head", kernel.head},       {"backend", kernel.backend},
                      {"library", kernel.library}, {"calls", kernel.calls}};
}

static json::Value toJSON(const ReportCopies &copies) {
  return json::Object{{"entry", copies.entry},
                      {"space", copies.space},
                      {"copies", copies.copies},
                      {"bytes", copies.bytes},
                      {"nanoseconds", copies.nanoseconds},
                      {"one_device_nanoseconds", copies.oneDeviceNanoseconds}};
}

static json::Value toJSON(const ReportCode &code) {
  return json::Object{{"target", code.target}, {"bytes", code.bytes}};
}

static std::string axesText(const Grid &grid) {
  std::string text;
  raw_string_ostream os(text);
  grid.print(os);
  return text;
}

json::Value toJSON(const ReportGrid &grid) {
  json::Object object{{"name", grid.name},
                      {"axes", axesText(grid.axes)},
                      {"devices", json::Array(grid.devices)}};
  if (!grid.parallelism.empty()) {
    object["parallelism"] = grid.parallelism;
  }
  return object;
}

static json::Value toJSON(const ReportComparison &other) {
  return json::Object{{"devices", other.devices},
                      {"fits", other.fits},
                      {"nanoseconds", other.nanoseconds},
                      {"peak_bytes", other.peakBytes},
                      {"parallelism", other.parallelism}};
}

/// With what is hidden, which follows from the others.
static json::Value toJSON(const ScheduleRecord &record) {
  return json::Object{{"entry", record.entry},
                      {"nanoseconds", record.nanoseconds},
                      {"communication", record.communication},
                      {"exposed", record.exposed},
                      {"hidden", record.communication - record.exposed}};
}

static json::Value toJSON(const TrialRecord &record) {
  return json::Object{{"micro_batches", record.microBatches},
                      {"stages", record.stages},
                      {"nanoseconds", record.nanoseconds},
                      {"taken", record.isTaken},
                      {"left_out", record.leftOut}};
}

static json::Value toJSON(const ReportThroughput &throughput) {
  json::Object object{{"of", throughput.of},
                      {"outputs", throughput.outputs},
                      {"nanoseconds", throughput.nanoseconds},
                      {"interval_nanoseconds", throughput.interval()},
                      {"per_second", throughput.perSecond()}};
  if (throughput.lowerBound) {
    object["lower_bound"] = *throughput.lowerBound;
  }
  return object;
}

static json::Value toJSON(const ReportShare &share) {
  return json::Object{{"op", share.op},
                      {"where", share.where},
                      {"count", share.count},
                      {"nanoseconds", share.nanoseconds}};
}

/// What most reports have nothing of stands in those alone that have it.
static bool isAbsent(const auto &value) { return false; }
static bool isAbsent(const std::vector<int64_t> &list) { return list.empty(); }
static bool isAbsent(std::optional<bool> flag) { return !flag; }

/// With the gap, which follows from the others.
static json::Value toJSON(const std::optional<PlanRecord> &plan) {
  if (!plan) {
    return nullptr;
  }
  json::Object object;
  forEachField(*plan, [&](StringRef name, const auto &value) {
    if (!isAbsent(value)) {
      object[name] = json::Value(value);
    }
  });
  if (plan->lowerBound) {
    object["gap_to_bound"] =
        search::relativeGap(plan->nanoseconds, *plan->lowerBound);
  }
  return object;
}

static json::Value toJSON(const std::optional<PrecisionRecord> &precision) {
  if (!precision) {
    return nullptr;
  }
  json::Object object{{"type", precision->type}};
  forEachCount(*precision,
               [&](StringRef name, int64_t count) { object[name] = count; });
  return object;
}

static json::Value toJSON(const rewrite::RuleRecord &rule) {
  return json::Object{{"name", rule.name},
                      {"file", rule.file},
                      {"class", rule.numericClass},
                      {"times", rule.times},
                      {"nodes", json::Array(rule.nodes)},
                      {"declined", rule.declined}};
}

static json::Value toJSON(const std::optional<rewrite::SavingRecord> &saving) {
  if (!saving) {
    return nullptr;
  }
  return json::Object{{"devices", saving->devices},
                      {"nanoseconds_before", saving->before},
                      {"nanoseconds_after", saving->after}};
}

static json::Value toJSON(const rewrite::ProgramRecord &program) {
  return json::Object{{"share", program.share},
                      {"nanoseconds", program.nanoseconds},
                      {"lower_bound", program.lowerBound},
                      {"taken", program.isTaken},
                      {"left_out", program.leftOut},
                      {"rules", json::Array(program.rules)}};
}

/// The groups of the table: how many layers of which names are alike.
static json::Array groupsOf(const Report &report) {
  json::Array groups;
  for (const EntryGroups &entry : groupLayers(report.rows)) {
    for (const LayerGroup &group : entry.groups) {
      groups.push_back(
          json::Object{{"entry", entry.entry},
                       {"label", group.label},
                       {"headings", json::Array(group.headings)},
                       {"rows", int64_t(group.blocks.front().size())},
                       {"nanoseconds", group.nanoseconds()}});
    }
  }
  return groups;
}

} // namespace divisi

/// What moves between layouts: a part of the rows again, by the names that a
/// reader of the JSON looks for.
static json::Array collectives(const Report &report) {
  json::Array collectives;
  for (const ReportRow &row : report.rows) {
    if (row.isCollective()) {
      collectives.push_back(
          json::Object{{"kind", row.op.substr(StringRef("spmd.").size())},
                       {"entry", row.entry},
                       {"scope", row.layer},
                       {"node", row.node},
                       {"axes", splitText(row)},
                       {"bytes", row.bytes},
                       {"nanoseconds", row.nanoseconds}});
    }
  }
  return collectives;
}

template <typename T> static json::Array toArray(const std::vector<T> &values) {
  json::Array array;
  for (const T &value : values) {
    array.push_back(toJSON(value));
  }
  return array;
}

json::Value divisi::toJSON(const Report &report) {
  json::Object memory{
      {"limit_bytes", report.memoryLimit},
      {"limit_is_given", report.memoryLimitIsGiven},
      {"weight_bytes", report.weightBytes},
      {"counts_kernels", report.countsKernels},
      {"per_device", toArray(report.devices)},
  };
  std::optional<ReportComparison> faster = fasterOnFewer(report);
  json::Object object{
      {"schema_version", kReportSchemaVersion},
      {"model", report.model},
      {"cluster", report.cluster},
      {"device_kind", report.deviceKind},
      {"plan", toJSON(report.plan)},
      {"precision", toJSON(report.precision)},
      {"rules", toArray(report.rules)},
      {"saving", toJSON(report.saving)},
      {"programs", toArray(report.programs)},
      {"programs_lower_bound", rewrite::boundOverAll(report.programs)},
      {"grids", toArray(report.grids)},
      {"predicted_nanoseconds", report.nanoseconds},
      {"one_device_nanoseconds", report.oneDeviceNanoseconds},
      {"speed_up", report.speedUp()},
      {"efficiency", report.speedUp() / double(report.numDevices())},
      {"fewer_devices", toArray(report.fewer)},
      {"of_one_kind", toArray(report.ofOneKind)},
      {"faster_on_fewer", faster ? toJSON(*faster) : json::Value(nullptr)},
      {"comparison_work", report.comparisonWork},
      {"time_shares", toArray(timeShares(report))},
      {"memory", std::move(memory)},
      {"flops", report.flops},
      {"replicated_flops", report.replicatedFlops},
      {"replicated_bytes", report.replicatedBytes},
      {"globals", toArray(report.globals)},
      {"tensors", toArray(report.tensors)},
      {"collectives", collectives(report)},
      {"groups", groupsOf(report)},
      {"rows", toArray(report.rows)},
      {"kernels", toArray(report.kernels)},
  };
  if (!report.trials.empty()) {
    object["pipelines"] = toArray(report.trials);
  }
  if (std::optional<ReportThroughput> throughput = throughputOf(report)) {
    object["throughput"] = toJSON(*throughput);
  }
  if (!report.schedule.empty()) {
    object["schedule"] = toArray(report.schedule);
  }
  if (!report.spaceCopies.empty()) {
    object["space_copies"] = toArray(report.spaceCopies);
  }
  if (!report.codes.empty()) {
    object["codes"] = toArray(report.codes);
  }
  return object;
}
