//===- Symbolic.cpp - A rule with symbolic sizes --------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Prove/Symbolic.h"

#include "divisi/Prove/ElementProver.h"
#include "divisi/Rules/LinearFit.h"
#include "divisi/Rules/RuleNames.h"
#include "divisi/Rules/RuleText.h"
#include "lib/Prove/Symbolic/ExpandShapes.h"

#include <algorithm>
#include <functional>
#include <set>

using namespace divisi;
using namespace divisi::rewrite;

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

namespace {

/// A rule at ranks and types.
class Maker {
public:
  Maker(const Rule &rule, const Ranks &ranks, const TypeBinding &binding,
        Instantiator &instantiator)
      : rule_(rule), ranks_(ranks), binding_(binding),
        instantiator_(instantiator) {
    for (const auto &[word, type] : binding) {
      types_[word] = type == "float" ? rt::DType::Field
                     : type == "int" ? rt::DType::I64
                                     : *rt::parseDType(type);
    }
  }

  std::optional<SymbolicRule> run();

private:
  void addNames();
  bool takeSamples();
  bool takeSample(const Assignment &assignment);
  SymbolicDims dimsOf(size_t side, size_t call, const Node &node);
  bool isElementwise(size_t side, size_t number) const;
  std::optional<SymbolicGraph> graphOf(const Graph &graph, size_t side);
  bool addAttributes(const Node &node, const Call &call, SymbolicCall &result);
  bool addCondition(const Condition &condition);
  std::string elementOf(rt::DType type) const;

  const Rule &rule_;
  const Ranks &ranks_;
  const TypeBinding &binding_;
  Instantiator &instantiator_;
  TypeChoice types_;
  SymbolicRule result_;
  /// 1, and each symbol, at each sample; and both sides there.
  std::vector<std::vector<int64_t>> points_;
  std::vector<Instance> samples_;
};

} // namespace

void Maker::addNames() {
  result_.name = rule_.name;
  result_.numericClass = rule_.numericClass;
  result_.isForward = rule_.isForward;
  result_.isDefinition = rule_.isDefinition;
  result_.ranks = ranks_;
  for (const auto &[shape, rank] : ranks_) {
    result_.place += "rank(" + shape + ") = " + std::to_string(rank) + ", ";
  }
  for (const auto &[word, type] : binding_) {
    result_.place += word == type ? "" : word + " = " + type + ", ";
  }
  result_.place += "all sizes";
  result_.sizes = rule_.sizes;
  result_.ints = rule_.ints;
  result_.reals = rule_.reals;
  for (const std::string &shape : rule_.shapes) {
    for (size_t i = 0; i != ranks_.at(shape); ++i) {
      result_.sizes.push_back(extentName(shape, i));
    }
  }
}

bool Maker::takeSample(const Assignment &assignment) {
  auto variables = Instantiator::variables(rule_, assignment, types_);
  if (!variables) {
    return false;
  }
  Instance sample;
  sample.variables = *variables;
  for (auto [graph, calls] : {std::pair(&rule_.source, &sample.source),
                              std::pair(&rule_.target, &sample.target)}) {
    auto made = instantiator_.instantiate(rule_, *graph, *variables, assignment,
                                          types_);
    if (!made) {
      return false;
    }
    *calls = std::move(*made);
  }
  std::vector<int64_t> point{1};
  for (const std::string &size : rule_.sizes) {
    point.push_back(assignment.numbers.at(size));
  }
  for (const std::string &shape : rule_.shapes) {
    for (int64_t extent : assignment.shapes.at(shape)) {
      point.push_back(extent);
    }
  }
  for (const std::string &each : rule_.ints) {
    point.push_back(assignment.numbers.at(each));
  }
  points_.push_back(std::move(point));
  samples_.push_back(std::move(sample));
  return true;
}

