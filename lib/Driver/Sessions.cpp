//===- Sessions.cpp - Opening artifacts from the command line -------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sessions.h"

#include "ActsOn.h"
#include "Console.h"
#include "TensorArguments.h"
#include "VerbInput.h"
#include "divisi/Support/Signature.h"
#include "divisi/Support/TemporaryFile.h"
#include "divisi/Support/UserKey.h"
#include "divisi/runtime/artifact/ArtifactFile.h"
#include "divisi/runtime/launch/DeviceWiring.h"

#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

#include <thread>
#include <unistd.h>
#include <utility>

using namespace llvm;
using namespace divisi;

SessionFlags::SessionFlags(cl::SubCommand &verb)
    : backends(alike, "backend", cl::sub(verb), on(ActsOn::Run),
               cl::value_desc("LIST"), cl::init("cpu,reference"),
               cl::desc("backends in order of preference")),
      threads(alike, "threads-per-device", cl::sub(verb), on(ActsOn::Run),
              cl::value_desc("N"), cl::init(1),
              cl::desc("threads of the kernels of one device")),
      verify(alike, "verify", cl::sub(verb), on(ActsOn::Run),
             cl::desc("check the hashes of all weights while loading")),
      timeout(alike, "timeout", cl::sub(verb), on(ActsOn::Run),
              cl::value_desc("MS"), cl::init(60000),
              cl::desc("how long a device may wait for others, or run one "
                       "kernel, before the run fails")),
      noIndexCheck(
          alike, "no-index-check", cl::sub(verb), on(ActsOn::Run),
          cl::desc("do not check the indices of gathers: a bad one reads zeros "
                   "(or counts as 0, if several indices select an element)")),
      noPack(alike, "no-pack", cl::sub(verb), on(ActsOn::Run),
             cl::desc("reorder weights for kernels in each run, not once at "
                      "load: for comparison")),
      noGraphs(alike, "no-graphs", cl::sub(verb), on(ActsOn::Run),
               cl::desc("launch GPU work one by one in every run, not as one "
                        "graph from the second run on")),
      allowNative(alike, "allow-native", cl::sub(verb), on(ActsOn::Run),
                  cl::desc("run native code of the artifact even if another "
                           "user made it: it can do everything you can")),
      trust(alike, "trust", cl::sub(verb), on(ActsOn::Run),
            cl::value_desc("FILE"),
            cl::desc("run native code, too, that a key in FILE has signed: a "
                     "line each, as 'divisi key' prints it")),
      tf32(alike, "tf32", cl::sub(verb), on(ActsOn::Run),
           cl::desc("let GPUs round the operands of f32 products to TF32, "
                    "which has 10 fraction bits")),
      entryName(alike, "entry", cl::sub(verb), on(ActsOn::Run),
                cl::value_desc("NAME"),
                cl::desc("the entry function; needed if there are several")),
      numProcesses(alike, "launch", cl::sub(verb), on(ActsOn::Run),
                   cl::value_desc("N"),
                   cl::desc("start N processes by mpirun, and divide the "
                            "devices among them")),
      hosts(alike, "hosts", cl::sub(verb), on(ActsOn::Run),
            cl::value_desc("FILE"),
            cl::desc("with --launch: the host file for mpirun, lines 'name "
                     "slots=N'")) {}

Status divisi::checkRanges(int threads, int64_t timeout) {
  if (threads < 1 || threads > rt::mostThreadsPerDevice) {
    return makeError(ExitCode::Usage, "--threads-per-device ", threads,
                     ": expected 1 to ", rt::mostThreadsPerDevice);
  }
  if (timeout < 1 || timeout > rt::longestTimeout.count()) {
    return makeError(ExitCode::Usage, "--timeout ", timeout, ": expected 1 to ",
                     rt::longestTimeout.count(), " ms");
  }
  return {};
}

