//===- StatePairs.cpp - Inputs and outputs that are one state -------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StatePairs.h"

#include "dialects/NN/NN.h"
#include "divisi/Evaluate/Evaluator.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <set>

using namespace mlir;
using namespace divisi;

namespace {

/// What `--state PAST=PRESENT` says: names, or patterns with one '*' each.
struct StatePattern {
  StringRef past, present;

  std::string text() const { return ("--state " + past + "=" + present).str(); }
};

} // namespace

/// What the '*' of `pattern` stands for in `name`; the name itself where there
/// is none. Nothing if they do not match.
static std::optional<StringRef> matchStar(StringRef pattern, StringRef name) {
  auto [before, behind] = pattern.split('*');
  if (!pattern.contains('*')) {
    return name == pattern ? std::optional(name) : std::nullopt;
  }
  bool isLong = name.size() >= before.size() + behind.size();
  return isLong && name.consume_front(before) && name.consume_back(behind)
             ? std::optional(name)
             : std::nullopt;
}

static std::string fillStar(StringRef pattern, StringRef text) {
  auto [before, behind] = pattern.split('*');
  return pattern.contains('*') ? (before + text + behind).str() : pattern.str();
}

static std::string namesOf(ArrayRef<OnnxValueInfo> values) {
  return llvm::join(
      llvm::map_range(values,
                      [](const auto &value) { return "'" + value.name + "'"; }),
      ", ");
}

/// Adds what `pattern` says of `graph`.
static Status resolvePattern(const OnnxGraph &graph,
                             const StatePattern &pattern,
                             std::vector<StatePair> &states) {
  size_t before = states.size();
  for (const OnnxValueInfo &input : graph.inputs) {
    std::optional<StringRef> text = matchStar(pattern.past, input.name);
    if (!text) {
      continue;
    }
    StatePair pair{input.name, fillStar(pattern.present, *text)};
    bool isThere = llvm::any_of(graph.outputs, [&](const OnnxValueInfo &value) {
      return value.name == pair.output;
    });
    if (!isThere) {
      return makeError(ExitCode::Usage, pattern.text(),
                       ": the model has no "
                       "output '",
                       pair.output, "' for the input '", pair.input,
                       "'; its outputs are ", namesOf(graph.outputs));
    }
    for (const OnnxTensor &stored : graph.initializers) {
      pair.initial = stored.name == pair.input ? &stored : pair.initial;
    }
    states.push_back(std::move(pair));
  }
  return states.size() != before
             ? Status()
             : makeError(ExitCode::Usage, pattern.text(),
                         ": the model has no input '", pattern.past.str(),
                         "'; its inputs are ", namesOf(graph.inputs));
}

Expected<std::vector<StatePair>>
divisi::resolveStates(const OnnxGraph &graph, const ImportOptions &options) {
  if (options.trains && !options.states.empty()) {
    return Status(ExitCode::Usage,
                  "--state is for inference, and --train makes a training "
                  "step, whose gradients do not go through states; give one "
                  "of them");
  }
  std::vector<StatePair> states;
  for (const auto &[past, present] : options.states) {
    Status status = resolvePattern(graph, {past, present}, states);
    if (!status.isOk()) {
      return status;
    }
  }
  std::set<std::string> inputs, outputs;
  for (const StatePair &pair : states) {
    bool isOnce = inputs.insert(pair.input).second;
    if (!isOnce || !outputs.insert(pair.output).second) {
      return makeError(ExitCode::Usage, "--state names ",
                       isOnce ? "the output '" : "the input '",
                       isOnce ? pair.output : pair.input,
                       "' twice; expected each in one pair");
    }
    if (options.constants.count(pair.input)) {
      return makeError(ExitCode::Usage, "'", pair.input,
                       "' is given by --state and by --constant; give one of "
                       "them");
    }
  }
  return states;
}

const StatePair *divisi::findState(const std::vector<StatePair> &states,
                                   const std::string &input) {
  auto found = llvm::find_if(
      states, [&](const StatePair &pair) { return pair.input == input; });
  return found == states.end() ? nullptr : &*found;
}

/// `f32[2, 16]`
static std::string describe(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  std::optional<rt::DType> element = fromMLIRType(type.getElementType());
  return rt::describe(element.value_or(rt::DType::F32),
                      rt::Dims(type.getShape().begin(), type.getShape().end()));
}

Status divisi::updateStates(OpBuilder &builder,
                            const std::vector<StatePair> &states,
                            const std::map<std::string, Value> &reads,
                            std::vector<Value> &values,
                            std::vector<std::string> &names) {
  for (const StatePair &pair : states) {
    auto at = llvm::find(names, pair.output) - names.begin();
    auto read = reads.at(pair.input).getDefiningOp<nn::ReadOp>();
    Value next = values[size_t(at)];
    if (next.getType() != read.getValue().getType()) {
      return makeError(
          ExitCode::Usage, "--state ", pair.input, "=", pair.output,
          ": the input is ", describe(read.getValue()), " and the output ",
          describe(next),
          ", and a state keeps type and shape: export the model with a cache "
          "of fixed length, into which it writes (StaticCache of transformers; "
          "GroupQueryAttention whose past has room for all positions)");
    }
    nn::UpdateOp::create(builder, next.getLoc(), read.getGlobalAttr(), next);
    values.erase(values.begin() + at);
    names.erase(names.begin() + at);
  }
  return Status();
}
