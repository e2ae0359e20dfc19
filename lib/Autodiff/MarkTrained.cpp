//===- MarkTrained.cpp - Which globals are weights ------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// An ONNX model has initializers, which may be weights, or tables that an
// exporter has stored. What is trained is a parameter of floats
//
//   - through which the loss changes smoothly;
//   - that is no running statistic of a batch normalization;
//   - that is more than angles: not only sines or cosines are made of it, of
//     positions and nothing that is computed;
//   - whose rows are not one half twice, as tables of rotary embeddings are;
//   - whose elements are not those of a mask: 0 and 1, or 0 and numbers that
//     hide what they are added to.
//
// Names that a user gives come before the rule.
//
//===----------------------------------------------------------------------===//

#include "divisi/Autodiff/Training.h"

#include "TrainNote.h"
#include "dialects/NN/Known.h"
#include "dialects/NN/Locations.h"
#include "divisi/Autodiff/Gradients.h"
#include "divisi/Evaluate/Evaluator.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace divisi;

static bool isFloat(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isa<FloatType>(tensor.getElementType());
}

namespace {

/// One entry and what it makes of its globals.
class Weights {
public:
  Weights(func::FuncOp entry, GlobalStore &store) : store_(store) {
    for (auto read : entry.getOps<nn::ReadOp>()) {
      reads_[read.getGlobal()].push_back(read);
    }
    for (auto update : entry.getOps<nn::UpdateOp>()) {
      updated_.insert(update.getGlobal());
    }
  }

  void followBack(Value output);
  /// Why it is no weight; empty if it is one.
  std::string refusal(nn::GlobalOp global);

private:
  bool isAngle(nn::ReadOp read);
  bool isComputed(Value value, nn::ReadOp apartFrom);
  bool isTwice(nn::ReadOp read);
  bool isMask(nn::GlobalOp global);

  GlobalStore &store_;
  llvm::StringMap<SmallVector<nn::ReadOp>> reads_;
  llvm::StringSet<> updated_;  ///< By the model itself.
  llvm::DenseSet<Value> felt_; ///< The output changes smoothly with these.
};

} // namespace

void Weights::followBack(Value output) {
  felt_.insert(output);
  Operation *last = output.getDefiningOp();
  for (Operation *op = last; op; op = op->getPrevNode()) {
    bool isFelt = llvm::any_of(
        op->getResults(), [&](Value result) { return felt_.contains(result); });
    if (isFelt && gradientRuleOf(op->getName()) != GradientRule::Zero) {
      for (Value operand : op->getOperands()) {
        if (isFloat(operand.getType())) {
          felt_.insert(operand);
        }
      }
    }
  }
}

/// Whether it reads no constant, as large tables of positions are.
static bool isParameter(nn::ReadOp read) {
  auto global = SymbolTable::lookupNearestSymbolFrom<nn::GlobalOp>(
      read, read.getGlobalAttr());
  return global.getKind() == nn::GlobalKind::Parameter;
}

/// Whether floats other than those of `apartFrom`, which inputs or other
/// parameters are, make `value`.
bool Weights::isComputed(Value value, nn::ReadOp apartFrom) {
  SmallVector<Value> open{value};
  llvm::DenseSet<Value> seen;
  while (!open.empty()) {
    Value next = open.pop_back_val();
    if (!isFloat(next.getType()) || !seen.insert(next).second) {
      continue;
    }
    Operation *op = next.getDefiningOp();
    auto read = dyn_cast_if_present<nn::ReadOp>(op);
    if (!op || (read && read.getGlobal() != apartFrom.getGlobal() &&
                isParameter(read))) {
      return true;
    }
    llvm::append_range(open, op->getOperands());
  }
  return false;
}

/// Sines and cosines of it and of positions are all that is made of it.
bool Weights::isAngle(nn::ReadOp read) {
  SmallVector<Value> open{read.getValue()};
  llvm::DenseSet<Value> seen;
  bool isAny = false;
  while (!open.empty()) {
    for (Operation *user : open.pop_back_val().getUsers()) {
      bool isWave = isa<nn::SinOp, nn::CosOp>(user);
      if (user->getNumResults() != 1 ||
          isComputed(isWave ? user->getOperand(0) : user->getResult(0), read)) {
        return false;
      }
      isAny |= isWave;
      if (!isWave && seen.insert(user->getResult(0)).second) {
        open.push_back(user->getResult(0));
      }
    }
  }
  return isAny;
}

