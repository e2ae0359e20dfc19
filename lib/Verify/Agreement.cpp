//===- Agreement.cpp - Whether ranks do together what they must -----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Agreement.h"

#include "Loops.h"
#include "dialects/NN/Bodies.h"
#include "dialects/SPMD/SPMD.h"

#include <set>

using namespace mlir;
using namespace divisi;
using namespace divisi::spmd;
using namespace divisi::verify;

using Devices = std::set<int64_t>;

static bool isSplit(func::FuncOp part) {
  return part->hasAttr(SPMDDialect::kRanks);
}

/// The tag of what `op` does with other ranks: nothing if it has none, or does
/// nothing with others. `talks` says which.
static std::optional<uint64_t> tagOf(Operation *op, bool &talks) {
  if (auto transfer = dyn_cast<TransferOp>(op)) {
    talks = true;
    return transfer.getTag();
  }
  auto step = dyn_cast<StepInterface>(op);
  talks = step && step.getStepKind() != StepKind::Slice &&
          step.getStepKind() != StepKind::Mask;
  return talks ? step.getTag() : std::nullopt;
}

LogicalResult verify::verifyOrder(ArrayRef<func::FuncOp> parts) {
  for (func::FuncOp part : parts) {
    if (!isSplit(part)) {
      if (parts.size() > 1) {
        return part.emitOpError("is one of several functions of its entry, but "
                                "has no ranks; run split-ranks");
      }
      continue;
    }
    std::optional<uint64_t> last;
    for (Operation &op : part.front()) {
      bool talks = false;
      std::optional<uint64_t> tag = tagOf(&op, talks);
      if (!talks) {
        continue;
      }
      if (!tag) {
        return op.emitOpError("has no tag; run split-ranks first");
      }
      if (last && *tag <= *last) {
        return op.emitOpError()
               << "has the tag " << *tag << " after the tag " << *last
               << "; ranks that do them in another order would wait for each "
                  "other";
      }
      last = tag;
    }
  }
  return success();
}

namespace {

/// Something that all devices of some grids do, each in its function.
struct Joint {
  Operation *first = nullptr; ///< As the first function has it.
  Devices expected, seen;
  std::optional<uint64_t> value; ///< The hash of what is moved.
};

class AgreementVerifier {
public:
  AgreementVerifier(ArrayRef<func::FuncOp> parts, const DataflowHashes &hashes)
      : parts_(parts), hashes_(hashes) {}
  LogicalResult run();

private:
  LogicalResult visitPart(func::FuncOp part);
  LogicalResult visit(Operation *op);
  LogicalResult visitTransfer(TransferOp transfer);
  LogicalResult visitReturn(func::FuncOp part);
  LogicalResult visitGlobal(Operation *op, FlatSymbolRefAttr symbol);

  /// The devices of the grid called `symbol`, which exists.
  Devices devicesOf(Operation *op, FlatSymbolRefAttr symbol);
  /// The ranks of this function are all on the grid.
  LogicalResult expectOn(Operation *op, FlatSymbolRefAttr symbol);
  /// The ranks of this function join in what is called `key`.
  Joint &join(const std::string &key, Operation *op, const Devices &devices);
  LogicalResult joinTalk(uint64_t tag, Operation *op, const Devices &devices,
                         std::optional<uint64_t> value);

  ArrayRef<func::FuncOp> parts_;
  const DataflowHashes &hashes_;
  Devices ranks_; ///< Of the function that is visited.
  std::map<std::string, Joint> joints_;
};

} // namespace

Devices AgreementVerifier::devicesOf(Operation *op, FlatSymbolRefAttr symbol) {
  auto grid = SymbolTable::lookupNearestSymbolFrom<GridOp>(op, symbol);
  if (std::optional<ArrayRef<int64_t>> devices = grid.getDevices()) {
    return Devices(devices->begin(), devices->end());
  }
  int64_t positions = 1;
  for (int64_t size : grid.getAxisSizes()) {
    positions *= size;
  }
  Devices devices;
  for (int64_t device = 0; device < positions; ++device) {
    devices.insert(devices.end(), device);
  }
  return devices;
}

static bool isSubset(const Devices &part, const Devices &all) {
  return std::includes(all.begin(), all.end(), part.begin(), part.end());
}

LogicalResult AgreementVerifier::expectOn(Operation *op,
                                          FlatSymbolRefAttr symbol) {
  if (isSubset(ranks_, devicesOf(op, symbol))) {
    return success();
  }
  return op->emitOpError() << "runs on the grid " << symbol
                           << ", of which not all ranks of its function are";
}

Joint &AgreementVerifier::join(const std::string &key, Operation *op,
                               const Devices &devices) {
  Joint &joint = joints_[key];
  if (!joint.first) {
    joint.first = op;
    joint.expected = devices;
  }
  joint.seen.insert(ranks_.begin(), ranks_.end());
  return joint;
}

// Whether the two say the same to the ranks that run them. Operands and results
// of a transfer may be missing on one side.
static bool agree(Operation *a, Operation *b) {
  if (a->getName() != b->getName() ||
      a->getAttrDictionary() != b->getAttrDictionary()) {
    return false;
  }
  return isa<TransferOp>(a) || (a->getOperandTypes() == b->getOperandTypes() &&
                                a->getResultTypes() == b->getResultTypes());
}

