//===- Trial.cpp - Rules that are tried on numbers ------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Rewrite/Trial.h"

#include "lib/Rewrite/Elements.h"

#include <algorithm>
#include <cmath>
#include <sstream>

using namespace divisi;
using namespace divisi::rewrite;
using rt::DType;
using rt::HostTensor;

const char *divisi::rewrite::spell(Gate gate) {
  static constexpr const char *words[] = {"forms", "values", "floats", "proof"};
  return words[static_cast<size_t>(gate)];
}

namespace {

/// A rule at an assignment, and which.
struct Case {
  Assignment assignment;
  TypeChoice types;
  Instance instance;
};

/// One rule on its way through the gates.
class Trier {
public:
  Trier(const Rule &rule, Instantiator &instantiator)
      : rule_(rule), instantiator_(instantiator) {
    for (char c : rule.name) {
      seed_ = seed_ * 1099511628211u ^ uint8_t(c);
    }
    random_.seed(seed_);
  }

  Trial runDrawn();
  Trial runAll(size_t most);
  Trial runFloats();

private:
  bool isRefused() const { return trial_.refusal.has_value(); }
  void refuse(Gate gate, const std::string &reason) {
    trial_.refusal = Refusal{gate, reason};
  }
  std::string where(const Case &each) const;
  void drawCases(const Ranks &ranks);
  void drawSome(const Ranks &ranks, size_t most);
  bool addCase(const Assignment &assignment);
  bool fill(Case &each);
  void checkReverse(const Case &each, const std::vector<TensorForm> &variables);
  void checkForms(const Case &each);
  void refuseWithoutCase();
  void checkValues();
  bool checkExactly(const Case &each);
  void checkNumbers(const Case &each);
  std::optional<Difference> differ(const Case &each, Values values,
                                   Tolerance tolerance, std::string *said);
  void checkFloats(const Case &each);

  const Rule &rule_;
  Instantiator &instantiator_;
  uint64_t seed_ = 14695981039346656037u;
  std::mt19937_64 random_;
  std::vector<Case> cases_;
  bool isSatisfied_ = false;  ///< Some assignment meets the conditions.
  std::string whyIllegal_;    ///< Of the last source that is not legal.
  Trial trial_;
};

} // namespace

/// Elements of all tensors beyond which a case is not worth its time.
static constexpr int64_t kMostElements = 1 << 15;

