//===- TrainVerb.cpp - divisi train ---------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ActsOn.h"
#include "Console.h"
#include "Outputs.h"
#include "Sessions.h"
#include "TensorArguments.h"
#include "TrainCheckpoints.h"
#include "TrainLoop.h"
#include "Verbs.h"
#include "divisi/Support/Interrupts.h"
#include "divisi/Support/Units.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <unistd.h>

using namespace llvm;
using namespace divisi;

namespace {

class TrainVerb : public Verb {
public:
  TrainVerb() : Verb("train") {
    AlikeFlags &alike = sessionFlags_.alike;
    alike.add(steps_);
    alike.add(seed_);
    alike.add(saveEvery_);
    alike.add(resume_);
    alike.add(noCheckpoint_);
    alike.add(onNonfinite_);
  }
  Status run() override;

private:
  using Fixed = std::map<size_t, rt::HostTensor>;

  divisi::Expected<rt::DataFolder> openData(const LoadedEntry &loaded,
                                            Fixed &fixed) const;
  Status compareData(const rt::DataFolder &folder) const;
  void noteData(const rt::DataFolder &folder) const;
  Status checkFlags() const;
  Status begin(TrainCheckpoints &checkpoints, const rt::DataFolder &folder);
  Status train(const LoadedEntry &loaded, const rt::DataFolder &folder,
               const Fixed &fixed);
  Status runSteps(TrainLoop &loop, TrainReport &report,
                  TrainCheckpoints &checkpoints);
  std::string checkpointFolder() const;
  /// What is wrong for all processes alike is said by the first.
  Status saidOnce(const Status &status) const {
    return sessionFlags_.isFirst() ? status : Status(status.code(), "");
  }

  cl::opt<std::string> artifact_{cl::Positional, cl::sub(command), cl::Required,
                                 cl::desc("ARTIFACT.divisi")};
  cl::opt<std::string> data_{
      "data", cl::sub(command), on(ActsOn::Run), cl::value_desc("FOLDER"),
      cl::desc("the samples: SHARD.npz, or SHARD.INPUT.npy, with an array for "
               "each input whose first extent counts samples")};
  cl::list<std::string> inputs_{
      "inputs", cl::sub(command), on(ActsOn::Run),
      cl::value_desc(kTensorArgument),
      cl::desc("inputs that are the same in every step; as those of run")};
  cl::opt<int64_t> steps_{"steps",
                          cl::sub(command),
                          on(ActsOn::Run),
                          cl::value_desc("N"),
                          cl::init(0),
                          cl::desc("how many steps to train, those before "
                                   "--resume included")};
  cl::opt<uint64_t> seed_{
      "seed",          cl::sub(command),
      on(ActsOn::Run), cl::value_desc("SEED"),
      cl::init(0),     cl::desc("decides the order of samples in each epoch")};
  cl::opt<std::string> checkpoint_{
      "checkpoint", cl::sub(command), on(ActsOn::Answer),
      cl::value_desc("FOLDER"),
      cl::desc("where checkpoints are (default: beside the artifact, named "
               "after it); one is written behind the last step")};
  cl::opt<bool> noCheckpoint_{"no-checkpoint", cl::sub(command),
                              on(ActsOn::Answer),
                              cl::desc("write none: what is trained is lost")};
  cl::opt<int64_t> saveEvery_{
      "save-every",
      cl::sub(command),
      on(ActsOn::Answer),
      cl::value_desc("N"),
      cl::init(0),
      cl::desc("write one behind every N steps, too; 0: behind the "
               "last alone")};
  cl::opt<int64_t> keep_{"keep",
                         cl::sub(command),
                         on(ActsOn::Answer),
                         cl::value_desc("N"),
                         cl::init(3),
                         cl::desc("how many checkpoints stay, the newest")};
  cl::opt<bool> resume_{"resume", cl::sub(command), on(ActsOn::Run),
                        cl::desc("go on from the newest good checkpoint, if "
                                 "there is one")};
  cl::opt<std::string> onNonfinite_{
      "on-nonfinite",
      cl::sub(command),
      on(ActsOn::Run),
      cl::value_desc("stop|skip"),
      cl::init("stop"),
      cl::desc("end at a loss that is not finite, or undo its step, for which "
               "the state is kept twice")};
  cl::opt<bool> json_{
      "json", cl::sub(command), on(ActsOn::Answer),
      cl::desc("print a line of JSON for each step on standard output")};
  SessionFlags sessionFlags_{command};
  rt::TrainingState now_;
};

} // namespace

