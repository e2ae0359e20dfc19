//===- ProfileVerb.cpp - divisi profile -----------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A file that says what this machine can do, for --cluster: its GPUs, or else
// threads of its processors as devices.
//
//===----------------------------------------------------------------------===//

#include "ActsOn.h"
#include "Console.h"
#include "Outputs.h"
#include "Sessions.h"
#include "Verbs.h"
#include "divisi/Cluster/ClusterFile.h"
#include "divisi/Cost/MeasuredPoints.h"
#include "divisi/Profile/MachineProfile.h"
#include "divisi/Support/OutputFile.h"
#include "divisi/Support/Units.h"
#include "divisi/runtime/measure/HostFacts.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <thread>

using namespace llvm;
using namespace divisi;

namespace {

class ProfileVerb : public Verb {
public:
  ProfileVerb() : Verb("profile") {}
  Status run() override;

private:
  Status checkFlags() const;
  divisi::Expected<ProfileRequest> request() const;
  Status addGpus(int64_t count, ProfileRequest &request) const;

  cl::opt<std::string> spec_{
      cl::Positional, cl::sub(command), cl::ZeroOrMore,
      cl::desc("[cpu:N|gpu:N] (default: all GPUs, or else a device for each of "
               "the processor's threads)")};
  cl::opt<std::string> output_{
      "cluster-out",
      cl::Required,
      cl::sub(command),
      on(ActsOn::Answer),
      cl::value_desc("FILE"),
      cl::desc("the cluster as YAML, for --cluster; - is stdout")};
  cl::opt<int> threads_{"threads-per-device", cl::sub(command),
                        on(ActsOn::Run),      cl::value_desc("N"),
                        cl::init(1),          cl::desc("as for run")};
  cl::opt<int64_t> timeout_{
      "timeout",       cl::sub(command),
      on(ActsOn::Run), cl::value_desc("MS"),
      cl::init(60000), cl::desc("how long a device waits for others")};
  cl::opt<double> seconds_{
      "seconds",       cl::sub(command),
      on(ActsOn::Run), cl::value_desc("S"),
      cl::init(10),    cl::desc("approximate duration of the measurement")};
  cl::opt<bool> tf32_{"tf32", cl::sub(command), on(ActsOn::Run),
                      cl::desc("use the f32 rate that run --tf32 gives")};
  cl::opt<bool> json_{"json", cl::sub(command), on(ActsOn::Answer),
                      cl::desc("all numbers, on stdout")};
};

} // namespace

//===----------------------------------------------------------------------===//
// What is asked for
//===----------------------------------------------------------------------===//

Status ProfileVerb::checkFlags() const {
  if (Status status = checkRanges(threads_, timeout_); !status.isOk()) {
    return status;
  }
  if (!(seconds_ >= 0 && seconds_ <= 3600)) {
    return makeError(ExitCode::Usage, "--seconds ", seconds_,
                     ": expected 0 to 3600");
  }
  if (json_ && isStdout(output_)) {
    return Status(ExitCode::Usage, "--json is written to stdout, and so is "
                                   "--cluster-out; name a file for one");
  }
  return OutputCheck().addOutput("--cluster-out", output_);
}

/// All of them if `count` is 0.
Status ProfileVerb::addGpus(int64_t count, ProfileRequest &request) const {
  auto found = rt::readGpuTopology();
  if (!found) {
    return found.status();
  }
  auto there = int64_t(found->gpus.size());
  if (there == 0 || count > there) {
    return makeError(ExitCode::Device, "no ",
                     count > 0 ? "CUDA device " + std::to_string(count - 1)
                               : std::string("CUDA device"),
                     ": this process sees ", there);
  }
  request.devices = count == 0 ? there : count;
  request.gpus = std::move(*found);
  return {};
}

divisi::Expected<ProfileRequest> ProfileVerb::request() const {
  ProfileRequest request{.threads = threads_,
                         .tf32 = tf32_,
                         .seconds = seconds_,
                         .timeout = std::chrono::milliseconds(timeout_)};
  auto cores = int64_t(std::thread::hardware_concurrency());
  auto [kind, number] = StringRef(spec_).split(':');
  int64_t count = 0;
  bool isCount = number.empty() ? !StringRef(spec_).contains(':')
                                : !number.getAsInteger(10, count) &&
                                      count >= 1 && count <= 256;
  if (!isCount || (!kind.empty() && kind != "cpu" && kind != "gpu")) {
    return Status(ExitCode::Usage, "'" + spec_ +
                                       "': expected cpu:N or gpu:N with up to "
                                       "256 devices, or nothing");
  }
  if (kind != "cpu") {
    Status status = addGpus(count, request);
    if (status.isOk() || kind == "gpu") {
      return status.isOk() ? divisi::Expected<ProfileRequest>(request)
                           : Status(status.code(), status.message() +
                                                       "; divisi profile cpu:N "
                                                       "measures processors");
    }
    sayNote() << status.message() << "; processors are measured";
  }
  request.devices = count == 0 ? std::max<int64_t>(cores / threads_, 1) : count;
  return request;
}

