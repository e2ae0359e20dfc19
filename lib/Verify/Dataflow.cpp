//===- Dataflow.cpp - What a program computes, as hashes ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Dataflow.h"

#include "dialects/NN/Functions.h"
#include "dialects/NN/NN.h"
#include "dialects/NN/Shapes.h"
#include "dialects/SPMD/SPMD.h"
#include "divisi/Verify/Partition.h"

#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

#include <set>

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

/// The global type of a value of `type`.
static std::string typeText(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << nn::globalType(type);
  return text;
}

LogicalResult DataflowHashes::run(ArrayRef<func::FuncOp> parts) {
  parts_.assign(parts.begin(), parts.end());
  std::vector<Block::iterator> next;
  for (func::FuncOp part : parts_) {
    next.push_back(part.front().begin());
    for (BlockArgument argument : part.getArguments()) {
      unsigned position = argument.getArgNumber();
      unsigned index = signatureIndex(part.getArgAttrDict(position), position);
      hashes_[argument] = hashOf("argument " + std::to_string(index) + " " +
                                 typeText(argument.getType()));
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
        hashOf(text + " " + std::to_string(result.getResultNumber()) + " " +
               typeText(result.getType()));
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

/// Sets what is noted of `key`; false if that is something else already.
template <typename Key, typename Value>
static bool note(std::map<Key, Value> &noted, Key key, Value value) {
  return noted.try_emplace(std::move(key), value).first->second == value;
}

FailureOr<std::map<std::pair<std::string, unsigned>, uint64_t>>
DataflowHashes::updates() const {
  std::map<std::pair<std::string, unsigned>, uint64_t> updates;
  for (func::FuncOp part : parts_) {
    std::map<std::string, unsigned> versions;
    for (auto update : part.getOps<nn::UpdateOp>()) {
      std::string global = update.getGlobal().str();
      if (!note(updates, std::pair(global, versions[global]++),
                of(update.getValue()))) {
        return update.emitOpError("writes another value than other ranks do");
      }
    }
  }
  return updates;
}

FailureOr<std::string> DataflowHashes::signature() const {
  std::map<std::pair<bool, unsigned>, std::string> said;
  for (func::FuncOp part : parts_) {
    auto say = [&](bool isResult, unsigned position, DictionaryAttr attributes,
                   Type type) -> LogicalResult {
      unsigned index = signatureIndex(attributes, position);
      std::string text = typeText(type);
      if (Attribute name = attributes ? attributes.get("nn.name") : nullptr) {
        llvm::raw_string_ostream(text) << " " << name;
      }
      if (!note(said, std::pair(isResult, index), text)) {
        return part.emitOpError()
               << (isResult ? "result " : "argument ") << position << " is "
               << (isResult ? "result " : "argument ") << index
               << " of the entry, whose name or type differs on other ranks";
      }
      return success();
    };
    for (auto [position, type] : llvm::enumerate(part.getArgumentTypes())) {
      if (failed(say(false, position, part.getArgAttrDict(position), type))) {
        return failure();
      }
    }
    for (auto [position, type] : llvm::enumerate(part.getResultTypes())) {
      if (failed(say(true, position, part.getResultAttrDict(position), type))) {
        return failure();
      }
    }
  }
  std::string text;
  for (const auto &[key, words] : said) {
    text += (key.first ? " result " : " argument ") +
            std::to_string(key.second) + " " + words;
  }
  return text;
}

FailureOr<std::vector<Computed>> DataflowHashes::computed() const {
  std::map<unsigned, uint64_t> results;
  for (func::FuncOp part : parts_) {
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
  auto updated = updates();
  auto seen = signature();
  if (failed(updated) || failed(seen)) {
    return failure();
  }
  std::string entry = entryOf(parts_.front()).str();
  std::vector<Computed> computed;
  auto add = [&](std::string what, const std::string &expression) {
    uint64_t hash = hashOf(entry + " " + what + " " + expression);
    computed.push_back({std::move(what), hash});
  };
  for (auto [index, hash] : results) {
    add("result " + std::to_string(index), std::to_string(hash));
  }
  for (const auto &[key, hash] : *updated) {
    add("update " + std::to_string(key.second) + " of @" + key.first,
        std::to_string(hash));
  }
  add("the names and types of arguments and results", *seen);
  return computed;
}

/// What of `module` every entry relies on.
static FailureOr<Computed> sharedBy(ModuleOp module) {
  std::map<std::string, std::string> globals;
  std::set<std::string> entries;
  std::string text;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal()) {
      continue;
    }
    if (function.getName() != nn::kInitFunction) {
      entries.insert((function.isPrivate() ? "body " : "entry ") +
                     entryOf(function).str());
      continue;
    }
    DataflowHashes hashes;
    if (failed(hashes.run(function))) {
      return failure();
    }
    auto updates = hashes.updates();
    if (failed(updates)) {
      return failure();
    }
    for (const auto &[key, hash] : *updates) {
      globals[key.first] += " " + std::to_string(hash);
    }
  }
  for (auto global : module.getOps<nn::GlobalOp>()) {
    llvm::raw_string_ostream(globals[global.getSymName().str()])
        << " " << global.getKindAttr() << " " << global.getTensorType()
        << global.getZero() << global.getFile().has_value();
  }
  for (const std::string &entry : entries) {
    text += entry + ", ";
  }
  for (const auto &[name, first] : globals) {
    text += name + first + ", ";
  }
  return Computed{"the globals, @init, or which entries there are",
                  hashOf(text)};
}

FailureOr<std::vector<Computed>>
verify::computedIn(ModuleOp module, const DataflowHashes &hashes) {
  FailureOr<std::vector<Computed>> computed = hashes.computed();
  FailureOr<Computed> shared = sharedBy(module);
  if (failed(computed) || failed(shared)) {
    return failure();
  }
  computed->push_back(std::move(*shared));
  return computed;
}

LogicalResult divisi::noteDataflow(func::FuncOp entry) {
  DataflowHashes hashes;
  if (failed(hashes.run(entry))) {
    return failure();
  }
  auto computed = computedIn(entry->getParentOfType<ModuleOp>(), hashes);
  if (failed(computed)) {
    return failure();
  }
  std::vector<int64_t> noted;
  for (const Computed &each : *computed) {
    noted.push_back(int64_t(each.hash));
  }
  entry->setAttr(spmd::SPMDDialect::kComputes,
                 DenseI64ArrayAttr::get(entry.getContext(), noted));
  return success();
}