/// All inputs that nothing is given for have samples, or no batch: then `fixed`
/// gets what the folder has for them.
divisi::Expected<rt::DataFolder> TrainVerb::openData(const LoadedEntry &loaded,
                                                     Fixed &fixed) const {
  std::vector<rt::ValueInfo> inputs, shared;
  std::vector<size_t> indices;
  for (auto [index, input] : enumerate(loaded.entry->inputs)) {
    if (!fixed.count(index)) {
      (input.isShared ? shared : inputs).push_back(input);
    }
    if (!fixed.count(index) && input.isShared) {
      indices.push_back(index);
    }
  }
  if (inputs.empty()) {
    return makeError(ExitCode::Usage, "entry '", loaded.entry->name,
                     "' has no input that samples are for");
  }
  auto folder = rt::DataFolder::open(data_, inputs, shared);
  for (size_t i = 0; folder && i < shared.size(); ++i) {
    auto tensor = folder->shared(i);
    if (!tensor) {
      return tensor.status();
    }
    fixed.emplace(indices[i], std::move(*tensor));
  }
  return folder;
}

/// Processes may see different folders by one name.
Status TrainVerb::compareData(const rt::DataFolder &folder) const {
  std::string own = std::to_string(folder.samples()) + " samples in " +
                    std::to_string(folder.shards()) + " shards;";
  auto all = sessionFlags_.gather(own);
  if (!all) {
    return all.status();
  }
  StringRef rest = *all;
  while (rest.consume_front(own)) {
  }
  return rest.empty()
             ? Status()
             : makeError(ExitCode::Invalid, "'", data_.getValue(),
                         "' is not the same for all processes: ", own,
                         " and elsewhere ", rest.split(';').first.str());
}

void TrainVerb::noteData(const rt::DataFolder &folder) const {
  int64_t steps = folder.samples() / folder.batch();
  int64_t left = folder.samples() - steps * folder.batch();
  sayNote() << countText(folder.samples(), "sample") << " in "
            << countText(int64_t(folder.shards()), "shard") << ": an epoch has "
            << countText(steps, "step") << " of " << folder.batch()
            << (left == 0 ? std::string()
                          : ", and leaves out the last " +
                                std::to_string(left) + " of its order");
  if (!folder.unused().empty()) {
    sayNote() << "no input is called '" << join(folder.unused(), "', '")
              << "': these arrays are not read";
  }
  if (folder.bytesInMemory() != 0) {
    sayNote()
        << formatBytes(double(folder.bytesInMemory()))
        << " of samples are in memory, as they are compressed or in "
           "Fortran's order; numpy.savez stores arrays that can be mapped";
  }
}

/// What the device with most of it holds, of all processes.
static divisi::Expected<int64_t> mostMemory(const SessionFlags &flags,
                                            const rt::Session &session) {
  int64_t most = 0;
  for (const rt::RankMemory &memory : session.memory()) {
    most = std::max(most, memory.total());
  }
  auto all = flags.gather(std::to_string(most) + " ");
  if (!all) {
    return all.status();
  }
  SmallVector<StringRef> numbers;
  StringRef(*all).split(numbers, ' ', -1, /*KeepEmpty=*/false);
  for (StringRef number : numbers) {
    int64_t bytes = 0;
    most = number.getAsInteger(10, bytes) ? most : std::max(most, bytes);
  }
  return most;
}

std::string TrainVerb::checkpointFolder() const {
  StringRef path = artifact_.getValue();
  path.consume_back(".divisi");
  return checkpoint_.empty() ? path.str() + ".checkpoints"
                             : checkpoint_.getValue();
}

/// The state that the steps begin with.
Status TrainVerb::begin(TrainCheckpoints &checkpoints,
                        const rt::DataFolder &folder) {
  now_ = {0, seed_, {}, folder.samples()};
  if (!resume_) {
    return noCheckpoint_ ? Status() : checkpoints.refuseOthers();
  }
  auto found = checkpoints.resume();
  if (!found) {
    return found.status();
  }
  if (!*found) {
    if (sessionFlags_.isFirst()) {
      sayNote() << "there is no checkpoint in '" << checkpointFolder()
                << "' yet: training begins with step 1";
    }
    return {};
  }
  const rt::TrainingState &then = **found;
  if (seed_.getNumOccurrences() != 0 && seed_ != then.seed) {
    return makeError(ExitCode::Usage, "--seed ", seed_.getValue(),
                     ": the training began with ", then.seed,
                     "; leave --seed out");
  }
  now_.step = then.step;
  now_.seed = then.seed;
  now_.position = then.position;
  bool isFirst = sessionFlags_.isFirst();
  if (then.samples != folder.samples()) {
    now_.position = {then.position.epoch + 1, 0};
    if (isFirst) {
      sayWarning() << "the data had " << then.samples << " samples and has "
                   << folder.samples() << ": training goes on with epoch "
                   << now_.position.epoch;
    }
  }
  if (isFirst) {
    sayNote() << "going on behind step " << then.step << " of '"
              << rt::checkpointPath(checkpointFolder(), then.step) << "'";
  }
  return {};
}

