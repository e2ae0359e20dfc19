//===- EntryTasks.cpp - An entry as tasks ---------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EntryTasks.h"

#include "dialects/NN/NN.h"
#include "dialects/SPMD/SPMD.h"
#include "divisi/Schedule/LocalOperation.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace divisi;
using namespace divisi::spmd;

namespace {

/// What the new values of globals come after, so that they can still be written
/// in place, behind the commit: who reads the old value, and what may fail
/// because of an index; and, where an entry has several programs, what these do
/// together (passes/Lower/WriteGlobals.cpp).
class StateOrder {
public:
  explicit StateOrder(ArrayRef<func::FuncOp> functions);

  /// Adds to `after` what `op`, the next task of its function, comes after.
  void add(Operation &op, size_t task, std::vector<size_t> &after);

private:
  /// Tasks of one function so far.
  struct Function {
    llvm::StringMap<SmallVector<size_t>> readers; ///< By global.
    SmallVector<size_t> others;                   ///< What all come after.
  };

  bool areSeveral_;
  llvm::DenseMap<Operation *, StringRef> writes_; ///< A global.
  llvm::DenseMap<Operation *, Function> functions_;
};

/// Reads several lists of operations as one.
class TaskReader {
public:
  TaskReader(ArrayRef<func::FuncOp> functions, LoopTime loopTime)
      : loopTime_(loopTime), state_(functions) {
    for (func::FuncOp function : functions) {
      next_.push_back(function.front().begin());
      ends_.push_back(function.front().end());
    }
  }

  /// Finds in which functions each tag stands; whether once in each.
  bool findTags(ArrayRef<func::FuncOp> functions);
  /// Adds tasks in an order in which they could run; whether there is one.
  bool run();
  /// Sets what tasks take; whether all have a price.
  bool price(ArrayRef<func::FuncOp> functions, OperationCost &cost);

  EntryTasks made;

private:
  bool advance(size_t program);
  bool isNext(uint64_t tag) const;
  void addTask(ArrayRef<size_t> programs);
  void follow(Operation &op);

  LoopTime loopTime_;
  SmallVector<Block::iterator> next_, ends_;
  StateOrder state_;
  llvm::DenseMap<uint64_t, SmallVector<size_t>> programsOf_; ///< By tag.
  llvm::DenseMap<Value, size_t> taskOf_; ///< Who makes it, if a task does.
};

} // namespace

StateOrder::StateOrder(ArrayRef<func::FuncOp> functions)
    : areSeveral_(functions.size() > 1) {
  for (func::FuncOp function : functions) {
    for (auto update : function.front().getOps<nn::UpdateOp>()) {
      if (Operation *maker = update.getValue().getDefiningOp()) {
        writes_[maker] = update.getGlobal();
      }
    }
  }
}

void StateOrder::add(Operation &op, size_t task, std::vector<size_t> &after) {
  Function &function = functions_[op.getParentOp()];
  if (StringRef global = writes_.lookup(&op); !global.empty()) {
    llvm::append_range(after, function.readers[global]);
    llvm::append_range(after, function.others);
  }
  bool isIndexed = llvm::any_of(op.getOperandTypes(), [](Type type) {
    return isa<IntegerType>(getElementTypeOrSelf(type));
  });
  if (isIndexed || (areSeveral_ && tagOf(&op))) {
    function.others.push_back(task);
  }
  for (Value operand : op.getOperands()) {
    if (StringRef global = oldGlobalOf(operand); !global.empty()) {
      function.readers[global].push_back(task);
    }
  }
}

bool TaskReader::findTags(ArrayRef<func::FuncOp> functions) {
  for (auto [program, function] : llvm::enumerate(functions)) {
    for (Operation &op : func::FuncOp(function).front()) {
      if (std::optional<uint64_t> tag = tagOf(&op)) {
        SmallVector<size_t> &programs = programsOf_[*tag];
        if (llvm::is_contained(programs, program)) {
          return false;
        }
        programs.push_back(program);
      }
    }
  }
  return true;
}

/// Whether all functions that have `tag` have come to it.
bool TaskReader::isNext(uint64_t tag) const {
  return llvm::all_of(programsOf_.at(tag), [&](size_t program) {
    return next_[program] != ends_[program] && tagOf(&*next_[program]) == tag;
  });
}

