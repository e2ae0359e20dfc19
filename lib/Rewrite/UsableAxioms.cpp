//===- UsableAxioms.cpp - Which axioms may serve in a proof ---------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Rewrite/Check.h"

#include <algorithm>
#include <set>
#include <unordered_map>

using namespace divisi;
using namespace divisi::rewrite;

namespace {

/// The operators of both sides of an axiom, numbered, each once.
struct Needs {
  std::vector<size_t> source, target;
  bool isDefinition = false;
};

/// Which axioms may be used where some operators stand. Operators are texts: of
/// symbolic rules, what they do at those types and ranks.
class Reach {
public:
  /// Adds an operator that stands there.
  void start(const std::string &name) { has_[number(name)] = true; }
  /// Adds an axiom, which has the next number.
  void add(const std::vector<std::string> &source,
           const std::vector<std::string> &target, bool isDefinition) {
    axioms_.push_back({numbers(source), numbers(target), isDefinition});
  }

  /// Adds the operators that axioms bring in, in so many steps.
  void grow(size_t steps);
  /// Whether all operators of an axiom are there.
  bool isUsable(size_t axiom) const {
    return hasAll(axioms_[axiom].source) && hasAll(axioms_[axiom].target);
  }

private:
  size_t number(const std::string &name) {
    auto [found, isNew] = numbers_.emplace(name, has_.size());
    if (isNew) {
      has_.push_back(false);
    }
    return found->second;
  }
  std::vector<size_t> numbers(const std::vector<std::string> &names) {
    std::set<size_t> result;
    for (const std::string &name : names) {
      result.insert(number(name));
    }
    return {result.begin(), result.end()};
  }
  bool hasAll(const std::vector<size_t> &operators) const {
    return std::all_of(operators.begin(), operators.end(),
                       [&](size_t each) { return bool(has_[each]); });
  }

  std::unordered_map<std::string, size_t> numbers_;
  std::vector<bool> has_; ///< By their numbers.
  std::vector<Needs> axioms_;
};

} // namespace

/// A side that has an operator, and only such as are there, brings in those of
/// the other. What an operator is, is asked for where all that says so stands.
void Reach::grow(size_t steps) {
  for (bool isChanged = true; isChanged && steps != 0; --steps) {
    std::vector<bool> more = has_;
    for (const Needs &axiom : axioms_) {
      bool hasSource = !axiom.source.empty() && hasAll(axiom.source);
      bool hasTarget = !axiom.target.empty() && hasAll(axiom.target);
      if (axiom.isDefinition || (!hasSource && !hasTarget)) {
        continue;
      }
      for (const std::vector<size_t> *side : {&axiom.source, &axiom.target}) {
        for (size_t each : *side) {
          more[each] = true;
        }
      }
    }
    isChanged = more != has_;
    has_ = std::move(more);
  }
}

static std::vector<std::string> operatorsOf(const Graph &side) {
  std::vector<std::string> result;
  for (const Node &node : side.nodes) {
    result.push_back(node.op);
  }
  return result;
}

std::vector<Rule>
divisi::rewrite::axiomsWithin(const std::vector<Rule> &axioms,
                              const std::vector<Rule> &rules) {
  Reach reach;
  for (const Rule &rule : rules) {
    for (const Rule &each : withOperators(rule)) {
      for (const Graph *side : {&each.source, &each.target}) {
        for (const Node &node : side->nodes) {
          reach.start(node.op);
        }
      }
    }
  }
  std::vector<Rule> all;
  for (const Rule &axiom : axioms) {
    for (Rule &each : withOperators(axiom)) {
      reach.add(operatorsOf(each.source), operatorsOf(each.target),
                each.isDefinition);
      all.push_back(std::move(each));
    }
  }
  reach.grow(kAllSteps);
  std::vector<Rule> result;
  for (size_t i = 0; i != all.size(); ++i) {
    if (reach.isUsable(i)) {
      result.push_back(std::move(all[i]));
    }
  }
  return result;
}

static std::vector<std::string> operatorsOf(const SymbolicGraph &side) {
  std::vector<std::string> result;
  for (const SymbolicCall &call : side.calls) {
    result.push_back(call.function);
  }
  return result;
}

std::vector<SymbolicRule>
divisi::rewrite::usableAxioms(const std::vector<SymbolicRule> &axioms,
                              const std::vector<Obligations> &rules,
                              size_t steps) {
  Reach reach;
  for (const Obligations &each : rules) {
    for (const SymbolicRule &rule : each) {
      for (const SymbolicGraph *side : {&rule.source, &rule.target}) {
        for (const SymbolicCall &call : side->calls) {
          reach.start(call.function);
        }
      }
    }
  }
  for (const SymbolicRule &axiom : axioms) {
    reach.add(operatorsOf(axiom.source), operatorsOf(axiom.target),
              axiom.isDefinition);
  }
  reach.grow(steps);
  std::vector<SymbolicRule> result;
  for (size_t i = 0; i != axioms.size(); ++i) {
    if (reach.isUsable(i)) {
      result.push_back(axioms[i]);
    }
  }
  return result;
}