divisi::Expected<rt::SessionOptions> SessionFlags::options() const {
  rt::SessionOptions options;
  auto selected = rt::chooseBackends(backends.getValue(), tf32);
  if (!selected) {
    return selected.status();
  }
  if (Status status = checkRanges(threads, timeout); !status.isOk()) {
    return status;
  }
  options.timeout = std::chrono::milliseconds(timeout);
  // Who says how long a kernel may take wants it given up after that.
  options.loneRankHasThread = timeout.getNumOccurrences() != 0;
  options.backends = *selected;
  options.threadsPerDevice = threads;
  options.verifyHashes = verify;
  options.checksIndices = !noIndexCheck;
  options.packsConstants = !noPack;
  options.usesGraphs = !noGraphs;
  options.trace = trace;
  options.allowsNativeCode = allowNative;
  Status status = readTrust(options);
  return status.isOk() ? divisi::Expected<rt::SessionOptions>(options) : status;
}

/// This user's own key, and those that this user trusts always or now.
Status SessionFlags::readTrust(rt::SessionOptions &options) const {
  auto trust = divisi::readTrust(this->trust);
  if (trust) {
    options.trustedKeys = std::move(trust->publicKeys);
    noKey_ = std::move(trust->noKey);
  }
  return trust.status();
}

/// For whoever asks who waited for whom: a file, and a note of it.
static void keepLastSteps(const rt::Session &session) {
  auto path = temporaryName(
      "divisi-last-steps-" + std::to_string(sys::Process::getProcessId()) + "-",
      ".json");
  Status status = path ? session.writeLastSteps(*path) : path.status();
  if (status.isOk()) {
    sayNote() << "the last collectives of the devices are recorded in '"
              << *path << "'";
  } else {
    sayNote() << "the last collectives of the devices could not be "
                 "recorded: "
              << status.message();
  }
}

/// `outputs`; where devices have failed, their last steps are kept.
static divisi::Expected<std::vector<rt::HostTensor>>
noteSteps(const rt::Session &session,
          divisi::Expected<std::vector<rt::HostTensor>> outputs) {
  if (!outputs && outputs.status().code() == ExitCode::Device) {
    keepLastSteps(session);
  }
  return outputs;
}

divisi::Expected<std::vector<rt::HostTensor>>
LoadedEntry::run(std::span<const rt::HostTensor> inputs) const {
  if (gathered) {
    std::vector<rt::TensorArgument> views;
    for (const rt::HostTensor &input : inputs) {
      views.emplace_back(rt::TensorView::of(input));
    }
    return run(views);
  }
  return noteSteps(*session, session->run(entry->name, inputs));
}

divisi::Expected<std::vector<rt::HostTensor>>
LoadedEntry::run(std::span<const rt::TensorArgument> inputs) const {
  if (gathered) {
    return noteSteps(*session, gathered->run(*session, inputs));
  }
  std::vector<rt::HostTensor> outputs;
  std::vector<rt::TensorArgument> to;
  for (const rt::ValueInfo &output : entry->outputs) {
    auto tensor =
        rt::HostTensor::allocate(output.type, output.dims, output.name);
    if (!tensor) {
      return tensor.status();
    }
    to.emplace_back(rt::TensorView::of(*tensor));
    outputs.push_back(std::move(*tensor));
  }
  Status status = session->run(entry->name, inputs, to);
  return noteSteps(*session, status.isOk()
                                 ? divisi::Expected(std::move(outputs))
                                 : divisi::Expected<decltype(outputs)>(status));
}

divisi::Expected<std::vector<rt::HostTensor>>
LoadedEntry::collect(std::vector<rt::HostTensor> parts) const {
  return gathered
             ? gathered->gather(parts)
             : divisi::Expected<std::vector<rt::HostTensor>>(std::move(parts));
}

divisi::Expected<std::vector<rt::HostTensor>>
LoadedEntry::runWhole(std::span<const rt::HostTensor> inputs) const {
  auto parts = run(inputs);
  return parts ? collect(std::move(*parts)) : std::move(parts);
}

