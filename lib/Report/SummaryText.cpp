//===- SummaryText.cpp - What a report says first -------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VisibleNames.h"

#include "FieldText.h"
#include "divisi/Search/Solvers.h"
#include "divisi/Support/Units.h"
#include "divisi/runtime/code/GridCode.h"
#include "divisi/runtime/code/GridTarget.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>

using namespace llvm;
using namespace divisi;

/// How many parts of the time are named.
static constexpr size_t kMostShares = 5;

static raw_ostream &line(raw_ostream &os, const Twine &name) {
  return os << left_justify(name.str(), 18);
}

static std::string percent(double share) {
  return formatv("{0:F1} %", 100 * share).str();
}

//===----------------------------------------------------------------------===//
// Time
//===----------------------------------------------------------------------===//

/// What was said before is without overlap.
static void printSchedule(const Report &report, raw_ostream &os) {
  ScheduleRecord sum = report.allSchedules();
  if (sum.communication > 0) {
    line(os, "overlapping") << formatv(
        "{0}: of {1} of communication {2} hidden, {3} exposed\n",
        formatTime(sum.nanoseconds), formatTime(sum.communication),
        formatTime(sum.communication - sum.exposed), formatTime(sum.exposed));
  }
}

static void printTime(const Report &report, raw_ostream &os) {
  int64_t devices = report.numDevices();
  int64_t time = report.runNanoseconds();
  line(os, "on one device")
      << formatTime(report.oneDeviceNanoseconds)
      << " a run, predicted, without overlap"
      << (report.weightBytes > report.memoryLimit
              ? "; its weights alone exceed the memory limit\n"
              : "\n");
  line(os, "on these " + Twine(devices)) << formatTime(time);
  if (time > 0) {
    os << formatv(": speed-up {0:F2}, efficiency {1:F1} %", report.speedUp(),
                  100 * report.speedUp() / double(devices));
  }
  if (time != report.nanoseconds) {
    os << ", of stages beside each other, whose work is "
       << formatTime(report.nanoseconds) << " in all";
  }
  os << "\n";
  printSchedule(report, os);
  for (const auto &[name, text] : throughputLines(report)) {
    line(os, name) << text << "\n";
  }
  for (const auto &[name, text] : comparisonLines(report)) {
    line(os, name) << text << "\n";
  }
}

/// Several entries run at different times: each has its own.
static void printEntries(const Report &report, raw_ostream &os) {
  std::vector<std::pair<std::string, int64_t>> entries;
  for (const ReportRow &row : report.rows) {
    if (entries.empty() || entries.back().first != row.entry) {
      entries.push_back({row.entry, 0});
    }
    entries.back().second += row.nanoseconds;
  }
  for (const ReportCopies &copies : report.spaceCopies) {
    for (auto &[entry, nanoseconds] : entries) {
      nanoseconds += entry == copies.entry ? copies.nanoseconds : 0;
    }
  }
  if (entries.size() > 1) {
    for (const auto &[entry, nanoseconds] : entries) {
      line(os, "entry @" + entry) << formatTime(nanoseconds) << "\n";
    }
  }
}

//===----------------------------------------------------------------------===//
// How good the plan is
//===----------------------------------------------------------------------===//

static std::string endOf(const PlanRecord &plan, double gap) {
  if (plan.lowerBound && *plan.lowerBound >= plan.nanoseconds) {
    bool isOfAll = !plan.gridsLeftOut && !plan.leavesUnlisted;
    return isOfAll ? "proved optimal" : "proved optimal on these grids";
  }
  if (plan.ended == search::stoppedName(search::Stopped::Finished)) {
    return gap <= plan.gap ? "within the requested gap, " +
                                 formatv("{0:F2} %", 100 * plan.gap).str()
                           : "nothing is left to try";
  }
  if (plan.ended == search::stoppedName(search::Stopped::Work)) {
    return plan.workDone < plan.work ? "budget for closing the gap used up"
                                     : "work budget used up";
  }
  return (plan.ended == search::stoppedName(search::Stopped::Time)
              ? "the time limit was reached"
              : "the search was interrupted") +
         std::string(": another run may end elsewhere");
}

