//===- Dataflow.cpp - What a program computes, as hashes ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Dataflow.h"

#include "dialects/NN/NN.h"
#include "dialects/NN/Shapes.h"
#include "dialects/SPMD/SPMD.h"
#include "divisi/Verify/Partition.h"

#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

#include <string>

using namespace mlir;
using namespace divisi;
using namespace divisi::verify;

unsigned verify::signatureIndex(DictionaryAttr attributes, unsigned position) {
  auto index = attributes
                   ? attributes.getAs<IntegerAttr>(spmd::SPMDDialect::kIndex)
                   : IntegerAttr();
  return index ? unsigned(index.getInt()) : position;
}

StringRef verify::entryOf(func::FuncOp part) {
  auto name = part->getAttrOfType<StringAttr>(spmd::SPMDDialect::kEntry);
  return name ? name.getValue() : part.getName();
}

/// The hash of `text`, which names an expression with all that decides it.
static uint64_t hashOf(const std::string &text) {
  return llvm::xxh3_64bits(llvm::StringRef(text));
}

LogicalResult DataflowHashes::run(ArrayRef<func::FuncOp> parts) {
  parts_.assign(parts.begin(), parts.end());
  std::vector<Block::iterator> next;
  for (func::FuncOp part : parts_) {
    next.push_back(part.front().begin());
    for (BlockArgument argument : part.getArguments()) {
      unsigned position = argument.getArgNumber();
      unsigned index = signatureIndex(part.getArgAttrDict(position), position);
      hashes_[argument] = hashOf("argument " + std::to_string(index));
    }
  }
  // Each round brings at least one transfer to where it arrives.
  for (size_t before = SIZE_MAX; before != transferred_.size();) {
    before = transferred_.size();
    for (auto [part, position] : llvm::zip_equal(parts_, next)) {
      advance(part, position);
    }
  }
  for (auto [part, position] : llvm::zip_equal(parts_, next)) {
    if (position != part.front().end()) {
      return position->emitOpError(
          "waits for a transfer that no rank of its source sends");
    }
  }
  return success();
}

void DataflowHashes::advance(func::FuncOp part, Block::iterator &next) {
  while (next != part.front().end() && visit(*next)) {
    ++next;
  }
}

// False for an arrival whose departure has not been seen yet.
bool DataflowHashes::visit(Operation &op) {
  if (auto transfer = dyn_cast<spmd::TransferOp>(op)) {
    uint64_t tag = transfer.getTag().value_or(0);
    if (transfer.getInput()) {
      transferred_[tag] = of(transfer.getInput());
      if (transfer.getOutput()) {
        hashes_[transfer.getOutput()] = of(transfer.getInput());
      }
    } else if (transfer.getOutput()) {
      auto sent = transferred_.find(tag);
      if (sent == transferred_.end()) {
        return false;
      }
      hashes_[transfer.getOutput()] = sent->second;
    }
    return true;
  }
  if (auto step = dyn_cast<spmd::StepInterface>(op)) {
    hashes_[step.getOutput()] = of(step.getInput());
    return true;
  }
  visitOperator(op);
  return true;
}

DataflowHashes::Parts DataflowHashes::partsOf(Value value) const {
  auto parts = madeOf_.find(of(value));
  return parts != madeOf_.end()
             ? parts->second
             : Parts{{of(value), nn::globalType(value.getType())}};
}

DataflowHashes::Parts DataflowHashes::partsOfResult(Operation &op) const {
  Parts parts;
  if (auto reshape = dyn_cast<nn::ReshapeOp>(op)) {
    Value x = reshape.getX();
    parts = partsOf(x);
    // The elements of several are not in the order of one after the other.
    return parts.size() == 1 ? parts
                             : Parts{{of(x), nn::globalType(x.getType())}};
  }
  // Side by side: of two dimensions the last.
  if (op.getNumResults() != 1 ||
      nn::globalType(op.getResult(0).getType()).getRank() != 2) {
    return parts;
  }
  if (auto concat = dyn_cast<nn::ConcatOp>(op);
      concat && concat.getAxis() == 1) {
    for (Value x : concat.getXs()) {
      parts.append(partsOf(x));
    }
    return parts;
  }
  auto slice = dyn_cast<nn::SliceOp>(op);
  if (!slice || slice.getSteps() != ArrayRef<int64_t>({1, 1})) {
    return parts;
  }
  int64_t rows = nn::globalType(slice.getX().getType()).getDimSize(0);
  int64_t first = slice.getStarts()[1], limit = slice.getLimits()[1];
  if (slice.getStarts()[0] != 0 || slice.getLimits()[0] != rows || rows == 0) {
    return parts;
  }
  int64_t begin = 0, taken = 0;
  for (const Part &part : partsOf(slice.getX())) {
    int64_t end = begin + part.type.getNumElements() / rows;
    if (first <= begin && end <= limit) {
      parts.push_back(part);
      taken += end - begin;
    }
    begin = end;
  }
  return taken == limit - first ? parts : Parts();
}

