//===- PlaceSpaces.cpp - Let calls work in a device's memory --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the device has kernels for is called there, and what such a call makes
// lies there. A fused call that it has none for becomes calls of its parts, if it
// has kernels for each. Whoever works elsewhere gets a copy, one for all who do:
//
//   %x = input 0                        %x = input 0
//   %0 = alloc                          %d = alloc            "cuda"
//   call "nn.neg"(%x) into (%0)         copy %x into %d       on "copy"
//   %1 = alloc                          %0 = alloc            "cuda"
//   call "nn.exp"(%0) into (%1)    →    call "nn.neg"(%d) into (%0)
//   output 0 %1                         %1 = alloc            "cuda"
//                                       call "nn.exp"(%0) into (%1)
//                                       %h = alloc
//                                       copy %1 into %h       on "copy"
//                                       output 0 %h
//
// The list says how long buffers are needed and in which order copies are made,
// so it decides what runs beside what. A copy to the host stands behind what
// makes the value: others wait for it. One to the device stands one call of the
// device before the first that reads it, and is made beside that call; earlier
// it would hold memory, and keep copies back that stand behind it.
//
//===----------------------------------------------------------------------===//

#include "passes/Lower/CallSites.h"
#include "passes/Lower/Passes.h"
#include "passes/Lower/SplitRegion.h"

#include "divisi/Codegen/GridKernels.h"
#include "runtime/kernels/Families.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace divisi {
#define GEN_PASS_DEF_PLACESPACES
#include "passes/Lower/Passes.h.inc"
} // namespace divisi

using namespace mlir;
using namespace divisi;
using namespace divisi::exec;

namespace {

/// Places what one program computes.
class SpacePlacer {
public:
  SpacePlacer(ProgramOp program, StringRef space,
              const llvm::StringSet<> &updated)
      : program_(program), space_(space), sites_(program, updated) {}

  /// Finds who writes what; failure after an error.
  LogicalResult index();
  /// Lets the calls that `takes` work on the device, and with them what only
  /// moves bytes; collectives if the communicator `isReached`.
  void choose(llvm::function_ref<bool(CallOp, CallSites &)> takes,
              bool isReached);
  /// Lets buffers lie where they are written, and copies them.
  void place();

  int64_t numOnDevice = 0, numCopies = 0, copiedBytes = 0;
  llvm::MapVector<StringRef, int64_t> onHost; ///< Calls, by operator.

private:
  bool movesOnDevice(InstructionInterface op) const;
  bool isReadOnDevice(Value buffer) const;
  void setSpaces();
  Value elsewhere(Value buffer, Operation *reader);
  Value copy(Value root, BufferType type, Operation *reader);
  void startCopy(OpBuilder &builder, Value root, Operation *reader);
  void eraseUnread();

  ProgramOp program_;
  StringRef space_;
  CallSites sites_;
  SmallVector<InstructionInterface> instructions_;
  llvm::DenseMap<Value, Operation *> writerOf_;
  llvm::SmallPtrSet<Operation *, 16> onDevice_;
  /// Of what is read in two spaces, the one in which nobody writes it.
  llvm::DenseMap<Value, Value> elsewhere_;
  Operation *previous_ = nullptr; ///< On the device, before the present reader.
};

/// See Passes.td.
class PlaceSpacesPass : public divisi::impl::PlaceSpacesBase<PlaceSpacesPass> {
public:
  using PlaceSpacesBase::PlaceSpacesBase;
  explicit PlaceSpacesPass(const DeviceTarget &device)
      : device_(device) {
    space = std::string(device.backend->space());
    isReached = device.isReached;
  }
  void runOnOperation() override;

private:
  LogicalResult checkOptions();
  bool hasKernel(const rt::CallSite &site, int version) const;
  bool takes(CallOp call, CallSites &sites) const;
  LogicalResult place(ProgramOp program, const llvm::StringSet<> &updated);

  DeviceTarget device_; ///< Without a backend `kernels` are what it has.
};

} // namespace

//===----------------------------------------------------------------------===//
// What works where
//===----------------------------------------------------------------------===//

LogicalResult SpacePlacer::index() {
  for (Operation &op : program_.getBody().front()) {
    for (Type type : op.getResultTypes()) {
      auto buffer = dyn_cast<BufferType>(type);
      if (buffer && !buffer.isOnHost()) {
        return op.emitOpError("lies in memory space '")
               << buffer.getSpace() << "' already; place-spaces runs once";
      }
    }
    auto instruction = dyn_cast<InstructionInterface>(op);
    if (!instruction) {
      continue;
    }
    instructions_.push_back(instruction);
    for (Value buffer : instruction.getWrites()) {
      if (!writerOf_.try_emplace(rootOf(buffer), &op).second) {
        return op.emitOpError("writes a buffer that an instruction before it "
                              "writes; place-spaces comes after lower-to-exec");
      }
    }
  }
  return success();
}