static void printQuality(const Report &report, raw_ostream &os) {
  if (!report.plan) {
    line(os, "plan") << "written by hand: the gap is not known\n";
    return;
  }
  const PlanRecord &plan = *report.plan;
  if (plan.edited) {
    line(os, "gap") << "not known: the plan was edited; before that it took "
                    << formatTime(plan.nanoseconds);
    if (plan.lowerBound) {
      os << "; its lower bound over the declared strategies was "
         << formatTime(*plan.lowerBound);
    }
    os << "\n";
  } else if (plan.stages) {
    line(os, "pipeline") << formatv(
        "{0} stages, {1} micro-batches, schedule {2}: the gap is not known\n",
        *plan.stages, plan.microBatches.value_or(1),
        plan.schedule.value_or("given"));
  } else if (!plan.lowerBound) {
    line(os, "plan") << "drawn at random from seed " << plan.seed
                     << ": the gap is not known\n";
  } else {
    double gap = search::relativeGap(plan.nanoseconds, *plan.lowerBound);
    line(os, "gap") << formatv("{0:F2} %: the plan takes {1}; the lower bound "
                               "over the declared strategies on {2} is {3}\n",
                               100 * gap, formatTime(plan.nanoseconds),
                               describeGrids(plan),
                               formatTime(*plan.lowerBound));
    line(os, "search") << formatv(
        "{0}, seed {1}: {2}; {3} of {4}\n", plan.solver, plan.seed,
        plan.leastSum ? "taken for its time with overlap" : endOf(plan, gap),
        formatAmount(double(plan.workDone), ""), workText(plan.work));
  }
  if (!plan.edited && plan.judged.value_or(0) > 1) {
    line(os, "judged") << formatv(
        "{0} plans were simulated with overlap, and this one takes least, {1}",
        *plan.judged, formatTime(plan.simulated.value_or(0)));
    if (plan.leastSum) {
      os << "; the least sum of times is another's, "
         << formatTime(*plan.leastSum);
    }
    os << "\n";
  }
  if (plan.pinned > 0) {
    line(os, "pinned") << "the strategies of " << plan.pinned
                       << " operators, before the search\n";
  }
}

/// The sum of what is printed is at most the whole.
static void printShares(const Report &report, raw_ostream &os) {
  std::vector<ReportShare> shares = timeShares(report);
  os << "\nwhere the time goes\n";
  int64_t rest = report.nanoseconds;
  size_t count = 0;
  for (const ReportShare &share : shares) {
    if (count == kMostShares || share.nanoseconds == 0) {
      break;
    }
    ++count;
    rest -= share.nanoseconds;
    os << formatv(
        "  {0,10} {1,7}  {2} x {3}{4}{5}\n", formatTime(share.nanoseconds),
        percent(double(share.nanoseconds) / double(report.nanoseconds)),
        share.count, share.op, share.where.empty() ? "" : " in ", share.where);
  }
  if (rest > 0) {
    os << formatv("  {0,10} {1,7}  the rest\n", formatTime(rest),
                  percent(double(rest) / double(report.nanoseconds)));
  }
  os << "\n";
}

//===----------------------------------------------------------------------===//
// Memory and communication
//===----------------------------------------------------------------------===//

/// The fullest device of each kind, in the order of the first of each. Idle
/// ones hold nothing.
static std::vector<const ReportDevice *> fullestOfKinds(const Report &report) {
  std::vector<const ReportDevice *> fullest;
  bool isAnyHeld = llvm::any_of(report.devices, [](const ReportDevice &device) {
    return device.totalBytes() > 0;
  });
  for (const ReportDevice &device : report.devices) {
    if (isAnyHeld && device.totalBytes() == 0) {
      continue;
    }
    auto same = llvm::find_if(fullest, [&](const ReportDevice *other) {
      return other->kind == device.kind;
    });
    if (same == fullest.end()) {
      fullest.push_back(&device);
    } else if (device.limitedBytes() > (*same)->limitedBytes()) {
      *same = &device;
    }
  }
  return fullest;
}