/// As the importer writes it: a half, joined to itself.
bool Weights::isTwice(nn::ReadOp read) {
  return llvm::all_of(read->getUsers(), [](Operation *user) {
    return isa<nn::SliceOp>(user) &&
           llvm::all_of(user->getUsers(), [](Operation *join) {
             return isa<nn::ConcatOp>(join) && join->getNumOperands() == 2 &&
                    llvm::all_equal(join->getOperands());
           });
  });
}

/// Reads no more than it takes to find a number that masks have not.
bool Weights::isMask(nn::GlobalOp global) {
  RankedTensorType type = global.getTensorType();
  std::optional<rt::DType> element = fromMLIRType(type.getElementType());
  if (!global.getFile() || !element || type.getNumElements() < 4) {
    return false;
  }
  ByteRange range{global.getFile()->str(), *global.getOffset(),
                  *global.getLength()};
  auto bytes = store_.bytes(range);
  if (!bytes) {
    return false; // not there: that is said where it is needed
  }
  constexpr int64_t kPart = 256;
  bool isAnyZero = false, isAnyOne = false, isAnyLow = false;
  for (int64_t at = 0; at < type.getNumElements(); at += kPart) {
    int64_t count = std::min(kPart, type.getNumElements() - at);
    int64_t width = rt::byteWidth(*element);
    auto part = rt::HostTensor::copyOf(
        *element, {count}, bytes->subspan(at * width, count * width));
    if (!part) {
      return false;
    }
    for (double number : part->toFloats()) {
      bool isLow = number <= -1e4;
      if (number != 0 && number != 1 && !isLow) {
        return false;
      }
      isAnyZero |= number == 0;
      isAnyOne |= number == 1;
      isAnyLow |= isLow;
    }
  }
  return isAnyLow || (isAnyZero && isAnyOne);
}

std::string Weights::refusal(nn::GlobalOp global) {
  auto found = reads_.find(global.getSymName());
  if (found == reads_.end()) {
    return "read in a body, through which no gradient goes yet";
  }
  ArrayRef<nn::ReadOp> reads = found->second;
  if (global->hasAttr(nn::kStatisticAttr)) {
    return updated_.contains(global.getSymName())
               ? "running statistics, which follow the batches"
               : "running statistics, which stay as they are: export in "
                 "training mode to have them follow the batches";
  }
  if (llvm::none_of(reads, [&](nn::ReadOp read) {
        return felt_.contains(read.getValue());
      })) {
    return "the loss does not change smoothly with it";
  }
  auto are = [&](bool (Weights::*test)(nn::ReadOp)) {
    return llvm::all_of(reads,
                        [&](nn::ReadOp read) { return (this->*test)(read); });
  };
  if (are(&Weights::isAngle)) {
    return "angles of positions";
  }
  if (are(&Weights::isTwice)) {
    return "a rotary table";
  }
  return isMask(global) ? "a mask" : "";
}

/// The first name of `names` that matches `name`, or null.
static const std::string *firstMatch(ArrayRef<std::string> names,
                                     StringRef name) {
  const std::string *found = llvm::find_if(
      names, [&](StringRef n) { return nn::matchesName(n, name); });
  return found == names.end() ? nullptr : found;
}

/// A name that matches nothing is a mistake.
static Status checkNames(StringRef flag, ArrayRef<std::string> names,
                         ModuleOp module) {
  for (const std::string &name : names) {
    bool isAny =
        llvm::any_of(module.getOps<nn::GlobalOp>(), [&](nn::GlobalOp global) {
          return global.getKind() == nn::GlobalKind::Parameter &&
                 isFloat(global.getType()) &&
                 nn::matchesName(name, global.getSymName());
        });
    if (!isAny) {
      return makeError(ExitCode::Usage, flag.str(), " names '", name,
                       "', and no weight of the model is called so");
    }
  }
  return Status();
}

