//===- SimulationReport.cpp - Shows what entries do when ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SimulationReport.h"

#include "divisi/Stages/PipelineSchedule.h"
#include "divisi/Support/Units.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace divisi;

/// Characters of a line over time.
static constexpr size_t kColumns = 64;
/// Predicted ranks have numbers from here on, beside measured ones.
static constexpr int64_t kFirstProcess = 100'000;

double divisi::bubbleOf(const SimulatedEntry &entry) {
  int64_t idle = 0, ranks = 0;
  for (const SimulatedProgram &program : entry.programs) {
    auto count = int64_t(program.ranks.size());
    idle += program.idle * count;
    ranks += count;
  }
  double all = double(entry.nanoseconds) * double(ranks);
  return all > 0 ? double(idle) / all : 0;
}

/// `0-3, 8`.
static std::string textOf(ArrayRef<int32_t> ranks) {
  std::string text;
  for (size_t i = 0, end; i < ranks.size(); i = end) {
    for (end = i + 1; end < ranks.size() && ranks[end] == ranks[end - 1] + 1;) {
      ++end;
    }
    text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
    if (end > i + 1) {
      text += "-" + std::to_string(ranks[end - 1]);
    }
  }
  return text;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// What a line has where `event` takes most of the time.
static char symbolOf(const SimulatedEvent &event) {
  std::optional<PipelineStep> step = parseStep(event.step);
  if (!step) {
    return event.isCollective ? '-' : '+';
  }
  bool isForward = step->phase == Phase::Forward;
  return isForward ? char('0' + step->microBatch % 10)
                   : char('a' + step->microBatch % 26);
}

/// Operators before collectives, which may run beside them.
static std::string lineOf(const SimulatedProgram &program, int64_t all) {
  std::string line(kColumns, '.');
  std::vector<int64_t> most(kColumns);
  double width = double(std::max<int64_t>(all, 1)) / double(kColumns);
  for (bool isCollective : {true, false}) {
    std::fill(most.begin(), most.end(), 0);
    for (const SimulatedEvent &event : program.events) {
      if (event.isCollective != isCollective) {
        continue;
      }
      auto first = size_t(double(event.begin) / width);
      for (size_t at = first; at < kColumns; ++at) {
        int64_t begin = std::max(event.begin, int64_t(double(at) * width));
        int64_t end = std::min(event.end, int64_t(double(at + 1) * width));
        if (end <= begin) {
          break;
        }
        if (end - begin > most[at]) {
          most[at] = end - begin;
          line[at] = symbolOf(event);
        }
      }
    }
  }
  return line;
}

void divisi::printSimulation(const SimulatedEntry &entry, raw_ostream &os) {
  os << "entry @" << entry.entry << ": " << formatTime(entry.nanoseconds)
     << formatv(", idle {0:F1} % of it\n", 100 * bubbleOf(entry));
  for (const SimulatedLoop &loop : entry.loops) {
    os << "  @" << loop.body << " runs " << loop.runs << " times at most, each "
       << formatTime(loop.nanoseconds);
    if (!loop.isShown) {
      os << "; one event stands for all, which would be more than "
         << kMostEvents;
    }
    os << "\n";
  }
  auto share = [&](int64_t part) {
    return formatv("{0} ({1:F1} %)", formatTime(part),
                   100.0 * double(part) /
                       double(std::max<int64_t>(entry.nanoseconds, 1)))
        .str();
  };
  bool hasSteps = false;
  for (const SimulatedProgram &program : entry.programs) {
    os << "  ranks " << textOf(program.ranks) << ": operators "
       << share(program.busy) << ", exposed communication "
       << share(program.exposed) << ", idle " << share(program.idle)
       << "; tensors " << formatBytes(double(program.peakBytes))
       << " at the peak\n";
    for (const LiveTensor &tensor :
         ArrayRef(program.liveAtPeak).take_front(3)) {
      os << "    " << formatBytes(double(tensor.bytes)) << "  " << tensor.node
         << "\n";
    }
    hasSteps |= any_of(program.events, [](const SimulatedEvent &event) {
      return !event.step.empty();
    });
  }
  os << "\n";
  for (const SimulatedProgram &program : entry.programs) {
    os << formatv("  {0,-10} |{1}|\n", textOf(program.ranks),
                  lineOf(program, entry.nanoseconds));
  }
  os << (hasSteps ? "  0, 1, ...: forward phase of that micro-batch; a, b, "
                    "...: backward phase of the first, the second; "
                  : "  ")
     << "+: operators; -: communication; .: nothing\n";
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

json::Value divisi::toJSON(ArrayRef<SimulatedEntry> entries) {
  json::Array list;
  for (const SimulatedEntry &entry : entries) {
    json::Array programs;
    for (const SimulatedProgram &program : entry.programs) {
      json::Array live;
      for (const LiveTensor &tensor : program.liveAtPeak) {
        live.push_back(
            json::Object{{"node", tensor.node}, {"bytes", tensor.bytes}});
      }
      programs.push_back(
          json::Object{{"ranks", json::Array(program.ranks)},
                       {"busy_nanoseconds", program.busy},
                       {"communication_nanoseconds", program.communication},
                       {"exposed_nanoseconds", program.exposed},
                       {"idle_nanoseconds", program.idle},
                       {"peak_bytes", program.peakBytes},
                       {"live_at_peak", std::move(live)},
                       {"events", int64_t(program.events.size())}});
    }
    json::Array loops;
    for (const SimulatedLoop &loop : entry.loops) {
      loops.push_back(json::Object{{"body", loop.body},
                                   {"runs", loop.runs},
                                   {"nanoseconds", loop.nanoseconds},
                                   {"shown", loop.isShown}});
    }
    list.push_back(json::Object{{"entry", entry.entry},
                                {"nanoseconds", entry.nanoseconds},
                                {"loops", std::move(loops)},
                                {"bubble", bubbleOf(entry)},
                                {"programs", std::move(programs)}});
  }
  return json::Object{{"schema_version", 1}, {"entries", std::move(list)}};
}

/// The events of a rank, and what names it.
static void addRank(const SimulatedProgram &program, int32_t rank,
                    json::Array &events) {
  int64_t process = kFirstProcess + rank;
  auto name = [&](StringRef kind, int64_t thread, const std::string &value) {
    events.push_back(json::Object{{"ph", "M"},
                                  {"name", kind},
                                  {"pid", process},
                                  {"tid", thread},
                                  {"args", json::Object{{"name", value}}}});
  };
  name("process_name", 0, "rank " + std::to_string(rank) + ", predicted");
  name("thread_name", 0, "operators");
  name("thread_name", 1, "collectives");
  for (const SimulatedEvent &event : program.events) {
    json::Object arguments;
    if (!event.step.empty()) {
      arguments["step"] = event.step;
    }
    if (!event.run.empty()) {
      arguments["run"] = event.run;
    }
    events.push_back(
        json::Object{{"ph", "X"},
                     {"name", event.node.empty() ? event.work : event.node},
                     {"cat", event.work},
                     {"pid", process},
                     {"tid", event.isCollective ? 1 : 0},
                     {"ts", double(event.begin) / 1000},
                     {"dur", double(event.end - event.begin) / 1000},
                     {"args", std::move(arguments)}});
  }
  for (const MemoryMoment &moment : program.memory) {
    events.push_back(
        json::Object{{"ph", "C"},
                     {"name", "tensors"},
                     {"pid", process},
                     {"ts", double(moment.time) / 1000},
                     {"args", json::Object{{"bytes", moment.bytes}}}});
  }
}

Status divisi::writeTrace(const SimulatedEntry &entry,
                          const json::Array &measured, OutputFile &file) {
  std::string text = "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [";
  const char *separator = "\n";
  auto write = [&](const json::Array &list) {
    raw_string_ostream os(text);
    for (const json::Value &event : list) {
      os << separator << event;
      separator = ",\n";
    }
    Status status = file.write(text);
    text.clear();
    return status;
  };
  for (const SimulatedProgram &program : entry.programs) {
    for (int32_t rank : program.ranks) {
      json::Array events;
      addRank(program, rank, events);
      if (Status status = write(events); !status.isOk()) {
        return status;
      }
    }
  }
  Status status = write(measured);
  return status.isOk() ? file.write("\n]}\n") : status;
}