//===----------------------------------------------------------------------===//
// Processes
//===----------------------------------------------------------------------===//

divisi::Expected<bool> SessionFlags::launch(const Verb &verb,
                                            const std::string &input) const {
  if (numProcesses.getNumOccurrences() == 0) {
    return hosts.empty()
               ? divisi::Expected<bool>(false)
               : Status(ExitCode::Usage, "--hosts needs --launch; give both");
  }
  if (numProcesses < 1 || numProcesses > 4096) {
    return Status(ExitCode::Usage, "--launch " + std::to_string(numProcesses) +
                                       ": expected 1 to 4096");
  }
  // What RANK and WORLD_SIZE alone say may be of another program.
  auto launched = rt::findLaunch(/*mayBeNobody=*/true);
  if (!launched) {
    return launched.status();
  }
  // By --launch, or by one who says so twice; not the one task of srun in which
  // somebody works.
  if (*launched && ((*launched)->size > 1 || numProcesses == 1)) {
    return false;
  }
  rt::LaunchOptions options;
  options.processes = numProcesses;
  options.hosts = hosts;
  options.timeout = std::chrono::milliseconds(timeout);
  if (!hosts.empty() && isArtifact(input)) {
    if (auto artifact = rt::ArtifactFile::open(input)) { // else all will say it
      options.shape = rt::machineShapeOf(artifact->manifest());
    }
  }
  Status status = rt::launchProcesses(options, verb.arguments);
  return status.isOk() ? divisi::Expected<bool>(true) : status;
}

Status SessionFlags::join(const std::string &artifact) const {
  if (std::exchange(hasJoined_, true)) {
    return Status();
  }
  rt::ProcessReports reports;
  reports.warn = [](const std::string &text) { sayWarning() << text; };
  reports.fail = reportStatus;
  reports.flush = flushConsole;
  auto joined = rt::Processes::join(std::chrono::milliseconds(timeout),
                                    artifact, std::move(reports));
  if (joined) {
    processes_ = std::move(*joined);
  }
  return joined.status();
}

Status SessionFlags::agree(const Status &own) const {
  return processes_ ? processes_->agree(own) : own;
}

divisi::Expected<std::string>
SessionFlags::gather(const std::string &own) const {
  return processes_ ? processes_->gather(own) : own;
}

std::vector<std::string> AlikeFlags::values() const {
  std::vector<std::string> values;
  for (const auto &row : rows_) {
    values.push_back(row());
  }
  return values;
}

/// The entry called `name`, or the only one if it is empty.
static divisi::Expected<const rt::EntryInfo *>
findEntry(const rt::Session &session, const std::string &name) {
  if (name.empty() && session.entries().size() == 1) {
    return &session.entries().front();
  }
  if (const rt::EntryInfo *found = session.findEntry(name)) {
    return found;
  }
  std::string names;
  for (const rt::EntryInfo &entry : session.entries()) {
    names += (names.empty() ? "" : ", ") + entry.name;
  }
  return Status(ExitCode::Usage,
                (name.empty() ? "which entry? --entry takes one of "
                              : "no entry '" + name + "'; there are ") +
                    names);
}

/// Once: runs then take longer than they were planned to.
void SessionFlags::noteNativeCode(const rt::Session &session) const {
  const std::string &refused = session.nativeCode().refused;
  if (refused.empty() || !isFirst() || std::exchange(isNativeNoted_, true)) {
    return;
  }
  sayWarning()
      << "the native code of the artifact is not run: " << refused
      << (noKey_.empty() ? "" : " (" + noKey_ + ")")
      << "; --trust takes keys. Kernels without it round differently, so "
         "results may differ in their last bits";
}