/// `, 34 % of 80 GB (what each a100 has), and 1.0 GiB of the host`
static void printShareOf(int64_t limit, bool isGiven, const Twine &owner,
                         const ReportDevice &device, raw_ostream &os) {
  if (limit > 0) {
    double share = double(device.limitedBytes()) / double(limit);
    os << ", " << percent(share) << " of " << formatBytes(double(limit))
       << " (";
    (isGiven ? os << "--memory-limit" : os << "what " << owner << " has")
        << ")";
  }
  if (int64_t host = device.hostBytes(); host > 0) {
    os << ", and " << formatBytes(double(host)) << " of the host";
  }
  os << "\n";
}

/// Of the fullest device: it decides whether a plan fits. Where there are kinds
/// of devices, each has its own.
static void printMemory(const Report &report, raw_ostream &os) {
  std::vector<const ReportDevice *> kinds = fullestOfKinds(report);
  if (kinds.empty()) {
    return;
  }
  const ReportDevice *fullest = *llvm::max_element(
      kinds, [](const ReportDevice *a, const ReportDevice *b) {
        return a->limitedBytes() < b->limitedBytes();
      });
  if (kinds.size() == 1) {
    line(os, "memory") << formatBytes(double(fullest->limitedBytes()))
                       << " on the fullest device";
    printShareOf(report.memoryLimit, report.memoryLimitIsGiven,
                 "a device of this cluster", *fullest, os);
  } else {
    for (const ReportDevice *device : kinds) {
      line(os, "memory") << formatBytes(double(device->limitedBytes()))
                         << " on the fullest " << device->kind;
      bool isGiven =
          report.plan && report.plan->memoryLimit == device->limitBytes;
      printShareOf(device->limitBytes, isGiven, "each " + device->kind, *device,
                   os);
    }
  }
  std::string parts;
  auto add = [&](StringRef name, int64_t bytes) {
    if (bytes > 0) {
      parts += (parts.empty() ? "= " : " + ") + formatBytes(double(bytes)) +
               " " + name.str();
    }
  };
  add("weights", fullest->weightBytes);
  add("arena", fullest->arenaBytes);
  add("workspace", fullest->workspaceBytes);
  add("packed constants", fullest->packedBytes);
  add("messages", fullest->messageBytes);
  add("device memory", fullest->ownBytes);
  add("the driver's context", fullest->overhead.context);
  add("code", fullest->overhead.modules);
  add("NCCL", fullest->overhead.nccl);
  if (!parts.empty()) {
    line(os, "") << (kinds.size() > 1 ? "the " + fullest->kind + " " : "")
                 << parts
                 << (report.countsKernels
                         ? ""
                         : "; workspace, packed constants and messages are not "
                           "counted")
                 << "\n";
  }
  line(os, "weights") << formatBytes(double(report.weightBytes)) << " in all";
  if (report.weightBytes > 0) {
    os << ", "
       << percent(double(fullest->shardBytes) / double(report.weightBytes))
       << " of it on that device";
  }
  os << "\n";
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
    line(os, "communication") << "none\n";
  }
  for (const auto &[op, sum] : sums) {
    os << left_justify(op, 17) << " "
       << formatv("{0} x, {1} per device, {2}\n", sum.count,
                  formatBytes(double(sum.bytes)), formatTime(sum.nanoseconds));
  }
}

/// How many launches are saved.
static void printFused(const Report &report, raw_ostream &os) {
  auto isOperator = [](const ReportRow &row) { return !row.isCollective(); };
  auto isFused = [](const ReportRow &row) { return row.isFused; };
  if (int64_t fused = count_if(report.rows, isFused); fused > 0) {
    line(os, "fused")
        << fused << " of " << count_if(report.rows, isOperator)
        << " operators run in the kernel of their operand's producer\n";
  }
}

