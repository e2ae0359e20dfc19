//===- Totals.cpp - Sums over the rows of a report ------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LayerGroups.h"
#include "NumberedNames.h"
#include "divisi/Report/Report.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <map>
#include <set>

using namespace divisi;

static double share(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

void divisi::sumRows(Report &report) {
  report.nanoseconds = report.oneDeviceNanoseconds = 0;
  report.flops = 0;
  double flopsReplicated = 0, moved = 0, movedReplicated = 0;
  for (const ReportRow &row : report.rows) {
    report.nanoseconds += row.nanoseconds;
    report.oneDeviceNanoseconds += row.oneDeviceNanoseconds;
    report.flops += row.flops;
    moved += double(row.movedBytes);
    if (row.replication > 1) {
      flopsReplicated += row.flops;
      movedReplicated += double(row.movedBytes);
    }
  }
  for (const ReportCopies &copies : report.spaceCopies) {
    report.nanoseconds += copies.nanoseconds;
    report.oneDeviceNanoseconds += copies.oneDeviceNanoseconds;
  }
  report.replicatedFlops = share(flopsReplicated, report.flops);
  report.replicatedBytes = share(movedReplicated, moved);
}

ScheduleRecord Report::allSchedules() const {
  ScheduleRecord sum;
  for (const ScheduleRecord &record : schedule) {
    sum.nanoseconds += record.nanoseconds;
    sum.communication += record.communication;
    sum.exposed += record.exposed;
  }
  return sum;
}

int64_t Report::runNanoseconds() const {
  bool isPipeline = plan && plan->stages && !schedule.empty();
  return isPipeline ? allSchedules().nanoseconds : nanoseconds;
}

std::optional<ReportThroughput> divisi::throughputOf(const Report &report) {
  const std::optional<PlanRecord> &plan = report.plan;
  if (!plan || !plan->throughputOf || plan->outputs.value_or(0) < 1) {
    return std::nullopt;
  }
  // Bodies are scheduled each by itself.
  int64_t time = report.schedule.size() == 1
                     ? report.schedule.front().nanoseconds
                     : report.runNanoseconds();
  ReportThroughput throughput{*plan->throughputOf, *plan->outputs, time,
                              std::nullopt};
  bool isAlike = llvm::all_of(report.devices, [&](const ReportDevice &device) {
    return device.kind == report.devices.front().kind;
  });
  if (isAlike) {
    throughput.lowerBound = report.oneDeviceNanoseconds / report.numDevices();
  }
  return throughput;
}

int64_t Report::numDevices() const {
  std::set<int64_t> used;
  for (const ReportGrid &grid : grids) {
    used.insert(grid.devices.begin(), grid.devices.end());
  }
  return std::max<int64_t>(1, int64_t(used.size()));
}

Status divisi::keepEntry(Report &report, llvm::StringRef entry) {
  std::vector<std::string> names;
  for (const ReportRow &row : report.rows) {
    if (!llvm::is_contained(names, row.entry)) {
      names.push_back(row.entry);
    }
  }
  if (!llvm::is_contained(names, entry)) {
    return Status(ExitCode::Usage, "no entry '" + entry.str() +
                                       "'; there are " +
                                       llvm::join(names, ", "));
  }
  llvm::erase_if(report.rows,
                 [&](const ReportRow &row) { return row.entry != entry; });
  llvm::erase_if(report.kernels, [&](const ReportKernel &kernel) {
    return kernel.entry != entry;
  });
  llvm::erase_if(report.spaceCopies, [&](const ReportCopies &copies) {
    return copies.entry != entry;
  });
  llvm::erase_if(report.tensors, [&](const ReportTensor &tensor) {
    return tensor.entry != entry;
  });
  llvm::erase_if(report.schedule, [&](const ScheduleRecord &record) {
    return record.entry != entry;
  });
  // Other plans were compared for all entries together.
  report.fewer.clear();
  report.ofOneKind.clear();
  sumRows(report);
  return Status();
}

std::optional<ReportComparison> divisi::fasterOnFewer(const Report &report) {
  std::vector<ReportComparison> plans = report.fewer;
  if (plans.empty() && report.numDevices() > 1) {
    plans.push_back({1, report.weightBytes <= report.memoryLimit,
                     report.oneDeviceNanoseconds});
  }
  std::optional<ReportComparison> best;
  int64_t least = report.runNanoseconds();
  for (const ReportComparison &plan : plans) {
    if (plan.fits && plan.nanoseconds < (best ? best->nanoseconds : least)) {
      best = plan;
    }
  }
  return best;
}

std::vector<ReportShare> divisi::timeShares(const Report &report) {
  struct Sum {
    ReportShare share;
    std::set<std::string> headings;
  };
  std::map<std::pair<std::string, std::string>, Sum> sums;
  for (const EntryGroups &entry : groupLayers(report.rows)) {
    for (const LayerGroup &group : entry.groups) {
      for (auto [heading, block] : llvm::zip(group.headings, group.blocks)) {
        for (const ReportRow &row : block) {
          bool isPlaced = !row.isCollective() && !heading.empty();
          Sum &sum = sums[{row.op, isPlaced ? withoutNumbers(heading) : ""}];
          sum.share.op = row.op;
          sum.share.count += 1;
          sum.share.nanoseconds += row.nanoseconds;
          if (isPlaced) {
            sum.headings.insert(heading);
          }
        }
      }
    }
  }
  for (const ReportCopies &copies : report.spaceCopies) {
    ReportShare &share = sums[{"copies between host and device", ""}].share;
    share.op = "copies between host and device";
    share.count += copies.copies;
    share.nanoseconds += copies.nanoseconds;
  }
  std::vector<ReportShare> shares;
  for (auto &[key, sum] : sums) {
    if (!sum.headings.empty()) {
      sum.share.where = nameAll(llvm::to_vector(sum.headings));
    }
    shares.push_back(std::move(sum.share));
  }
  llvm::stable_sort(shares, [](const ReportShare &a, const ReportShare &b) {
    return a.nanoseconds > b.nanoseconds;
  });
  return shares;
}
