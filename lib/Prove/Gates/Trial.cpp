//===- Trial.cpp - Gates that evaluate rules ------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Prove/Trial.h"

#include "divisi/Rules/RuleText.h"
#include "lib/Prove/Gates/Trier.h"

#include <algorithm>
#include <set>
#include <sstream>

using namespace divisi;
using namespace divisi::rewrite;
using rt::DType;
using rt::HostTensor;

Trier::Trier(const Rule &rule, Instantiator &instantiator)
    : rule_(rule), instantiator_(instantiator) {
  Rule unnamed = rule;
  unnamed.name = "rule";
  unnamed.summary.clear();
  unnamed.comments.clear();
  unnamed.open.reset();
  uint64_t seed = 14695981039346656037u;
  for (char c : printRule(unnamed)) {
    seed = (seed ^ uint8_t(c)) * 1099511628211u;
  }
  random_.seed(seed);
}

bool divisi::rewrite::isSmall(const Instance &instance) {
  auto isLittle = [](const TensorForm &form) {
    return rt::numElements(form.dims) <= kMostElements;
  };
  auto areLittle = [&](const CallGraph &side) {
    return std::all_of(side.calls.begin(), side.calls.end(),
                       [&](const Call &call) { return isLittle(call.result); });
  };
  return std::all_of(instance.variables.begin(), instance.variables.end(),
                     isLittle) &&
         areLittle(instance.source) && areLittle(instance.target);
}

std::string Trier::where(const Case &each) const {
  std::string text = "at " + print(each.assignment);
  for (const auto &[word, type] : each.types) {
    if (type != DType::Field && word != rt::stringify(type)) {
      text += ", " + word + " being " + std::string(rt::stringify(type));
    }
  }
  return text;
}

//===----------------------------------------------------------------------===//
// Forms
//===----------------------------------------------------------------------===//

/// An axiom is used from its target to its source as well, unless a result is
/// a variable. Then the source has to be legal wherever the target is.
void Trier::checkReverse(const Case &each,
                         const std::vector<TensorForm> &variables) {
  bool isOneWay =
      rule_.isForward ||
      std::any_of(rule_.target.results.begin(), rule_.target.results.end(),
                  [&](const std::string &result) {
                    return rule_.findVariable(result) != nullptr;
                  });
  if (!rule_.isAxiom || isOneWay) {
    return;
  }
  auto target = instantiator_.instantiate(rule_, rule_.target, variables,
                                          each.assignment, each.types);
  if (target) {
    refuse(Gate::Forms, where(each) + " the target is legal, and of the " +
                            "source " + whyIllegal_);
  }
}

/// Fills in the instance; false where the source is not legal, which is no
/// fault of a rule.
bool Trier::fill(Case &each) {
  auto variables = Instantiator::variables(rule_, each.assignment, each.types);
  if (!variables) {
    whyIllegal_ = variables.status().message();
    return false;
  }
  auto source = instantiator_.instantiate(rule_, rule_.source, *variables,
                                          each.assignment, each.types);
  if (!source) {
    whyIllegal_ = source.status().message();
    checkReverse(each, *variables);
    return false;
  }
  auto target = instantiator_.instantiate(rule_, rule_.target, *variables,
                                          each.assignment, each.types);
  if (!target) {
    refuse(Gate::Forms, where(each) + " the source is legal, and of the " +
                            "target " + target.status().message());
    return false;
  }
  each.instance = {std::move(*variables), std::move(*source),
                   std::move(*target)};
  return true;
}

void Trier::checkForms(const Case &each) {
  const Instance &instance = each.instance;
  for (size_t i = 0; i != instance.source.results.size(); ++i) {
    const TensorForm &source =
        instance.form(instance.source, instance.source.results[i]);
    const TensorForm &target =
        instance.form(instance.target, instance.target.results[i]);
    if (!(source == target)) {
      refuse(Gate::Forms, where(each) + " result " + std::to_string(i) +
                              " is " + rt::describe(source.type, source.dims) +
                              " by the source and " +
                              rt::describe(target.type, target.dims) +
                              " by the target");
      return;
    }
  }
}

/// Whether the assignment gave a case of every choice of types.
bool Trier::addCase(const Assignment &assignment) {
  isSatisfied_ = true;
  for (const TypeChoice &types : typeChoices(rule_)) {
    Case each{assignment, types, {}};
    if (!fill(each)) {
      return false;
    }
    checkForms(each);
    if (isRefused() || !isSmall(each.instance)) {
      return false;
    }
    cases_.push_back(std::move(each));
  }
  return true;
}

void Trier::drawCases(const Ranks &ranks) {
  // More of rules that are tried at few ranks.
  const int times = rule_.shapes.empty() ? 3 : 1;
  const std::pair<Draw, int> wanted[] = {{Draw::Tiny, 2 * times},
                                         {Draw::Any, 3 * times},
                                         {Draw::Distinct, 3 * times}};
  constexpr int attempts = 60;
  int missing = 0;
  for (auto [kind, count] : wanted) {
    for (int attempt = 0; attempt != attempts && count != 0; ++attempt) {
      std::optional<Assignment> assignment = draw(rule_, ranks, kind, random_);
      if (!assignment || isRefused()) {
        break;
      }
      count -= addCase(*assignment);
    }
    missing += count;
  }
  // Where few are legal together, from those of which more are.
  const int plainAttempts = rule_.ints.empty() ? 0 : 400;
  for (int attempt = 0; attempt != plainAttempts && missing > 0; ++attempt) {
    std::optional<Assignment> assignment =
        draw(rule_, ranks, Draw::Plain, random_);
    if (!assignment || isRefused()) {
      break;
    }
    missing -= addCase(*assignment);
  }
}

