//===- SimulateEntry.cpp - What an entry does when ------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Schedule/SimulateEntry.h"

#include "EntryTasks.h"
#include "dialects/NN/Bodies.h"
#include "dialects/NN/Locations.h"
#include "dialects/NN/Shapes.h"
#include "dialects/Pipe/Pipe.h"
#include "divisi/Schedule/EntryFunctions.h"
#include "divisi/Schedule/LocalOperation.h"

#include <limits>
#include <map>

using namespace mlir;
using namespace divisi;

/// How many tensors are named that are live at the peak.
static constexpr size_t kMostLive = 10;

namespace {

/// Simulates the entries of a module, and what they run: each body once.
class ModuleSimulator {
public:
  ModuleSimulator(ModuleOp module, const Cluster &cluster,
                  std::vector<ScheduleRecord> records)
      : cost_(module, cluster), records_(std::move(records)),
        entries_(functionsOfEntries(module)) {}

  /// All but bodies.
  Expected<std::vector<SimulatedEntry>> run();
  /// What `loop` runs, and which of its programs does.
  struct Body {
    const SimulatedEntry *entry = nullptr; ///< Null if it has no times.
    size_t program = 0;
    int64_t runs = 0;
  };
  Body bodyOf(nn::LoopOp loop);

private:
  Expected<SimulatedEntry> simulate(StringRef name);

  OperationCost cost_;
  std::vector<ScheduleRecord> records_;
  llvm::MapVector<StringRef, SmallVector<func::FuncOp>> entries_;
  std::map<StringRef, Expected<SimulatedEntry>> bodies_;
};

/// Reads one program of an entry. One use.
class ProgramReader {
public:
  ProgramReader(const EntryTasks &entry, const Schedule &schedule,
                size_t program, func::FuncOp function, ModuleSimulator &module)
      : entry_(entry), schedule_(schedule), program_(program),
        function_(function), module_(module) {}

  SimulatedProgram run();
  /// Its loops, after run().
  std::vector<SimulatedLoop> loops;

private:
  /// A loop, and what it runs.
  struct PlacedLoop {
    ModuleSimulator::Body body;
    int64_t begin = 0;
    bool isShown = true;

    const SimulatedProgram &program() const {
      return body.entry->programs[body.program];
    }
  };

  void readEvents();
  void addLoop(nn::LoopOp loop, int64_t begin, int64_t end);
  void addTimes();
  void addMemory();
  void addMemoryOfLoops();

  const EntryTasks &entry_;
  const Schedule &schedule_;
  size_t program_;
  func::FuncOp function_;
  ModuleSimulator &module_;
  SimulatedProgram made_;
  llvm::DenseMap<Operation *, size_t> taskOf_;
  std::vector<PlacedLoop> placed_;
};

} // namespace

/// Its runs one after the other, or the whole of it where these are too many
/// events.
void ProgramReader::addLoop(nn::LoopOp loop, int64_t begin, int64_t end) {
  ModuleSimulator::Body body = module_.bodyOf(loop);
  const SimulatedProgram &program = body.entry->programs[body.program];
  size_t each = std::max<size_t>(program.events.size(), 1);
  size_t most = std::max(kMostEvents, made_.events.size());
  bool isShown = size_t(body.runs) <= (most - made_.events.size()) / each;
  placed_.push_back({body, begin, isShown});
  loops.push_back(
      {body.entry->entry, body.runs, body.entry->nanoseconds, isShown});
  if (!isShown) {
    made_.events.push_back({nn::nodeName(loop->getLoc()),
                            loop->getName().getStringRef().str(), "",
                            body.entry->entry, false, begin, end});
    return;
  }
  for (int64_t run = 0; run != body.runs; ++run) {
    int64_t later = begin + run * body.entry->nanoseconds;
    std::string name = body.entry->entry + " " + std::to_string(run);
    for (SimulatedEvent event : program.events) {
      event.begin += later;
      event.end += later;
      event.run = event.run.empty() ? name : name + " " + event.run;
      made_.events.push_back(std::move(event));
    }
  }
}

void ProgramReader::readEvents() {
  for (auto [task, operations] : llvm::enumerate(entry_.operations)) {
    const std::vector<size_t> &programs = entry_.tasks[task].programs;
    auto own = llvm::find(programs, program_);
    if (own == programs.end()) {
      continue;
    }
    Operation *op = operations[size_t(own - programs.begin())];
    taskOf_[op] = task;
    if (auto loop = dyn_cast<nn::LoopOp>(op)) {
      addLoop(loop, schedule_.begins[task], schedule_.ends[task]);
      continue;
    }
    auto step = op->getAttrOfType<StringAttr>(pipe::PipeDialect::kStep);
    made_.events.push_back(
        {nn::nodeName(op->getLoc()), op->getName().getStringRef().str(),
         step ? step.str() : "", "", entry_.tasks[task].meets,
         schedule_.begins[task], schedule_.ends[task]});
  }
  llvm::stable_sort(made_.events,
                    [](const SimulatedEvent &a, const SimulatedEvent &b) {
                      return a.begin < b.begin;
                    });
}