Status TrainVerb::runSteps(TrainLoop &loop, TrainReport &report,
                           TrainCheckpoints &checkpoints) {
  bool saves = !noCheckpoint_;
  auto after = [&](const StepResult &result) {
    report.add(result);
    now_.step = result.step;
    now_.position = result.next;
    if (!saves || saveEvery_ == 0 || result.step % saveEvery_ != 0) {
      return Status();
    }
    loop.knowFinite(result.step); // or it is not saved, and the run ends
    return checkpoints.save(now_);
  };
  Status status = loop.run(now_.step, steps_, now_.seed, now_.position, after);
  if (status.isOk() && saves) {
    status = checkpoints.save(now_);
  } else if (!status.isOk() && !status.message().empty() && saves &&
             status.message().find(checkpoints.lastText()) ==
                 std::string::npos) {
    status = Status(status.code(), status.message() + checkpoints.lastText());
  }
  return status;
}

Status TrainVerb::train(const LoadedEntry &loaded, const rt::DataFolder &folder,
                        const Fixed &fixed) {
  TrainLoop loop(sessionFlags_, loaded, folder, fixed);
  Status status = saidOnce(loop.findLoss());
  if (!status.isOk()) {
    return status;
  }
  TrainCheckpoints checkpoints(sessionFlags_, *loaded.session,
                               checkpointFolder(), keep_);
  if (status = saidOnce(begin(checkpoints, folder)); !status.isOk()) {
    return status;
  }
  bool isFirst = sessionFlags_.isFirst();
  if (now_.step >= steps_) {
    if (isFirst) {
      sayNote() << "step " << now_.step << " is done already; --steps counts "
                << "from the first";
    }
    return checkpoints.save(now_); // it is there: removes those before
  }
  if (onNonfinite_ == "skip") {
    loop.skipNonfinite();
  }
  auto memory = mostMemory(sessionFlags_, *loaded.session);
  if (!memory) {
    return memory.status();
  }
  TrainReport report({now_.step, steps_, *memory, json_}, !isFirst);
  status = runSteps(loop, report, checkpoints);
  report.end();
  if (status.isOk() && isFirst && !noCheckpoint_) {
    tellWritten(rt::checkpointPath(checkpointFolder(), now_.step),
                "checkpoint of step " + std::to_string(now_.step));
  }
  return status;
}

Status TrainVerb::checkFlags() const {
  if (steps_ < 1) {
    return makeError(ExitCode::Usage, "--steps ", steps_.getValue(),
                     ": expected at least 1");
  }
  if (data_.empty()) {
    return makeError(ExitCode::Usage,
                     "where are the samples? --data takes a folder");
  }
  if (saveEvery_ < 0 || keep_ < 1) {
    return saveEvery_ < 0
               ? makeError(ExitCode::Usage, "--save-every ",
                           saveEvery_.getValue(), ": expected at least 0")
               : makeError(ExitCode::Usage, "--keep ", keep_.getValue(),
                           ": expected at least 1");
  }
  if (onNonfinite_ != "stop" && onNonfinite_ != "skip") {
    return makeError(ExitCode::Usage, "--on-nonfinite '",
                     onNonfinite_.getValue(), "': expected stop or skip");
  }
  if (noCheckpoint_ && (resume_ || saveEvery_ != 0 || !checkpoint_.empty())) {
    return makeError(ExitCode::Usage,
                     "--no-checkpoint goes without --checkpoint, --resume and "
                     "--save-every; leave it out");
  }
  return {};
}

Status TrainVerb::run() {
  if (Status status = checkFlags(); !status.isOk()) {
    return status;
  }
  if (auto isDone = sessionFlags_.launch(*this, artifact_);
      !isDone || *isDone) {
    return isDone.status();
  }
  auto loaded = sessionFlags_.open(artifact_);
  if (!loaded) {
    return loaded.status();
  }
  auto fixed = readSomeInputs(inputs_, *loaded->entry);
  auto folder = fixed ? openData(*loaded, *fixed)
                      : divisi::Expected<rt::DataFolder>(fixed.status());
  Status status = sessionFlags_.agree(folder.status());
  if (status.isOk()) {
    status = compareData(*folder);
  }
  if (!status.isOk()) {
    return status;
  }
  if (sessionFlags_.isFirst()) {
    noteData(*folder);
  }
  {
    // Alone, it ends behind a step, with a checkpoint.
    std::optional<Interrupts> interrupts;
    if (sessionFlags_.isAlone()) {
      interrupts.emplace();
    }
    status = train(*loaded, *folder, *fixed);
  }
  if (loaded->session->isStuck() && sessionFlags_.isAlone()) {
    // A thread is still at work with what would be destroyed.
    flushConsole();
    _exit(reportStatus(status));
  }
  if (status.isOk() && sessionFlags_.isAlone()) {
    flushConsole();
    Interrupts::endIfRaised();
  }
  return status;
}

std::unique_ptr<Verb> divisi::makeTrainVerb() {
  return std::make_unique<TrainVerb>();
}
