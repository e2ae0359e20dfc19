//===- SimulateEntry.cpp - What an entry does when ------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Schedule/SimulateEntry.h"

#include "EntryTasks.h"
#include "dialects/NN/Locations.h"
#include "dialects/NN/Shapes.h"
#include "dialects/Pipe/Pipe.h"
#include "divisi/Schedule/EntryFunctions.h"
#include "divisi/Schedule/LocalOperation.h"

#include <map>

using namespace mlir;
using namespace divisi;

/// How many tensors are named that are live at the peak.
static constexpr size_t kMostLive = 10;

namespace {

/// Reads one program of an entry. One use.
class ProgramReader {
public:
  ProgramReader(const EntryTasks &entry, const Schedule &schedule,
                size_t program, func::FuncOp function)
      : entry_(entry), schedule_(schedule), program_(program),
        function_(function) {}

  SimulatedProgram run();

private:
  void readEvents();
  void addTimes();
  void addMemory();

  const EntryTasks &entry_;
  const Schedule &schedule_;
  size_t program_;
  func::FuncOp function_;
  SimulatedProgram made_;
  llvm::DenseMap<Operation *, size_t> taskOf_;
};

} // namespace

void ProgramReader::readEvents() {
  for (auto [task, operations] : llvm::enumerate(entry_.operations)) {
    const std::vector<size_t> &programs = entry_.tasks[task].programs;
    auto own = llvm::find(programs, program_);
    if (own == programs.end()) {
      continue;
    }
    Operation *op = operations[size_t(own - programs.begin())];
    taskOf_[op] = task;
    auto step = op->getAttrOfType<StringAttr>(pipe::PipeDialect::kStep);
    made_.events.push_back({nn::nodeName(op->getLoc()),
                            op->getName().getStringRef().str(),
                            step ? step.str() : "", entry_.tasks[task].meets,
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

SimulatedProgram ProgramReader::run() {
  if (auto ranks = function_->getAttrOfType<DenseI32ArrayAttr>(
          spmd::SPMDDialect::kRanks)) {
    made_.ranks.assign(ranks.asArrayRef().begin(), ranks.asArrayRef().end());
  }
  readEvents();
  addTimes();
  addMemory();
  return std::move(made_);
}

Expected<std::vector<SimulatedEntry>>
divisi::simulateEntries(ModuleOp module, const Cluster &cluster) {
  Expected<std::vector<ScheduleRecord>> records = getScheduleRecords(module);
  if (!records) {
    return records.status();
  }
  OperationCost cost(module, cluster);
  std::vector<SimulatedEntry> made;
  for (auto &[name, functions] : functionsOfEntries(module)) {
    std::optional<EntryTasks> entry = readTasks(functions, cost);
    if (!entry) {
      return makeError(ExitCode::Invalid, "entry @", name.str(),
                       " has an operation that has no price, or programs that "
                       "do in different orders what they do together");
    }
    int64_t ahead = 0;
    for (const ScheduleRecord &record : *records) {
      ahead = record.entry == name ? record.fetchedAhead : ahead;
    }
    Schedule schedule = makeSchedule(entry->tasks, {1, ahead});
    SimulatedEntry &own = made.emplace_back();
    own.entry = name.str();
    own.nanoseconds = schedule.nanoseconds;
    for (auto [program, function] : llvm::enumerate(functions)) {
      own.programs.push_back(
          ProgramReader(*entry, schedule, program, function).run());
    }
  }
  return made;
}
