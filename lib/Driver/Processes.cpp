//===- Processes.cpp - Runs that several processes share ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Processes.h"

#include "Launcher.h"
#include "Process.h"
#include "Verbs.h"
#include "divisi/Support/Version.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <unistd.h>

using namespace llvm;
using namespace divisi;

/// What waits for all processes are called in messages.
static constexpr char kMeeting[] = "the meeting of processes";

/// MPI itself waits for all processes at both ends, for ever.
static std::string didNotCome(std::chrono::milliseconds limit,
                              const char *what) {
  return "a process that was started with this one did not come within " +
         std::to_string(limit.count()) + " ms, while MPI " + what;
}

divisi::Expected<std::unique_ptr<Processes>>
Processes::join(std::chrono::milliseconds timeout) {
  auto launch = rt::findLaunch();
  if (!launch) {
    return launch.status();
  }
  if (!*launch || (*launch)->size == 1) {
    return std::unique_ptr<Processes>();
  }
  std::string number =
      std::to_string((*launch)->self) + "/" + std::to_string((*launch)->size);
  prefixErrors("[" + number + "] ");
  Status status =
      rt::meetForMpi(sharedObject("libdivisi_pmix.so"), **launch, timeout);
  if (!status.isOk()) {
    return status;
  }
  Watchdog watchdog(timeout, didNotCome(timeout, "begins"));
  auto world = rt::openMpiWorld(sharedObject("libdivisi_mpi.so"), **launch);
  if (!world) {
    return world.status();
  }
  std::unique_ptr<Processes> processes(new Processes(timeout));
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
  Watchdog watchdog(limit + moment, didNotCome(limit + moment, "ends"));
  errs().flush();
  outs().flush();
  Status status = world_->finish(limit);
  if (status.isOk()) {
    return;
  }
  // Nothing may be destroyed that MPI still works on. Where the transport has
  // failed, somebody has said why.
  errs().flush();
  _exit(reportStatus(isBroken_ ? Status(ExitCode::Device, "") : status));
}

Status Processes::note(const Status &status) {
  isBroken_ |= status.code() == ExitCode::Device;
  return status;
}

//===----------------------------------------------------------------------===//
// Agreement
//===----------------------------------------------------------------------===//

Status Processes::agree(const Status &own) {
  auto texts = rt::gatherTexts(
      *world_, std::to_string(int(own.code())) + " " + own.message(), kMeeting,
      timeout_);
  if (!texts) {
    return note(texts.status());
  }
  bool isEverywhere = all_equal(*texts);
  for (auto [process, text] : enumerate(*texts)) {
    auto [number, message] = StringRef(text).split(' ');
    int code = 0;
    (void)number.getAsInteger(10, code); // it was written as one
    if (code == 0) {
      continue;
    }
    std::string where =
        isEverywhere ? "" : "process " + std::to_string(process) + ": ";
    return Status(ExitCode(code), isFirst() ? where + message.str() : "");
  }
  return Status();
}

divisi::Expected<std::string> Processes::gather(const std::string &own) {
  auto texts = rt::gatherTexts(*world_, own, kMeeting, timeout_);
  return texts ? divisi::Expected<std::string>(llvm::join(*texts, ""))
               : note(texts.status());
}

/// Success if all processes have said the same.
static Status compare(ArrayRef<std::string> texts, ExitCode code,
                      const std::string &what) {
  for (auto [process, text] : enumerate(texts)) {
    if (text != texts.front()) {
      return makeError(code, "the processes have different ", what,
                       ": process 0 has ", texts.front(), ", and process ",
                       process, " has ", text);
    }
  }
  return Status();
}

MachineShape divisi::machineShapeOf(const artifact::Manifest &manifest) {
  return {manifest.num_ranks(), manifest.machine().ranks(),
          manifest.machine().links()};
}

Status Processes::compareMachines(const MachineShape &shape,
                                  bool wantsMachines) {
  char name[256] = "";
  (void)gethostname(name, sizeof(name) - 1); // without one it has none
  auto texts =
      rt::gatherTexts(*world_, std::to_string(world_->machine()) + " " + name,
                      kMeeting, timeout_);
  if (!texts) {
    return note(texts.status());
  }
  machineOf_.clear();
  std::vector<ProcessPlace> places;
  for (StringRef text : *texts) {
    auto [number, host] = text.split(' ');
    ProcessPlace &place = places.emplace_back();
    (void)number.getAsInteger(10, place.machine); // it was written as one
    place.name = host.str();
  }
  for (uint32_t process : rt::processesOf(world_->size(), shape.numRanks)) {
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
    errs() << "divisi: warning: " << wrong << "; communication will be slower "
           << "than planned\n";
  }
  return Status();
}

uint32_t Processes::numberOnMachine(uint32_t rank) const {
  return uint32_t(count(ArrayRef(machineOf_).take_front(rank),
                        machineOf_[rank]));
}