bool Maker::takeSamples() {
  std::mt19937_64 random(1);
  size_t wanted = result_.sizes.size() + result_.ints.size() + 8;
  // Of many attributes few are legal together.
  constexpr int attempts = 400;
  for (int attempt = 0; attempt != attempts; ++attempt) {
    std::optional<Assignment> assignment =
        draw(rule_, ranks_, attempt % 2 ? Draw::Any : Draw::Distinct, random);
    if (!assignment && attempt > 3 && samples_.empty()) {
      return false;
    }
    if (assignment && takeSample(*assignment) && samples_.size() == wanted) {
      return true;
    }
  }
  bool hasNoChoice = rule_.isAxiom || rule_.ints.empty();
  const int plainAttempts = hasNoChoice ? 0 : 1500;
  for (int attempt = 0; attempt != plainAttempts; ++attempt) {
    auto assignment = draw(rule_, ranks_, Draw::Plain, random);
    if (!assignment) {
      break;
    }
    if (takeSample(*assignment) && samples_.size() == wanted) {
      break;
    }
  }
  return !samples_.empty();
}

SymbolicDims Maker::dimsOf(size_t side, size_t call, const Node &node) {
  SymbolicDims dims;
  if (node.type) {
    if (auto written = expandShapes(node.type->shape, ranks_)) {
      return SymbolicDims(written->begin(), written->end());
    }
  }
  auto formAt = [&](const Instance &sample) -> const TensorForm & {
    return (side == 0 ? sample.source : sample.target).calls[call].result;
  };
  std::vector<std::string> symbols = result_.sizes;
  symbols.insert(symbols.end(), result_.ints.begin(), result_.ints.end());
  for (size_t dim = 0; dim != formAt(samples_[0]).dims.size(); ++dim) {
    std::vector<int64_t> values;
    for (const Instance &sample : samples_) {
      values.push_back(formAt(sample).dims[dim]);
    }
    // Of fewer samples than symbols many forms are, and none is known.
    bool isEnough = samples_.size() > symbols.size() + 1;
    auto coefficients = isEnough ? fitLinear(points_, values) : std::nullopt;
    dims.push_back(coefficients
                       ? std::optional(linearForm(*coefficients, symbols))
                       : std::nullopt);
  }
  return dims;
}

