//===- TrainingStates.cpp - What a training step keeps --------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Plan/TrainingStates.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/StringExtras.h"

#include <limits>

namespace divisi {

Expected<ZeroDegrees> parseZero(llvm::StringRef text) {
  constexpr int64_t kAll = std::numeric_limits<int64_t>::max();
  llvm::SmallVector<llvm::StringRef, 3> parts;
  text.split(parts, ',');
  int64_t numbers[3] = {};
  bool isGood = parts.size() == 1 || parts.size() == 3;
  for (size_t i = 0; isGood && i != parts.size(); ++i) {
    isGood = !parts[i].getAsInteger(10, numbers[i]) &&
             numbers[i] >= (parts.size() == 1 ? 0 : 1);
  }
  if (!isGood || (parts.size() == 1 && numbers[0] > 3)) {
    return makeError(ExitCode::Usage, "ZeRO '", text.str(),
                     "': expected a stage from 0 to 3, or over how many "
                     "devices parameters, gradients and states of the "
                     "optimizer are split, as in 8,8,64");
  }
  if (parts.size() == 3) {
    return ZeroDegrees{numbers[0], numbers[1], numbers[2]};
  }
  auto from = [&](int64_t stage) { return numbers[0] >= stage ? kAll : 1; };
  return ZeroDegrees{from(3), from(2), from(1)};
}

namespace plan {
namespace {

/// Finds them.
class StateFinder {
public:
  explicit StateFinder(Dataflow &dataflow);

  void run();

private:
  bool isReached(unsigned site) const {
    return llvm::is_contained(dataflow_.sites[site].batch, true);
  }
  bool isCast(unsigned site) const;
  bool isConstant(unsigned tensor) const {
    const DataflowValue &value = dataflow_.values[tensor];
    return value.kind == DataflowValue::Kind::Result &&
           operands_[value.index].empty();
  }
  /// What a loop carries from zero on, as sums of micro-batches.
  bool isCarriedSum(unsigned tensor) const {
    return first_[tensor] && !dataflow_.values[tensor].isGiven &&
           isConstant(*first_[tensor]);
  }
  void followArguments();
  void followGlobals();
  void followBatch();
  void findParameters();
  void findGradients();
  bool addsGradients(unsigned site) const;

