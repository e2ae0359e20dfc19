//===- BenchVerb.cpp - divisi bench ---------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How long runs take, and what of it ranks do together. Two inputs take turns,
// run by run, so that both meet the same weather.
//
//===----------------------------------------------------------------------===//

#include "ActsOn.h"
#include "Console.h"
#include "Flags.h"
#include "ModelRuns.h"
#include "Outputs.h"
#include "TensorArguments.h"
#include "VerbInput.h"
#include "Verbs.h"
#include "divisi/Support/Units.h"
#include "divisi/Support/VisibleText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <cmath>
#include <sstream>
#include <tuple>

using namespace llvm;
using namespace divisi;

namespace {

/// What is timed.
struct Subject {
  std::string path;
  LoadedEntry loaded;
  std::vector<rt::HostTensor> inputs;
  std::vector<int64_t> times;   ///< Nanoseconds, run by run.
  std::vector<int64_t> waiting; ///< By rank, of all of these.
};

/// What a device does in the runs of a subject.
struct DeviceUse {
  uint32_t device = 0;
  double waiting = 0; ///< The share of the time.
  rt::CollectiveUses collectives;
};

class BenchVerb : public Verb {
public:
  BenchVerb() : Verb("bench") {
    sessionFlags_.alike.add(warmUp_);
    sessionFlags_.alike.add(repeat_);
  }
  Status run() override;

private:
  Status checkNumbers() const;
  Status load(const std::string &path, Subject &subject);
  divisi::Expected<LoadedEntry> loadModel(const std::string &path);
  Status runOnce(Subject &subject, bool isTimed) const;
  divisi::Expected<std::vector<DeviceUse>> usesOf(const Subject &subject) const;

  cl::list<std::string> paths_{cl::Positional, cl::sub(command), cl::OneOrMore,
                               cl::desc("ARTIFACT.divisi|MODEL.onnx|IR.mlir "
                                        "[ANOTHER]")};
  cl::list<std::string> inputsFrom_{
      "inputs", cl::sub(command), on(ActsOn::Run),
      cl::value_desc(kTensorArgument),
      cl::desc("the inputs, given as for run (default: random ones)")};
  cl::opt<int64_t> warmUp_{
      "warm-up",       cl::sub(command),
      on(ActsOn::Run), cl::value_desc("N"),
      cl::init(5),     cl::desc("warm-up runs, which are not timed")};
  cl::opt<int64_t> repeat_{"repeat",        cl::sub(command),
                           on(ActsOn::Run), cl::value_desc("N"),
                           cl::init(50),    cl::desc("timed runs")};
  cl::opt<bool> json_{"json", cl::sub(command), on(ActsOn::Answer),
                      cl::desc("as JSON")};
  ImportFlags importFlags_{command};
  PlanFlags planFlags_{command};
  SessionFlags sessionFlags_{command};
};

} // namespace

Status BenchVerb::checkNumbers() const {
  if (paths_.size() > 2) {
    return makeError(ExitCode::Usage, "bench compares two inputs at most, got ",
                     paths_.size());
  }
  const std::tuple<const char *, int64_t, int64_t> numbers[] = {
      {"--warm-up ", warmUp_, 0}, {"--repeat ", repeat_, 1}};
  for (const auto &[flag, value, least] : numbers) {
    if (value < least || value > 10000000) {
      return makeError(ExitCode::Usage, flag, value, ": expected ", least,
                       " to 10000000");
    }
  }
  return Status();
}

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

divisi::Expected<LoadedEntry> BenchVerb::loadModel(const std::string &path) {
  divisi::Expected<CompileOptions> options =
      gatherOptions(importFlags_, planFlags_);
  if (!options) {
    return options.status();
  }
  options->deviceOf = nullptr; // it runs here, whatever the cluster has
  auto given = readTensorArguments(inputsFrom_, "input");
  if (!given) {
    return given.status();
  }
  if (options->import.tensors.empty()) {
    options->import.tensors = labelledShapes(*given);
    options->import.misfit = ExitCode::Invalid;
  }
  Compilation model(std::move(*options));
  Status status = loadInput(model, path, command, planFlags_, &planFlags_.seed);
  return status.isOk() ? loadPlanned(model, model.planOptions(), sessionFlags_)
                       : divisi::Expected<LoadedEntry>(status);
}

