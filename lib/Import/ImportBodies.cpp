//===- ImportBodies.cpp - Branches and loops that data decides on ---------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A graph becomes a function that nn.if or nn.loop runs. Both branches of an If
// are there, and a Loop whose condition is data carries that: once it is false,
// the body's own loop runs no more, and values stay as they are.
//
//   Loop(M, c, v) { ..., c', v', row }
//   becomes
//   nn.loop @steps(M, c, v, zeros) max M
//   @steps(i, c, v, rows):  nn.loop @body(c ? 1 : 0, c, v, rows, i) max 1
//   @body(_, c, v, rows, i): ..., return c', v', nn.insert row into rows at i
//
//===----------------------------------------------------------------------===//

#include "GraphImporter.h"

using namespace divisi;
using rt::DType;

/// What an importer of a loop has found out before it makes the body.
struct GraphImporter::LoopParts {
  int64_t most = 0; ///< Steps.
  Tensor count;     ///< How many there are: a scalar of i64.
  Tensor condition; ///< Of the first step: a boolean scalar.
  /// Whether the condition alone ends it.
  bool isOpen = false;
  std::vector<Tensor> carried;
};

/// `shape` as messages have it, with the type.
static std::string kindOf(const Tensor &tensor) {
  return std::string(rt::stringify(tensor->type)) + formatInts(tensor->dims);
}

//===----------------------------------------------------------------------===//
// Branches
//===----------------------------------------------------------------------===//

