//===- ReportJSON.cpp - Reports as JSON -----------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Report/Report.h"

using namespace llvm;
using namespace divisi;

namespace divisi {

// Found by argument-dependent lookup from llvm::json.

static json::Value toJSON(const ReportRow &row) {
  return json::Object{
      {"entry", row.entry},
      {"layer", row.layer},
      {"node", row.node},
      {"op", row.op},
      {"grid", row.grid},
      {"split", row.split},
      {"operands", row.operands},
      {"results", row.results},
      {"nanoseconds", row.nanoseconds},
      {"bytes", row.bytes},
      {"flops", row.flops},
      {"replication", row.replication},
  };
}

static bool fromJSON(const json::Value &value, ReportRow &row,
                     json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.map("entry", row.entry) && map.map("layer", row.layer) &&
         map.map("node", row.node) && map.map("op", row.op) &&
         map.map("grid", row.grid) && map.map("split", row.split) &&
         map.map("operands", row.operands) && map.map("results", row.results) &&
         map.map("nanoseconds", row.nanoseconds) &&
         map.map("bytes", row.bytes) && map.map("flops", row.flops) &&
         map.map("replication", row.replication);
}

static json::Value toJSON(const ReportGlobal &global) {
  return json::Object{{"name", global.name},
                      {"kind", global.kind},
                      {"shape", json::Array(global.shape)},
                      {"grid", global.grid},
                      {"layout", global.layout}};
}

static bool fromJSON(const json::Value &value, ReportGlobal &global,
                     json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.map("name", global.name) && map.map("kind", global.kind) &&
         map.map("shape", global.shape) && map.map("grid", global.grid) &&
         map.map("layout", global.layout);
}

static json::Value toJSON(const ReportDevice &device) {
  return json::Object{{"weight_bytes", device.weightBytes},
                      {"arena_bytes", device.arenaBytes},
                      {"workspace_bytes", device.workspaceBytes},
                      {"packed_bytes", device.packedBytes},
                      {"total_bytes", device.totalBytes()}};
}

static bool fromJSON(const json::Value &value, ReportDevice &device,
                     json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.map("weight_bytes", device.weightBytes) &&
         map.map("arena_bytes", device.arenaBytes) &&
         map.mapOptional("workspace_bytes", device.workspaceBytes) &&
         map.mapOptional("packed_bytes", device.packedBytes);
}

static json::Value toJSON(const ReportKernel &kernel) {
  return json::Object{
      {"op", kernel.op}, {"backend", kernel.backend}, {"calls", kernel.calls}};
}

static bool fromJSON(const json::Value &value, ReportKernel &kernel,
                     json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.map("op", kernel.op) &&
         map.map("backend", kernel.backend) && map.map("calls", kernel.calls);
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
  return json::Object{
      {"schema_version", kReportSchemaVersion},
      {"model", report.model},
      {"cluster", report.cluster},
      {"grids", toArray(report.grids)},
      {"predicted_nanoseconds", report.nanoseconds},
      {"memory", json::Object{{"weight_bytes", report.weightBytes},
                              {"per_device", toArray(report.devices)}}},
      {"flops", report.flops},
      {"replicated_flops", report.replicatedFlops},
      {"replicated_bytes", report.replicatedBytes},
      {"globals", toArray(report.globals)},
      {"collectives", collectives(report)},
      {"rows", toArray(report.rows)},
      {"kernels", toArray(report.kernels)},
  };
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
  return map && map.map("weight_bytes", report.weightBytes) &&
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
  bool ok = map && map.map("schema_version", version) &&
            map.map("model", report.model) &&
            map.map("cluster", report.cluster) &&
            map.map("grids", report.grids) &&
            map.map("predicted_nanoseconds", report.nanoseconds) &&
            mapMemory(value, report, root) && map.map("flops", report.flops) &&
            map.map("replicated_flops", report.replicatedFlops) &&
            map.map("replicated_bytes", report.replicatedBytes) &&
            map.map("globals", report.globals) &&
            map.map("rows", report.rows) && map.map("kernels", report.kernels);
  if (!ok) {
    return Status(ExitCode::Invalid, toString(root.getError()));
  }
  if (version != kReportSchemaVersion) {
    return Status(ExitCode::Version,
                  "the report has schema version " + std::to_string(version) +
                      ", expected " + std::to_string(kReportSchemaVersion));
  }
  return report;
}