/// Also one that is missing, or damaged.
static bool isForArtifact(const std::string &path) {
  return isArtifact(path) || StringRef(path).ends_with(".divisi");
}

/// Beside a model, what decides how it is compiled is for that one.
Status BenchVerb::load(const std::string &path, Subject &subject) {
  subject.path = path;
  divisi::Expected<LoadedEntry> loaded = LoadedEntry();
  if (isForArtifact(path)) {
    VerbInput input(path, VerbInput::Kind::Artifact);
    input.honour(planFlags_.seed); // of random inputs
    Status status = all_of(paths_, isForArtifact)
                        ? input.check(command, planFlags_.replan)
                        : Status();
    loaded = status.isOk() ? sessionFlags_.open(path)
                           : divisi::Expected<LoadedEntry>(status);
  } else {
    loaded = loadModel(path);
  }
  if (!loaded) {
    return loaded.status();
  }
  subject.loaded = std::move(*loaded);
  const rt::EntryInfo &entry = *subject.loaded.entry;
  auto inputs = inputsFrom_.empty() ? drawInputs(entry, planFlags_.seed)
                                    : readInputs(inputsFrom_, entry);
  if (inputs) {
    subject.inputs = std::move(*inputs);
  }
  subject.waiting.resize(subject.loaded.session->numRanks());
  return sessionFlags_.agree(inputs.status());
}

//===----------------------------------------------------------------------===//
// Timing
//===----------------------------------------------------------------------===//

Status BenchVerb::runOnce(Subject &subject, bool isTimed) const {
  auto begin = std::chrono::steady_clock::now();
  auto outputs = subject.loaded.run(subject.inputs);
  auto time = std::chrono::steady_clock::now() - begin;
  if (!outputs || !isTimed) {
    return outputs.status();
  }
  subject.times.push_back(
      std::chrono::duration_cast<std::chrono::nanoseconds>(time).count());
  std::vector<int64_t> waiting =
      subject.loaded.session->waitingTimes(subject.loaded.entry->name);
  for (auto [sum, own] : zip_equal(subject.waiting, waiting)) {
    sum += own;
  }
  return Status();
}

/// The least time that so much of the runs do not exceed; `times` ascend.
static int64_t quantile(ArrayRef<int64_t> times, double share) {
  auto rank = static_cast<size_t>(std::ceil(share * double(times.size())));
  return times[std::max<size_t>(rank, 1) - 1];
}

/// One line for each device of this process, for the first one to read.
static std::string writeUses(const Subject &subject) {
  const rt::Session &session = *subject.loaded.session;
  auto uses = session.collectives(subject.loaded.entry->name);
  int64_t all = 0;
  for (int64_t time : subject.times) {
    all += time;
  }
  std::string text;
  raw_string_ostream os(text);
  for (uint32_t rank : session.localRanks()) {
    os << rank << " "
       << formatv("{0:f6}", double(subject.waiting[rank]) / double(all));
    for (const auto &[kind, use] : uses[rank]) {
      os << " " << kind << " " << use.steps << " " << use.bytes;
    }
    os << "\n";
  }
  return text;
}

divisi::Expected<std::vector<DeviceUse>>
BenchVerb::usesOf(const Subject &subject) const {
  auto text = sessionFlags_.gather(writeUses(subject));
  if (!text) {
    return text.status();
  }
  std::vector<DeviceUse> uses;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    DeviceUse &use = uses.emplace_back();
    words >> use.device >> use.waiting;
    for (std::string kind; words >> kind;) {
      rt::CollectiveUse &row = use.collectives[kind];
      words >> row.steps >> row.bytes;
    }
  }
  return uses;
}

//===----------------------------------------------------------------------===//
// What is shown
//===----------------------------------------------------------------------===//