/// Operators run one after the other, and so do collectives.
void ProgramReader::addTimes() {
  int64_t hidden = 0;
  for (const SimulatedEvent &event : made_.events) {
    (event.isCollective ? made_.communication : made_.busy) +=
        event.end - event.begin;
  }
  std::vector<const SimulatedEvent *> operators, collectives;
  for (const SimulatedEvent &event : made_.events) {
    (event.isCollective ? collectives : operators).push_back(&event);
  }
  for (size_t i = 0, j = 0; i < operators.size() && j < collectives.size();) {
    int64_t begin = std::max(operators[i]->begin, collectives[j]->begin);
    int64_t end = std::min(operators[i]->end, collectives[j]->end);
    hidden += std::max<int64_t>(end - begin, 0);
    operators[i]->end < collectives[j]->end ? ++i : ++j;
  }
  made_.exposed = made_.communication - hidden;
  for (const PlacedLoop &loop : placed_) {
    if (!loop.isShown) { // its event counts as an operator
      made_.busy -=
          loop.body.runs * (loop.body.entry->nanoseconds - loop.program().busy);
      made_.communication += loop.body.runs * loop.program().communication;
      made_.exposed += loop.body.runs * loop.program().exposed;
    }
  }
  made_.idle = schedule_.nanoseconds - made_.busy - made_.exposed;
}

/// A result is live from the begin of its maker to the end of its last user, of
/// views of it, too.
void ProgramReader::addMemory() {
  struct Life {
    int64_t begin, end, bytes;
    Operation *maker;
  };
  std::vector<Life> lives;
  llvm::DenseMap<Value, size_t> lifeOf;
  for (Operation &op : function_.front()) {
    auto task = taskOf_.find(&op);
    for (Value operand : op.getOperands()) {
      auto life = lifeOf.find(operand);
      if (life == lifeOf.end()) {
        continue;
      }
      int64_t &end = lives[life->second].end;
      if (task != taskOf_.end()) {
        end = std::max(end, schedule_.ends[task->second]);
      } else if (isa<func::ReturnOp>(op)) {
        end = schedule_.nanoseconds;
      }
    }
    if (std::optional<unsigned> viewed = viewedOperandOf(&op)) {
      if (auto life = lifeOf.find(op.getOperand(*viewed));
          life != lifeOf.end()) {
        lifeOf[op.getResult(0)] = size_t(life->second);
      }
    } else if (task != taskOf_.end()) {
      for (Value result : op.getResults()) {
        auto type = cast<RankedTensorType>(result.getType());
        lifeOf[result] = lives.size();
        lives.push_back({schedule_.begins[task->second],
                         schedule_.ends[task->second],
                         nn::byteCount(type).value_or(0), &op});
      }
    }
  }
  std::map<int64_t, int64_t> changes; // what ends makes room for what begins
  for (const Life &life : lives) {
    changes[life.begin] += life.bytes;
    changes[life.end] -= life.bytes;
  }
  int64_t bytes = 0, peak = 0;
  for (auto [time, change] : changes) {
    made_.memory.push_back({time, bytes += change});
    if (bytes > made_.peakBytes) {
      made_.peakBytes = bytes;
      peak = time;
    }
  }
  llvm::erase_if(lives, [&](const Life &life) {
    return life.bytes == 0 || life.begin > peak || life.end <= peak;
  });
  llvm::stable_sort(
      lives, [](const Life &a, const Life &b) { return a.bytes > b.bytes; });
  for (const Life &life : ArrayRef(lives).take_front(kMostLive)) {
    std::string node = nn::nodeName(life.maker->getLoc());
    made_.liveAtPeak.push_back(
        {node.empty() ? life.maker->getName().getStringRef().str() : node,
         life.bytes});
  }
}

