//===- InputShapes.cpp - Make the shapes of inputs static -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InputShapes.h"

#include "OnnxTypes.h"
#include "SequenceInputs.h"
#include "SharedInputs.h"
#include "divisi/Support/CheckedMath.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <set>

using namespace divisi;

namespace {

class Resolver {
public:
  Resolver(const OnnxGraph &graph, const ImportOptions &options,
           const std::vector<StatePair> &states)
      : graph_(graph), options_(options), states_(states),
        symbols_(options.dims) {
    for (const OnnxTensor &tensor : graph.initializers) {
      provided_.insert(tensor.name);
    }
    // One that is an input, too, is only its default.
    for (const OnnxValueInfo &input : graph.inputs) {
      if (isGiven(input.name)) {
        provided_.erase(input.name);
      }
    }
  }

  Expected<std::vector<InputShape>> run();

private:
  bool isGiven(const std::string &name) const;
  Status checkOptions();
  Status checkConstants(const std::set<std::string> &names);
  Status matchTensors();
  Status bindShapes();
  Status bindDim(const OnnxValueInfo &input, size_t at, int64_t given);
  Status resolve(const OnnxValueInfo &input, std::vector<InputShape> &result);
  Status divide(std::vector<InputShape> &inputs) const;
  Status misfit(std::string message) const {
    return Status(options_.misfit, std::move(message));
  }

  const OnnxGraph &graph_;
  const ImportOptions &options_;
  const std::vector<StatePair> &states_;
  std::set<std::string> provided_;
  std::map<std::string, int64_t> symbols_;
  /// What is given of whole inputs: --shape, else the tensors.
  std::map<std::string, ImportOptions::Input> given_;
  /// What is missing → the inputs that have it.
  std::map<std::string, std::vector<std::string>> missing_;
};

} // namespace

static Status usage(std::string message) {
  return Status(ExitCode::Usage, std::move(message));
}

template <typename Names> static std::string quoteAll(const Names &names) {
  std::string text;
  for (const std::string &name : names) {
    text += (text.empty() ? "'" : ", '") + name + "'";
  }
  return text;
}

/// Whether options say of which shape or value the input `name` is, or that it
/// is a state.
bool Resolver::isGiven(const std::string &name) const {
  return options_.inputs.count(name) || options_.constants.count(name) ||
         findState(states_, name) ||
         std::any_of(options_.tensors.begin(), options_.tensors.end(),
                     [&](const ImportOptions::Given &given) {
                       return given.label.name == name;
                     });
}

/// Names in options have to mean something.
Status Resolver::checkOptions() {
  std::set<std::string> names, symbols;
  for (const OnnxValueInfo &input : graph_.inputs) {
    if (provided_.count(input.name)) {
      continue;
    }
    names.insert(input.name);
    for (const OnnxDim &dim : input.dims.value_or(std::vector<OnnxDim>())) {
      if (!dim.symbol.empty()) {
        symbols.insert(dim.symbol);
      }
    }
  }
  for (const auto &[name, value] : options_.dims) {
    if (!symbols.count(name)) {
      return usage("no input has a dim '" + name + "'; the model has " +
                   (symbols.empty() ? "none that is open" : quoteAll(symbols)));
    }
    if (value < 0) {
      return usage("got --dim " + name + "=" + std::to_string(value) +
                   ", expected a number that is not negative");
    }
  }
  for (const auto &[name, input] : options_.inputs) {
    if (!names.count(name)) {
      return usage("the model has no input '" + name + "'; it has " +
                   quoteAll(names));
    }
  }
  return checkConstants(names);
}

/// They say the shape of an input as well.
Status Resolver::checkConstants(const std::set<std::string> &names) {
  for (const auto &[name, value] : options_.constants) {
    if (provided_.count(name)) {
      return usage("--constant '" + name +
                   "': it is an initializer, which has its value in the model");
    }
    if (!names.count(name)) {
      return usage(
          "--constant '" + name + "': the model has " +
          (names.empty() ? "no inputs" : "the inputs " + quoteAll(names)));
    }
    if (options_.inputs.count(name)) {
      return usage("'" + name +
                   "' is given by --shape and by --constant, which has a "
                   "shape; give one of them");
    }
  }
  return Status();
}

/// `batch`, `4` or `?`, as `f32[batch, 4]`, for messages.
static std::string describe(const OnnxValueInfo &input) {
  std::string text =
      input.type ? std::string(rt::stringify(*input.type)) : input.typeText;
  if (!input.dims) {
    return text; // Of any shape.
  }
  text += "[";
  for (size_t i = 0; i < input.dims->size(); ++i) {
    const OnnxDim &dim = (*input.dims)[i];
    text += i ? ", " : "";
    text += dim.value            ? std::to_string(*dim.value)
            : dim.symbol.empty() ? "?"
                                 : dim.symbol;
  }
  return text + "]";
}

