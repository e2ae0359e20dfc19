//===- RunVerb.cpp - divisi run -------------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Console.h"
#include "OutputFlag.h"
#include "Outputs.h"
#include "RunSequence.h"
#include "Sessions.h"
#include "TensorArguments.h"
#include "Verbs.h"
#include "divisi/Support/MappedFile.h"
#include "divisi/Support/OutputFile.h"
#include "divisi/runtime/artifact/ArtifactFile.h"
#include "divisi/runtime/tensors/TensorFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <map>
#include <unistd.h>

using namespace llvm;
using namespace divisi;

namespace {

class RunVerb : public Verb {
public:
  RunVerb() : Verb("run") {
    sessionFlags_.alike.add(repeat_);
    sessionFlags_.alike.add(sequence_);
  }
  Status run() override;

private:
  using Tensors = std::vector<rt::HostTensor>;

  Status checkFiles() const;
  divisi::Expected<RunSequence> readRuns(const rt::EntryInfo &entry) const;
  divisi::Expected<Tensors> runAll(const LoadedEntry &loaded,
                                   RunSequence &runs);
  Status writeOutputs(const rt::EntryInfo &entry,
                      std::vector<rt::HostTensor> &outputs);
  Status writeTimes();
  Status writeTrace(const rt::Session &session);
  void noteReferenceCalls(const LoadedEntry &loaded) const;
  Status noteMemory(const rt::Session &session) const;

  cl::opt<std::string> artifact_{cl::Positional, cl::sub(command), cl::Required,
                                 cl::desc("ARTIFACT.divisi")};
  cl::list<std::string> inputs_{
      "inputs", cl::sub(command), on(ActsOn::Run),
      cl::value_desc(kTensorArgument),
      cl::desc("the inputs: .npz, .npy, .pb, a folder with input_0.pb ..., or "
               "- for standard input; may be given several times")};
  OutputFlag output_{command, "OUT.npz",
                     cl::desc("the file for the outputs; - is stdout")};
  cl::opt<int64_t> repeat_{"repeat",
                           cl::sub(command),
                           on(ActsOn::Run),
                           cl::value_desc("N"),
                           cl::init(1),
                           cl::desc("run N times; state persists between runs, "
                                    "the last outputs are written")};
  cl::opt<bool> sequence_{
      "sequence", cl::sub(command), on(ActsOn::Run),
      cl::desc("run once for each index of one more dim that inputs have in "
               "front, as outputs then have; state persists between runs")};
  cl::opt<std::string> timing_{
      "timing-json", cl::sub(command), on(ActsOn::Answer),
      cl::value_desc("FILE"),
      cl::desc("write the time of every repetition, in ns")};
  cl::opt<std::string> trace_{
      "trace", cl::sub(command), on(ActsOn::Answer), cl::value_desc("FILE"),
      cl::desc("write the last run as Chrome trace events; processes other "
               "than the first write to FILE.N, N being their first device")};
  cl::opt<bool> verbose_{
      "verbose", cl::sub(command), on(ActsOn::Run),
      cl::desc("print the kernels and memory of each device, the prediction, "
               "and the writes of a run to globals")};
  SessionFlags sessionFlags_{command};
  std::vector<int64_t> times_;
};

} // namespace

Status RunVerb::writeOutputs(const rt::EntryInfo &entry,
                             std::vector<rt::HostTensor> &outputs) {
  std::vector<const rt::HostTensor *> named;
  for (auto [value, tensor] : zip_equal(entry.outputs, outputs)) {
    tensor.setName(value.name);
    named.push_back(&tensor);
    Message("") << value.name << ": "
                << rt::describe(tensor.type(), tensor.dims());
  }
  if (output_.empty()) {
    return Status();
  }
  Status status = rt::writeNpz(output_, named);
  if (status.isOk()) {
    tellWritten(output_, countText(int64_t(named.size()), "tensor"));
  }
  return status;
}

Status RunVerb::writeTimes() {
  if (timing_.empty()) {
    return Status();
  }
  std::string text;
  raw_string_ostream(text) << json::Value(
                                  json::Object{{"schema_version", 1},
                                               {"ns", json::Array(times_)}})
                           << "\n";
  Status status = writeFile(timing_, text);
  if (status.isOk()) {
    tellWritten(timing_,
                "times of " + countText(int64_t(times_.size()), "run"));
  }
  return status;
}

/// Each process writes what its devices have done; the first one to the file
/// itself.
Status RunVerb::writeTrace(const rt::Session &session) {
  if (trace_.empty()) {
    return Status();
  }
  std::string path = trace_;
  if (!sessionFlags_.isFirst()) {
    path += "." + std::to_string(session.localRanks().front());
  }
  Status status = session.writeTrace(path);
  if (status.isOk()) {
    tellWritten(path, "trace of the last run");
  }
  return status;
}