/// One task of the next operation of each of `programs`.
void TaskReader::addTask(ArrayRef<size_t> programs) {
  ScheduleTask task;
  SmallVector<Operation *, 1> operations;
  task.programs.assign(programs.begin(), programs.end());
  for (size_t program : programs) {
    Operation &op = *next_[program]++;
    operations.push_back(&op);
    state_.add(op, made.tasks.size(), task.after);
    for (Value operand : op.getOperands()) {
      if (auto maker = taskOf_.find(operand); maker != taskOf_.end()) {
        task.after.push_back(maker->second);
      }
    }
    for (Value result : op.getResults()) {
      taskOf_[result] = made.tasks.size();
      if (tagOf(&op)) {
        auto type = cast<RankedTensorType>(result.getType());
        task.bytes = std::max(task.bytes, nn::byteCount(type).value_or(0));
      }
    }
  }
  task.meets = tagOf(operations.front()).has_value();
  llvm::sort(task.after);
  task.after.erase(llvm::unique(task.after), task.after.end());
  made.tasks.push_back(std::move(task));
  made.operations.push_back(std::move(operations));
}

/// A view is there when what it sees is.
void TaskReader::follow(Operation &op) {
  if (std::optional<unsigned> operand = viewedOperandOf(&op)) {
    if (auto maker = taskOf_.find(op.getOperand(*operand));
        maker != taskOf_.end()) {
      taskOf_[op.getResult(0)] = maker->second;
    }
  }
}

/// Goes on in one function up to what others have not come to yet; whether
/// there was anything.
bool TaskReader::advance(size_t program) {
  Block::iterator before = next_[program];
  while (next_[program] != ends_[program]) {
    Operation &op = *next_[program];
    if (std::optional<uint64_t> tag = tagOf(&op)) {
      if (!isNext(*tag)) {
        break;
      }
      addTask(programsOf_.at(*tag));
    } else if (isOperator(&op) || (loopTime_ && isa<nn::LoopOp>(op))) {
      addTask(program);
    } else {
      follow(op);
      ++next_[program];
    }
  }
  return next_[program] != before;
}

bool TaskReader::run() {
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t program = 0; program < next_.size(); ++program) {
      moved |= advance(program);
    }
  }
  return next_ == ends_;
}

bool TaskReader::price(ArrayRef<func::FuncOp> functions, OperationCost &cost) {
  for (auto [program, function] : llvm::enumerate(functions)) {
    cost.enter(func::FuncOp(function).front());
    for (auto [task, operations] :
         llvm::zip_equal(made.tasks, made.operations)) {
      if (task.programs.front() != program) {
        continue;
      }
      if (auto loop = dyn_cast<nn::LoopOp>(operations.front())) {
        std::optional<int64_t> time = loopTime_(loop);
        if (!time) {
          return false;
        }
        task.nanoseconds = *time;
        continue;
      }
      std::optional<MoveCost> price = priceOf(operations.front(), cost);
      if (!price) {
        return false;
      }
      task.nanoseconds = price->nanoseconds;
      task.slowdown = price->slowdown;
    }
  }
  return true;
}

std::optional<EntryTasks> divisi::readTasks(ArrayRef<func::FuncOp> functions,
                                            OperationCost &cost,
                                            LoopTime loopTime) {
  TaskReader reader(functions, loopTime);
  if (!reader.findTags(functions) || !reader.run() ||
      !reader.price(functions, cost)) {
    return std::nullopt;
  }
  return std::move(reader.made);
}

std::vector<Operation *> EntryTasks::listOf(size_t program,
                                            func::FuncOp function,
                                            ArrayRef<size_t> order) const {
  std::vector<Operation *> list;
  llvm::DenseSet<Operation *> listed;
  // Views of views are few.
  auto add = [&](auto &self, Operation *op) -> void {
    if (!op || !listed.insert(op).second) {
      return;
    }
    for (Value operand : op->getOperands()) {
      self(self, operand.getDefiningOp());
    }
    list.push_back(op);
  };
  for (size_t task : order) {
    auto found = llvm::find(tasks[task].programs, program);
    if (found != tasks[task].programs.end()) {
      add(add, operations[task][found - tasks[task].programs.begin()]);
    }
  }
  for (Operation &op : function.front()) {
    add(add, &op);
  }
  return list;
}
