//===- Processes.cpp - Runs that several processes share ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/launch/Processes.h"
#include "divisi/Support/Version.h"
#include "divisi/runtime/artifact/ArtifactFile.h"
#include "runtime/launch/Hosts.h"
#include "runtime/launch/ThisProcess.h"

#include <algorithm>
#include <charconv>
#include <sstream>
#include <unistd.h>

using namespace divisi;
using namespace divisi::rt;

/// What waits for all processes are called in messages.
static constexpr char kMeeting[] = "the rendezvous of processes";

/// The number that a process has said, and the text behind it.
static std::pair<int, std::string> splitNumber(const std::string &text) {
  int number = 0;
  const char *end = text.data() + text.size();
  const char *behind = std::from_chars(text.data(), end, number).ptr;
  return {number, std::string(behind == end ? end : behind + 1, end)};
}

/// MPI itself waits for all processes at both ends, for ever.
static std::string didNotCome(std::chrono::milliseconds limit,
                              const char *what) {
  return "a process that was started with this one did not connect within " +
         std::to_string(limit.count()) + " ms, while MPI " + what;
}

/// Several hosts know each other by what they run, also; so it is read first.
static Status readArtifact(const std::string &path, Launch &launch) {
  if (path.empty() || launch.hosts == 1) {
    return Status();
  }
  auto file = ArtifactFile::open(path);
  if (file) {
    launch.artifact = file->hash();
    return Status();
  }
  // What is the same for all processes of a host is said by the first of them.
  return launch.local == 0 ? file.status() : Status(file.status().code(), "");
}

Expected<std::unique_ptr<Processes>>
Processes::join(std::chrono::milliseconds timeout, const std::string &artifact,
                ProcessReports reports) {
  auto launch = findLaunch();
  if (!launch) {
    return launch.status();
  }
  if (!*launch || (*launch)->size == 1) {
    return std::unique_ptr<Processes>();
  }
  std::string number =
      std::to_string((*launch)->self) + "/" + std::to_string((*launch)->size);
  prefixErrors("[" + number + "] ");
  Status status = readArtifact(artifact, **launch);
  if (status.isOk()) {
    status = meetForMpi(sharedObject("libdivisi_pmix.so"), **launch, timeout);
  }
  if (!status.isOk()) {
    return status;
  }
  Watchdog watchdog(timeout, didNotCome(timeout, "begins"), reports.fail);
  if (!watchdog.status().isOk()) {
    return watchdog.status();
  }
  auto world = openMpiWorld(sharedObject("libdivisi_mpi.so"), **launch);
  if (!world) {
    return world.status();
  }
  std::unique_ptr<Processes> processes(
      new Processes(timeout, std::move(reports)));
  processes->world_ = std::move(*world);
  return processes;
}

// A process that left without a word would be an error to the launcher.
Processes::~Processes() {
  if (!world_) {
    return;
  }
  constexpr std::chrono::milliseconds moment(2000);
  std::chrono::milliseconds limit = isBroken_ ? moment : timeout_;
  Watchdog watchdog(limit + moment, didNotCome(limit + moment, "ends"),
                    reports_.fail);
  reports_.flush();
  Status status = world_->finish(limit);
  if (status.isOk()) {
    return;
  }
  // Nothing may be destroyed that MPI still works on. Where the transport has
  // failed, somebody has said why.
  _exit(reports_.fail(isBroken_ ? Status(ExitCode::Device, "") : status));
}

Status Processes::note(const Status &status) {
  isBroken_ |= status.code() == ExitCode::Device;
  return status;
}

//===----------------------------------------------------------------------===//
// Agreement
//===----------------------------------------------------------------------===//

Status Processes::agree(const Status &own) {
  auto texts = gatherTexts(
      *world_, std::to_string(int(own.code())) + " " + own.message(), kMeeting,
      timeout_);
  if (!texts) {
    return note(texts.status());
  }
  bool isEverywhere = std::ranges::adjacent_find(
                          *texts, std::ranges::not_equal_to()) == texts->end();
  for (size_t process = 0; process < texts->size(); ++process) {
    auto [code, message] = splitNumber((*texts)[process]);
    if (code == 0) {
      continue;
    }
    if (code < 0 || code > int(ExitCode::Version)) {
      code = int(ExitCode::Internal); // no process ends so
    }
    std::string where =
        isEverywhere ? "" : "process " + std::to_string(process) + ": ";
    return Status(ExitCode(code), isFirst() ? where + message : "");
  }
  return Status();
}

Expected<std::string> Processes::gather(const std::string &own) {
  auto texts = gatherTexts(*world_, own, kMeeting, timeout_);
  if (!texts) {
    return note(texts.status());
  }
  std::string all;
  for (const std::string &text : *texts) {
    all += text;
  }
  return all;
}

/// The lines of `text` that are not in `other`, in one.
static std::string linesBeyond(const std::string &text,
                               const std::string &other) {
  std::string found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (("\n" + other + "\n").find("\n" + line + "\n") == std::string::npos) {
      found += (found.empty() ? "" : " ") + line;
    }
  }
  return found;
}