//===----------------------------------------------------------------------===//
// What is said
//===----------------------------------------------------------------------===//

static std::string valueText(const Measurement &number) {
  return number.unit == "ns" ? formatTime(int64_t(number.value))
                             : formatAmount(number.value, number.unit);
}

static void tell(const Measurement &number) {
  Message("") << number.what
              << (number.kind.empty() ? "" : " by '" + number.kind + "'")
              << (number.bytes ? ", " + formatBytes(double(number.bytes)) : "")
              << ": " << valueText(number) << " ("
              << countText(int64_t(number.rounds), "round") << ")";
}

/// Nothing in the file is of other machines; who joins several wants to know
/// what leads there.
static std::string networkNote(ArrayRef<rt::NetworkPort> ports) {
  std::string text = "the file is of one machine; ports to others, nominal:";
  for (const rt::NetworkPort &port : ports) {
    text += " " + port.name + " " + formatAmount(port.bytesPerSecond, "B/s");
  }
  return text + (ports.empty() ? " none that says its rate" : "");
}

/// The file: comments that the reader of YAML skips, and all fields.
static std::string fileText(Cluster cluster, ArrayRef<std::string> notes) {
  noteModelTimes(cluster);
  std::string text = "# Measured by divisi profile: medians, of devices that "
                     "work at the same time.\n";
  for (const std::string &note : notes) {
    text += "# " + note + "\n";
  }
  raw_string_ostream os(text);
  printClusterYAML(cluster, os);
  return text;
}

static json::Value toJSON(const MachineProfiler &profiler,
                          const ProfileRequest &request,
                          ArrayRef<std::string> notes,
                          ArrayRef<rt::NetworkPort> ports) {
  json::Array numbers, gpus, network;
  for (const Measurement &number : profiler.measurements()) {
    numbers.push_back(json::Object{{"what", number.what},
                                   {"kind", number.kind},
                                   {"bytes", number.bytes},
                                   {"value", number.value},
                                   {"unit", number.unit},
                                   {"rounds", int64_t(number.rounds)}});
  }
  static constexpr StringLiteral paths[] = {"unknown", "nvlink", "pci"};
  for (size_t a = 0; request.gpus && a < size_t(request.devices); ++a) {
    const rt::GpuFacts &gpu = request.gpus->gpus[a];
    json::Array joined;
    for (size_t b = 0; b < size_t(request.devices); ++b) {
      joined.push_back(a == b ? json::Value(nullptr)
                              : paths[unsigned(request.gpus->path(a, b))]);
    }
    gpus.push_back(json::Object{{"name", gpu.name},
                                {"pci_address", gpu.pciAddress},
                                {"compute_capability", gpu.capability},
                                {"memory_bytes", gpu.memoryBytes},
                                {"multiprocessors", gpu.multiprocessors},
                                {"nvlinks", gpu.nvLinks},
                                {"pci_generation", gpu.pciGeneration},
                                {"pci_lanes", gpu.pciLanes},
                                {"paths", std::move(joined)}});
  }
  for (const rt::NetworkPort &port : ports) {
    network.push_back(json::Object{{"name", port.name},
                                   {"bytes_per_second", port.bytesPerSecond}});
  }
  return json::Object{{"schema_version", 1},
                      {"cluster", profiler.cluster().name},
                      {"gpus", std::move(gpus)},
                      {"network", std::move(network)},
                      {"measurements", std::move(numbers)},
                      {"notes", json::Array(notes)}};
}

Status ProfileVerb::run() {
  Status status = checkFlags();
  auto request = status.isOk() ? this->request()
                               : divisi::Expected<ProfileRequest>(status);
  if (!request) {
    return request.status();
  }
  MachineProfiler profiler(*request, tell);
  if (status = profiler.run(); !status.isOk()) {
    return status;
  }
  std::vector<rt::NetworkPort> ports = rt::networkPorts();
  std::vector<std::string> notes(profiler.notes());
  notes.push_back(networkNote(ports));
  for (const std::string &note : notes) {
    sayNote() << note;
  }
  if (status = writeFile(output_, fileText(profiler.cluster(), notes));
      !status.isOk()) {
    return status;
  }
  tellWritten(output_, "cluster of " + countText(request->devices, "device"));
  if (json_) {
    jsonOut() << formatv("{0:2}\n", toJSON(profiler, *request, notes, ports));
  }
  return Status();
}

std::unique_ptr<Verb> divisi::makeProfileVerb() {
  return std::make_unique<ProfileVerb>();
}