/// What bodies hold beside what is live around them; of a loop that is not
/// shown run by run, the most.
void ProgramReader::addMemoryOfLoops() {
  for (const PlacedLoop &loop : placed_) {
    int64_t around = 0;
    for (const MemoryMoment &moment : made_.memory) {
      around = moment.time <= loop.begin ? moment.bytes : around;
    }
    if (loop.body.runs == 0) {
      continue;
    }
    const SimulatedProgram &program = loop.program();
    if (around + program.peakBytes > made_.peakBytes) {
      made_.peakBytes = around + program.peakBytes;
      made_.liveAtPeak = program.liveAtPeak;
    }
    int64_t time = loop.body.entry->nanoseconds;
    int64_t runs = loop.isShown ? loop.body.runs : 1;
    for (int64_t run = 0; run != runs; ++run) {
      for (const MemoryMoment &moment : program.memory) {
        made_.memory.push_back(
            {loop.begin + run * time + moment.time, around + moment.bytes});
      }
    }
    made_.memory.push_back({loop.begin + loop.body.runs * time, around});
  }
  llvm::stable_sort(made_.memory,
                    [](const MemoryMoment &a, const MemoryMoment &b) {
                      return a.time < b.time;
                    });
}

SimulatedProgram ProgramReader::run() {
  if (auto ranks = function_->getAttrOfType<DenseI32ArrayAttr>(
          spmd::SPMDDialect::kRanks)) {
    made_.ranks.assign(ranks.asArrayRef().begin(), ranks.asArrayRef().end());
  }
  readEvents();
  addTimes();
  addMemory();
  addMemoryOfLoops();
  return std::move(made_);
}

/// Of something that takes `nanoseconds`; no more than can be added.
static int64_t repeated(int64_t nanoseconds, int64_t runs) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 64;
  return runs > 0 && nanoseconds > kMost / runs ? kMost : nanoseconds * runs;
}

/// A loop names the entry; of its functions, it runs that of its own ranks.
ModuleSimulator::Body ModuleSimulator::bodyOf(nn::LoopOp loop) {
  auto entry = entries_.find(loop.getBody());
  if (entry == entries_.end()) {
    return {};
  }
  auto ranksOf = [](Operation *function) {
    return function->getAttr(spmd::SPMDDialect::kRanks);
  };
  auto own = llvm::find_if(entry->second, [&](func::FuncOp function) {
    return ranksOf(function) == ranksOf(loop->getParentOp());
  });
  if (own == entry->second.end()) {
    return {};
  }
  StringRef name = entry->first;
  auto known = bodies_.find(name);
  if (known == bodies_.end()) {
    known = bodies_.emplace(name, simulate(name)).first;
  }
  return {known->second ? &*known->second : nullptr,
          size_t(own - entry->second.begin()),
          loop.getMax() > 0 ? nn::repeatsOf(loop, 1) : 0};
}

Expected<SimulatedEntry> ModuleSimulator::simulate(StringRef name) {
  SmallVector<func::FuncOp> functions = entries_.find(name)->second;
  auto timeOfLoop = [&](nn::LoopOp loop) -> std::optional<int64_t> {
    Body body = bodyOf(loop);
    return body.entry
               ? std::optional(repeated(body.entry->nanoseconds, body.runs))
               : std::nullopt;
  };
  std::optional<EntryTasks> entry = readTasks(functions, cost_, timeOfLoop);
  if (!entry) {
    return makeError(ExitCode::Invalid, "entry @", name.str(),
                     " has an operation that has no price, or programs that "
                     "do in different orders what they do together");
  }
  int64_t ahead = 0;
  for (const ScheduleRecord &record : records_) {
    ahead = record.entry == name ? record.fetchedAhead : ahead;
  }
  Schedule schedule = makeSchedule(entry->tasks, {1, ahead});
  SimulatedEntry made;
  made.entry = name.str();
  made.nanoseconds = schedule.nanoseconds;
  for (auto [program, function] : llvm::enumerate(functions)) {
    ProgramReader reader(*entry, schedule, program, function, *this);
    made.programs.push_back(reader.run());
    if (program == 0) {
      made.loops = std::move(reader.loops);
    }
  }
  return made;
}

Expected<std::vector<SimulatedEntry>> ModuleSimulator::run() {
  std::vector<SimulatedEntry> made;
  for (auto &[name, functions] : entries_) {
    if (nn::isBody(functions.front())) {
      continue;
    }
    Expected<SimulatedEntry> entry = simulate(name);
    if (!entry) {
      return entry.status();
    }
    made.push_back(std::move(*entry));
  }
  return made;
}

Expected<std::vector<SimulatedEntry>>
divisi::simulateEntries(ModuleOp module, const Cluster &cluster) {
  Expected<std::vector<ScheduleRecord>> records = getScheduleRecords(module);
  if (!records) {
    return records.status();
  }
  return ModuleSimulator(module, cluster, std::move(*records)).run();
}
