//===- WriteGlobals.cpp - Write new values where globals rest -------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An update says which buffer is a global's new value. That buffer may be the
// global itself, written behind the commit, unless somebody still needs the old
// value then:
//
//   %w = exec.global @w                    %w = exec.global @w
//   call "nn.matmul"(%x, %w) …             call "nn.matmul"(%x, %w) …
//   %v = exec.alloc                        %v = exec.new_global @w
//                                     →    commit
//   call "nn.sub"(%w, %r) into (%v)        call "nn.sub"(%w, %r) into (%v)
//   update @w %v
//
// The pass runs when the order of the list is final.
//
//===----------------------------------------------------------------------===//

#include "passes/Lower/CallSites.h"
#include "passes/Lower/Passes.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

namespace divisi {
#define GEN_PASS_DEF_WRITEGLOBALS
#include "passes/Lower/Passes.h.inc"
} // namespace divisi

using namespace mlir;
using namespace divisi;
using namespace divisi::exec;

namespace {

/// Writes the globals of one program.
class GlobalWriter {
public:
  /// Of `program`, in a module that updates the globals `updated`; of calls in
  /// its memory space `device` is asked, if not null. With `commitsLast`,
  /// nothing that meets other ranks follows the commit.
  GlobalWriter(ProgramOp program, const llvm::StringSet<> &updated,
               const rt::Backend *device, bool commitsLast)
      : program_(program), sites_(program, updated), device_(device),
        commitsLast_(commitsLast) {}

  void run();

  unsigned numInPlace = 0, numCopied = 0;

private:
  void index();
  bool writesInPlace(UpdateOp update);
  bool mayOverwrite(Operation *writer, StringRef global, Value result);
  void stage(UpdateOp update, Operation *before);
  void copy(UpdateOp update);

  ProgramOp program_;
  CallSites sites_;
  const rt::Backend *device_;
  bool commitsLast_;
  llvm::DenseMap<Operation *, size_t> timeOf_;
  size_t lastMeeting_ = 0;                      ///< Instructions up to it.
  llvm::DenseMap<Value, Operation *> writerOf_; ///< Of a root.
  /// Who reads the old value, in the list's order; updates do so later.
  llvm::StringMap<SmallVector<Operation *>> readersOf_;
};

/// See Passes.td.
class WriteGlobalsPass
    : public divisi::impl::WriteGlobalsBase<WriteGlobalsPass> {
public:
  explicit WriteGlobalsPass(const rt::Backend *device = nullptr)
      : device_(device) {}
  void runOnOperation() override;

private:
  const rt::Backend *device_;
};

} // namespace

/// The global of which `buffer` shows the old value; empty if of none.
static StringRef oldGlobal(Value buffer) {
  auto global = rootOf(buffer).getDefiningOp<GlobalOp>();
  return global ? global.getGlobal() : StringRef();
}

void GlobalWriter::index() {
  for (auto [time, op] : llvm::enumerate(program_.getBody().front())) {
    auto instruction = dyn_cast<InstructionInterface>(op);
    if (!instruction) {
      continue;
    }
    timeOf_[&op] = time;
    if (instruction.getMeeting() || isa<LoopOp>(op)) {
      lastMeeting_ = time + 1;
    }
    for (Value buffer : instruction.getWrites()) {
      writerOf_[rootOf(buffer)] = &op;
    }
    for (Value buffer : instruction.getReads()) {
      if (StringRef global = oldGlobal(buffer); !global.empty()) {
        readersOf_[global].push_back(&op);
      }
    }
  }
}

/// Whether `writer`, which reads the old value of `global` itself, may write
/// the new one, `result`, over it.
bool GlobalWriter::mayOverwrite(Operation *writer, StringRef global,
                                Value result) {
  auto call = dyn_cast<CallOp>(writer);
  return call &&
         mayWriteOver(call, sites_.inPlace(call, device_), result,
                      [&](Value input) { return oldGlobal(input) == global; });
}

/// Whether what makes the new value may write it where the global rests.
bool GlobalWriter::writesInPlace(UpdateOp update) {
  Value source = update.getSource();
  Operation *writer = writerOf_.lookup(source);
  // A loop writes its results again and again.
  if (!source.getDefiningOp<AllocOp>() || !writer || isa<LoopOp>(writer) ||
      (commitsLast_ && timeOf_.at(writer) < lastMeeting_)) {
    return false;
  }
  auto readers = readersOf_.find(update.getGlobal());
  if (readers == readersOf_.end()) {
    return true;
  }
  return llvm::all_of(readers->second, [&](Operation *reader) {
    return reader == writer ? mayOverwrite(writer, update.getGlobal(), source)
                            : timeOf_.at(reader) < timeOf_.at(writer);
  });
}