void GraphImporter::importBranches(const OnnxNode &node,
                                   const Tensor &condition, Scope &scope) {
  std::string name = enterNode(node, scope);
  ImportedBody bodies[2];
  for (size_t i = 0; i < 2; ++i) {
    const char *attribute = i == 0 ? "then_branch" : "else_branch";
    const OnnxGraph *graph = bodyOf(node, attribute);
    if (!graph || graph->outputs.size() != node.outputs.size()) {
      return emitter_.fail(
          ExitCode::Invalid,
          "its graph '" + std::string(attribute) + "' does not give " +
              std::to_string(node.outputs.size()) + " tensors");
    }
    Scope shared = scopeInside(node, scope);
    bindInitializers(*graph, shared);
    emitter_.beginBody(name + "/" + attribute);
    bodies[i] = emitter_.endBody(importStep(*graph, std::nullopt, {}, shared));
    if (!emitter_.status().isOk()) {
      return;
    }
  }
  enterNode(node, scope);
  if (!bodies[0].function || !bodies[1].function) {
    return bindMissing(node, scope);
  }
  for (auto [i, then] : llvm::enumerate(bodies[0].results)) {
    const Tensor &otherwise = bodies[1].results[i];
    if (then->type != otherwise->type || then->dims != otherwise->dims) {
      return emitter_.fail(
          ExitCode::Unsupported,
          "its condition is computed at run time, and its branches give " +
              kindOf(then) + " and " + kindOf(otherwise) + " as output " +
              std::to_string(i) +
              "; shapes are static, so let both give the same, or give the "
              "condition by --constant if it is an input");
    }
  }
  bindResults(node,
              emitter_.branch(emitter_.reshape(condition, {}),
                              std::move(bodies[0]), std::move(bodies[1])),
              scope);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// How many steps there are at most, and how many of these are run.
bool GraphImporter::findCount(const OnnxNode &node,
                              const std::vector<Tensor> &inputs,
                              LoopParts &loop) {
  auto trips = knownNumber(inputs[0], INT64_MAX);
  loop.isOpen = trips && *trips == INT64_MAX;
  if (trips && !loop.isOpen) {
    loop.most = std::max<int64_t>(*trips, 0);
  } else if (maxTripCount_) {
    loop.most = *maxTripCount_;
  } else {
    std::string what =
        inputs[0] && !trips
            ? "its trip count '" + node.inputs[0] + "' is computed at run time"
            : "only its condition ends it";
    emitter_.fail(ExitCode::Unsupported,
                  what + ": give --max-trip-count N, the most steps that it "
                         "may take");
    return false;
  }
  Tensor zero = emitter_.scalar(DType::I64, 0);
  loop.count =
      trips ? emitter_.integer(loop.most)
            : emitter_.binary(
                  "max",
                  emitter_.reshape(emitter_.cast(inputs[0], DType::I64), {}),
                  zero);
  loop.condition = inputs[1] ? emitter_.reshape(inputs[1], {})
                             : emitter_.scalar(DType::Bool, 1);
  loop.carried.assign(inputs.begin() + 2, inputs.end());
  return emitter_.status().isOk();
}

/// Whether what a step gives is what the next one takes; else fails.
bool GraphImporter::fitsCarried(const OnnxGraph &body, size_t first,
                                llvm::ArrayRef<Tensor> before,
                                llvm::ArrayRef<Tensor> after) {
  for (auto [i, taken] : llvm::enumerate(before)) {
    const Tensor &given = after[i];
    if (taken->type != given->type || taken->dims != given->dims) {
      emitter_.fail(ExitCode::Unsupported,
                    "its value '" + body.inputs[first + i].name + "' is " +
                        kindOf(taken) + " before a step and " + kindOf(given) +
                        " behind it; shapes are static, so let it keep its "
                        "shape, or let the number of steps be known");
      return false;
    }
  }
  return true;
}

/// Arguments of the innermost body, like `tensors`.
static std::vector<Tensor> argumentsLike(Emitter &emitter,
                                         llvm::ArrayRef<Tensor> tensors) {
  std::vector<Tensor> arguments;
  for (const Tensor &tensor : tensors) {
    arguments.push_back(emitter.bodyArgument(tensor->type, tensor->dims));
  }
  return arguments;
}

/// What `rows` are stacked in along `axis`, `most` of them.
static rt::Dims stackedDims(const Tensor &row, int64_t axis, int64_t most) {
  rt::Dims dims = row->dims;
  dims.insert(dims.begin() + axis, most);
  return dims;
}

/// Zeros of the dims of each of `tensors`.
static void appendZeros(Emitter &emitter, std::vector<Tensor> &to,
                        llvm::ArrayRef<Tensor> tensors) {
  for (const Tensor &tensor : tensors) {
    to.push_back(emitter.expand(emitter.scalar(tensor->type, 0), tensor->dims));
  }
}

/// The body of a loop whose condition stays true: nothing if it does not.
ImportedBody GraphImporter::importPlainBody(const OnnxGraph &body,
                                            LoopParts &loop,
                                            const Scope &shared) {
  emitter_.beginBody(shared.prefix + "body");
  Tensor index = emitter_.bodyArgument(DType::I64, {});
  std::vector<Tensor> taken = {index, emitter_.scalar(DType::Bool, 1)};
  std::vector<Tensor> carried = argumentsLike(emitter_, loop.carried);
  llvm::append_range(taken, carried);
  auto given = importStep(body, std::nullopt, taken, shared);
  auto goesOn = given ? knownNumber(given->front(), 1) : std::nullopt;
  size_t states = carried.size();
  if (!goesOn || *goesOn == 0 ||
      !fitsCarried(body, 2, carried, llvm::ArrayRef(*given).slice(1, states))) {
    return emitter_.endBody(std::nullopt);
  }
  std::vector<Tensor> results(given->begin() + 1,
                              given->begin() + 1 + int64_t(states));
  for (const Tensor &row : llvm::ArrayRef(*given).drop_front(1 + states)) {
    Tensor stack =
        emitter_.bodyArgument(row->type, stackedDims(row, 0, loop.most));
    results.push_back(emitter_.insertRow(stack, row, index, 0));
  }
  return emitter_.endBody(std::move(results));
}

/// The body of any loop of which nothing is stacked: the condition is the first
/// value that is carried.
ImportedBody GraphImporter::importTestedBody(const OnnxGraph &body,
                                             LoopParts &loop,
                                             const Scope &shared) {
  std::vector<Tensor> states = {loop.condition};
  llvm::append_range(states, loop.carried);
  emitter_.beginBody(shared.prefix + "steps");
  Tensor index = emitter_.bodyArgument(DType::I64, {});
  std::vector<Tensor> outer = argumentsLike(emitter_, states);

  emitter_.beginBody(shared.prefix + "body");
  emitter_.bodyArgument(DType::I64, {}); // 0, as it runs once
  std::vector<Tensor> inner = argumentsLike(emitter_, states);
  std::vector<Tensor> taken = {index, emitter_.scalar(DType::Bool, 1)};
  taken.insert(taken.end(), inner.begin() + 1, inner.end());
  auto given = importStep(body, std::nullopt, taken, shared);
  if (given && given->front()->count() == 1) {
    given->front() = emitter_.reshape(given->front(), {});
  }
  if (!given || !fitsCarried(body, 1, inner,
                             llvm::ArrayRef(*given).take_front(inner.size()))) {
    emitter_.endBody(std::nullopt);
    return emitter_.endBody(std::nullopt);
  }
  ImportedBody once = emitter_.endBody(std::move(given));
  if (!once.function) {
    return emitter_.endBody(std::nullopt);
  }
  Tensor times = emitter_.cast(outer.front(), DType::I64);
  return emitter_.endBody(emitter_.loop(once, times, 1, outer));
}

/// Of a Loop whose steps are many, or not known.
void GraphImporter::importLoopBody(const OnnxNode &node, const OnnxGraph &body,
                                   const std::vector<Tensor> &inputs,
                                   Scope &scope) {
  enterNode(node, scope);
  LoopParts loop;
  if (!findCount(node, inputs, loop)) {
    return;
  }
  Scope shared = scopeInside(node, scope);
  bindInitializers(body, shared);
  ImportedBody made;
  bool isCounted = !loop.isOpen && knownNumber(inputs[0], 0).has_value();
  bool isTested = knownNumber(inputs[1], 1) != 1;
  if (!isTested) {
    made = importPlainBody(body, loop, shared);
    isTested = !made.function;
  }
  size_t states = loop.carried.size();
  bool stacks = node.outputs.size() > states;
  if (emitter_.status().isOk() && stacks && (isTested || !isCounted)) {
    return emitter_.fail(
        ExitCode::Unsupported,
        "its output '" + node.outputs[states] +
            "' has a row for each step, and only the run knows how many there "
            "are: shapes are static, so let the trip count be a constant and "
            "the condition stay true");
  }
  if (emitter_.status().isOk() && isTested) {
    made = importTestedBody(body, loop, shared);
  }
  enterNode(node, scope);
  if (!emitter_.status().isOk()) {
    return;
  }
  if (!made.function) {
    return bindMissing(node, scope);
  }
  std::vector<Tensor> carried;
  if (isTested) {
    carried.push_back(loop.condition);
  }
  llvm::append_range(carried, loop.carried);
  appendZeros(emitter_, carried,
              llvm::ArrayRef(made.results).drop_front(carried.size()));
  std::vector<Tensor> results =
      emitter_.loop(made, loop.count, loop.most, carried);
  if (isTested && loop.isOpen) {
    expectEnd(node, scope, loop.most, results);
  }
  if (isTested && !results.empty()) {
    results.erase(results.begin());
  }
  bindResults(node, results, scope);
}

/// Lets the run fail if the condition, which is the first of `results`, still
/// holds: by a loop that would run more often than it may.
void GraphImporter::expectEnd(const OnnxNode &node, Scope &scope, int64_t most,
                              std::vector<Tensor> &results) {
  if (results.size() < 2 || !emitter_.status().isOk()) {
    return;
  }
  std::string name =
      enterNode(node, scope) + "/more_than_" + std::to_string(most) + "_steps";
  emitter_.setNode(name, scope.modules);
  emitter_.beginBody(name);
  emitter_.bodyArgument(DType::I64, {});
  std::vector<Tensor> same =
      argumentsLike(emitter_, llvm::ArrayRef(results).slice(1, 1));
  ImportedBody body = emitter_.endBody(std::move(same));
  Tensor times = emitter_.binary("mul", emitter_.cast(results[0], DType::I64),
                                 emitter_.scalar(DType::I64, 2));
  results[1] = emitter_.loop(body, times, 1, {results[1]}).front();
}

//===----------------------------------------------------------------------===//
// Scans
//===----------------------------------------------------------------------===//

/// Where step `index` of `steps` reads or writes.
static Tensor placeOfStep(Emitter &emitter, const Tensor &index, int64_t steps,
                          bool isReversed) {
  return isReversed ? emitter.binary("sub", emitter.integer(steps - 1), index)
                    : index;
}

/// Of a Scan of many steps: the first `states` inputs are carried.
void GraphImporter::importScanBody(const OnnxNode &node, const OnnxGraph &body,
                                   llvm::ArrayRef<Tensor> inputs, size_t states,
                                   int64_t steps, Scope &scope) {
  enterNode(node, scope);
  Scope shared = scopeInside(node, scope);
  bindInitializers(body, shared);
  emitter_.beginBody(shared.prefix + "body");
  Tensor index = emitter_.bodyArgument(DType::I64, {});
  std::vector<Tensor> taken =
      argumentsLike(emitter_, inputs.take_front(states));
  for (auto [i, x] : llvm::enumerate(inputs.drop_front(states))) {
    int64_t axis = entryOf(node, "scan_input_axes", i);
    bool isReversed = entryOf(node, "scan_input_directions", i) != 0;
    taken.push_back(
        emitter_.gather(x, placeOfStep(emitter_, index, steps, isReversed),
                        axis < 0 ? axis + x->rank() : axis, 0));
  }
  auto given = importStep(body, std::nullopt, taken, shared);
  bool fits = given && fitsCarried(body, 0, inputs.take_front(states),
                                   llvm::ArrayRef(*given).take_front(states));
  for (size_t i = 0; fits && states + i < given->size(); ++i) {
    Tensor &row = (*given)[states + i];
    int64_t rank = row->rank() + 1;
    int64_t axis = entryOf(node, "scan_output_axes", i);
    axis = axis < 0 ? axis + rank : axis;
    if (axis < 0 || axis >= rank) {
      emitter_.fail(ExitCode::Invalid,
                    "it stacks tensors of rank " + std::to_string(rank - 1) +
                        " along axis " + std::to_string(axis));
      break;
    }
    bool isReversed = entryOf(node, "scan_output_directions", i) != 0;
    Tensor stack =
        emitter_.bodyArgument(row->type, stackedDims(row, axis, steps));
    row = emitter_.insertRow(
        stack, row, placeOfStep(emitter_, index, steps, isReversed), axis);
  }
  ImportedBody made = emitter_.endBody(fits ? std::move(given) : std::nullopt);
  enterNode(node, scope);
  if (!emitter_.status().isOk()) {
    return;
  }
  if (!made.function) {
    return bindMissing(node, scope);
  }
  std::vector<Tensor> carried(inputs.begin(), inputs.begin() + states);
  appendZeros(emitter_, carried,
              llvm::ArrayRef(made.results).drop_front(states));
  Tensor count = emitter_.integer(steps);
  bindResults(node, emitter_.loop(made, count, steps, carried), scope);
}