/// Tensors may be given for some inputs alone: dims can say the rest.
Status Resolver::matchTensors() {
  std::vector<rt::TensorLabel> labels;
  for (const ImportOptions::Given &given : options_.tensors) {
    labels.push_back(given.label);
  }
  std::vector<rt::TensorSlot> slots;
  for (const OnnxValueInfo &input : graph_.inputs) {
    // Without a name, tensors are for what a run takes.
    bool isTaken = !findState(states_, input.name) ||
                   llvm::any_of(labels, [&](const auto &label) {
                     return label.name == input.name;
                   });
    if (isTaken && !provided_.count(input.name) &&
        !options_.constants.count(input.name)) {
      slots.push_back({input.name, describe(input)});
    }
  }
  for (const rt::TensorLabel &label : labels) {
    if (options_.constants.count(label.name)) {
      return misfit("a tensor is given for '" + label.name +
                    "', which --constant makes a constant of the model; leave "
                    "one of them out");
    }
  }
  auto slotOf = rt::matchLabels(labels, slots, "inputs of the model",
                                options_.misfit, /*needsAll=*/false);
  if (!slotOf) {
    return slotOf.status();
  }
  for (size_t i = 0; i < labels.size(); ++i) {
    given_[slots[(*slotOf)[i]].name] = options_.tensors[i].input;
  }
  for (const auto &[name, input] : options_.inputs) {
    given_[name].dims = input.dims;
  }
  for (const auto &[name, value] : options_.constants) {
    given_[name] = {value.dims(), value.type()};
  }
  return Status();
}

/// One symbol has one value, wherever it stands.
Status Resolver::bindDim(const OnnxValueInfo &input, size_t at, int64_t given) {
  const OnnxDim &dim = (*input.dims)[at];
  std::string where =
      "dim " + std::to_string(at) + " of input '" + input.name + "'";
  if (given < 0) {
    return usage(where + " cannot be " + std::to_string(given));
  }
  if (dim.value && *dim.value != given) {
    return misfit("got " + std::to_string(given) + " for " + where +
                  ", which the model fixes to " + std::to_string(*dim.value));
  }
  if (dim.value || dim.symbol.empty()) {
    return Status();
  }
  auto [it, isNew] = symbols_.emplace(dim.symbol, given);
  if (!isNew && it->second != given) {
    return misfit("got " + std::to_string(given) + " for " + where +
                  ", but its name '" + dim.symbol + "' stands for " +
                  std::to_string(it->second));
  }
  return Status();
}

/// Shapes given for whole inputs give values to the symbols in them.
Status Resolver::bindShapes() {
  for (const OnnxValueInfo &input : graph_.inputs) {
    auto given = given_.find(input.name);
    if (given == given_.end() || !input.dims) {
      continue;
    }
    const rt::Dims &dims = given->second.dims;
    if (dims.size() != input.dims->size()) {
      return misfit("got a shape of rank " + std::to_string(dims.size()) +
                    " for input '" + input.name + "', expected rank " +
                    std::to_string(input.dims->size()));
    }
    for (size_t i = 0; i < dims.size(); ++i) {
      if (Status status = bindDim(input, i, dims[i]); !status.isOk()) {
        return status;
      }
    }
  }
  return Status();
}

