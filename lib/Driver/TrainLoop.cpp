//===- TrainLoop.cpp - Running training steps -----------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TrainLoop.h"

#include "divisi/Support/Clock.h"
#include "divisi/Support/Interrupts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>

using namespace llvm;
using namespace divisi;

static bool isNumber(const rt::ValueInfo &value) {
  return rt::isFloatType(value.type) && rt::numElements(value.dims) == 1;
}

Status TrainLoop::findLoss() {
  const rt::EntryInfo &entry = *loaded_.entry;
  bool isTrained = any_of(loaded_.session->globals(),
                          [](const auto &global) { return global.isUpdated; });
  std::vector<std::string> names;
  for (auto [index, output] : enumerate(entry.outputs)) {
    names.push_back("'" + output.name + "'");
    if (isNumber(output)) {
      numbers_.push_back(index);
    }
  }
  auto named = find_if(numbers_, [&](size_t index) {
    return entry.outputs[index].name == "loss";
  });
  if (!isTrained || (named == numbers_.end() && numbers_.size() != 1)) {
    return makeError(ExitCode::Usage, "entry '", entry.name,
                     !isTrained ? "' trains nothing: it updates no globals"
                                : "' has no output 'loss' of one number, but " +
                                      join(names, ", "),
                     "; divisi compile --train makes training steps");
  }
  loss_ = named == numbers_.end() ? numbers_.front() : *named;
  auto boxes = loaded_.session->outputBoxes(entry);
  for (const auto &box : boxes[loss_]) {
    isKnown_ &= box && !box->empty();
  }
  return {};
}

/// In several processes there is a part of each output for each local rank.
void TrainLoop::readNumbers(const std::vector<rt::HostTensor> &parts,
                            StepResult &result) const {
  size_t perOutput = parts.size() / loaded_.entry->outputs.size();
  for (size_t index : numbers_) {
    for (size_t i = 0; i < perOutput; ++i) {
      const rt::HostTensor &part = parts[index * perOutput + i];
      if (part.count() == 1) {
        result.numbers[loaded_.entry->outputs[index].name] = part.floatAt(0);
        break;
      }
    }
  }
  auto found = result.numbers.find(loaded_.entry->outputs[loss_].name);
  result.loss = found == result.numbers.end() ? 0 : found->second;
}

/// `message`, and where an index that is out of range comes from, if it does
/// from the data. A loss looks for a negative label below the extent, so that
/// it is none from the end, as the kernel would take others.
std::string TrainLoop::blame(const std::string &message,
                             const rt::Batch &batch) const {
  StringRef text = StringRef(message).split(": index ").second;
  StringRef range = text.split("outside of an extent of ").second;
  int64_t bad = 0, extent = 0;
  if (text.consumeInteger(10, bad) || range.consumeInteger(10, extent)) {
    return message;
  }
  auto isBad = [&](int64_t value) {
    return value == bad || (value < 0 && value - extent == bad);
  };
  size_t source = 0;
  for (auto [index, input] : enumerate(loaded_.entry->inputs)) {
    if (fixed_.count(index)) {
      continue;
    }
    size_t from = source++;
    rt::Dims row(input.dims.begin() + 1, input.dims.end());
    int64_t bytes = rt::numElements(row) * rt::byteWidth(input.type);
    for (int64_t sample : batch.samples) {
      auto values = rt::HostTensor::copyOf(
          input.type, row, {folder_.find(from, sample), size_t(bytes)});
      for (int64_t i = 0;
           values && !rt::isFloatType(input.type) && i < values->count(); ++i) {
        int64_t value = values->intAt(i);
        if (isBad(value)) {
          bool isLabel = value != bad;
          std::string what = isLabel ? std::to_string(value) : "it";
          std::string range =
              isLabel ? "; labels are 0 to " + std::to_string(extent - 1) : "";
          return (isLabel ? StringRef(message).split("; expected ").first.str()
                          : message) +
                 range + "; input '" + input.name + "' has " + what + " in " +
                 folder_.describe(sample);
        }
      }
    }
  }
  return message;
}

Status TrainLoop::runStep(const rt::Batch &batch, StepResult &result) {
  double begin = steadySeconds();
  auto parts = loaded_.run(batch.arguments);
  result.seconds = steadySeconds() - begin;
  if (!parts) {
    bool isData = parts.status().code() == ExitCode::Invalid;
    return makeError(parts.status().code(), "step ", result.step, ": ",
                     isData ? blame(parts.status().message(), batch)
                            : parts.status().message());
  }
  readNumbers(*parts, result);
  return checkLoss(result);
}

Status TrainLoop::checkLoss(StepResult &result) {
  Status status;
  if (!std::isfinite(result.loss)) {
    // Who looks at no state cannot tell which step has spoilt it.
    std::string maker =
        before_ || finiteAt_ + 1 == result.step
            ? std::string()
            : "; step " + std::to_string(result.step - 1) +
                  " or one before it may have made weights that are not, which "
                  "--save-every 1 tells";
    status = makeError(ExitCode::Invalid, "step ", result.step,
                       ": the loss is not finite (", nonfiniteText(result.loss),
                       ")", maker,
                       "; --on-nonfinite skip undoes such steps, and a "
                       "smaller --lr or --clip-norm at compile may avoid them");
  }
  bool looks = before_ && status.isOk(); // at what each has for itself
  if (looks) {
    status = before_->checkFinite();
  }
  if (!isKnown_ || looks || !status.isOk()) { // they agree, and one says it
    status = flags_.agree(status);
  }
  if (!before_ || (!status.isOk() && status.code() != ExitCode::Invalid)) {
    return status;
  }
  result.isSkipped = !status.isOk();
  result.reason = std::isfinite(result.loss)
                      ? status.message()
                      : "its loss is " + nonfiniteText(result.loss);
  return result.isSkipped ? before_->restore() : before_->take();
}

Status TrainLoop::run(int64_t done, int64_t last, uint64_t seed,
                      rt::DataPosition position, const AfterStep &after) {
  rt::BatchReader reader(folder_, *loaded_.entry, fixed_, seed, position);
  Status status = before_ ? before_->take() : Status();
  knowFinite(done);
  const std::atomic<bool> &isInterrupted = Interrupts::raised();
  for (int64_t step = done + 1; step <= last && status.isOk() && !isInterrupted;
       ++step) {
    auto batch = reader.next();
    if (!batch) {
      return batch.status();
    }
    StepResult result;
    result.step = step;
    result.epoch = (*batch)->position.epoch;
    result.samples = folder_.batch();
    status = runStep(**batch, result);
    if (status.isOk()) {
      result.next = reader.position();
      status = after(result);
    }
  }
  return status;
}