static Expected<Value> findOutput(func::FuncOp entry, const std::string &name) {
  std::vector<std::string> names;
  for (unsigned i = 0; i != entry.getNumResults(); ++i) {
    auto known = entry.getResultAttrOfType<StringAttr>(i, "nn.name");
    if (name.empty() || (known && known.getValue() == name)) {
      return entry.getBody().front().getTerminator()->getOperand(i);
    }
    names.push_back(known ? known.str() : "?");
  }
  return makeError(ExitCode::Usage, "--loss-of '", name,
                   "': the model has no such output; it has ",
                   llvm::join(names, ", "));
}

/// By the names that PyTorch's exporters give to biases that they make: a
/// convolution `c.weight` has `c.weight_bias` then, or `onnx::Conv_42`.
static bool isFoldedNorm(StringRef name, int64_t rank) {
  return rank == 1 &&
         (name.ends_with(".weight_bias") || name.starts_with("onnx::Conv_"));
}

Expected<TrainedWeights> divisi::markTrained(ModuleOp module,
                                             GlobalStore &store,
                                             const TrainOptions &options) {
  func::FuncOp entry = *module.getOps<func::FuncOp>().begin();
  for (auto function : module.getOps<func::FuncOp>()) {
    entry = function.isPublic() ? function : entry;
  }
  auto output = findOutput(entry, options.lossOf);
  Status statuses[] = {output.status(),
                       checkNames("--train-only", options.only, module),
                       checkNames("--freeze", options.freeze, module),
                       checkNames("--no-decay", options.noDecay, module)};
  for (const Status &status : statuses) {
    if (!status.isOk()) {
      return status;
    }
  }
  Weights weights(entry, store);
  weights.followBack(*output);
  TrainedWeights result;
  for (auto global : module.getOps<nn::GlobalOp>()) {
    if (global.getKind() != nn::GlobalKind::Parameter ||
        !isFloat(global.getType())) {
      continue;
    }
    StringRef name = global.getSymName();
    std::string why;
    if (firstMatch(options.freeze, name)) {
      why = "--freeze";
    } else if (options.only.empty()) {
      why = weights.refusal(global);
    } else if (!firstMatch(options.only, name)) {
      why = "not among --train-only";
    }
    if (!why.empty()) {
      result.frozen.emplace_back(name.str(), why);
      continue;
    }
    if (isFoldedNorm(name, global.getTensorType().getRank())) {
      result.foldedNorms.push_back(name.str());
    }
    global->setAttr(nn::kTrainedAttr, UnitAttr::get(module.getContext()));
    ++result.count;
    result.elements += global.getTensorType().getNumElements();
  }
  if (result.count == 0) {
    bool isQuantized = !entry.getOps<nn::DequantizeOp>().empty();
    return makeError(
        ExitCode::Usage,
        "--train: the model has no weight to "
        "train; ",
        describe(result),
        isQuantized ? "; it is quantized: train it as it was before" : "");
  }
  noteTraining(module, options);
  return result;
}

std::string divisi::describe(const TrainedWeights &weights) {
  std::string text = "training " + std::to_string(weights.count) +
                     " weights of " + std::to_string(weights.elements) +
                     " elements";
  // One reason after the other, with the first few names of each.
  std::vector<std::pair<std::string, std::vector<std::string>>> reasons;
  for (const auto &[name, why] : weights.frozen) {
    auto at = llvm::find_if(
        reasons, [&, &why = why](auto &row) { return row.first == why; });
    if (at == reasons.end()) {
      at = reasons.insert(at, {why, {}});
    }
    at->second.push_back("'" + name + "'");
  }
  for (auto &[why, names] : reasons) {
    constexpr size_t kMost = 4;
    size_t rest = names.size() - std::min(names.size(), kMost);
    names.resize(names.size() - rest);
    text += "; not " + llvm::join(names, ", ") +
            (rest ? " and " + std::to_string(rest) + " more" : "") + " (" +
            why + ")";
  }
  if (!weights.foldedNorms.empty()) {
    text += "; the exporter has folded " +
            std::to_string(weights.foldedNorms.size()) +
            " batch norms into convolutions ('" + weights.foldedNorms.front() +
            "'), where they are trained no more: export in training mode to "
            "keep them";
  }
  return text;
}
