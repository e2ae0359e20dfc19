//===- Pipe.cpp - The dialect of when stages run what ---------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Pipe/Pipe.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace divisi;
using namespace divisi::pipe;

#include "dialects/Pipe/PipeDialect.cpp.inc"

void PipeDialect::initialize() {}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

std::optional<PipelineStep> pipe::getStep(Operation *op) {
  auto text = op->getAttrOfType<StringAttr>(PipeDialect::kStep);
  return text ? parseStep(text.getValue()) : std::nullopt;
}

void pipe::setStep(Operation *op, const PipelineStep &step) {
  op->setAttr(PipeDialect::kStep,
              StringAttr::get(op->getContext(), toString(step, true)));
}

static LogicalResult verifyStepText(Operation *op, Attribute value) {
  auto text = dyn_cast<StringAttr>(value);
  std::optional<PipelineStep> step =
      text ? parseStep(text.getValue()) : std::nullopt;
  if (!step || step->phase == Phase::Backward) {
    return op->emitOpError() << "pipe.step: expected a step of phase F, I or W "
                                "as \"1.F2\", got "
                             << value;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

static constexpr llvm::StringLiteral kName = "name";
static constexpr llvm::StringLiteral kMicroBatches = "micro_batches";
static constexpr llvm::StringLiteral kStages = "stages";
static constexpr llvm::StringLiteral kOrder = "order";

/// What `value` says; else `wrong` says why that is nothing.
static std::optional<PipelineSchedule> readSchedule(Attribute value,
                                                    std::string &wrong) {
  auto fields = dyn_cast<DictionaryAttr>(value);
  auto name = fields ? fields.getAs<StringAttr>(kName) : StringAttr();
  auto count = fields ? fields.getAs<IntegerAttr>(kMicroBatches) : nullptr;
  auto stages = fields ? fields.getAs<DenseI64ArrayAttr>(kStages) : nullptr;
  auto orders = fields ? fields.getAs<ArrayAttr>(kOrder) : ArrayAttr();
  constexpr int64_t kMost = 1 << 20;
  if (!name || !count || !stages || !orders || fields.size() != 4 ||
      count.getInt() < 1 || count.getInt() > kMost || orders.empty() ||
      stages.empty()) {
    wrong = "expected a name (a string), micro_batches (an i64 of at least 1), "
            "stages (array<i64: ...>, one per chunk) and an order (a list of "
            "strings, one per stage)";
    return std::nullopt;
  }
  PipelineSchedule schedule{name.str(), size_t(count.getInt()), {}, {}};
  for (int64_t stage : stages.asArrayRef()) {
    schedule.stageOf.push_back(size_t(stage)); // validate() knows how many
  }
  for (Attribute order : orders) {
    auto text = dyn_cast<StringAttr>(order);
    SmallVector<StringRef> words;
    if (text) {
      llvm::SplitString(text.getValue(), words);
    }
    schedule.order.emplace_back();
    for (StringRef word : words) {
      std::optional<PipelineStep> step = parseStep(word);
      if (!step) {
        wrong = ("'" + word + "' is no step: expected one as 1.F2").str();
        return std::nullopt;
      }
      schedule.order.back().push_back(*step);
    }
  }
  if (std::optional<std::string> mistake = validate(schedule)) {
    wrong = *mistake;
    return std::nullopt;
  }
  return schedule;
}

std::optional<PipelineSchedule>
pipe::getSchedule(FunctionOpInterface function) {
  Attribute value = function->getAttr(PipeDialect::kSchedule);
  std::string wrong;
  return value ? readSchedule(value, wrong) : std::nullopt;
}

void pipe::setSchedule(FunctionOpInterface function,
                       const PipelineSchedule &schedule) {
  Builder builder(function->getContext());
  SmallVector<int64_t> stages(schedule.stageOf.begin(), schedule.stageOf.end());
  SmallVector<Attribute> orders;
  for (const std::vector<PipelineStep> &order : schedule.order) {
    std::string text;
    for (const PipelineStep &step : order) {
      text += (text.empty() ? "" : " ") + toString(step, true);
    }
    orders.push_back(builder.getStringAttr(text));
  }
  function->setAttr(
      PipeDialect::kSchedule,
      builder.getDictionaryAttr(
          {builder.getNamedAttr(kName, builder.getStringAttr(schedule.name)),
           builder.getNamedAttr(
               kMicroBatches,
               builder.getI64IntegerAttr(int64_t(schedule.numMicroBatches))),
           builder.getNamedAttr(kStages, builder.getDenseI64ArrayAttr(stages)),
           builder.getNamedAttr(kOrder, builder.getArrayAttr(orders))}));
}

//===----------------------------------------------------------------------===//
// Micro-batches of which the first one is there
//===----------------------------------------------------------------------===//

std::optional<int64_t> pipe::getFoldedBatches(FunctionOpInterface function) {
  auto count = function->getAttrOfType<IntegerAttr>(PipeDialect::kMicroBatches);
  return count ? std::optional(count.getInt()) : std::nullopt;
}

void pipe::setFoldedBatches(FunctionOpInterface function, int64_t count) {
  function->setAttr(PipeDialect::kMicroBatches,
                    Builder(function->getContext()).getI64IntegerAttr(count));
}

int64_t pipe::timesPerCall(Operation *op) {
  auto function = dyn_cast<FunctionOpInterface>(op->getParentOp());
  return function && op->hasAttr(PipeDialect::kEach)
             ? getFoldedBatches(function).value_or(1)
             : 1;
}

static SmallVector<CarriedValue> getCarried(Operation *op, StringRef name) {
  SmallVector<CarriedValue> values;
  if (auto list = op->getAttrOfType<DenseI64ArrayAttr>(name)) {
    for (int64_t i = 0; i + 1 < list.size(); i += 2) {
      values.push_back({unsigned(list[i]), unsigned(list[i + 1])});
    }
  }
  return values;
}

static void setCarried(Operation *op, StringRef name,
                       ArrayRef<CarriedValue> values) {
  SmallVector<int64_t> list;
  for (const CarriedValue &value : values) {
    list.append({int64_t(value.index), int64_t(value.number)});
  }
  op->setAttr(name, Builder(op->getContext()).getDenseI64ArrayAttr(list));
}

SmallVector<CarriedValue> pipe::getTakes(Operation *op) {
  return getCarried(op, PipeDialect::kTakes);
}

bool pipe::takes(Operation *op, unsigned number) {
  return llvm::any_of(getTakes(op), [&](const CarriedValue &value) {
    return value.index == number;
  });
}

void pipe::setTakes(Operation *op, ArrayRef<CarriedValue> values) {
  setCarried(op, PipeDialect::kTakes, values);
}

SmallVector<CarriedValue> pipe::getGives(Operation *op) {
  return getCarried(op, PipeDialect::kGives);
}

void pipe::setGives(Operation *op, ArrayRef<CarriedValue> values) {
  setCarried(op, PipeDialect::kGives, values);
}

/// Pairs of an index below `count` and a number.
static LogicalResult verifyCarried(Operation *op, NamedAttribute attr,
                                   unsigned count) {
  auto list = dyn_cast<DenseI64ArrayAttr>(attr.getValue());
  bool isRight = list && list.size() % 2 == 0;
  for (int64_t i = 0; isRight && i < list.size(); ++i) {
    int64_t limit = i % 2 == 0 ? count : std::numeric_limits<int32_t>::max();
    isRight = list[i] >= 0 && list[i] < limit;
  }
  return isRight ? success()
                 : op->emitOpError()
                       << attr.getName().getValue()
                       << ": expected pairs of an index below " << count
                       << " and a number (array<i64: ...>), got "
                       << attr.getValue();
}

static LogicalResult verifyCount(Operation *op, Attribute value) {
  auto count = dyn_cast<IntegerAttr>(value);
  constexpr int64_t kMost = 1 << 20;
  if (!isa<FunctionOpInterface>(op) || !count ||
      !count.getType().isInteger(64) || count.getInt() < 1 ||
      count.getInt() > kMost) {
    return op->emitOpError() << "pipe.micro_batches: expected an i64 from 1 to "
                             << kMost << " on a function, got " << value;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// The verifier
//===----------------------------------------------------------------------===//

LogicalResult PipeDialect::verifyOperationAttribute(Operation *op,
                                                    NamedAttribute attr) {
  StringRef name = attr.getName().getValue();
  if (name == kStep) {
    return verifyStepText(op, attr.getValue());
  }
  if (name == kMicroBatches) {
    return verifyCount(op, attr.getValue());
  }
  if (name == kTakes) {
    return verifyCarried(op, attr, op->getNumOperands());
  }
  if (name == kGives) {
    return verifyCarried(op, attr, op->getNumResults());
  }
  if (name == kEach || name == kJoin) {
    return isa<UnitAttr>(attr.getValue())
               ? success()
               : op->emitOpError()
                     << name << ": expected no value, got " << attr.getValue();
  }
  if (name != kSchedule) {
    return op->emitOpError()
           << "unknown attribute '" << name
           << "', expected pipe.step, pipe.schedule, pipe.micro_batches, "
              "pipe.each, pipe.takes, pipe.gives or pipe.join";
  }
  std::string wrong = "expected on a function";
  if (!isa<FunctionOpInterface>(op) || !readSchedule(attr.getValue(), wrong)) {
    return op->emitOpError() << "pipe.schedule: " << wrong;
  }
  return success();
}
