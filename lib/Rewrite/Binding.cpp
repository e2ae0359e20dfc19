//===- Binding.cpp - Values of names at a match ---------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Rewrite/Binding.h"

#include "divisi/Evaluate/Evaluator.h"
#include "divisi/Rules/GraphBuilder.h"
#include "divisi/Rules/RuleNames.h"
#include "divisi/Rules/RuleText.h"

#include <algorithm>
#include <cmath>

using namespace divisi;
using namespace divisi::rewrite;

/// A word for several types stands for these in a match, and never for types
/// that are only stored, or those of tests.
static bool isOfWord(rt::DType type, const std::string &word) {
  if (rt::parseDType(word)) {
    return rt::stringify(type) == word;
  }
  if (rt::isStoredType(type) || type == rt::DType::Field) {
    return false;
  }
  bool isFloat = rt::isFloatType(type), isBool = type == rt::DType::Bool;
  return word == "any" || (word == "float" && isFloat) ||
         (word == "int" && !isFloat && !isBool) ||
         (word == "number" && !isBool);
}

static Status mismatch(const std::string &what) {
  return Status(ExitCode::Invalid, what);
}

namespace {

/// Finds names out at one choice of ranks.
class Binder {
public:
  Binder(const Rule &rule, const SourceMatch &match, const Ranks &ranks)
      : rule_(rule), match_(match), ranks_(ranks) {}

  Expected<Binding> run(Instantiator &instantiator);

private:
  bool bindType(const TensorType &type, mlir::Type found);
  bool bindList(const Items &items, const std::vector<int64_t> &values);
  bool bind(const Expr &expr, int64_t value);
  bool bindReal(const Expr &expr, double value);
  bool bindElement(const Node &node, double element);
  bool bindNode(const Node &node, mlir::Operation *op);
  void followEqualities();
  Status checkNames() const;
  Status compare(const CallGraph &source) const;

  const Rule &rule_;
  const SourceMatch &match_;
  const Ranks &ranks_;
  Binding binding_;
};

} // namespace

/// A name that stands alone is found out; all else is compared in the end.
bool Binder::bind(const Expr &expr, int64_t value) {
  if (expr.kind != Expr::Kind::Name) {
    return true;
  }
  auto [entry, isNew] = binding_.assignment.numbers.emplace(expr.name, value);
  return isNew || entry->second == value;
}

bool Binder::bindList(const Items &items, const std::vector<int64_t> &values) {
  size_t at = 0;
  for (const Item &item : items) {
    size_t count = item.shape.empty() ? 1 : ranks_.at(item.shape);
    if (at + count > values.size()) {
      return false;
    }
    if (item.shape.empty() && !bind(item.value, values[at])) {
      return false;
    }
    if (!item.shape.empty() && item.index.empty()) {
      std::vector<int64_t> extents(values.begin() + long(at),
                                   values.begin() + long(at + count));
      auto [entry, isNew] =
          binding_.assignment.shapes.emplace(item.shape, extents);
      if (!isNew && entry->second != extents) {
        return false;
      }
    }
    at += count;
  }
  return at == values.size();
}

bool Binder::bindType(const TensorType &type, mlir::Type found) {
  TensorForm form = fromMLIR(found);
  auto [entry, isNew] = binding_.types.emplace(type.element, form.type);
  return isOfWord(form.type, type.element) && entry->second == form.type &&
         bindList(type.shape, form.dims);
}

/// The same of a real.
bool Binder::bindReal(const Expr &expr, double value) {
  if (expr.kind != Expr::Kind::Name) {
    return true;
  }
  auto [entry, isNew] = binding_.assignment.reals.emplace(expr.name, value);
  return isNew || entry->second == value;
}

bool Binder::bindElement(const Node &node, double element) {
  const auto *expr = std::get_if<Expr>(&node.element);
  if (!expr || expr->kind != Expr::Kind::Name) {
    return true;
  }
  if (rule_.isReal(*expr)) {
    return bindReal(*expr, element);
  }
  constexpr double most = 0x1p53;
  return std::abs(element) < most && element == std::trunc(element) &&
         bind(*expr, int64_t(element));
}

bool Binder::bindNode(const Node &node, mlir::Operation *op) {
  if (node.type && !bindType(*node.type, op->getResult(0).getType())) {
    return false;
  }
  if (node.op.empty()) {
    return bindElement(node, *splatElement(op));
  }
  rt::Attributes attributes = toRuntimeAttributes(op);
  for (const auto &[name, value] : node.attributes) {
    if (const auto *items = std::get_if<Items>(&value)) {
      if (!bindList(*items, attributes.getInts(name))) {
        return false;
      }
    } else if (const auto *expr = std::get_if<Expr>(&value)) {
      const double *real = attributes.find<double>(name);
      if (real ? !bindReal(*expr, *real)
               : !bind(*expr, attributes.getInt(name))) {
        return false;
      }
    }
  }
  return true;
}

void Binder::followEqualities() {
  for (size_t i = 0; i != rule_.conditions.size(); ++i) {
    for (const Condition &condition : rule_.conditions) {
      if (condition.relation != Relation::Eq) {
        continue;
      }
      for (auto [name, other] :
           {std::pair(&condition.left, &condition.right),
            std::pair(&condition.right, &condition.left)}) {
        if (auto value = evaluate(*other, binding_.assignment)) {
          bind(*name, *value);
        }
      }
    }
  }
}