/// Whether all that `op` writes lies in the arena.
static bool writesArena(InstructionInterface op) {
  return llvm::all_of(op.getWrites(), [](Value buffer) {
    return buffer.getDefiningOp<AllocOp>();
  });
}

bool SpacePlacer::isReadOnDevice(Value buffer) const {
  return llvm::any_of(buffer.getUsers(), [&](Operation *user) {
    auto view = dyn_cast<ViewOp>(user);
    return view ? isReadOnDevice(view.getBuffer())
                : onDevice_.contains(user) && writerOf_.lookup(buffer) != user;
  });
}

/// Whether what it moves is on the device anyway, or is only wanted there and
/// at hand in every space.
bool SpacePlacer::movesOnDevice(InstructionInterface op) const {
  SmallVector<Value> reads = op.getReads();
  Value source = reads.empty() ? nullptr : rootOf(reads.front());
  if (source && onDevice_.contains(writerOf_.lookup(source))) {
    return true;
  }
  return (!source || sites_.isConstant(source)) &&
         llvm::any_of(op.getWrites(),
                      [&](Value buffer) { return isReadOnDevice(buffer); });
}

void SpacePlacer::choose(llvm::function_ref<bool(CallOp, CallSites &)> takes,
                         bool isReached) {
  // What only moves bytes goes where these are, or are wanted.
  auto isMover = [&](CallOp call) { return rt::isMovement(call.getCallee()); };
  for (InstructionInterface op : instructions_) {
    auto call = dyn_cast<CallOp>(op.getOperation());
    if (call && !isMover(call) && writesArena(op) && takes(call, sites_)) {
      onDevice_.insert(call);
    }
  }
  for (InstructionInterface op : instructions_) {
    auto call = dyn_cast<CallOp>(op.getOperation());
    bool moves = call ? isMover(call)
                      : isa<CollectiveOp, TransferOp>(op) &&
                            (isReached || !op.getMeeting());
    if (moves && writesArena(op) && movesOnDevice(op) &&
        (!call || takes(call, sites_))) {
      onDevice_.insert(op);
    }
  }
  for (InstructionInterface op : instructions_) {
    if (auto call = dyn_cast<CallOp>(op.getOperation())) {
      bool isThere = onDevice_.contains(op);
      numOnDevice += isThere;
      onHost[call.getCallee()] += !isThere;
    }
  }
}

//===----------------------------------------------------------------------===//
// Buffers and copies
//===----------------------------------------------------------------------===//

/// Buffers lie where they are written, and views where their source does.
void SpacePlacer::setSpaces() {
  for (Operation &op : program_.getBody().front()) {
    bool isThere = onDevice_.contains(
        writerOf_.lookup(op.getNumResults() == 1 ? op.getResult(0) : Value()));
    auto view = dyn_cast<ViewOp>(op);
    if (view) {
      isThere = !view.getSource().getType().isOnHost();
    }
    if (isThere) {
      auto type = cast<BufferType>(op.getResult(0).getType());
      op.getResult(0).setType(type.inSpace(space_));
    }
  }
}

/// Where in the list `root` is copied, which `reader` is the first to want.
void SpacePlacer::startCopy(OpBuilder &builder, Value root, Operation *reader) {
  Operation *writer = writerOf_.lookup(root);
  Operation *next = previous_ ? previous_ : reader;
  bool leavesDevice = onDevice_.contains(writer);
  if (writer && (leavesDevice || !writer->isBeforeInBlock(next))) {
    return builder.setInsertionPointAfter(writer);
  }
  if (next->isBeforeInBlock(root.getDefiningOp())) {
    root.getDefiningOp()->moveBefore(next);
  }
  builder.setInsertionPoint(next);
}

Value SpacePlacer::copy(Value root, BufferType type, Operation *reader) {
  OpBuilder builder(reader);
  startCopy(builder, root, reader);
  auto target = AllocOp::create(builder, reader->getLoc(), type, IntegerAttr());
  CopyOp::create(builder, reader->getLoc(), Type(), root, target,
                 builder.getStringAttr(kCopyQueue), ValueRange());
  ++numCopies;
  copiedBytes += program_.bytesOf(type).value_or(0);
  return target;
}

/// `buffer` in the space in which nobody writes it.
Value SpacePlacer::elsewhere(Value buffer, Operation *reader) {
  if (Value known = elsewhere_.lookup(buffer)) {
    return known;
  }
  auto own = cast<BufferType>(buffer.getType());
  BufferType type = own.inSpace(own.isOnHost() ? space_ : "");
  Value made;
  if (auto view = buffer.getDefiningOp<ViewOp>()) {
    Value source = elsewhere(view.getSource(), reader);
    OpBuilder builder(view.getContext());
    builder.setInsertionPointAfterValue(source);
    made = ViewOp::create(builder, view.getLoc(), type, source);
  } else if (sites_.isConstant(buffer)) {
    OpBuilder builder(buffer.getContext());
    builder.setInsertionPointAfterValue(buffer);
    made = builder.clone(*buffer.getDefiningOp())->getResult(0);
    made.setType(type);
  } else {
    made = copy(buffer, type, reader);
  }
  elsewhere_[buffer] = made;
  return made;
}