static bool isSmall(const Instance &instance) {
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
  auto variables =
      Instantiator::variables(rule_, each.assignment, each.types);
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
  constexpr std::pair<Draw, int> wanted[] = {
      {Draw::Tiny, 2}, {Draw::Any, 3}, {Draw::Distinct, 3}};
  constexpr int attempts = 60;
  for (auto [kind, count] : wanted) {
    for (int attempt = 0; attempt != attempts && count != 0; ++attempt) {
      std::optional<Assignment> assignment =
          draw(rule_, ranks, kind, random_);
      if (!assignment || isRefused()) {
        break;
      }
      count -= addCase(*assignment);
    }
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

/// Evaluates both sides on elements drawn anew. Says in `said`, if there is a
/// difference, on which. What no kernel takes, such as an index that is out of
/// range in the source, is no difference.
std::optional<Difference> Trier::differ(const Case &each, Values values,
                                        Tolerance tolerance,
                                        std::string *said) {
  std::vector<HostTensor> inputs;
  for (const TensorForm &form : each.instance.variables) {
    Expected<HostTensor> tensor = drawTensor(form, values, random_);
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
    *said = where(each) + " the target has no value: " +
            target.status().message();
    return Difference();
  }
  for (size_t i = 0; i != source->size(); ++i) {
    auto difference = compare((*source)[i], (*target)[i], tolerance);
    if (!difference) {
      continue;
    }
    std::ostringstream out;
    // Enough to tell two floats apart.
    out.precision(tolerance == Tolerance::Exact ? 9 : 6);
    out << where(each) << " result " << i << " at "
        << printIndex(difference->index, (*source)[i].dims()) << " is "
        << difference->source << " by the source and " << difference->target
        << " by the target, for ";
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
    if (differ(each, Values::Normal,
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
    if (differ(numbers, Values::Integers, Tolerance::Rounding, &said)) {
      refuse(Gate::Values, said);
      return;
    }
    bool isExact =
        !differ(numbers, Values::Integers, Tolerance::Exact, &said);
    trial_.domain = std::max(trial_.domain,
                             isExact ? Domain::Integers : Domain::Reals);
  }
}

void Trier::checkValues() {
  for (const Case &each : cases_) {
    if (isRefused()) {
      return;
    }
    ++trial_.instances;
    if (!checkExactly(each) && !isRefused()) {
      checkNumbers(each);
    }
  }
}

Trial Trier::runDrawn() {
  for (const Ranks &ranks : allRanks(rule_)) {
    if (!isRefused()) {
      drawCases(ranks);
    }
  }
  refuseWithoutCase();
  checkValues();
  return trial_;
}

/// The largest extent and integer where an axiom is tried at all of them.
static constexpr int64_t kMostExtent = 3;

/// How many assignments there are then, before conditions.
static double countAll(const Rule &rule, const Ranks &ranks) {
  size_t extents = rule.sizes.size();
  for (const auto &[shape, rank] : ranks) {
    extents += rank;
  }
  return std::pow(kMostExtent, extents) *
         std::pow(kMostExtent + 2, rule.ints.size());
}

/// Up to `most` cases of all kinds by turns.
void Trier::drawSome(const Ranks &ranks, size_t most) {
  constexpr Draw kinds[] = {Draw::Any, Draw::Tiny, Draw::Distinct};
  for (size_t i = 0; i != 4 * most && cases_.size() < most; ++i) {
    auto assignment =
        draw(rule_, ranks, kinds[i % std::size(kinds)], random_);
    if (!assignment || isRefused()) {
      return;
    }
    addCase(*assignment);
  }
}

Trial Trier::runAll(size_t most) {
  for (const Ranks &ranks : allRanks(rule_)) {
    if (countAll(rule_, ranks) <= double(most)) {
      forAll(rule_, ranks, kMostExtent, [&](const Assignment &assignment) {
        addCase(assignment);
        return !isRefused();
      });
    } else {
      drawSome(ranks, most);
    }
    checkValues();
    if (isRefused()) {
      return trial_;
    }
    isSatisfied_ |= !cases_.empty();
    cases_.clear();
  }
  if (trial_.instances == 0) {
    refuseWithoutCase();
  }
  return trial_;
}

//===----------------------------------------------------------------------===//
// Floats
//===----------------------------------------------------------------------===//

void Trier::checkFloats(const Case &each) {
  NumericClass numericClass = *rule_.numericClass;
  std::string said;
  bool isExact = numericClass == NumericClass::BitExact;
  if (isExact && differ(each, Values::Special, Tolerance::Exact, &said)) {
    refuse(Gate::Floats, "it is not bit-exact: " + said);
  } else if (differ(each, Values::Normal,
                    isExact ? Tolerance::Exact : Tolerance::Rounding, &said)) {
    refuse(Gate::Floats, (isExact ? "it is not bit-exact: "
                                  : "it differs by more than rounding: ") +
                             said);
  } else if (numericClass == NumericClass::Reassociates &&
             differ(each, Values::Scaled, Tolerance::Finite, &said)) {
    refuse(Gate::Floats, "it changes the range: " + said);
  }
}

Trial Trier::runFloats() {
  constexpr int draws = 4;
  for (const Ranks &ranks : allRanks(rule_)) {
    for (Draw kind : {Draw::Any, Draw::Large}) {
      std::optional<Assignment> assignment =
          draw(rule_, ranks, kind, random_);
      Case each;
      if (!assignment) {
        continue;
      }
      each.assignment = *assignment;
      each.types = typeChoices(rule_).front();
      for (auto &[word, type] : each.types) {
        type = type == DType::Field ? DType::F32 : type;
      }
      if (!fill(each) || !isSmall(each.instance)) {
        continue;
      }
      ++trial_.instances;
      for (int i = 0; i != draws && !isRefused(); ++i) {
        checkFloats(each);
      }
    }
  }
  return trial_;
}

Trial divisi::rewrite::tryRule(const Rule &rule, Instantiator &instantiator) {
  return Trier(rule, instantiator).runDrawn();
}

Trial divisi::rewrite::tryAxiom(const Rule &axiom, Instantiator &instantiator,
                                size_t most) {
  return Trier(axiom, instantiator).runAll(most);
}

Trial divisi::rewrite::tryFloats(const Rule &rule,
                                 Instantiator &instantiator) {
  return Trier(rule, instantiator).runFloats();
}
