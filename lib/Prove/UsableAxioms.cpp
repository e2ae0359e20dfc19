//===- UsableAxioms.cpp - Axioms that a proof can use ---------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Prove/Check.h"

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
  /// Adds operators that stand there.
  void start(const std::vector<std::string> &names) {
    for (size_t each : numbers(names)) {
      has_[each] = true;
    }
  }
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

static std::vector<std::string> operatorsOf(const SymbolicGraph &side) {
  std::vector<std::string> result;
  for (const SymbolicCall &call : side.calls) {
    result.push_back(call.function);
  }
  return result;
}

/// Those of `axioms` that can be used within so many steps from what stands in
/// `rules`, which are rules as written, or symbolic ones, as the axioms are.
template <typename AnyRule>
static std::vector<AnyRule> reachable(const std::vector<AnyRule> &axioms,
                                      const std::vector<AnyRule> &rules,
                                      size_t steps) {
  Reach reach;
  for (const AnyRule &rule : rules) {
    reach.start(operatorsOf(rule.source));
    reach.start(operatorsOf(rule.target));
  }
  for (const AnyRule &axiom : axioms) {
    reach.add(operatorsOf(axiom.source), operatorsOf(axiom.target),
              axiom.isDefinition);
  }
  reach.grow(steps);
  std::vector<AnyRule> result;
  for (size_t i = 0; i != axioms.size(); ++i) {
    if (reach.isUsable(i)) {
      result.push_back(axioms[i]);
    }
  }
  return result;
}

/// Each of its operators as a rule of its own.
static std::vector<Rule> spelled(const std::vector<Rule> &rules) {
  std::vector<Rule> result;
  for (const Rule &rule : rules) {
    std::vector<Rule> all = withOperators(rule);
    result.insert(result.end(), all.begin(), all.end());
  }
  return result;
}

std::vector<Rule>
divisi::rewrite::axiomsWithin(const std::vector<Rule> &axioms,
                              const std::vector<Rule> &rules) {
  return reachable(spelled(axioms), spelled(rules), kAllSteps);
}

std::vector<SymbolicRule>
divisi::rewrite::usableAxioms(const std::vector<SymbolicRule> &axioms,
                              const std::vector<Obligations> &rules,
                              size_t steps) {
  std::vector<SymbolicRule> all;
  for (const Obligations &each : rules) {
    all.insert(all.end(), each.begin(), each.end());
  }
  return reachable(axioms, all, steps);
}