static json::Value toJSON(const Subject &subject, ArrayRef<int64_t> sorted,
                          ArrayRef<DeviceUse> uses) {
  json::Array devices;
  for (const DeviceUse &use : uses) {
    json::Object collectives;
    for (const auto &[kind, row] : use.collectives) {
      collectives[kind] =
          json::Object{{"steps", row.steps}, {"bytes", row.bytes}};
    }
    devices.push_back(json::Object{{"device", use.device},
                                   {"waiting_share", use.waiting},
                                   {"collectives", std::move(collectives)}});
  }
  return json::Object{{"input", subject.path},
                      {"entry", subject.loaded.entry->name},
                      {"median_ns", quantile(sorted, 0.5)},
                      {"p90_ns", quantile(sorted, 0.9)},
                      {"p99_ns", quantile(sorted, 0.99)},
                      {"ns", json::Array(subject.times)},
                      {"devices", std::move(devices)}};
}

/// What the device gives that gives most, and who waits least and most.
static void print(const Subject &subject, ArrayRef<int64_t> sorted,
                  ArrayRef<DeviceUse> uses, raw_ostream &os) {
  os << visibleLine(subject.path) << ": median "
     << formatTime(quantile(sorted, 0.5)) << ", p90 "
     << formatTime(quantile(sorted, 0.9)) << ", p99 "
     << formatTime(quantile(sorted, 0.99)) << "; "
     << countText(int64_t(sorted.size()), "run") << " of entry '"
     << visibleLine(subject.loaded.entry->name) << "' on "
     << countText(int64_t(uses.size()), "device") << "\n";
  rt::CollectiveUses most;
  for (const DeviceUse &use : uses) {
    for (const auto &[kind, row] : use.collectives) {
      rt::CollectiveUse &all = most[kind];
      all = {std::max(all.steps, row.steps), std::max(all.bytes, row.bytes)};
    }
  }
  for (const auto &[kind, row] : most) {
    os << "  " << kind << " x " << row.steps << ": a device sends up to "
       << formatBytes(double(row.bytes)) << " to others\n";
  }
  if (!most.empty()) {
    auto [least, longest] = std::minmax_element(
        uses.begin(), uses.end(), [](const DeviceUse &a, const DeviceUse &b) {
          return a.waiting < b.waiting;
        });
    os << formatv("  waiting for others: {0:f1} % (device {1}) to {2:f1} % "
                  "(device {3}) of the time\n",
                  100 * least->waiting, least->device, 100 * longest->waiting,
                  longest->device);
  }
}

Status BenchVerb::run() {
  Status status = checkNumbers();
  auto isDone = status.isOk() ? sessionFlags_.launch(*this, paths_.front())
                              : divisi::Expected<bool>(status);
  if (!isDone || *isDone) {
    return isDone.status();
  }
  std::vector<Subject> subjects(paths_.size());
  for (auto [path, subject] : zip_equal(paths_, subjects)) {
    if (status = load(path, subject); !status.isOk()) {
      return status;
    }
  }
  for (int64_t i = -warmUp_; i < repeat_; ++i) {
    for (Subject &subject : subjects) {
      if (status = runOnce(subject, i >= 0); !status.isOk()) {
        return status;
      }
    }
  }
  json::Array runs;
  for (const Subject &subject : subjects) {
    auto uses = usesOf(subject);
    if (!uses) {
      return uses.status();
    }
    std::vector<int64_t> sorted = subject.times;
    sort(sorted);
    if (json_) {
      runs.push_back(toJSON(subject, sorted, *uses));
    } else if (sessionFlags_.isFirst()) {
      print(subject, sorted, *uses, textOut());
    }
  }
  if (json_ && sessionFlags_.isFirst()) {
    jsonOut() << formatv("{0:2}\n",
                         json::Value(json::Object{{"schema_version", 1},
                                                  {"runs", std::move(runs)}}));
  }
  return Status();
}

std::unique_ptr<Verb> divisi::makeBenchVerb() {
  return std::make_unique<BenchVerb>();
}