/// Whether all names were found, and everything that is said of them holds.
Status Binder::checkNames() const {
  const Assignment &found = binding_.assignment;
  for (const auto *names : {&rule_.sizes, &rule_.ints}) {
    for (const std::string &name : *names) {
      if (!found.numbers.count(name)) {
        return mismatch("a match does not say what '" + name + "' is");
      }
    }
  }
  bool areSizes =
      std::all_of(rule_.sizes.begin(), rule_.sizes.end(),
                  [&](const std::string &size) {
                    return found.numbers.at(size) >= 1;
                  }) &&
      std::all_of(found.shapes.begin(), found.shapes.end(), [](auto &entry) {
        return std::all_of(entry.second.begin(), entry.second.end(),
                           [](int64_t extent) { return extent >= 1; });
      });
  if (!areSizes) {
    return mismatch("a tensor has no elements");
  }
  for (const Condition &condition : rule_.conditions) {
    if (!holds(condition, found)) {
      return mismatch("the condition " + printExpr(condition.left) + " " +
                      spell(condition.relation) + " " +
                      printExpr(condition.right) + " does not hold");
    }
  }
  return Status();
}

/// Whether two texts, or numbers, of attributes of `op` say the same.
static bool areSame(const std::string &op, const rt::Attribute &a,
                    const rt::Attribute &b) {
  const auto *text = std::get_if<std::string>(&a);
  const auto *other = std::get_if<std::string>(&b);
  return text && other ? renameLetters(op, *text) == renameLetters(op, *other)
                       : a == b;
}

/// Whether the source is what was matched.
Status Binder::compare(const CallGraph &source) const {
  for (size_t i = 0; i != source.calls.size(); ++i) {
    const Call &call = source.calls[i];
    mlir::Operation *op = match_.nodes[i];
    const std::string &name = rule_.source.nodes[i].name;
    if (!(call.result == fromMLIR(op->getResult(0).getType()))) {
      return mismatch("'" + name + "' has another type");
    }
    if (call.op.empty()) {
      if (!isSplatOf(op, call.element)) {
        return mismatch("'" + name + "' has another element");
      }
      continue;
    }
    rt::Attributes attributes = toRuntimeAttributes(op);
    const auto &found = attributes.values(), &wanted = call.attributes.values();
    bool areEqual = found.size() == wanted.size() &&
                    std::equal(found.begin(), found.end(), wanted.begin(),
                               [&](const auto &a, const auto &b) {
                                 return a.first == b.first &&
                                        areSame(call.op, a.second, b.second);
                               });
    if (!areEqual) {
      return mismatch("'" + name + "' has other attributes");
    }
  }
  return Status();
}

Expected<Binding> Binder::run(Instantiator &instantiator) {
  Status other = mismatch("shapes or types are others");
  for (size_t i = 0; i != rule_.variables.size(); ++i) {
    if (!match_.variables[i] ||
        !bindType(rule_.variables[i].type, match_.variables[i].getType())) {
      return other;
    }
  }
  for (size_t i = 0; i != rule_.source.nodes.size(); ++i) {
    if (!bindNode(rule_.source.nodes[i], match_.nodes[i])) {
      return other;
    }
  }
  followEqualities();
  if (Status status = checkNames(); !status.isOk()) {
    return status;
  }
  for (mlir::Value variable : match_.variables) {
    binding_.variables.push_back(fromMLIR(variable.getType()));
  }
  auto forms =
      Instantiator::variables(rule_, binding_.assignment, binding_.types);
  if (!forms || *forms != binding_.variables) {
    return other;
  }
  auto source = instantiator.instantiate(rule_, rule_.source, *forms,
                                         binding_.assignment, binding_.types);
  if (!source) {
    return source.status();
  }
  if (Status status = compare(*source); !status.isOk()) {
    return status;
  }
  binding_.source = std::move(*source);
  return std::move(binding_);
}

/// Whether all types of the target are found by the source.
static bool hasAllTypes(const Rule &rule, const TypeChoice &types) {
  return std::all_of(rule.target.nodes.begin(), rule.target.nodes.end(),
                     [&](const Node &node) {
                       return !node.type || types.count(node.type->element) ||
                              rt::parseDType(node.type->element);
                     });
}

Expected<Binding> divisi::rewrite::bindNames(const ProvedRule &proved,
                                             const SourceMatch &match,
                                             Instantiator &instantiator) {
  Status why = mismatch("it is proved at no ranks of these tensors");
  for (const Ranks &ranks : proved.ranks) {
    bool fits = true;
    for (size_t i = 0; i != match.variables.size() && fits; ++i) {
      auto type = match.variables[i].getType();
      fits = countDims(proved.rule.variables[i].type, ranks) ==
             size_t(llvm::cast<mlir::RankedTensorType>(type).getRank());
    }
    if (!fits) {
      continue;
    }
    auto binding = Binder(proved.rule, match, ranks).run(instantiator);
    if (!binding) {
      why = binding.status();
      continue;
    }
    if (hasAllTypes(proved.rule, binding->types)) {
      return binding;
    }
  }
  return why;
}
