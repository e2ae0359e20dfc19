//===- LowerToExec.cpp - From local functions to programs -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/Lower/LowerFunction.h"
#include "passes/Lower/Passes.h"

#include "dialects/Exec/SharedInputs.h"
#include "dialects/NN/Batches.h"
#include "dialects/NN/Bodies.h"
#include "dialects/SPMD/SPMD.h"
#include "dialects/SPMD/Strategy.h"
#include "passes/ModuleNotes.h"

#include <map>
#include <set>

namespace divisi {
#define GEN_PASS_DEF_LOWERTOEXEC
#include "passes/Lower/Passes.h.inc"
} // namespace divisi

using namespace mlir;
using namespace divisi;
using namespace divisi::exec;

namespace {

/// See Passes.td.
class LowerToExecPass : public divisi::impl::LowerToExecBase<LowerToExecPass> {
public:
  void runOnOperation() override;
};

/// The inputs or outputs of an entry, collected from the functions that have
/// them.
struct Signature {
  std::map<int64_t, std::pair<StringAttr, BufferType>> values;
  std::set<int64_t> shared; ///< Those without a batch, by number.

  LogicalResult add(func::FuncOp function, DictionaryAttr attributes,
                    spmd::PlaceAttr place, Type type);
  ArrayAttr names(Builder &builder) const;
  ArrayAttr types(Builder &builder) const;
};

/// An entry and the functions that split-ranks has made of it.
struct EntryParts {
  StringAttr name;
  bool isBody = false;
  SmallVector<func::FuncOp, 1> functions;
  Signature inputs, outputs;
};

} // namespace

LogicalResult Signature::add(func::FuncOp function, DictionaryAttr attributes,
                             spmd::PlaceAttr place, Type type) {
  std::optional<int64_t> index = indexIn(attributes);
  if (!place || !index) {
    return function.emitOpError("has an argument or result without place or "
                                "index; run split-ranks first");
  }
  if (attributes.contains(nn::kSharedAttr)) {
    shared.insert(*index);
  }
  auto name = attributes.getAs<StringAttr>("nn.name");
  if (!name) {
    name = StringAttr::get(function.getContext(), std::to_string(*index));
  }
  values[*index] = {name, bufferType(type, place.getGrid())};
  return success();
}

ArrayAttr Signature::names(Builder &builder) const {
  SmallVector<Attribute> names;
  for (const auto &[index, value] : values) {
    names.push_back(value.first);
  }
  return builder.getArrayAttr(names);
}

ArrayAttr Signature::types(Builder &builder) const {
  SmallVector<Attribute> types;
  for (const auto &[index, value] : values) {
    types.push_back(TypeAttr::get(value.second));
  }
  return builder.getArrayAttr(types);
}

static LogicalResult addSignature(EntryParts &entry, func::FuncOp function) {
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes())) {
    if (failed(entry.inputs.add(function, function.getArgAttrDict(i),
                                spmd::getArgPlace(function, i), type))) {
      return failure();
    }
  }
  for (auto [i, type] : llvm::enumerate(function.getResultTypes())) {
    if (failed(entry.outputs.add(function, function.getResultAttrDict(i),
                                 spmd::getResultPlace(function, i), type))) {
      return failure();
    }
  }
  return success();
}

/// All entries, in the module's order.
static FailureOr<std::vector<EntryParts>> collectEntries(ModuleOp module) {
  std::vector<EntryParts> entries;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!spmd::isEntry(function)) {
      continue;
    }
    auto name = function->getAttrOfType<StringAttr>(spmd::SPMDDialect::kEntry);
    if (!name) {
      return function.emitOpError("belongs to no set of ranks; run split-ranks "
                                  "first");
    }
    auto entry = llvm::find_if(entries, [&](const EntryParts &candidate) {
      return candidate.name == name;
    });
    if (entry == entries.end()) {
      entry = entries.insert(
          entries.end(), EntryParts{name, nn::isBody(function), {}, {}, {}});
    }
    entry->functions.push_back(function);
    if (failed(addSignature(*entry, function))) {
      return failure();
    }
  }
  return entries;
}

/// Replaces `function` by a program of the same name.
static LogicalResult lowerProgram(func::FuncOp function, StringAttr entry) {
  auto ranks =
      function->getAttrOfType<DenseI32ArrayAttr>(spmd::SPMDDialect::kRanks);
  if (!ranks) {
    return function.emitOpError("has no ranks; run split-ranks first");
  }
  SmallVector<int64_t> wide(ranks.asArrayRef());
  OpBuilder builder(function);
  auto program = ProgramOp::create(
      builder, function.getLoc(), function.getSymNameAttr(),
      FlatSymbolRefAttr::get(entry), builder.getDenseI64ArrayAttr(wide),
      builder.getI64IntegerAttr(0), /*device_arenas=*/DictionaryAttr(),
      function->getAttrOfType<UnitAttr>(spmd::SPMDDialect::kOverlap));
  builder.createBlock(&program.getBody());
  if (failed(lowerFunction(builder, function))) {
    return failure();
  }
  function.erase();
  return success();
}

void LowerToExecPass::runOnOperation() {
  FailureOr<std::vector<EntryParts>> entries = collectEntries(getOperation());
  if (failed(entries)) {
    return signalPassFailure();
  }
  for (EntryParts &entry : *entries) {
    OpBuilder builder(entry.functions.front());
    auto op = EntryOp::create(builder, entry.functions.front().getLoc(),
                              entry.name, entry.inputs.names(builder),
                              entry.inputs.types(builder),
                              entry.outputs.names(builder),
                              entry.outputs.types(builder), entry.isBody);
    if (!entry.inputs.shared.empty()) {
      SmallVector<int64_t> shared(entry.inputs.shared.begin(),
                                  entry.inputs.shared.end());
      op->setAttr(kSharedInputsAttr, builder.getDenseI64ArrayAttr(shared));
    }
  }
  for (EntryParts &entry : *entries) {
    for (func::FuncOp function : entry.functions) {
      if (failed(lowerProgram(function, entry.name))) {
        return signalPassFailure();
      }
    }
  }
  noteOnModule(getOperation(), kStageAttr, "lower");
}
