//===- Universe.cpp - All terms over a vocabulary -------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Generate/Universe.h"

#include "divisi/Evaluate/Evaluator.h"
#include "divisi/Rules/LinearFit.h"
#include "divisi/Rules/SampleTensors.h"
#include "divisi/runtime/kernels/ScalarFunctions.h"

#include <algorithm>
#include <cstring>

using namespace divisi;
using namespace divisi::rewrite;
using rt::HostTensor;

static uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 29);
}

//===----------------------------------------------------------------------===//
// Forms and values
//===----------------------------------------------------------------------===//

uint32_t Universe::formNumber(const TensorForm &form) {
  auto found = std::find(forms_.begin(), forms_.end(), form);
  if (found == forms_.end()) {
    found = forms_.insert(found, form);
  }
  return uint32_t(found - forms_.begin());
}

/// The longest extent of a result, in extents of its vocabulary: longer ones
/// only say again what shorter ones do.
static constexpr int64_t kMostExtent = 6;

/// The extent of a letter that is cut in two parts: 2 k.
static bool canCut(const TableOperator &op, const TensorForm &form) {
  return op.extra == Extra::None || op.extra == Extra::Merge ||
         form.dims[op.axis] == 2 * extentOf({'k', 1});
}

std::optional<Call> Universe::callOf(uint16_t op,
                                     const std::vector<TensorForm> &forms) {
  const TableOperator &what = vocabulary_.operators[op];
  Rule rule;
  Assignment none;
  TypeChoice types{{"float", rt::DType::Field}};
  std::vector<Items> dims;
  for (size_t i = 0; i != what.ranks.size(); ++i) {
    if (forms[i].dims.size() != what.ranks[i]) {
      return std::nullopt;
    }
    dims.push_back(listOf(forms[i].dims));
    rule.variables.push_back({});
    rule.variables.back().name = "x" + std::to_string(i);
  }
  Node node = *nodeOf(what, dims, numberExpr(extentOf({'k', 1})));
  node.name = "z";
  for (const Variable &variable : rule.variables) {
    node.operands.push_back(variable.name);
  }
  rule.source = {{node}, {"z"}, {}};
  auto made = instantiator_.instantiate(rule, rule.source, forms, none, types);
  return made ? std::optional(made->calls[0]) : std::nullopt;
}

Universe::Site Universe::makeSite(uint16_t op, uint32_t a, uint32_t b) {
  const TableOperator &what = vocabulary_.operators[op];
  std::vector<TensorForm> forms{forms_[a]};
  if (b != Term::kNone) {
    forms.push_back(forms_[b]);
  }
  if (forms[0].dims.size() != what.ranks[0] || !canCut(what, forms[0])) {
    return {};
  }
  std::optional<Call> call = callOf(op, forms);
  if (!call) {
    return {};
  }
  for (int64_t extent : call->result.dims) {
    if (extent == 0 || extent > kMostExtent) {
      return {};
    }
  }
  return {*call, formNumber(call->result)};
}

const Universe::Site &Universe::siteOf(uint16_t op, uint32_t a, uint32_t b) {
  uint64_t key =
      uint64_t(op) << 40 | uint64_t(a) << 20 | (b == Term::kNone ? 0xfffff : b);
  auto found = sites_.find(key);
  if (found == sites_.end()) {
    found = sites_.emplace(key, makeSite(op, a, b)).first;
  }
  return found->second;
}

std::optional<HostTensor>
Universe::apply(uint16_t op, uint32_t a, uint32_t b,
                const std::vector<HostTensor> &operands) {
  const Site &site = siteOf(op, a, b);
  if (site.form == Term::kNone) {
    return std::nullopt;
  }
  auto value = evaluateOp(site.call.op, site.call.attributes, operands,
                          site.call.result.type, site.call.result.dims);
  return value ? std::optional(std::move(*value)) : std::nullopt;
}

std::optional<HostTensor>
Universe::apply(uint16_t op, const std::vector<HostTensor> &operands) {
  uint32_t forms[2] = {Term::kNone, Term::kNone};
  for (size_t i = 0; i != operands.size(); ++i) {
    forms[i] = formNumber({operands[i].type(), operands[i].dims()});
  }
  return apply(op, forms[0], forms[1], operands);
}

std::optional<Universe::Results> Universe::valuesOf(const Term &term) {
  uint32_t b = term.b == Term::kNone ? term.b : graphs_[term.b].form;
  Results values;
  for (size_t draw = 0; draw != values_[term.a].size(); ++draw) {
    std::vector<HostTensor> operands{values_[term.a][draw]};
    if (term.b != Term::kNone) {
      operands.push_back(values_[term.b][draw]);
    }
    auto value = apply(term.op, graphs_[term.a].form, b, operands);
    if (!value) {
      return std::nullopt;
    }
    values.push_back(std::move(*value));
  }
  return values;
}