/// What it costs that a device has memory of its own, and lacks kernels.
static void printCopies(const Report &report, raw_ostream &os) {
  for (const ReportCopies &copies : report.spaceCopies) {
    line(os, "copies") << copies.copies << " between the host and "
                       << (copies.space.empty() ? "its memory"
                                                : "'" + copies.space + "'")
                       << ", " << formatBytes(double(copies.bytes))
                       << " per device, "
                       << (copies.nanoseconds > 0
                               ? formatTime(copies.nanoseconds)
                               : "not priced")
                       << ", in " << copies.entry << "\n";
  }
}

/// `3 objects, 12.3 KiB`, of whatever processor; and of GPUs `12 kernels, 230
/// KiB, PTX for sm_90 on, cubins for sm_90, sm_100`.
static void printCodes(const Report &report, raw_ostream &os) {
  struct Sum {
    int64_t count = 0, bytes = 0;
  };
  std::map<std::string, Sum> sums; // by what is said behind them
  for (const ReportCode &code : report.codes) {
    bool isGrid = rt::isGridTarget(code.target);
    Sum &sum = sums[isGrid ? ", " + rt::describeGridTarget(code.target) : ""];
    ++sum.count;
    sum.bytes += code.bytes;
  }
  for (const auto &[what, sum] : sums) {
    std::string noun = what.empty() ? " object" : " kernel";
    line(os, what.empty() ? "native code" : "code for GPUs")
        << sum.count << noun << (sum.count == 1 ? ", " : "s, ")
        << formatBytes(double(sum.bytes)) << what << "\n";
  }
}

/// `oneDNN: matmul (2) conv+ (1)`, where + stands for what is done with it:
/// what has no fast kernel runs on reference.
static void printKernels(const Report &report, raw_ostream &os) {
  std::map<std::string, std::map<std::string, int64_t>> byName;
  for (const ReportKernel &kernel : report.kernels) {
    StringRef op = kernel.head;
    op.consume_front("nn.");
    bool isAlone = kernel.head == kernel.op;
    byName[kernel.name()][op.str() + (isAlone ? "" : "+")] += kernel.calls;
  }
  for (const auto &[kernel, calls] : byName) {
    os << left_justify("kernels: " + kernel, 19);
    for (const auto &[op, count] : calls) {
      os << " " << op << " (" << count << ")";
    }
    os << "\n";
  }
}

void divisi::printSummary(const Report &named, raw_ostream &os) {
  Report report = withVisibleNames(named);
  if (!report.model.empty()) {
    line(os, "model") << report.model << "\n";
  }
  if (report.precision) {
    line(os, "precision") << describe(*report.precision) << "\n";
  }
  for (const auto &[name, text] : rewritingLines(report)) {
    line(os, name) << text << "\n";
  }
  for (const ReportGrid &grid : report.grids) {
    grid.axes.print(line(os, "grid @" + grid.name));
    os << (grid.parallelism.empty() ? "" : ": " + grid.parallelism) << "\n";
  }
  printTime(report, os);
  printEntries(report, os);
  printQuality(report, os);
  for (const auto &[name, text] : trialLines(report)) {
    line(os, name) << text << "\n";
  }
  printShares(report, os);
  printMemory(report, os);
  line(os, "arithmetic") << formatAmount(report.flops, "FLOP") << ", "
                         << percent(report.replicatedFlops)
                         << " of it replicated\n";
  line(os, "memory traffic")
      << percent(report.replicatedBytes) << " of it replicated\n";
  printFused(report, os);
  printCommunication(report, os);
  for (const auto &[name, text] : transferLines(report)) {
    line(os, name) << text << "\n";
  }
  printCopies(report, os);
  printKernels(report, os);
  printCodes(report, os);
  os << "\nassumptions\n";
  SmallVector<StringRef> lines;
  StringRef(report.cluster).trim().split(lines, '\n');
  for (StringRef text : lines) {
    os << "  " << text << "\n";
  }
}
