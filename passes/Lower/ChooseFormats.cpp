//===- ChooseFormats.cpp - Which tensors have their channels last ---------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Convolutions want their channels last, and else reorder what they read and
// write. Most operators between them take either order, if all that they touch
// has the same:
//
//   %c = conv %x, %w          reads and writes any, but not for the same price
//   %r = relu %c              ties %r to %c
//   %h = exchange %r          and %h to %r
//   %p = reshape %r           wants %r row-major
//
// Tied buffers are one class. A class gets the format if its calls then reorder
// so much less that packing it, where others want it row-major, is worth it.
// Kernels are asked, by name none is known here.
//
//===----------------------------------------------------------------------===//

#include "passes/Lower/CallSites.h"
#include "passes/Lower/Passes.h"
#include "passes/Lower/SliceCalls.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallPtrSet.h"

#include <set>

namespace divisi {
#define GEN_PASS_DEF_CHOOSEFORMATS
#include "passes/Lower/Passes.h.inc"
} // namespace divisi

using namespace mlir;
using namespace divisi;
using namespace divisi::exec;

namespace {

/// What is known of a buffer that may have the format.
struct Candidate {
  Operation *writer = nullptr;
  SmallVector<Operation *> readers; ///< In order.
  int64_t bytes = 0;
  int64_t gain = 0; ///< Bytes that calls reorder less if it has the format.
};

using TagSet = std::set<uint64_t>; // any number is a tag

/// Chooses for one program.
class FormatChooser {
public:
  /// `shared` are the tags of collectives that other programs have, too.
  FormatChooser(ProgramOp program, const llvm::StringSet<> &updated,
                const TagSet &shared)
      : program_(program), sites_(program, updated), shared_(shared) {}

  /// Whether there is something to choose.
  bool findCandidates();
  void choose();
  void apply();

  int64_t numFormatted = 0, numPacks = 0;

private:
  using Buffers = SmallVector<Value>;

  Buffers candidatesOf(Operation *op) const;
  void tie(CollectiveOp collective);
  std::optional<int64_t> reorderedBytes(CallOp call, ArrayRef<Value> formatted);
  void weigh(CallOp call);
  bool isPinned(Operation *op) const {
    return !isa_and_nonnull<CallOp, CollectiveOp>(op) || pinned_.contains(op);
  }
  int64_t packedBytes(const Candidate &candidate) const;
  void chooseClasses();
  bool pinRefusals();
  Value pack(Value buffer, BufferType type, Operation *before);

  ProgramOp program_;
  CallSites sites_;
  const TagSet &shared_;
  llvm::MapVector<Value, Candidate> candidates_;
  llvm::SmallPtrSet<Operation *, 16> pinned_; ///< They take no format.
  llvm::EquivalenceClasses<Value> ties_;
  llvm::SmallSetVector<Value, 16> formatted_;
  llvm::DenseMap<Attribute, std::optional<int64_t>> known_;
};

/// See Passes.td.
class ChooseFormatsPass
    : public divisi::impl::ChooseFormatsBase<ChooseFormatsPass> {
public:
  void runOnOperation() override;
};

} // namespace

static BufferType withFormat(BufferType type, int64_t bytes) {
  return BufferType::get(type.getContext(), type.getTensor(), type.getGrid(),
                         type.getSpace(), StringRef(rt::channelsLast), bytes);
}

//===----------------------------------------------------------------------===//
// What there is to choose
//===----------------------------------------------------------------------===//