// Attributes with a dialect's prefix are notes about where, not what.
void DataflowHashes::visitOperator(Operation &op) {
  std::string text = op.getName().getStringRef().str();
  llvm::raw_string_ostream os(text);
  for (NamedAttribute attribute : op.getAttrDictionary()) {
    if (!attribute.getName().getValue().contains('.')) {
      os << " " << attribute.getName().getValue() << "="
         << attribute.getValue();
    }
  }
  for (Value operand : op.getOperands()) {
    os << " " << of(operand);
  }
  for (OpResult result : op.getResults()) {
    hashes_[result] =
        hashOf(text + " " + std::to_string(result.getResultNumber()));
  }
  Parts parts = partsOfResult(op);
  if (parts.empty()) {
    return;
  }
  Value result = op.getResult(0);
  RankedTensorType type = nn::globalType(result.getType());
  if (parts.size() == 1 && parts.front().type == type) {
    hashes_[result] = parts.front().hash;
    return;
  }
  // What is made of the same parts is the same, however it was made.
  std::string expression = "parts";
  llvm::raw_string_ostream list(expression);
  for (const Part &part : parts) {
    list << " " << part.hash << " " << part.type;
  }
  list << " -> " << type;
  hashes_[result] = hashOf(expression);
  madeOf_[hashes_[result]] = std::move(parts);
}

FailureOr<std::vector<int64_t>> DataflowHashes::computed() const {
  std::map<unsigned, uint64_t> results;
  // By global, and then in program order.
  std::map<std::pair<std::string, unsigned>, uint64_t> updates;
  auto note = [](auto &noted, auto key, uint64_t hash) {
    return noted.try_emplace(key, hash).first->second == hash;
  };
  for (func::FuncOp part : parts_) {
    std::map<std::string, unsigned> versions;
    for (Operation &op : part.front()) {
      if (auto update = dyn_cast<nn::UpdateOp>(op)) {
        std::string global = update.getGlobal().str();
        if (!note(updates, std::pair(global, versions[global]++),
                  of(update.getValue()))) {
          return op.emitOpError("writes another value than other ranks do");
        }
      }
    }
    Operation *terminator = part.front().getTerminator();
    for (OpOperand &operand : terminator->getOpOperands()) {
      unsigned position = operand.getOperandNumber();
      unsigned index =
          signatureIndex(part.getResultAttrDict(position), position);
      if (!note(results, index, of(operand.get()))) {
        return terminator->emitOpError()
               << "operand " << position << " is returned as result " << index
               << ", as which other ranks return another value";
      }
    }
  }
  std::string entry = entryOf(parts_.front()).str();
  std::vector<int64_t> hashes;
  for (auto [index, hash] : results) {
    hashes.push_back(int64_t(hashOf(entry + " result " + std::to_string(index) +
                                    " " + std::to_string(hash))));
  }
  for (const auto &[key, hash] : updates) {
    hashes.push_back(int64_t(hashOf(entry + " update " + key.first + " " +
                                    std::to_string(key.second) + " " +
                                    std::to_string(hash))));
  }
  return hashes;
}

LogicalResult divisi::noteDataflow(func::FuncOp entry) {
  DataflowHashes hashes;
  if (failed(hashes.run(entry))) {
    return failure();
  }
  auto computed = hashes.computed();
  if (failed(computed)) {
    return failure();
  }
  entry->setAttr(spmd::SPMDDialect::kComputes,
                 DenseI64ArrayAttr::get(entry.getContext(), *computed));
  return success();
}