divisi::Expected<LoadedEntry> SessionFlags::open(const std::string &artifact,
                                                 RunBy by) const {
  divisi::Expected<rt::SessionOptions> chosen = options();
  Status status =
      chosen ? join(by == RunBy::Processes ? artifact : "") : chosen.status();
  if (!status.isOk()) {
    return status;
  }
  rt::Processes *processes =
      by == RunBy::Processes ? processes_.get() : nullptr;
  if (processes) {
    status =
        processes->divide(artifact, alike.values(), !hosts.empty(), *chosen);
    if (!status.isOk()) {
      return status;
    }
  }
  rt::wireDevices(*chosen, processes);
  LoadedEntry loaded;
  auto session = rt::Session::open(artifact, *chosen);
  status = session.status();
  if (session) {
    loaded.session = std::move(*session);
    auto entry = findEntry(*loaded.session, entryName);
    status = entry.status();
    loaded.entry = entry ? *entry : nullptr;
  }
  if (processes) {
    status = processes->agree(status);
  }
  if (status.isOk() && processes) {
    auto gathered = rt::GatheredOutputs::prepare(*processes, *loaded.session,
                                                 *loaded.entry);
    status = gathered.status();
    loaded.gathered = gathered ? std::move(*gathered) : nullptr;
  }
  if (!status.isOk()) {
    return status;
  }
  noteNativeCode(*loaded.session);
  size_t devices = loaded.session->localRanks().size();
  unsigned cores = std::thread::hardware_concurrency();
  bool isShared = cores > 0 && devices * unsigned(threads) > cores;
  if (isShared && isFirst() && !std::exchange(isSharingNoted_, true)) {
    sayNote() << devices << " devices of " << threads << " thread(s) share "
              << cores << " cores; times are not representative";
  }
  return loaded;
}

divisi::Expected<std::vector<rt::HostTensor>>
divisi::readInputs(ArrayRef<std::string> arguments,
                   const rt::EntryInfo &entry) {
  if (arguments.empty() && !entry.inputs.empty()) {
    return Status(ExitCode::Usage, "entry '" + entry.name + "' takes " +
                                       std::to_string(entry.inputs.size()) +
                                       " inputs; give them by --inputs");
  }
  auto tensors = readTensorArguments(arguments, "input");
  return tensors ? rt::arrangeInputs(entry, std::move(*tensors))
                 : tensors.status();
}

divisi::Expected<std::vector<size_t>>
divisi::matchInputs(ArrayRef<rt::GivenTensor> tensors,
                    const rt::EntryInfo &entry, bool needsAll) {
  std::vector<rt::TensorLabel> labels;
  for (const rt::GivenTensor &tensor : tensors) {
    labels.push_back(tensor.label);
  }
  std::vector<rt::TensorSlot> slots;
  for (const rt::ValueInfo &input : entry.inputs) {
    slots.push_back({input.name, rt::describe(input.type, input.dims)});
  }
  return rt::matchLabels(labels, slots, "inputs of entry '" + entry.name + "'",
                         ExitCode::Invalid, needsAll);
}

divisi::Expected<std::map<size_t, rt::HostTensor>>
divisi::readSomeInputs(ArrayRef<std::string> arguments,
                       const rt::EntryInfo &entry) {
  auto tensors = readTensorArguments(arguments, "input");
  if (!tensors) {
    return tensors.status();
  }
  auto slotOf = matchInputs(*tensors, entry, /*needsAll=*/false);
  if (!slotOf) {
    return slotOf.status();
  }
  rt::EntryInfo some{entry.name, {}, {}};
  for (size_t i = 0; i < tensors->size(); ++i) {
    const rt::ValueInfo &input = entry.inputs[(*slotOf)[i]];
    some.inputs.push_back({input.name, input.type, input.dims});
    (*tensors)[i].label = {input.name};
  }
  auto arranged = rt::arrangeInputs(some, std::move(*tensors));
  if (!arranged) {
    return arranged.status();
  }
  std::map<size_t, rt::HostTensor> given;
  for (size_t i = 0; i < arranged->size(); ++i) {
    given.emplace((*slotOf)[i], std::move((*arranged)[i]));
  }
  return given;
}