  Dataflow &dataflow_;
  std::vector<llvm::SmallVector<unsigned, 3>> operands_; ///< Per site: tensors.
  std::vector<llvm::SmallVector<unsigned, 1>> results_;  ///< The same.
  /// Per tensor, of an argument of a body: what it is at first.
  std::vector<std::optional<unsigned>> first_;
  /// Per tensor: whether it is replaced; whether it is made of globals alone,
  /// of which some are replaced; whether the batch meets it, or what is made of
  /// it so; whether it is made of the batch and of no global.
  std::vector<bool> isUpdated_, isOfGlobals_, isMet_, isOfBatch_;
};

} // namespace

StateFinder::StateFinder(Dataflow &dataflow)
    : dataflow_(dataflow), operands_(dataflow.sites.size()),
      results_(dataflow.sites.size()), first_(dataflow.values.size()),
      isUpdated_(dataflow.values.size()), isOfGlobals_(dataflow.values.size()),
      isMet_(dataflow.values.size()), isOfBatch_(dataflow.values.size()) {
  for (auto [index, site] : llvm::enumerate(dataflow.sites)) {
    operands_[index].resize(site.nest.operands.size());
  }
  for (auto [index, tensor] : llvm::enumerate(dataflow.values)) {
    if (tensor.kind == DataflowValue::Kind::Result) {
      results_[tensor.index].push_back(unsigned(index));
    }
    for (const Consumer &consumer : tensor.consumers) {
      if (consumer.kind == Consumer::Kind::Operand) {
        operands_[consumer.index][consumer.operand] = unsigned(index);
      } else if (consumer.kind == Consumer::Kind::Update) {
        isUpdated_[consumer.index] = true;
      } else if (consumer.kind == Consumer::Kind::Argument &&
                 !first_[consumer.index]) {
        first_[consumer.index] = unsigned(index);
      }
    }
  }
  followArguments();
}

/// Bodies use what is the same in each iteration as what is given for it.
void StateFinder::followArguments() {
  for (auto &operands : operands_) {
    for (unsigned &operand : operands) {
      while (first_[operand] && dataflow_.values[operand].isGiven) {
        operand = *first_[operand];
      }
    }
  }
}

/// One operand of one shape, in another type.
bool StateFinder::isCast(unsigned site) const {
  if (operands_[site].size() != 1 || results_[site].size() != 1) {
    return false;
  }
  const DataflowValue &from = dataflow_.values[operands_[site].front()];
  const DataflowValue &to = dataflow_.values[results_[site].front()];
  return from.shape == to.shape && from.bits != to.bits;
}

/// Sites stand in the order in which they run.
void StateFinder::followGlobals() {
  for (auto [index, tensor] : llvm::enumerate(dataflow_.values)) {
    isOfGlobals_[index] =
        tensor.kind == DataflowValue::Kind::Global && isUpdated_[index];
  }
  for (unsigned site = 0; site != dataflow_.sites.size(); ++site) {
    bool isOf =
        !isReached(site) &&
        llvm::all_of(operands_[site],
                     [&](unsigned tensor) {
                       return isOfGlobals_[tensor] || isConstant(tensor) ||
                              dataflow_.values[tensor].kind ==
                                  DataflowValue::Kind::Global;
                     }) &&
        llvm::any_of(operands_[site],
                     [&](unsigned tensor) { return isOfGlobals_[tensor]; });
    for (unsigned result : results_[site]) {
      isOfGlobals_[result] = isOf;
    }
  }
  for (auto [index, tensor] : llvm::enumerate(dataflow_.values)) {
    if (first_[index] && tensor.isGiven) { // stands behind it
      isOfGlobals_[index] = isOfGlobals_[*first_[index]];
    }
  }
}

void StateFinder::findParameters() {
  for (size_t index = dataflow_.values.size(); index-- != 0;) {
    for (const Consumer &consumer : dataflow_.values[index].consumers) {
      if (isOfGlobals_[index] && consumer.kind == Consumer::Kind::Argument) {
        isMet_[index] = isMet_[index] || isMet_[consumer.index];
      } else if (isOfGlobals_[index] &&
                 consumer.kind == Consumer::Kind::Operand) {
        const auto &results = results_[consumer.index];
        isMet_[index] = isMet_[index] || isReached(consumer.index) ||
                        llvm::any_of(results, [&](unsigned result) {
                          return isOfGlobals_[result] && isMet_[result];
                        });
      }
    }
  }
  for (auto [index, tensor] : llvm::enumerate(dataflow_.values)) {
    if (tensor.kind != DataflowValue::Kind::Global || !isUpdated_[index]) {
      continue;
    }
    tensor.state = isMet_[index] ? StateKind::Parameter : StateKind::Optimizer;
    for (const Consumer &consumer : tensor.consumers) {
      if (isMet_[index] && consumer.kind == Consumer::Kind::Operand &&
          isCast(consumer.index) && isMet_[results_[consumer.index].front()]) {
        tensor.state = StateKind::Optimizer; // a master
        dataflow_.values[results_[consumer.index].front()].state =
            StateKind::Parameter;
      }
    }
  }
}

/// What the batch has made and left, and what is made of that alone.
void StateFinder::followBatch() {
  for (unsigned tensor = 0; tensor != dataflow_.values.size(); ++tensor) {
    isOfBatch_[tensor] = isCarriedSum(tensor);
  }
  for (unsigned site = 0; site != dataflow_.sites.size(); ++site) {
    bool isOf = isReached(site);
    if (!isOf) {
      for (unsigned operand : operands_[site]) {
        if (!isConstant(operand) && !isOfBatch_[operand]) {
          isOf = false;
          break;
        }
        isOf |= isOfBatch_[operand];
      }
    }
    for (unsigned result : results_[site]) {
      isOfBatch_[result] = isOf;
    }
  }
}

/// Whether `site` adds up what several uses of one weight make: it has several
/// operands of the batch, all as large as its result.
bool StateFinder::addsGradients(unsigned site) const {
  const auto &operands = operands_[site];
  return !isReached(site) && operands.size() > 1 &&
         results_[site].size() == 1 &&
         llvm::none_of(operands, [&](unsigned operand) {
           return !isOfBatch_[operand] || llvm::count(operands, operand) != 1 ||
                  dataflow_.values[operand].shape !=
                      dataflow_.values[results_[site].front()].shape;
         });
}

/// On the way from the batch to what replaces a parameter, of the size of one.
/// Of a weight that is used several times, each sum is one, and the last of
/// them is what is kept.
void StateFinder::findGradients() {
  followBatch();
  std::vector<bool> isWanted(dataflow_.values.size(), false);
  llvm::SmallSet<int64_t, 16> sizes;
  for (size_t index = dataflow_.values.size(); index-- != 0;) {
    DataflowValue &tensor = dataflow_.values[index];
    if (tensor.state != StateKind::None) {
      sizes.insert(tensor.bytes() * 8 / tensor.bits);
    }
    for (const Consumer &consumer : tensor.consumers) {
      isWanted[index] =
          isWanted[index] || consumer.kind == Consumer::Kind::Update ||
          (consumer.kind == Consumer::Kind::Operand &&
           !isReached(consumer.index) &&
           llvm::any_of(results_[consumer.index],
                        [&](unsigned result) { return isWanted[result]; }));
    }
  }
  for (auto [index, tensor] : llvm::enumerate(dataflow_.values)) {
    if (isWanted[index] && isOfBatch_[index] &&
        tensor.state == StateKind::None && !tensor.shape.empty() &&
        (isCarriedSum(unsigned(index)) || tensor.consumers.size() > 1 ||
         (tensor.kind == DataflowValue::Kind::Result &&
          (isReached(tensor.index) || addsGradients(tensor.index)))) &&
        sizes.contains(tensor.bytes() * 8 / tensor.bits)) {
      tensor.state = StateKind::Gradient;
    }
  }
}

void StateFinder::run() {
  followGlobals();
  findParameters();
  findGradients();
}

/// A training step replaces parameters; what replaces states alone is a step
/// that keeps a cache, or counts.
void findStates(ModuleDataflow &dataflow) {
  bool trains = llvm::any_of(dataflow.values, [&](const DataflowValue &tensor) {
    return llvm::any_of(tensor.consumers, [&](const Consumer &consumer) {
      if (consumer.kind != Consumer::Kind::Update) {
        return false;
      }
      nn::GlobalOp global =
          dataflow.globals[dataflow.values[consumer.index].index];
      return global.getKind() == nn::GlobalKind::Parameter;
    });
  });
  if (trains) {
    StateFinder(dataflow).run();
  }
}

bool hasStates(const Dataflow &dataflow) {
  return llvm::any_of(dataflow.values, [](const DataflowValue &tensor) {
    return tensor.state == StateKind::Gradient;
  });
}

} // namespace plan
} // namespace divisi