uint64_t Universe::hashOf(const Results &values, uint32_t form) const {
  uint64_t hash = mix(7, form);
  for (const HostTensor &value : values) {
    auto bytes = value.bytes();
    for (size_t at = 0; at != bytes.size(); at += sizeof(uint64_t)) {
      uint64_t element = 0;
      std::memcpy(&element, bytes.data() + at, sizeof(element));
      hash = mix(hash, element);
    }
  }
  return hash;
}

std::optional<uint64_t> Universe::fingerprint(const Term &term) {
  auto values = valuesOf(term);
  if (!values) {
    return std::nullopt;
  }
  return hashOf(*values,
                formNumber({values->front().type(), values->front().dims()}));
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

Universe::Universe(Vocabulary vocabulary, uint64_t seed)
    : vocabulary_(std::move(vocabulary)) {
  addLeaves(seed);
}

/// A tensor of equal elements.
static HostTensor equalElements(const TensorForm &form, double element) {
  auto numbers = HostTensor::zeros(rt::DType::F64, form.dims);
  std::fill_n(numbers->as<double>().begin(), numbers->count(), element);
  return *numbers->castTo(form.type);
}

/// How often elements are drawn. Of a few elements all are negative by chance,
/// and an operator that asks for their order makes equal what is not.
static size_t drawsOf(const Vocabulary &vocabulary) {
  auto isOrdered = [](const TableOperator &each) {
    const rt::ScalarFacts *facts = rt::findFunction("nn." + each.op, {});
    return facts ? facts->field == rt::FieldMeaning::Ordered
                 : each.op == "reduce" || each.op == "pool_max";
  };
  return std::any_of(vocabulary.operators.begin(), vocabulary.operators.end(),
                     isOrdered)
             ? 6
             : 1;
}

void Universe::addLeaves(uint64_t seed) {
  std::mt19937_64 random(seed);
  for (size_t i = 0; i != vocabulary_.leaves.size(); ++i) {
    const Leaf &leaf = vocabulary_.leaves[i];
    TensorForm form{rt::DType::Field, {}};
    for (const LeafExtent &extent : leaf.dims) {
      form.dims.push_back(extentOf(extent));
    }
    for (size_t j = 0; j != leaf.count; ++j) {
      Term term;
      term.a = uint32_t(leaves_.size());
      leaves_.push_back(i);
      Results values;
      for (size_t draw = 0; draw != drawsOf(vocabulary_); ++draw) {
        values.push_back(leaf.element
                             ? equalElements(form, *leaf.element)
                             : *drawTensor(form, Distribution::Normal, random));
      }
      uint32_t number = formNumber(form);
      classes_.emplace(hashOf(values, number), term);
      keep(term, number, term, std::move(values));
      ++enumerated_;
    }
  }
}

const std::vector<uint32_t> &
Universe::membersOf(uint32_t representative) const {
  return members_[representative];
}

/// Of the operator and the classes of its operands. Leaves are the operands of
/// none.
uint64_t Universe::keyOf(const Term &term) const {
  if (term.op == Term::kLeaf) {
    return mix(mix(1, term.op), term.a);
  }
  uint64_t key = mix(mix(1, term.op), graphs_[term.a].representative);
  return term.b == Term::kNone ? key : mix(key, graphs_[term.b].representative);
}

uint32_t Universe::find(const Term &term) const {
  auto found = byTerm_.find(keyOf(term));
  if (found != byTerm_.end()) {
    for (uint32_t graph : found->second) {
      const Term &other = graphs_[graph].term;
      if (other.op == term.op && other.a == term.a && other.b == term.b) {
        return graph;
      }
    }
  }
  return Term::kNone;
}

uint32_t Universe::findClass(const Term &term) const {
  auto isAlike = [&](uint32_t a, uint32_t b) {
    return a == Term::kNone || b == Term::kNone
               ? a == b
               : graphs_[a].representative == graphs_[b].representative;
  };
  auto found = byTerm_.find(keyOf(term));
  if (found != byTerm_.end()) {
    for (uint32_t graph : found->second) {
      const Term &other = graphs_[graph].term;
      if (other.op == term.op && isAlike(other.a, term.a) &&
          isAlike(other.b, term.b)) {
        return graphs_[graph].representative;
      }
    }
  }
  return Term::kNone;
}

uint8_t Universe::sizeOf(uint32_t a, uint32_t b) const {
  const std::vector<uint32_t> &of = graphs_[a].operators;
  if (b == Term::kNone) {
    return uint8_t(of.size() + 1);
  }
  size_t count = of.size() + 1;
  for (uint32_t each : graphs_[b].operators) {
    count += std::find(of.begin(), of.end(), each) == of.end();
  }
  return uint8_t(count);
}

void Universe::keep(const Term &term, uint32_t form, const Term &first,
                    Results values) {
  auto number = uint32_t(graphs_.size());
  Graph graph{term, form, number, {}};
  if (first != term) {
    graph.representative = find(first);
  }
  if (term.op != Term::kLeaf) {
    graph.operators = graphs_[term.a].operators;
    if (term.b != Term::kNone) {
      for (uint32_t each : graphs_[term.b].operators) {
        graph.operators.push_back(each);
      }
    }
    graph.operators.push_back(number);
    std::sort(graph.operators.begin(), graph.operators.end());
    graph.operators.erase(
        std::unique(graph.operators.begin(), graph.operators.end()),
        graph.operators.end());
  }
  members_.emplace_back();
  containing_.emplace_back();
  members_[graph.representative].push_back(number);
  lasts_.push_back(0);
  if (term.op != Term::kLeaf) {
    lasts_[graph.representative] |= maskOf(term.op);
  }
  for (uint32_t each : graph.operators) {
    auto &bySize = containing_[each];
    bySize.resize(std::max<size_t>(bySize.size(), term.size + 1u));
    bySize[term.size].push_back(number);
  }
  bySize_.resize(std::max<size_t>(bySize_.size(), term.size + 1u));
  bySize_[term.size].push_back(number);
  byTerm_[keyOf(term)].push_back(number);
  graphs_.push_back(std::move(graph));
  values_.push_back(std::move(values));
}

//===----------------------------------------------------------------------===//
// Enumeration
//===----------------------------------------------------------------------===//

/// Graphs that share an operator with `a`, and are of `size` with it and one
/// more. A graph is the number of its last operator: what adds nothing to `a`
/// is one of its operators, and `a` is one of what it adds nothing to.
void Universe::addSharing(uint32_t a, uint8_t size,
                          std::vector<uint32_t> &found) const {
  const std::vector<uint32_t> &of = graphs_[a].operators;
  size_t both = size - 1u;
  if (of.size() == both) {
    found.insert(found.end(), of.begin(), of.end());
    return;
  }
  auto add = [&](uint32_t shared, size_t least, size_t most) {
    for (size_t each = least; each <= most && each < containing_[shared].size();
         ++each) {
      for (uint32_t b : containing_[shared][each]) {
        if (sizeOf(a, b) == size) {
          found.push_back(b);
        }
      }
    }
  };
  for (uint32_t each : of) {
    add(each, both - of.size() + 1, both - 1);
  }
  if (!of.empty()) {
    add(a, both, both);
  }
}

/// Whether a graph of `size` operators is made of this one though nothing is
/// shared: it is the representative of its class, or larger graphs may share an
/// operator that it has and the representative has not.
bool Universe::isOperand(uint32_t graph, uint8_t size) const {
  const Graph &each = graphs_[graph];
  return each.representative == graph ||
         (size < vocabulary_.most && each.term.size > 1);
}

void Universe::visitOperands(uint16_t op, uint8_t size,
                             const std::function<void(Term)> &visit) {
  const TableOperator &what = vocabulary_.operators[op];
  auto count = uint32_t(graphs_.size());
  for (uint32_t a = 0; a != count; ++a) {
    const Graph &left = graphs_[a];
    if (left.term.size >= size ||
        forms_[left.form].dims.size() != what.ranks[0]) {
      continue;
    }
    if (what.ranks.size() == 1) {
      if (isOperand(a, size) && left.term.size + 1 == size) {
        visit({size, op, a, Term::kNone});
      }
      continue;
    }
    std::vector<uint32_t> found;
    size_t rest = size - 1u - left.term.size;
    if (isOperand(a, size) && rest < bySize_.size()) {
      for (uint32_t b : bySize_[rest]) {
        // Those that share an operator are found below.
        if (isOperand(b, size) && sizeOf(a, b) == size) {
          found.push_back(b);
        }
      }
    }
    addSharing(a, size, found);
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    for (uint32_t b : found) {
      if (b < count) {
        visit({size, op, a, b});
      }
    }
  }
}

void Universe::add(
    const Term &term, bool isKeeping,
    const std::function<void(const Term &, const Term &)> &visit) {
  auto values = valuesOf(term);
  if (!values) {
    return;
  }
  ++enumerated_;
  uint32_t form = formNumber({values->front().type(), values->front().dims()});
  auto [found, isNew] = classes_.emplace(hashOf(*values, form), term);
  Term first = found->second;
  if (isKeeping) {
    keep(term, form, first, std::move(*values));
  }
  if (!isNew) {
    visit(term, first);
  }
}

void Universe::enumerate(
    uint8_t size, bool isKeeping,
    const std::function<void(const Term &, const Term &)> &visit) {
  for (uint16_t op = 0; op != vocabulary_.operators.size(); ++op) {
    visitOperands(op, size,
                  [&](const Term &term) { add(term, isKeeping, visit); });
  }
}