/// Constants and views that are only read elsewhere.
void SpacePlacer::eraseUnread() {
  Block &body = program_.getBody().front();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body))) {
    if (isa<ConstantOp, GlobalOp, ViewOp>(op) && op.use_empty() &&
        elsewhere_.contains(op.getResult(0))) {
      op.erase();
    }
  }
}

void SpacePlacer::place() {
  setSpaces();
  for (InstructionInterface op : instructions_) {
    bool isOnDevice = onDevice_.contains(op);
    for (OpOperand &operand : op->getOpOperands()) {
      auto type = dyn_cast<BufferType>(operand.get().getType());
      if (type && type.isOnHost() == isOnDevice) {
        operand.set(elsewhere(operand.get(), op));
      }
    }
    if (isOnDevice) {
      previous_ = op;
    }
  }
  eraseUnread();
  if (numCopies != 0) {
    // What they touch is not used again while they may run.
    program_.setOverlap(true);
  }
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

LogicalResult PlaceSpacesPass::checkOptions() {
  if (space.empty() || space == kHostSpace) {
    return mlir::emitError(getOperation().getLoc(),
                           "place-spaces needs the name of a device's memory "
                           "space, got '")
           << space << "'";
  }
  for (const std::string &name : kernels) {
    if (!rt::kernelVersion(name)) {
      return mlir::emitError(getOperation().getLoc(),
                             "no operator has a kernel '")
             << name << "'";
    }
  }
  return success();
}

/// Of its own, or one that takes the code that is made of the call later on.
bool PlaceSpacesPass::hasKernel(const rt::CallSite &site, int version) const {
  if (device_.backend->find(site, version)) {
    return true;
  }
  if (device_.codeTarget.empty() || !generatesGridKernel(site)) {
    return false;
  }
  rt::KernelCode code{device_.codeTarget, {}};
  rt::CallSite withCode = site;
  withCode.code = &code;
  return device_.backend->find(withCode, version) != nullptr;
}

bool PlaceSpacesPass::takes(CallOp call, CallSites &sites) const {
  if (!device_.backend) {
    return llvm::is_contained(kernels, call.getCallee());
  }
  // Nobody is asked about a call that makes nothing on any rank.
  auto isOfCall = [&](const rt::Kernel &kernel) {
    return call.getCallee() == StringRef(kernel.op) &&
           kernel.version == rt::kernelVersion(kernel.op);
  };
  return llvm::any_of(device_.backend->kernels(), isOfCall) &&
         sites.all(call, [&](const rt::CallSite &site, int version) {
           return hasKernel(site, version);
         });
}

LogicalResult PlaceSpacesPass::place(ProgramOp program,
                                     const llvm::StringSet<> &updated) {
  llvm::DenseMap<Attribute, bool> known; // by all that it depends on
  auto takesCall = [&](CallOp call, CallSites &sites) {
    auto [answer, isNew] = known.try_emplace(sites.keyOf(call), false);
    if (isNew) {
      answer->second = takes(call, sites);
    }
    return answer->second;
  };
  CallSites sites(program, updated);
  for (CallOp call :
       llvm::make_early_inc_range(program.getBody().getOps<CallOp>())) {
    if (call.isFused() && !takesCall(call, sites)) {
      numSplit += splitRegion(
          call, [&](CallOp part) { return takesCall(part, sites); });
    }
  }
  SpacePlacer placer(program, space, updated);
  if (failed(placer.index())) {
    return failure();
  }
  placer.choose(takesCall, isReached);
  placer.place();
  int64_t left = 0;
  std::string names;
  for (const auto &[callee, calls] : placer.onHost) {
    left += calls;
    if (calls == 0) {
      continue;
    }
    names += (names.empty() ? ": " : ", ") + callee.str() + " (" +
             std::to_string(calls) + ")";
  }
  numOnDevice += placer.numOnDevice;
  numOnHost += left;
  numCopies += placer.numCopies;
  numCopiedBytes += placer.copiedBytes;
  if (report) {
    mlir::emitRemark(program.getLoc())
        << placer.numOnDevice << " calls work in memory space '" << space
        << "', and " << left << " with the host" << names << "; "
        << placer.numCopies << " copies move " << placer.copiedBytes
        << " bytes";
  }
  return success();
}

void PlaceSpacesPass::runOnOperation() {
  if (failed(checkOptions())) {
    return signalPassFailure();
  }
  ModuleOp module = getOperation();
  llvm::StringSet<> updated = updatedGlobals(module);
  for (auto program : module.getOps<ProgramOp>()) {
    auto entry = module.lookupSymbol<EntryOp>(program.getEntryAttr());
    if (!entry.getIsBody() && failed(place(program, updated))) {
      return signalPassFailure();
    }
  }
}

std::unique_ptr<Pass> divisi::createPlaceSpaces(const DeviceTarget &device) {
  return std::make_unique<PlaceSpacesPass>(device);
}