LogicalResult AgreementVerifier::joinTalk(uint64_t tag, Operation *op,
                                          const Devices &devices,
                                          std::optional<uint64_t> value) {
  Joint &joint = join("tag " + std::to_string(tag), op, devices);
  if (!agree(joint.first, op)) {
    InFlightDiagnostic diag =
        op->emitOpError()
        << "differs from the operation of other ranks with the tag " << tag;
    diag.attachNote(joint.first->getLoc()) << "the other operation is here";
    return diag;
  }
  if (value && joint.value && *value != *joint.value) {
    return op->emitOpError()
           << "moves another value than other ranks with the tag " << tag;
  }
  joint.value = joint.value ? joint.value : value;
  return success();
}

LogicalResult AgreementVerifier::visitTransfer(TransferOp op) {
  Devices source = devicesOf(op, op.getSourceGridAttr());
  Devices target = devicesOf(op, op.getTargetGridAttr());
  bool sends = isSubset(ranks_, source), receives = isSubset(ranks_, target);
  if (bool(op.getInput()) != sends || (op.getOutput() && !receives) ||
      (!sends && !receives)) {
    return op.emitOpError("has an end on ranks outside of the grid there, or "
                          "lacks one on ranks inside");
  }
  // An arrival that nobody uses may be dropped: who sends does not know.
  Devices all = source;
  all.insert(target.begin(), target.end());
  std::optional<uint64_t> value;
  if (op.getInput()) {
    value = hashes_.of(op.getInput());
  }
  return joinTalk(*op.getTag(), op, all, value);
}

LogicalResult AgreementVerifier::visitGlobal(Operation *op,
                                             FlatSymbolRefAttr symbol) {
  auto global = SymbolTable::lookupNearestSymbolFrom<nn::GlobalOp>(op, symbol);
  FlatSymbolRefAttr grid =
      global->getAttrOfType<PlaceAttr>(SPMDDialect::kPlace).getGrid();
  if (isa<nn::UpdateOp>(op)) {
    join("update of " + symbol.getValue().str(), op, devicesOf(op, grid));
  }
  return expectOn(op, grid);
}

LogicalResult AgreementVerifier::visitReturn(func::FuncOp part) {
  for (unsigned i = 0; i < part.getNumResults(); ++i) {
    auto place = cast<PlaceAttr>(part.getResultAttr(i, SPMDDialect::kPlace));
    unsigned index = signatureIndex(part.getResultAttrDict(i), i);
    join("result " + std::to_string(index), part.front().getTerminator(),
         devicesOf(part, place.getGrid()));
    if (failed(expectOn(part, place.getGrid()))) {
      return failure();
    }
  }
  return success();
}

LogicalResult AgreementVerifier::visit(Operation *op) {
  if (auto transfer = dyn_cast<TransferOp>(op)) {
    return visitTransfer(transfer);
  }
  if (auto step = dyn_cast<StepInterface>(op)) {
    if (failed(expectOn(op, step.getGridAttr()))) {
      return failure();
    }
    bool talks = false;
    std::optional<uint64_t> tag = tagOf(op, talks);
    return talks ? joinTalk(*tag, op, devicesOf(op, step.getGridAttr()),
                            hashes_.of(step.getInput()))
                 : success();
  }
  if (auto read = dyn_cast<nn::ReadOp>(op)) {
    return visitGlobal(op, read.getGlobalAttr());
  }
  if (auto update = dyn_cast<nn::UpdateOp>(op)) {
    return visitGlobal(op, update.getGlobalAttr());
  }
  if (auto loop = dyn_cast<nn::LoopOp>(op)) {
    FlatSymbolRefAttr grid = gridOf(loop);
    join("loop of " + loop.getBody().str(), op, devicesOf(op, grid));
    return expectOn(op, grid);
  }
  if (auto split = op->getAttrOfType<SplitAttr>(SPMDDialect::kSplit)) {
    return expectOn(op, split.getGrid());
  }
  return success();
}

LogicalResult AgreementVerifier::visitPart(func::FuncOp part) {
  auto ranks = part->getAttrOfType<DenseI32ArrayAttr>(SPMDDialect::kRanks);
  ranks_ = Devices(ranks.asArrayRef().begin(), ranks.asArrayRef().end());
  for (int64_t rank : ranks_) {
    Devices self = {rank};
    Joint &joint = joints_["rank " + std::to_string(rank)];
    if (joint.first) {
      return part.emitOpError() << "is for the rank " << rank
                                << ", which has another function already";
    }
    joint.first = part;
    joint.expected = joint.seen = self;
  }
  for (unsigned i = 0; i < part.getNumArguments(); ++i) {
    auto place = part.getArgAttrOfType<PlaceAttr>(i, SPMDDialect::kPlace);
    if (failed(expectOn(part, place.getGrid()))) {
      return failure();
    }
  }
  for (Operation &op : part.front()) {
    if (failed(visit(&op))) {
      return failure();
    }
  }
  return visitReturn(part);
}

LogicalResult AgreementVerifier::run() {
  for (func::FuncOp part : parts_) {
    if (!isSplit(part)) {
      return success();
    }
    if (failed(visitPart(part))) {
      return failure();
    }
  }
  for (const auto &[key, joint] : joints_) {
    if (joint.seen != joint.expected) {
      return joint.first->emitOpError()
             << "takes all devices of its grid, but not all of their functions "
                "have this "
             << key;
    }
  }
  return success();
}

LogicalResult verify::verifyAgreement(ArrayRef<func::FuncOp> parts,
                                      const DataflowHashes &hashes) {
  return AgreementVerifier(parts, hashes).run();
}