bool Maker::isElementwise(size_t side, size_t number) const {
  return std::all_of(samples_.begin(), samples_.end(),
                     [&](const Instance &sample) {
                       return (side == 0 ? sample.source : sample.target)
                           .calls[number]
                           .isElementwise;
                     });
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

std::string Maker::elementOf(rt::DType type) const {
  for (const auto &[word, each] : types_) {
    if (each == type) {
      return binding_.at(word);
    }
  }
  return std::string(rt::stringify(type));
}

/// Adds what attributes say: integers and reals as arguments, all else to the
/// name of the function.
bool Maker::addAttributes(const Node &node, const Call &call,
                          SymbolicCall &result) {
  auto attributes = node.attributes;
  if (node.op.empty()) {
    attributes.emplace_back("element", node.element);
  }
  std::sort(attributes.begin(), attributes.end(),
            [](const auto &a, const auto &b) { return a.first < b.first; });
  for (const auto &[name, value] : attributes) {
    result.function += " " + name + "=";
    SymbolicValue &kept = result.attributes[name];
    if (const auto *items = std::get_if<Items>(&value)) {
      auto written = expandShapes(*items, ranks_);
      if (!written) {
        return false;
      }
      result.function += std::to_string(written->size()) + " integers";
      result.integers.insert(result.integers.end(), written->begin(),
                             written->end());
      kept = std::move(*written);
    } else if (const auto *expr = std::get_if<Expr>(&value)) {
      bool isReal = rule_.isReal(*expr);
      std::optional<Expr> written = expandShapes(*expr, ranks_, {}, 0);
      if (!written) {
        return false;
      }
      result.function += isReal ? "real" : "integer";
      (isReal ? result.reals : result.integers).push_back(*written);
      kept = std::move(*written);
    } else if (const auto *number = std::get_if<double>(&value)) {
      result.function += "real";
      result.reals.push_back(realExpr(*number));
      kept = realExpr(*number);
    } else if (std::get_if<std::string>(&value)) {
      std::string text =
          renameLetters(call.op, call.attributes.getString(name));
      result.function += text;
      kept = std::move(text);
    } else {
      result.function += printValue(value);
      kept = std::get<bool>(value);
    }
  }
  return true;
}

std::optional<SymbolicGraph> Maker::graphOf(const Graph &graph, size_t side) {
  SymbolicGraph result;
  const Instance &sample = samples_[0];
  const CallGraph &calls = side == 0 ? sample.source : sample.target;
  for (size_t i = 0; i != graph.nodes.size(); ++i) {
    const Node &node = graph.nodes[i];
    const Call &call = calls.calls[i];
    SymbolicCall made;
    made.operands = call.operands;
    made.dims = dimsOf(side, i, node);
    made.function = node.op.empty() ? "equal elements" : node.op;
    made.op = node.op;
    made.element = elementOf(call.result.type);
    // Others may look so at all samples.
    made.isElementwise =
        !isDefinedByElements(node.op) && isElementwise(side, i);
    made.isTyped = node.type.has_value() || node.op.empty();
    if (!addAttributes(node, call, made)) {
      return std::nullopt;
    }
    for (size_t operand : call.operands) {
      const TensorForm &form = sample.form(calls, operand);
      made.function +=
          " " + elementOf(form.type) + "/" + std::to_string(form.dims.size());
    }
    made.function += " -> " + elementOf(call.result.type) + "/" +
                     std::to_string(call.result.dims.size());
    // Where the type is given, its extents say which operator it is.
    if (node.type) {
      for (const std::optional<Expr> &extent : made.dims) {
        if (!extent) {
          return std::nullopt;
        }
        made.integers.push_back(*extent);
      }
    }
    result.calls.push_back(std::move(made));
  }
  result.results = calls.results;
  return result;
}

/// False where it has no value.
bool Maker::addCondition(const Condition &condition) {
  Condition written = condition;
  if (rule_.isOfShapes(condition)) {
    for (size_t i = 0; i != ranks_.at(condition.left.name); ++i) {
      written.left = nameExpr(extentName(condition.left.name, i));
      written.right = nameExpr(extentName(condition.right.name, i));
      result_.conditions.push_back(written);
    }
    return true;
  }
  auto left = expandShapes(condition.left, ranks_, {}, 0);
  auto right = expandShapes(condition.right, ranks_, {}, 0);
  if (left && right) {
    written.left = *left;
    written.right = *right;
    result_.conditions.push_back(std::move(written));
  }
  return left && right;
}

std::optional<SymbolicRule> Maker::run() {
  addNames();
  if (!takeSamples()) {
    return std::nullopt;
  }
  for (const Variable &variable : rule_.variables) {
    auto dims = expandShapes(variable.type.shape, ranks_);
    if (!dims) {
      return std::nullopt;
    }
    result_.variables.emplace_back(dims->begin(), dims->end());
    result_.elements.push_back(binding_.at(variable.type.element));
  }
  if (!std::all_of(rule_.conditions.begin(), rule_.conditions.end(),
                   [&](const Condition &each) { return addCondition(each); })) {
    return std::nullopt;
  }
  auto source = graphOf(rule_.source, 0), target = graphOf(rule_.target, 1);
  if (!source || !target) {
    return std::nullopt;
  }
  result_.source = std::move(*source);
  result_.target = std::move(*target);
  keepKnownExtents(result_);
  return result_;
}

std::optional<SymbolicRule>
divisi::rewrite::makeSymbolic(const Rule &rule, const Ranks &ranks,
                              const TypeBinding &binding,
                              Instantiator &instantiator) {
  return Maker(rule, ranks, binding, instantiator).run();
}