Status Processes::divide(const std::string &path, const std::string &flags,
                         bool wantsMachines, rt::SessionOptions &options) {
  auto file = rt::ArtifactFile::open(path, {options.externalFolder, false});
  if (Status status = agree(file.status()); !status.isOk()) {
    return status;
  }
  uint32_t numRanks = file->manifest().num_ranks();
  const std::tuple<std::string, ExitCode, std::string> facts[] = {
      {std::string(version()), ExitCode::Version, "versions of divisi"},
      {file->hash(), ExitCode::Invalid, "artifacts (by SHA-256)"},
      {flags, ExitCode::Usage, "options"}};
  Status status;
  for (const auto &[own, code, what] : facts) {
    auto texts = rt::gatherTexts(*world_, own, kMeeting, timeout_);
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
  options.localRanks = rt::ranksOf(world_->self(), world_->size(), numRanks);
  options.communicator = [this](const rt::CommunicatorRequest &request)
      -> divisi::Expected<std::shared_ptr<rt::Communicator>> {
    return world_->connect(rt::processesOf(world_->size(), request.numRanks),
                           request.timeout, request.spin, request.threads);
  };
  return Status();
}

//===----------------------------------------------------------------------===//
// Outputs
//===----------------------------------------------------------------------===//

divisi::Expected<std::unique_ptr<GatheredOutputs>>
GatheredOutputs::prepare(Processes &processes, const rt::Session &session,
                         const rt::EntryInfo &entry) {
  std::unique_ptr<GatheredOutputs> all(new GatheredOutputs(processes, entry));
  rt::ProcessWorld &world = *processes.world_;
  all->communicator_ =
      world.connect(rt::processesOf(world.size(), session.numRanks()),
                    processes.timeout_, std::chrono::microseconds(0), 1);
  for (auto [index, boxes] : enumerate(session.outputBoxes(entry))) {
    const rt::ValueInfo &output = entry.outputs[index];
    rt::StepDesc step;
    step.tag = uint32_t(index);
    step.location = "the gathering of output '" + output.name + "'";
    step.type = output.type;
    for (auto [rank, box] : enumerate(boxes)) {
      step.parties.push_back({uint32_t(rank), box, std::nullopt});
    }
    step.parties.front().result = rt::Box::whole(output.dims);
    auto &shares = all->steps_.emplace_back();
    for (uint32_t rank : session.localRanks()) {
      auto share = rt::LoneStep::prepare(*all->communicator_, step, rank);
      if (!share) {
        return share.status();
      }
      shares.push_back(std::move(*share));
    }
  }
  return all;
}

divisi::Expected<std::vector<rt::HostTensor>>
GatheredOutputs::run(rt::Session &session,
                     std::span<const rt::HostTensor> inputs) const {
  std::vector<rt::TensorArgument> from, to;
  for (const rt::HostTensor &input : inputs) {
    from.emplace_back(rt::TensorView::of(input));
  }
  std::vector<rt::HostTensor> boxes;
  for (const rt::ValueInfo &output : entry_.outputs) {
    std::vector<rt::TensorView> views;
    for (const std::optional<rt::Box> &box : output.boxes) {
      auto tensor = rt::HostTensor::allocate(
          output.type, box ? box->extents() : rt::Dims{0}, output.name);
      if (!tensor) {
        return tensor.status();
      }
      views.push_back(rt::TensorView::of(*tensor));
      boxes.push_back(std::move(*tensor));
    }
    to.emplace_back(std::move(views));
  }
  Status status = session.run(entry_.name, from, to);
  return status.isOk()
             ? divisi::Expected<std::vector<rt::HostTensor>>(std::move(boxes))
             : processes_.note(status);
}

/// Starts all steps of a gathering and goes on until they are done.
static Status runAll(rt::Communicator &communicator,
                     ArrayRef<rt::CommStep *> steps,
                     ArrayRef<const void *> sources, ArrayRef<void *> results) {
  for (size_t i = 0; i < steps.size(); ++i) {
    if (Status status = steps[i]->start(sources[i], results[i]);
        !status.isOk()) {
      return status;
    }
  }
  std::vector<rt::CommStep *> left = steps.vec();
  while (!left.empty()) {
    Status status;
    erase_if(left, [&](rt::CommStep *step) {
      auto isDone = step->poll();
      if (!isDone) {
        status = isDone.status();
      }
      return isDone && *isDone;
    });
    if (!status.isOk()) {
      return status;
    }
    if (!left.empty()) {
      communicator.wait(left);
    }
  }
  return Status();
}

divisi::Expected<std::vector<rt::HostTensor>>
GatheredOutputs::gather(const std::vector<rt::HostTensor> &boxes) const {
  std::vector<rt::HostTensor> whole;
  size_t box = 0;
  for (auto [output, shares] : zip_equal(entry_.outputs, steps_)) {
    std::vector<rt::CommStep *> steps;
    std::vector<const void *> sources;
    std::vector<void *> results(shares.size());
    for (const auto &share : shares) {
      steps.push_back(share.get());
      sources.push_back(boxes[box++].data());
    }
    if (processes_.isFirst()) {
      auto tensor =
          rt::HostTensor::allocate(output.type, output.dims, output.name);
      if (!tensor) {
        return tensor.status();
      }
      whole.push_back(std::move(*tensor));
      results.front() = whole.back().data(); // rank 0 is the first one's
    }
    Status status = runAll(*communicator_, steps, sources, results);
    if (!status.isOk()) {
      return processes_.note(status);
    }
  }
  return whole;
}