/// Before the artifact is loaded: no output is an input, nor another output.
Status RunVerb::checkFiles() const {
  OutputCheck files;
  files.addInput("the artifact", artifact_);
  if (auto artifact = rt::ArtifactFile::open(artifact_)) {
    for (const auto &global : artifact->manifest().globals()) {
      if (!global.external_file().empty()) {
        files.addInput("the weights of the artifact",
                       folderOf(artifact_) + "/" + global.external_file());
      }
    }
  }
  files.addTensors("a file of --inputs", inputs_);
  const std::pair<StringRef, const cl::opt<std::string> &> outputs[] = {
      {"-o", output_}, {"--timing-json", timing_}, {"--trace", trace_}};
  for (const auto &[flag, path] : outputs) {
    Status status = path.empty() ? Status() : files.addOutput(flag.str(), path);
    if (!status.isOk()) {
      return status;
    }
  }
  // What a launcher has started may have one of the launcher's own for stdout.
  auto launch = rt::findLaunch();
  return launch && *launch ? Status() : refuseTerminal(output_, "tensors");
}

/// "nn.add x 3, nn.mul x 2"
static std::string callsText(const std::map<std::string, int64_t> &calls) {
  return join(map_range(calls,
                        [](const auto &row) {
                          return row.first + " x " + std::to_string(row.second);
                        }),
              ", ");
}

/// Says once which calls of the entry no faster backend took, where one was
/// asked: operator by operator, as many as the rank with most of them has.
void RunVerb::noteReferenceCalls(const LoadedEntry &loaded) const {
  StringRef reference = rt::referenceBackend().name();
  if (StringRef(sessionFlags_.backends).starts_with(reference)) {
    return;
  }
  std::map<std::string, int64_t> calls;
  for (const rt::KernelCalls &row : loaded.session->kernelCalls()) {
    if (row.entry == loaded.entry->name && row.backend == reference) {
      calls[row.op] = std::max(calls[row.op], row.calls);
    }
  }
  if (calls.empty()) {
    return;
  }
  sayNote() << "kernels of the backend 'reference' run " << callsText(calls);
}

/// One line per device of this process and kind of kernels: which operators of
/// the entry these run, also as parts of one call.
static void noteKernels(const LoadedEntry &loaded) {
  std::map<std::pair<uint32_t, std::string>, std::map<std::string, int64_t>>
      kinds;
  for (const rt::KernelCalls &row : loaded.session->kernelCalls()) {
    if (row.entry == loaded.entry->name) {
      kinds[{row.rank, row.backend}][row.op] += row.calls;
    }
  }
  for (const auto &[kind, calls] : kinds) {
    int64_t all = 0;
    for (const auto &[op, count] : calls) {
      all += count;
    }
    sayNote() << "device " << kind.first << " runs "
              << countText(all, "operator")
              << (kind.second == "native"
                      ? " by native code"
                      : " by kernels of '" + kind.second + "'")
              << ": " << callsText(calls);
  }
}

/// One line per device for which there is a sentence.
static void noteEach(ArrayRef<std::string> sentences) {
  for (const auto &[rank, sentence] : enumerate(sentences)) {
    if (!sentence.empty()) {
      sayNote() << "device " << rank << ": " << sentence;
    }
  }
}

/// One line per device of this process: what the session has allocated, and
/// what the artifact was expected to need.
Status RunVerb::noteMemory(const rt::Session &session) const {
  auto predicted = session.predictedMemory();
  if (!predicted) {
    return predicted.status();
  }
  std::vector<rt::RankMemory> held = session.memory();
  for (uint32_t rank : session.localRanks()) {
    const rt::RankMemory &memory = held[rank];
    sayNote() << "device " << rank << " holds " << memory.total()
              << " bytes: weights " << memory.weights << ", arena "
              << memory.arena << ", workspace " << memory.workspace
              << ", packed constants " << memory.packed << ", messages "
              << memory.messages << "; predicted "
              << (*predicted)[rank].total();
    if (const rt::GpuOverhead &overhead = (*predicted)[rank].overhead;
        overhead.total() > 0) {
      sayNote() << "device " << rank << " is expected to hold "
                << overhead.total() << " bytes more: the driver's context "
                << overhead.context << ", code " << overhead.modules
                << (overhead.nccl == 0
                        ? ""
                        : ", NCCL " + std::to_string(overhead.nccl));
    }
  }
  if (int64_t bytes = session.sharedBytes()) {
    sayNote() << "of what devices hold, " << bytes
              << " bytes are in this process once for several of them";
  }
  return Status();
}

/// Memory of the process that is no device's, and counts for nobody's limit.
static void noteInputs(const LoadedEntry &loaded,
                       ArrayRef<rt::HostTensor> inputs) {
  int64_t bytes = 0;
  std::string parts;
  for (auto [value, tensor] : zip_equal(loaded.entry->inputs, inputs)) {
    bytes += tensor.byteSize();
    parts += (parts.empty() ? ": " : ", ") + value.name + " " +
             std::to_string(tensor.byteSize());
  }
  std::string verified;
  if (int64_t weights = loaded.session->verifiedBytes()) {
    verified = std::to_string(weights) + " bytes of verified weights, and ";
  }
  sayNote() << "beside what devices hold, this process has " << verified
            << bytes << " bytes of inputs" << parts;
}

