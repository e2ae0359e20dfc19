//===- ReportJSON.cpp - Reports as JSON -----------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LayerGroups.h"
#include "divisi/Report/Report.h"
#include "divisi/Search/Solvers.h"

using namespace llvm;
using namespace divisi;

namespace divisi {

// Found by argument-dependent lookup from llvm::json.

json::Value toJSON(const ReportRow &row) {
  return json::Object{
      {"entry", row.entry},
      {"layer", row.layer},
      {"node", row.node},
      {"op", row.op},
      {"grid", row.grid},
      {"split", row.split},
      {"operands", row.operands},
      {"results", row.results},
      {"fused", row.isFused},
      {"nanoseconds", row.nanoseconds},
      {"bytes", row.bytes},
      {"flops", row.flops},
      {"replication", row.replication},
      {"moved_bytes", row.movedBytes},
      {"one_device_nanoseconds", row.oneDeviceNanoseconds},
      {"kernel", row.kernel},
  };
}

static bool fromJSON(const json::Value &value, ReportRow &row,
                     json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.map("entry", row.entry) && map.map("layer", row.layer) &&
         map.map("node", row.node) && map.map("op", row.op) &&
         map.map("grid", row.grid) && map.map("split", row.split) &&
         map.map("operands", row.operands) && map.map("results", row.results) &&
         map.mapOptional("fused", row.isFused) &&
         map.map("nanoseconds", row.nanoseconds) &&
         map.map("bytes", row.bytes) && map.map("flops", row.flops) &&
         map.map("replication", row.replication) &&
         map.map("moved_bytes", row.movedBytes) &&
         map.map("one_device_nanoseconds", row.oneDeviceNanoseconds) &&
         map.mapOptional("kernel", row.kernel);
}

json::Value toJSON(const ReportTensor &tensor) {
  return json::Object{{"name", tensor.name},
                      {"kind", tensor.kind},
                      {"shape", json::Array(tensor.shape)},
                      {"grid", tensor.grid},
                      {"layout", tensor.layout},
                      {"entry", tensor.entry}};
}

static bool fromJSON(const json::Value &value, ReportTensor &tensor,
                     json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.map("name", tensor.name) && map.map("kind", tensor.kind) &&
         map.map("shape", tensor.shape) && map.map("grid", tensor.grid) &&
         map.map("layout", tensor.layout) && map.map("entry", tensor.entry);
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
  }
  return object;
}

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
         map.mapOptional("own_bytes", device.ownBytes);
}

static json::Value toJSON(const ReportKernel &kernel) {
  return json::Object{{"entry", kernel.entry},
                      {"op", kernel.op},
                      {"head", kernel.head},
                      {"backend", kernel.backend},
                      {"library", kernel.library},
                      {"calls", kernel.calls}};
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

static json::Value toJSON(const ReportCopies &copies) {
  return json::Object{{"entry", copies.entry},
                      {"space", copies.space},
                      {"copies", copies.copies},
                      {"bytes", copies.bytes}};
}

static bool fromJSON(const json::Value &value, ReportCopies &copies,
                     json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.map("entry", copies.entry) &&
         map.map("space", copies.space) && map.map("copies", copies.copies) &&
         map.map("bytes", copies.bytes);
}

static json::Value toJSON(const ReportCode &code) {
  return json::Object{{"target", code.target}, {"bytes", code.bytes}};
}

static bool fromJSON(const json::Value &value, ReportCode &code,
                     json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.map("target", code.target) && map.map("bytes", code.bytes);
}

static json::Value toJSON(const ReportGrid &grid) {
  return json::Object{{"name", grid.name},
                      {"axes", grid.axes},
                      {"devices", json::Array(grid.devices)}};
}

static bool fromJSON(const json::Value &value, ReportGrid &grid,
                     json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.map("name", grid.name) && map.map("axes", grid.axes) &&
         map.map("devices", grid.devices);
}

static json::Value toJSON(const ReportComparison &other) {
  return json::Object{{"devices", other.devices},
                      {"fits", other.fits},
                      {"nanoseconds", other.nanoseconds}};
}

static bool fromJSON(const json::Value &value, ReportComparison &other,
                     json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.map("devices", other.devices) &&
         map.map("fits", other.fits) &&
         map.map("nanoseconds", other.nanoseconds);
}

/// With what is hidden, which follows from the others.
static json::Value toJSON(const ScheduleRecord &record) {
  return json::Object{{"entry", record.entry},
                      {"nanoseconds", record.nanoseconds},
                      {"communication", record.communication},
                      {"exposed", record.exposed},
                      {"hidden", record.communication - record.exposed}};
}

static bool fromJSON(const json::Value &value, ScheduleRecord &record,
                     json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.map("entry", record.entry) &&
         map.map("nanoseconds", record.nanoseconds) &&
         map.map("communication", record.communication) &&
         map.map("exposed", record.exposed);
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

static bool fromJSON(const json::Value &value, std::optional<PlanRecord> &plan,
                     json::Path path) {
  if (value.getAsNull()) {
    return true;
  }
  json::ObjectMapper map(value, path);
  bool ok = bool(map);
  forEachField(plan.emplace(), [&](StringLiteral name, auto &field) {
    ok = ok && (isAbsent(field) ? map.mapOptional(name, field)
                                : map.map(name, field));
  });
  return ok;
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
                       {"axes", row.split},
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
      {"grids", toArray(report.grids)},
      {"predicted_nanoseconds", report.nanoseconds},
      {"one_device_nanoseconds", report.oneDeviceNanoseconds},
      {"speed_up", report.speedUp()},
      {"efficiency", report.speedUp() / double(report.numDevices())},
      {"fewer_devices", toArray(report.fewer)},
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

divisi::Expected<Report> divisi::reportFromText(StringRef text) {
  llvm::Expected<json::Value> parsed = json::parse(text);
  if (!parsed) {
    return Status(ExitCode::Invalid, toString(parsed.takeError()));
  }
  const json::Value &value = *parsed;
  Report report;
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
       map.map("grids", report.grids) && mapMemory(value, report, root) &&
       map.map("globals", report.globals) &&
       map.map("tensors", report.tensors) && map.map("rows", report.rows) &&
       map.map("kernels", report.kernels) &&
       map.mapOptional("schedule", report.schedule) &&
       map.mapOptional("space_copies", report.spaceCopies) &&
       map.mapOptional("codes", report.codes) &&
       map.map("fewer_devices", report.fewer) &&
       map.map("comparison_work", report.comparisonWork);
  if (!ok) {
    return Status(ExitCode::Invalid, toString(root.getError()));
  }
  sumRows(report);
  return report;
}