bool FormatChooser::findCandidates() {
  for (Operation &op : program_.getBody().front()) {
    if (isa<AllocOp, InputOp>(op)) {
      auto type = cast<BufferType>(op.getResult(0).getType());
      std::optional<int64_t> bytes = type.byteSize();
      if (type.isOnHost() && type.isPlain() && bytes &&
          type.getTensor().getRank() >= 3) {
        candidates_[op.getResult(0)].bytes = *bytes;
      }
    }
    // A view is of row-major bytes, and so are globals.
    auto view = dyn_cast<ViewOp>(op);
    auto update = dyn_cast<UpdateOp>(op);
    auto instruction = dyn_cast<InstructionInterface>(op);
    for (Value buffer : view          ? SmallVector<Value>{view.getSource()}
                        : update      ? SmallVector<Value>{update.getSource()}
                        : instruction ? instruction.getReads()
                                      : SmallVector<Value>()) {
      auto found = candidates_.find(buffer);
      if (found != candidates_.end()) {
        found->second.readers.push_back(&op);
      }
    }
    for (Value buffer :
         instruction ? instruction.getWrites() : SmallVector<Value>()) {
      auto found = candidates_.find(buffer);
      if (found == candidates_.end()) {
        candidates_.erase(rootOf(buffer));
      } else if (found->second.writer) {
        candidates_.erase(buffer);
      } else {
        found->second.writer = &op;
      }
    }
  }
  return llvm::any_of(program_.getBody().getOps<CallOp>(), [&](CallOp call) {
    return !candidatesOf(call).empty() && reorderedBytes(call, {}).value_or(0);
  });
}

FormatChooser::Buffers FormatChooser::candidatesOf(Operation *op) const {
  auto instruction = cast<InstructionInterface>(op);
  llvm::SmallSetVector<Value, 4> buffers;
  for (const SmallVector<Value> &list :
       {instruction.getReads(), instruction.getWrites()}) {
    for (Value buffer : list) {
      if (candidates_.contains(buffer)) {
        buffers.insert(buffer);
      }
    }
  }
  return buffers.takeVector();
}

/// What the call's kernel reorders on the rank where it reorders most, if these
/// buffers have the format; nothing if it takes no such call.
std::optional<int64_t>
FormatChooser::reorderedBytes(CallOp call, ArrayRef<Value> formatted) {
  SmallVector<BufferType> types;
  for (Value buffer : formatted) {
    types.push_back(cast<BufferType>(buffer.getType()));
    buffer.setType(withFormat(types.back(), candidates_[buffer].bytes));
  }
  auto [known, isNew] = known_.try_emplace(sites_.keyOf(call), std::nullopt);
  if (isNew) {
    int64_t most = 0;
    bool isTaken = sites_.all(call, [&](const rt::CallSite &site, int version) {
      const rt::Kernel *kernel = rt::cpuBackend().find(site, version);
      if (kernel) {
        most = std::max(most, kernel->query(site).reorderedBytes);
      }
      return kernel != nullptr;
    });
    known->second = isTaken ? std::optional(most) : std::nullopt;
  }
  std::optional<int64_t> bytes = known->second;
  for (size_t i = 0; i < types.size(); ++i) {
    Value buffer = formatted[i];
    buffer.setType(types[i]);
  }
  return bytes;
}

//===----------------------------------------------------------------------===//
// The choice
//===----------------------------------------------------------------------===//

/// Notes what a call gains by each buffer's format, what it ties, or that it
/// wants all row-major.
void FormatChooser::weigh(CallOp call) {
  Buffers buffers = candidatesOf(call);
  int64_t plain = reorderedBytes(call, {}).value_or(0);
  SmallVector<std::optional<int64_t>> alone;
  for (Value buffer : buffers) {
    alone.push_back(reorderedBytes(call, buffer));
  }
  if (!llvm::is_contained(alone, std::nullopt)) {
    for (auto [buffer, bytes] : llvm::zip_equal(buffers, alone)) {
      candidates_[buffer].gain += plain - *bytes;
    }
  } else if (std::optional<int64_t> all = reorderedBytes(call, buffers)) {
    candidates_[buffers.front()].gain += plain - *all;
    for (Value buffer : buffers) {
      ties_.unionSets(buffers.front(), buffer);
    }
  } else {
    pinned_.insert(call);
  }
}

/// Both sides of a collective have one format, on all ranks that meet in it:
/// what programs choose on their own, they choose for no other.
void FormatChooser::tie(CollectiveOp collective) {
  Buffers buffers = candidatesOf(collective);
  bool meets = collective.getMeeting().has_value();
  if (buffers.size() == 2 &&
      !(meets && shared_.contains(collective.getTag()))) {
    ties_.unionSets(buffers[0], buffers[1]);
  } else {
    pinned_.insert(collective);
  }
}