/// One line per device that meets others in the memory of devices.
static void noteCollectives(const LoadedEntry &loaded) {
  auto ranks = loaded.session->collectives(loaded.entry->name);
  for (auto [rank, uses] : enumerate(ranks)) {
    int64_t steps = 0, queued = 0;
    for (const auto &[kind, use] : uses) {
      steps += use.steps;
      queued += use.queued;
    }
    if (queued != 0) {
      sayNote() << "device " << rank << " takes part in "
                << countText(steps, "collective") << ", " << queued
                << " of them between GPUs by NCCL";
    }
  }
}

/// One line per device: what a run does to its part of the globals.
static void noteState(const LoadedEntry &loaded) {
  std::vector<rt::StateBytes> ranks =
      loaded.session->stateBytes(loaded.entry->name);
  for (auto [rank, bytes] : enumerate(ranks)) {
    if (bytes != rt::StateBytes()) {
      sayNote() << "a run writes " << bytes.inPlace
                << " bytes of globals in place on device " << rank
                << " and copies " << bytes.copied;
    }
  }
}

Status RunVerb::run() {
  if (repeat_ < 1) {
    return Status(ExitCode::Usage, "--repeat must be at least 1");
  }
  if (sequence_ && repeat_.getNumOccurrences() != 0) {
    return Status(ExitCode::Usage, "--sequence says by its inputs how often "
                                   "to run, and --repeat, too; give one of "
                                   "them");
  }
  if (Status status = checkFiles(); !status.isOk()) {
    return status;
  }
  if (auto isDone = sessionFlags_.launch(*this, artifact_);
      !isDone || *isDone) {
    return isDone.status();
  }
  sessionFlags_.trace = !trace_.empty();
  auto loaded = sessionFlags_.open(artifact_);
  if (!loaded) {
    return loaded.status();
  }
  if (sessionFlags_.isFirst()) {
    noteReferenceCalls(*loaded);
  }
  if (verbose_) {
    noteKernels(*loaded);
  }
  Status status = verbose_ ? noteMemory(*loaded->session) : Status();
  if (verbose_ && status.isOk()) {
    noteState(*loaded);
    noteCollectives(*loaded);
  }
  auto runs = status.isOk() ? readRuns(*loaded->entry)
                            : divisi::Expected<RunSequence>(status);
  if (status = sessionFlags_.agree(runs.status()); !status.isOk()) {
    return status;
  }
  if (verbose_) {
    noteInputs(*loaded, runs->tensors());
  }
  auto outputs = runAll(*loaded, *runs);
  status = outputs.status();
  if (verbose_ && status.isOk()) {
    // Whether work is given as one, and how devices meet: others have a say.
    noteEach(loaded->session->fallbacks(loaded->entry->name));
    noteEach(loaded->session->graphUses(loaded->entry->name));
    noteEach(loaded->session->connections());
  }
  if (loaded->session->isStuck() && sessionFlags_.isAlone()) {
    // A thread is still at work with what would be destroyed.
    flushConsole();
    _exit(reportStatus(status));
  }
  if (status.isOk() && sessionFlags_.isFirst()) {
    status = writeOutputs(*loaded->entry, *outputs);
  }
  if (status.isOk()) {
    status = writeTrace(*loaded->session);
  }
  return status.isOk() && sessionFlags_.isFirst() ? writeTimes() : status;
}

divisi::Expected<RunSequence>
RunVerb::readRuns(const rt::EntryInfo &entry) const {
  if (sequence_) {
    return RunSequence::read(inputs_, entry);
  }
  auto inputs = readInputs(inputs_, entry);
  return inputs ? divisi::Expected(RunSequence::single(std::move(*inputs)))
                : divisi::Expected<RunSequence>(inputs.status());
}

/// The outputs of a sequence, or of the last of all repetitions. Each run is
/// timed.
divisi::Expected<RunVerb::Tensors> RunVerb::runAll(const LoadedEntry &loaded,
                                                   RunSequence &runs) {
  int64_t count = sequence_ ? runs.size() : repeat_.getValue();
  for (int64_t i = 0; i < count; ++i) {
    auto inputs = runs.inputs(i);
    if (!inputs) {
      return inputs.status();
    }
    auto begin = std::chrono::steady_clock::now();
    auto outputs = loaded.run(*inputs);
    times_.push_back(std::chrono::duration_cast<std::chrono::nanoseconds>(
                         std::chrono::steady_clock::now() - begin)
                         .count());
    if (outputs && (sequence_ || i + 1 == count)) {
      outputs = loaded.collect(std::move(*outputs));
    }
    Status status =
        outputs ? runs.add(i, std::move(*outputs)) : outputs.status();
    if (!status.isOk()) {
      return status;
    }
  }
  return runs.takeOutputs();
}

std::unique_ptr<Verb> divisi::makeRunVerb() {
  return std::make_unique<RunVerb>();
}