/// Keeps an old value, which becomes that of another global, for its copy.
void GlobalWriter::stage(UpdateOp update, Operation *before) {
  OpBuilder builder(before);
  auto kept = AllocOp::create(builder, update.getLoc(),
                              update.getSource().getType(), IntegerAttr());
  CopyOp::create(builder, update.getLoc(), Type(), update.getSource(), kept,
                 StringAttr(), ValueRange());
  update.getSourceMutable().assign(kept);
}

/// Whether `writer` only brings the new value of `update` from a device, or to
/// it.
static bool isOwnCopy(Operation *writer, UpdateOp update) {
  auto copy = dyn_cast_or_null<CopyOp>(writer);
  return copy &&
         copy.getSource().getType().isOnHost() !=
             copy.getTarget().getType().isOnHost() &&
         llvm::range_size(update.getSource().getUsers()) == 2;
}

/// Copies the new value at the end of the list, in the copy's place that has
/// brought it to where the global rests, if that has done so for this alone.
void GlobalWriter::copy(UpdateOp update) {
  auto builder = OpBuilder::atBlockEnd(&program_.getBody().front());
  auto value =
      NewGlobalOp::create(builder, update.getLoc(),
                          update.getSource().getType(), update.getGlobal());
  if (Operation *writer = writerOf_.lookup(update.getSource());
      isOwnCopy(writer, update)) {
    Operation *alloc = update.getSource().getDefiningOp();
    writer->moveAfter(value);
    cast<CopyOp>(writer).getTargetMutable().assign(value);
    update.erase();
    alloc->erase();
    return;
  }
  CopyOp::create(builder, update.getLoc(), Type(), update.getSource(), value,
                 StringAttr(), ValueRange());
  update.erase();
}

void GlobalWriter::run() {
  index();
  Operation *first = nullptr; // that writes a global
  SmallVector<UpdateOp> copied;
  llvm::StringSet<> updated;
  for (auto update :
       llvm::make_early_inc_range(program_.getBody().getOps<UpdateOp>())) {
    updated.insert(update.getGlobal());
    if (!writesInPlace(update)) {
      copied.push_back(update);
      continue;
    }
    Operation *writer = writerOf_.lookup(update.getSource());
    if (!first || timeOf_.at(writer) < timeOf_.at(first)) {
      first = writer;
    }
    auto alloc = update.getSource().getDefiningOp<AllocOp>();
    OpBuilder builder(alloc);
    auto value =
        NewGlobalOp::create(builder, alloc.getLoc(),
                            alloc.getBuffer().getType(), update.getGlobal());
    update.erase();
    alloc.getBuffer().replaceAllUsesWith(value);
    alloc.erase();
    ++numInPlace;
  }
  OpBuilder builder = OpBuilder::atBlockEnd(&program_.getBody().front());
  if (first) {
    builder.setInsertionPoint(first);
  }
  auto commit = CommitOp::create(builder, program_.getLoc(), Type(),
                                 StringAttr(), ValueRange());
  for (UpdateOp update : copied) {
    StringRef source = oldGlobal(update.getSource());
    if (source != update.getGlobal() && updated.contains(source)) {
      stage(update, commit);
    }
  }
  for (UpdateOp update : copied) {
    copy(update);
    ++numCopied;
  }
}

void WriteGlobalsPass::runOnOperation() {
  llvm::StringSet<> updated = updatedGlobals(getOperation());
  llvm::MapVector<StringRef, SmallVector<ProgramOp>> entries;
  for (auto program : getOperation().getOps<ProgramOp>()) {
    entries[program.getEntry()].push_back(program);
  }
  for (auto &[name, programs] : entries) {
    bool updates = llvm::any_of(programs, [](ProgramOp program) {
      return !program.getBody().getOps<UpdateOp>().empty();
    });
    for (ProgramOp program : programs) {
      if (updates) {
        GlobalWriter writer(program, updated, device_,
                            /*commitsLast=*/programs.size() > 1);
        writer.run();
        numInPlace += writer.numInPlace;
        numCopied += writer.numCopied;
      }
    }
  }
}

std::unique_ptr<Pass> divisi::createWriteGlobals(const DeviceTarget &device) {
  return std::make_unique<WriteGlobalsPass>(device.backend);
}