/// Success if all processes have said the same; else which lines differ.
static Status compare(std::span<const std::string> texts, ExitCode code,
                      const std::string &what) {
  for (size_t process = 1; process < texts.size(); ++process) {
    if (texts[process] != texts.front()) {
      return makeError(
          code, "the processes have different ", what, ": process 0 has ",
          linesBeyond(texts.front(), texts[process]), ", and process ", process,
          " has ", linesBeyond(texts[process], texts.front()));
    }
  }
  return Status();
}

Status Processes::compareMachines(const MachineShape &shape,
                                  bool wantsMachines) {
  char name[256] = "";
  (void)gethostname(name, sizeof(name) - 1); // without one it has none
  auto texts =
      gatherTexts(*world_, std::to_string(world_->machine()) + " " + name,
                  kMeeting, timeout_);
  if (!texts) {
    return note(texts.status());
  }
  machineOf_.clear();
  std::vector<ProcessPlace> places;
  for (const std::string &text : *texts) {
    auto [machine, host] = splitNumber(text);
    places.push_back({uint32_t(machine), host});
  }
  for (uint32_t process : processesOf(world_->size(), shape.numRanks)) {
    machineOf_.push_back(places[process].machine);
  }
  std::string wrong = misplacedDevices(places, shape);
  if (wrong.empty()) {
    return Status();
  }
  if (wantsMachines) {
    return Status(ExitCode::Usage, wrong);
  }
  if (isFirst()) {
    reports_.warn(wrong + "; communication will be slower than planned");
  }
  return Status();
}

uint32_t Processes::numberOnMachine(uint32_t rank) const {
  return uint32_t(std::count(machineOf_.begin(), machineOf_.begin() + rank,
                             machineOf_[rank]));
}

Status Processes::divide(const std::string &path,
                         const std::vector<std::string> &flags,
                         bool wantsMachines, SessionOptions &options) {
  auto file = ArtifactFile::open(path, {options.externalFolder, false});
  if (Status status = agree(file.status()); !status.isOk()) {
    return status;
  }
  uint32_t numRanks = file->manifest().num_ranks();
  std::string all;
  for (const std::string &flag : flags) {
    all += (all.empty() ? "" : "\n") + flag;
  }
  const std::tuple<std::string, ExitCode, std::string> facts[] = {
      {std::string(version()), ExitCode::Version, "versions of divisi"},
      {file->hash(), ExitCode::Invalid, "artifacts (by SHA-256)"},
      {all, ExitCode::Usage, "options"}};
  Status status;
  for (const auto &[own, code, what] : facts) {
    auto texts = gatherTexts(*world_, own, kMeeting, timeout_);
    if (!texts) {
      return note(texts.status());
    }
    if (status.isOk()) {
      status = compare(*texts, code, what);
    }
  }
  if (status.isOk() && world_->size() > numRanks) {
    status = makeError(ExitCode::Usage, world_->size(), " processes for the ",
                       numRanks, " devices of '", path,
                       "'; start no more processes than it has devices");
  }
  if (status = agree(status); !status.isOk()) {
    return status;
  }
  status =
      agree(compareMachines(machineShapeOf(file->manifest()), wantsMachines));
  if (!status.isOk()) {
    return status;
  }
  options.artifactHash = file->hash();
  options.localRanks = ranksOf(world_->self(), world_->size(), numRanks);
  options.communicator = [this](const CommunicatorRequest &request)
      -> Expected<std::shared_ptr<Communicator>> {
    return world_->connect(processesOf(world_->size(), request.numRanks),
                           request.timeout, request.spin, request.threads);
  };
  return Status();
}

//===----------------------------------------------------------------------===//
// Outputs
//===----------------------------------------------------------------------===//

Expected<std::unique_ptr<GatheredOutputs>>
GatheredOutputs::prepare(Processes &processes, const Session &session,
                         const EntryInfo &entry) {
  std::unique_ptr<GatheredOutputs> all(new GatheredOutputs(entry, &processes));
  all->isReceiver_ = processes.isFirst();
  Status status = all->prepare(*processes.world_, processes.timeout_, session);
  return status.isOk() ? Expected(std::move(all)) : status;
}

Expected<std::unique_ptr<GatheredOutputs>>
GatheredOutputs::prepareForAll(ProcessWorld &world,
                               std::chrono::milliseconds timeout,
                               const Session &session, const EntryInfo &entry) {
  std::unique_ptr<GatheredOutputs> all(new GatheredOutputs(entry, nullptr));
  Status status = all->prepare(world, timeout, session);
  return status.isOk() ? Expected(std::move(all)) : status;
}

Status GatheredOutputs::note(const Status &status) const {
  if (processes_) {
    return processes_->note(status);
  }
  communicator_->abort(status); // others would wait for this one
  return status;
}