void Trier::refuseWithoutCase() {
  if (cases_.empty() && !isRefused()) {
    refuse(Gate::Forms,
           isSatisfied_ ? "the source is never legal: " + whyIllegal_
                        : "the conditions contradict each other: no numbers "
                          "that were tried meet all of them");
  }
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// How large each result is, at most, if nothing cancels: what is lost when it
/// does is rounding.
static std::vector<double> magnitudesOf(const CallGraph &side,
                                        std::vector<HostTensor> inputs) {
  for (HostTensor &input : inputs) {
    if (auto positive = withoutSigns(input)) {
      input = std::move(*positive);
    }
  }
  std::vector<double> magnitudes(side.results.size());
  if (auto results = evaluate(side, inputs)) {
    std::transform(results->begin(), results->end(), magnitudes.begin(),
                   largestOf);
  }
  return magnitudes;
}

/// Two numbers by as many digits as tell them apart.
static std::pair<std::string, std::string> printApart(double left,
                                                      double right) {
  constexpr int few = 6, all = 17;
  std::pair<std::string, std::string> texts;
  for (int digits = few; digits <= all; ++digits) {
    std::ostringstream one, other;
    one.precision(digits);
    other.precision(digits);
    one << left;
    other << right;
    texts = {one.str(), other.str()};
    if (texts.first != texts.second) {
      break;
    }
  }
  return texts;
}

/// Evaluates both sides on elements drawn anew. Says in `said`, if there is a
/// difference, on which. What no kernel takes, such as an index that is out of
/// range in the source, is no difference.
std::optional<Difference> Trier::differ(const Case &each,
                                        Distribution distribution,
                                        Tolerance tolerance,
                                        std::string *said) {
  std::vector<HostTensor> inputs;
  for (const TensorForm &form : each.instance.variables) {
    Expected<HostTensor> tensor = drawTensor(form, distribution, random_);
    if (!tensor) {
      return std::nullopt;
    }
    inputs.push_back(std::move(*tensor));
  }
  auto source = evaluate(each.instance.source, inputs);
  if (!source) {
    return std::nullopt;
  }
  auto target = evaluate(each.instance.target, inputs);
  if (!target) {
    *said =
        where(each) + " the target has no value: " + target.status().message();
    return Difference();
  }
  std::vector<double> magnitudes(source->size());
  if (tolerance == Tolerance::Rounding) {
    magnitudes = magnitudesOf(each.instance.source, inputs);
  }
  for (size_t i = 0; i != source->size(); ++i) {
    auto difference =
        compare((*source)[i], (*target)[i], tolerance, magnitudes[i]);
    if (!difference) {
      continue;
    }
    std::ostringstream out;
    auto [left, right] = printApart(difference->source, difference->target);
    out << where(each) << " result " << i << " at "
        << printIndex(difference->index, (*source)[i].dims()) << " is " << left
        << " by the source and " << right << " by the target, for ";
    for (size_t j = 0; j != inputs.size(); ++j) {
      out << (j ? ", " : "") << rule_.variables[j].name << " = "
          << print(inputs[j]);
    }
    *said = out.str();
    return difference;
  }
  return std::nullopt;
}

/// Whether the case is one of exact numbers in which both sides agree.
bool Trier::checkExactly(const Case &each) {
  constexpr int draws = 4;
  std::string said;
  for (int i = 0; i != draws; ++i) {
    bool hasFloats = std::any_of(
        each.types.begin(), each.types.end(),
        [](const auto &entry) { return rt::isFloatType(entry.second); });
    if (differ(each, Distribution::Normal,
               hasFloats ? Tolerance::Rounding : Tolerance::Exact, &said)) {
      bool hasField = std::any_of(
          each.types.begin(), each.types.end(),
          [](const auto &entry) { return entry.second == DType::Field; });
      if (!hasField) {
        refuse(Gate::Values, said);
      }
      return false;
    }
  }
  return true;
}

/// Of a case in which the field tells the sides apart: whether numbers do.
void Trier::checkNumbers(const Case &each) {
  constexpr int draws = 12;
  Case numbers{each.assignment, each.types, {}};
  for (auto &[word, type] : numbers.types) {
    type = type == DType::Field ? DType::F64 : type;
  }
  if (!fill(numbers)) {
    return;
  }
  std::string said;
  for (int i = 0; i != draws; ++i) {
    if (differ(numbers, Distribution::Integers, Tolerance::Rounding, &said)) {
      refuse(Gate::Values, said);
      return;
    }
    bool isExact =
        !differ(numbers, Distribution::Integers, Tolerance::Exact, &said);
    trial_.domain =
        std::max(trial_.domain, isExact ? Domain::Integers : Domain::Reals);
  }
}

void Trier::checkValues() {
  std::set<std::string> assignments;
  for (const Case &each : cases_) {
    if (isRefused()) {
      return;
    }
    ++trial_.instances;
    assignments.insert(print(each.assignment));
    trial_.shapes = assignments.size();
    if (!checkExactly(each) && !isRefused()) {
      checkNumbers(each);
    }
  }
}

Trial Trier::runDrawn() {
  for (const Ranks &ranks : allRanks(rule_)) {
    if (!isRefused()) {
      drawCases(ranks);
      drawLong(ranks);
    }
  }
  refuseWithoutCase();
  checkValues();
  return trial_;
}

Trial divisi::rewrite::tryRule(const Rule &rule, Instantiator &instantiator) {
  return Trier(rule, instantiator).runDrawn();
}

Trial divisi::rewrite::tryAxiom(const Rule &axiom, Instantiator &instantiator,
                                size_t most) {
  return Trier(axiom, instantiator).runAll(most);
}

Trial divisi::rewrite::tryFloats(const Rule &rule, Instantiator &instantiator) {
  return Trier(rule, instantiator).runFloats();
}
