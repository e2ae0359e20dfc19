//===- ExecPrograms.cpp - Entries and their programs ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Exec.h"

#include "dialects/NN/NN.h"
#include "dialects/SPMD/Strategy.h"
#include "divisi/Support/CheckedMath.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace divisi;
using namespace divisi::exec;

LogicalResult EntryOp::verify() {
  if (getInputNames().size() != getInputTypes().size() ||
      getOutputNames().size() != getOutputTypes().size()) {
    return emitOpError("(C1) has ")
           << getInputNames().size() << " names for " << getInputTypes().size()
           << " inputs and " << getOutputNames().size() << " names for "
           << getOutputTypes().size() << " outputs";
  }
  for (Type type :
       llvm::concat<const Type>(getInputTypes().getAsValueRange<TypeAttr>(),
                                getOutputTypes().getAsValueRange<TypeAttr>())) {
    if (!isa<BufferType>(type)) {
      return emitOpError("(C1) expected buffer types, got ") << type;
    }
    if (!cast<BufferType>(type).isOnHost()) {
      return emitOpError("(C2) passes a value in memory space '")
             << cast<BufferType>(type).getSpace() << "', expected host memory";
    }
  }
  return success();
}

static bool isWeighted(const Grid &grid) {
  return llvm::any_of(
      grid.axes(), [](const GridAxis &axis) { return !axis.weights.empty(); });
}

/// Without weights, the largest shard of all: ranks differ by what ceil leaves.
std::optional<int64_t> ProgramOp::bytesOf(BufferType type) {
  RankedTensorType tensor = type.getTensor();
  spmd::LocalAttr local = spmd::getLocal(tensor);
  spmd::GridOp grid = spmd::lookupGrid(*this, type.getGrid());
  if (!isWeighted(local.getGrid()) || !grid || !type.isPlain()) {
    return type.byteSize();
  }
  int64_t most = 0;
  for (auto [position, device] : llvm::enumerate(grid.getDeviceIds())) {
    if (!llvm::binary_search(getRanks(), device)) {
      continue;
    }
    auto extents = llvm::map_to_vector(
        local.getLayout().box(local.getGrid(), local.getGlobalShape(),
                              int64_t(position)),
        [](Interval interval) { return interval.size(); });
    std::optional<int64_t> bytes =
        nn::byteCount(RankedTensorType::get(extents, tensor.getElementType()));
    if (!bytes) {
      return std::nullopt;
    }
    most = std::max(most, *bytes);
  }
  return most;
}

ArrayRef<NamedAttribute> ProgramOp::deviceArenas() {
  std::optional<DictionaryAttr> arenas = getDeviceArenas();
  return arenas ? arenas->getValue() : ArrayRef<NamedAttribute>();
}

int64_t ProgramOp::arenaBytesIn(StringRef space) {
  if (space.empty()) {
    return getArenaBytes();
  }
  std::optional<DictionaryAttr> arenas = getDeviceArenas();
  auto bytes = arenas ? arenas->getAs<IntegerAttr>(space) : IntegerAttr();
  return bytes ? bytes.getInt() : 0;
}

static LogicalResult verifyDeviceArenas(ProgramOp program) {
  for (NamedAttribute arena : program.deviceArenas()) {
    auto bytes = dyn_cast<IntegerAttr>(arena.getValue());
    if (arena.getName() == kHostSpace || !bytes ||
        !bytes.getType().isInteger(64) || bytes.getInt() < 0) {
      return program.emitOpError("(C4) cannot have an arena of ")
             << arena.getValue() << " bytes in memory space '"
             << arena.getName().getValue() << "'";
    }
  }
  return success();
}

/// Of a body, whose loop has one arena beside the host's.
static LogicalResult verifyOnOneDevice(ProgramOp program) {
  StringRef device;
  for (Operation &op : program.getBody().front()) {
    for (Type type : op.getResultTypes()) {
      auto buffer = dyn_cast<BufferType>(type);
      if (!buffer || buffer.isOnHost()) {
        continue;
      }
      if (!device.empty() && buffer.getSpace() != device) {
        return op.emitOpError("(C5) is in memory space '")
               << buffer.getSpace() << "', but others of the body are in '"
               << device << "'";
      }
      device = buffer.getSpace();
    }
  }
  return success();
}

/// That what `op` has at `offset` of the arena in `space`, if it has been
/// placed, is in the arena.
static LogicalResult verifyInArena(ProgramOp program, Operation *op,
                                   StringRef space,
                                   std::optional<int64_t> offset,
                                   std::optional<int64_t> bytes) {
  if (!offset || !bytes) {
    return bytes ? success() : op->emitOpError("has too many bytes");
  }
  std::optional<int64_t> end = checkedAdd(*offset, *bytes);
  int64_t arena = program.arenaBytesIn(space);
  if (!end || *end > arena) {
    return op->emitOpError("(C3) ")
           << *bytes << " bytes at " << *offset << " exceed the arena of "
           << arena << " bytes";
  }
  return success();
}

LogicalResult ProgramOp::verify() {
  ArrayRef<int64_t> ranks = getRanks();
  bool ascending = llvm::is_sorted(ranks, std::less_equal<int64_t>()) &&
                   (ranks.empty() || ranks.front() >= 0);
  if (ranks.empty() || !ascending) {
    return emitOpError("(C1) ranks must ascend from 0 or more, without "
                       "repetition, and there must be at least one");
  }
  auto module = (*this)->getParentOfType<ModuleOp>();
  EntryOp entry =
      module ? module.lookupSymbol<EntryOp>(getEntryAttr()) : nullptr;
  if (!entry) {
    return emitOpError("(C2) ") << getEntryAttr() << " is not an exec.entry";
  }
  if (failed(verifyDeviceArenas(*this)) ||
      (entry.getIsBody() && failed(verifyOnOneDevice(*this)))) {
    return failure();
  }
  for (AllocOp alloc : getBody().getOps<AllocOp>()) {
    BufferType type = alloc.getBuffer().getType();
    if (failed(verifyInArena(*this, alloc, type.getSpace(), alloc.getOffset(),
                             bytesOf(type)))) {
      return failure();
    }
  }
  for (CallOp call : getBody().getOps<CallOp>()) {
    if (failed(verifyInArena(*this, call, call.getSpace(),
                             call.getWorkspaceOffset(),
                             call.getWorkspace().value_or(0)))) {
      return failure();
    }
  }
  return success();
}