Status GatheredOutputs::prepare(ProcessWorld &world,
                                std::chrono::milliseconds timeout,
                                const Session &session) {
  std::vector<uint32_t> processOf =
      processesOf(world.size(), session.numRanks());
  numLocal_ = session.localRanks().size();
  communicator_ =
      world.connect(processOf, timeout, std::chrono::microseconds(0), 1);
  for (const auto &boxes : session.outputBoxes(entry_)) {
    Status status = prepareOutput(session, processOf, boxes);
    if (!status.isOk()) {
      return status;
    }
  }
  return {};
}

/// Whether each process has a rank that holds all of an output.
static bool haveAll(const std::vector<uint32_t> &processOf, const Box &whole,
                    const std::vector<std::optional<Box>> &boxes) {
  std::vector<bool> has(processOf.back() + 1);
  for (size_t rank = 0; rank < boxes.size(); ++rank) {
    has[processOf[rank]] = has[processOf[rank]] || boxes[rank] == whole;
  }
  return std::ranges::find(has, false) == has.end();
}

/// What comes to a process comes to the first of its ranks.
Status
GatheredOutputs::prepareOutput(const Session &session,
                               const std::vector<uint32_t> &processOf,
                               const std::vector<std::optional<Box>> &boxes) {
  auto &shares = steps_.emplace_back();
  const ValueInfo &output = entry_.outputs[steps_.size() - 1];
  Box whole = Box::whole(output.dims);
  if (isForAll() && haveAll(processOf, whole, boxes)) {
    return {};
  }
  StepDesc step;
  step.tag = uint32_t(steps_.size() - 1);
  step.location = "the gathering of output '" + output.name + "'";
  step.type = output.type;
  for (uint32_t rank = 0; rank < boxes.size(); ++rank) {
    bool isFirst = rank == 0 || processOf[rank] != processOf[rank - 1];
    step.parties.push_back({rank, boxes[rank], std::nullopt});
    if (isFirst && (rank == 0 || isForAll())) {
      step.parties.back().result = whole;
    }
  }
  for (uint32_t rank : session.localRanks()) {
    auto share = LoneStep::prepare(*communicator_, step, rank);
    if (!share) {
      return share.status();
    }
    shares.push_back(std::move(*share));
  }
  return {};
}

Expected<std::vector<HostTensor>>
GatheredOutputs::run(Session &session,
                     std::span<const TensorArgument> inputs) const {
  std::vector<TensorArgument> to;
  std::vector<HostTensor> boxes;
  for (const ValueInfo &output : entry_.outputs) {
    std::vector<TensorView> views;
    for (const std::optional<Box> &box : output.boxes) {
      auto tensor = HostTensor::allocate(
          output.type, box ? box->extents() : Dims{0}, output.name);
      if (!tensor) {
        return note(tensor.status());
      }
      views.push_back(TensorView::of(*tensor));
      boxes.push_back(std::move(*tensor));
    }
    to.emplace_back(std::move(views));
  }
  Status status = session.run(entry_.name, inputs, to);
  return status.isOk() ? Expected<std::vector<HostTensor>>(std::move(boxes))
                       : note(status);
}

/// Starts all steps of a gathering and goes on until they are done.
static Status runAll(Communicator &communicator, std::vector<CommStep *> steps,
                     std::span<const void *const> sources,
                     std::span<void *const> results) {
  for (size_t i = 0; i < steps.size(); ++i) {
    if (Status status = steps[i]->start(sources[i], results[i]);
        !status.isOk()) {
      return status;
    }
  }
  while (!steps.empty()) {
    Status status;
    std::erase_if(steps, [&](CommStep *step) {
      auto isDone = step->poll();
      if (!isDone) {
        status = isDone.status();
      }
      return isDone && *isDone;
    });
    if (!status.isOk()) {
      return status;
    }
    if (!steps.empty()) {
      communicator.wait(steps);
    }
  }
  return Status();
}

Expected<std::vector<HostTensor>>
GatheredOutputs::gather(const std::vector<HostTensor> &boxes) const {
  std::vector<HostTensor> whole;
  size_t box = 0;
  for (size_t index = 0; index < steps_.size(); ++index) {
    const ValueInfo &output = entry_.outputs[index];
    const std::vector<LoneStep> &shares = steps_[index];
    if (shares.empty()) {
      size_t local = 0;
      while (output.boxes[local] != Box::whole(output.dims)) {
        ++local;
      }
      whole.push_back(boxes[box + local]);
      box += numLocal_;
      continue;
    }
    std::vector<CommStep *> steps;
    std::vector<const void *> sources;
    std::vector<void *> results(shares.size());
    for (const auto &share : shares) {
      steps.push_back(share.get());
      sources.push_back(boxes[box++].data());
    }
    if (isReceiver_) {
      auto tensor = HostTensor::allocate(output.type, output.dims, output.name);
      if (!tensor) {
        return note(tensor.status());
      }
      whole.push_back(std::move(*tensor));
      results.front() = whole.back().data();
    }
    Status status = runAll(*communicator_, std::move(steps), sources, results);
    if (!status.isOk()) {
      return note(status);
    }
  }
  return whole;
}
