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

LogicalResult PipeDialect::verifyOperationAttribute(Operation *op,
                                                    NamedAttribute attr) {
  if (attr.getName() == kStep) {
    return verifyStepText(op, attr.getValue());
  }
  if (attr.getName() != kSchedule) {
    return op->emitOpError()
           << "unknown attribute '" << attr.getName().getValue()
           << "', expected pipe.step or pipe.schedule";
  }
  std::string wrong = "expected on a function";
  if (!isa<FunctionOpInterface>(op) || !readSchedule(attr.getValue(), wrong)) {
    return op->emitOpError() << "pipe.schedule: " << wrong;
  }
  return success();
}