/// What is packed, or unpacked, if the buffer has the format.
int64_t FormatChooser::packedBytes(const Candidate &candidate) const {
  bool isPacked = isPinned(candidate.writer) ||
                  llvm::any_of(candidate.readers, [&](Operation *reader) {
                    return isPinned(reader);
                  });
  return isPacked ? candidate.bytes : 0;
}

void FormatChooser::chooseClasses() {
  formatted_.clear();
  llvm::MapVector<Value, int64_t> gains; // by leader
  for (auto &[buffer, candidate] : candidates_) {
    gains[ties_.getOrInsertLeaderValue(buffer)] +=
        candidate.gain - packedBytes(candidate);
  }
  for (auto &[buffer, candidate] : candidates_) {
    if (gains[ties_.getLeaderValue(buffer)] > 0) {
      formatted_.insert(buffer);
    }
  }
}

/// Pins calls that take no such mixture of formats; whether there are some.
bool FormatChooser::pinRefusals() {
  bool isNew = false;
  for (auto call : program_.getBody().getOps<CallOp>()) {
    Buffers buffers = candidatesOf(call);
    llvm::erase_if(buffers,
                   [&](Value buffer) { return !formatted_.contains(buffer); });
    if (!buffers.empty() && !isPinned(call) && !reorderedBytes(call, buffers)) {
      pinned_.insert(call);
      isNew = true;
    }
  }
  return isNew;
}

void FormatChooser::choose() {
  for (auto collective : program_.getBody().getOps<CollectiveOp>()) {
    tie(collective);
  }
  for (auto call : program_.getBody().getOps<CallOp>()) {
    if (!candidatesOf(call).empty()) {
      weigh(call);
    }
  }
  do {
    chooseClasses();
  } while (pinRefusals());
}

//===----------------------------------------------------------------------===//
// Packing
//===----------------------------------------------------------------------===//

/// The bytes of `buffer` in another format, from `before` on.
Value FormatChooser::pack(Value buffer, BufferType type, Operation *before) {
  OpBuilder builder(before);
  Location loc = before->getLoc();
  Value packed = AllocOp::create(builder, loc, type, IntegerAttr());
  CallOp::create(builder, loc, StringRef(rt::packOp), buffer, packed,
                 builder.getDictionaryAttr({}));
  ++numPacks;
  return packed;
}

void FormatChooser::apply() {
  for (Value buffer : formatted_) {
    const Candidate &candidate = candidates_[buffer];
    auto plain = cast<BufferType>(buffer.getType());
    BufferType last = withFormat(plain, candidate.bytes);
    bool isWrittenPlain = isPinned(candidate.writer);
    if (!isWrittenPlain) {
      buffer.setType(last);
    }
    Value other;
    for (Operation *reader : candidate.readers) {
      if (isPinned(reader) == isWrittenPlain) {
        continue;
      }
      if (!other) {
        other = pack(buffer, isWrittenPlain ? last : plain, reader);
      }
      reader->replaceUsesOfWith(buffer, other);
    }
    ++numFormatted;
  }
}

/// Per entry the tags that several of its programs have.
static llvm::StringMap<TagSet> sharedTags(ModuleOp module) {
  llvm::StringMap<TagSet> seen, shared;
  for (auto program : module.getOps<ProgramOp>()) {
    for (auto collective : program.getBody().getOps<CollectiveOp>()) {
      if (collective.getMeeting() &&
          !seen[program.getEntry()].insert(collective.getTag()).second) {
        shared[program.getEntry()].insert(collective.getTag());
      }
    }
  }
  return shared;
}

void ChooseFormatsPass::runOnOperation() {
  ModuleOp module = getOperation();
  FailureOr<bool> asks = asksHostKernels(module);
  if (failed(asks)) {
    return signalPassFailure();
  }
  if (!*asks) {
    return;
  }
  llvm::StringSet<> updated = updatedGlobals(module);
  llvm::StringMap<TagSet> shared = sharedTags(module);
  for (auto program : module.getOps<ProgramOp>()) {
    SliceCalls slices(program);
    FormatChooser chooser(program, updated, shared[program.getEntry()]);
    if (chooser.findCandidates()) {
      chooser.choose();
      chooser.apply();
      numFormatted += chooser.numFormatted;
      numPacks += chooser.numPacks;
    }
    slices.restore();
  }
}