/// What is not known is collected in `missing_`, under the name by which the
/// user can give it.
Status Resolver::resolve(const OnnxValueInfo &input,
                         std::vector<InputShape> &result) {
  if (!input.type) {
    result.push_back({input.name, rt::DType::F32, {}});
    result.back().unsupported =
        input.element ? "are tensors; say the shape of each, as --shape '" +
                            elementName(input.name, 0) + "=3x4' --shape '" +
                            elementName(input.name, 1) + "=3x4' for two"
                      : "are " + input.typeText + "; expected a tensor of " +
                            knownTypes();
    return Status();
  }
  InputShape shape = {input.name, *input.type, {}};
  if (auto it = options_.constants.find(input.name);
      it != options_.constants.end()) {
    shape.constant = &it->second;
  }
  shape.state = findState(states_, input.name);
  auto given = given_.find(input.name);
  bool isGiven = given != given_.end();
  if (isGiven && given->second.type && *given->second.type != shape.type) {
    return misfit("got elements of type " +
                  std::string(rt::stringify(*given->second.type)) +
                  " for input '" + input.name + "', expected " +
                  std::string(rt::stringify(shape.type)));
  }
  if (isGiven) {
    shape.dims = given->second.dims;
  } else if (!input.dims) {
    missing_["the shape of '" + input.name + "'"].push_back(input.name);
  } else {
    for (size_t i = 0; i < input.dims->size(); ++i) {
      const OnnxDim &dim = (*input.dims)[i];
      auto symbol = symbols_.find(dim.symbol);
      std::string label = dim.symbol.empty()
                              ? "dim " + std::to_string(i) + " (no name)"
                              : dim.symbol;
      if (dim.value || (!dim.symbol.empty() && symbol != symbols_.end())) {
        shape.dims.push_back(dim.value ? *dim.value : symbol->second);
      } else {
        auto &inputs = missing_[label];
        if (std::find(inputs.begin(), inputs.end(), input.name) ==
            inputs.end()) {
          inputs.push_back(input.name);
        }
      }
    }
  }
  auto count = checkedProduct(shape.dims);
  bool isNegative = std::any_of(shape.dims.begin(), shape.dims.end(),
                                [](int64_t dim) { return dim < 0; });
  if (isNegative || !count || !checkedMul(*count, 8)) {
    return Status(ExitCode::Invalid,
                  "the shape of input '" + input.name +
                      "' is negative or has more bytes than int64 can count");
  }
  result.push_back(std::move(shape));
  return Status();
}

/// Leaves of each input one micro-batch. What the model calls by one name has
/// one extent then, too.
Status Resolver::divide(std::vector<InputShape> &inputs) const {
  int64_t count = options_.batches;
  if (count == 1) {
    return Status();
  }
  std::map<std::string, int64_t> extents;
  for (InputShape &input : inputs) {
    auto info = llvm::find_if(graph_.inputs, [&](const OnnxValueInfo &known) {
      return known.name == input.name;
    });
    std::vector<OnnxDim> dims = info->dims.value_or(std::vector<OnnxDim>());
    dims.resize(input.dims.size());
    bool isTaken = input.mayHaveBatch() && !input.isShared;
    if (isTaken && dims.front().value) {
      return makeError(ExitCode::Usage, "the model fixes dim 0 of input '",
                       input.name, "' to ", *dims.front().value,
                       "; export it with an open batch");
    }
    if (isTaken) {
      input.dims.front() /= count;
    }
    for (auto [dim, extent] : llvm::zip_equal(dims, input.dims)) {
      auto known = extents.emplace(dim.symbol, extent).first;
      if (!dim.symbol.empty() && known->second != extent) {
        return makeError(ExitCode::Usage, "the dim '", dim.symbol,
                         "' of input '", input.name,
                         "' is the batch, and something else, too");
      }
    }
  }
  return Status();
}

// All that is missing goes into one message: a user wants to give it at once.
Expected<std::vector<InputShape>> Resolver::run() {
  if (Status status = checkOptions(); !status.isOk()) {
    return status;
  }
  if (Status status = matchTensors(); !status.isOk()) {
    return status;
  }
  if (Status status = bindShapes(); !status.isOk()) {
    return status;
  }
  std::vector<InputShape> result;
  for (const OnnxValueInfo &input : graph_.inputs) {
    if (provided_.count(input.name)) {
      continue;
    }
    if (Status status = resolve(input, result); !status.isOk()) {
      return status;
    }
  }
  if (missing_.empty()) {
    Status status = markShared(graph_, options_, result);
    status = status.isOk() ? divide(result) : status;
    return status.isOk() ? Expected(std::move(result)) : status;
  }
  UnsupportedList unsupported;
  for (const InputShape &input : result) {
    if (!input.unsupported.empty()) {
      unsupported.add(unsupportedPlace(input));
    }
  }
  if (!unsupported.empty()) {
    return unsupported.status();
  }
  std::string text;
  for (const auto &[what, inputs] : missing_) {
    text += (text.empty() ? "" : "; ") + what + " in " + quoteAll(inputs);
  }
  return usage("shapes are static, and these are open: " + text +
               "; give each with --dim NAME=N, or whole shapes with "
               "--shape INPUT=2x16 or --shapes-from FILE");
}

UnsupportedPlace divisi::unsupportedPlace(const InputShape &input) {
  return {"input", input.name, "its elements " + input.unsupported,
          "the elements of input '" + input.name + "' " + input.unsupported};
}

Expected<std::vector<InputShape>>
divisi::resolveInputs(const OnnxGraph &graph, const ImportOptions &options,
                      const std::vector<StatePair> &states) {
  return Resolver(graph, options, states).run();
}
