//===- MergeRules.cpp - Rules about two operators, for more ---------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Rewrite/MergeRules.h"

#include "divisi/Rules/RuleText.h"

#include "llvm/ADT/STLExtras.h"

#include <map>

using namespace divisi;
using namespace divisi::rewrite;

namespace {

/// The parts of a rule that merges two.
struct Parts {
  size_t position = 0;             ///< Of what is joined, in both operators.
  std::string first, second;       ///< The variables that are joined.
  std::string extent, otherExtent; ///< Their sizes, if they have own ones.
  std::vector<const Node *> before, otherBefore; ///< Of each, joined later.
  std::vector<const Node *> shared;              ///< Of both, or of none.
  std::vector<const Node *> behind, otherBehind; ///< For each result.
};

/// Finds the parts, or that it merges nothing.
class Splitter {
public:
  explicit Splitter(const Rule &rule) : rule_(rule) {}
  std::optional<Parts> run();

private:
  bool findVariables();
  bool findExtents();
  bool splitTarget();
  bool isAboutExtents(const Value &value) const;
  bool areExtentsApart() const;

  const Rule &rule_;
  Parts parts_;
};

} // namespace

static bool mentions(const Expr &expr, const std::string &name) {
  return (!name.empty() && expr.name == name) ||
         std::any_of(
             expr.operands.begin(), expr.operands.end(),
             [&](const Expr &operand) { return mentions(operand, name); });
}

static bool areSame(const std::vector<std::pair<std::string, Value>> &a,
                    const std::vector<std::pair<std::string, Value>> &b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto &x, const auto &y) {
                      return x.first == y.first &&
                             printValue(x.second) == printValue(y.second);
                    });
}

/// Two operators that are the same but for one operand, a variable.
bool Splitter::findVariables() {
  const Graph &source = rule_.source;
  if (source.nodes.size() != 2 || source.results.size() != 2 ||
      rule_.target.results.size() != 2) {
    return false;
  }
  const Node &a = source.nodes[0], &b = source.nodes[1];
  if (a.op.empty() || a.op != b.op || a.operands.size() != b.operands.size() ||
      !areSame(a.attributes, b.attributes) || a.type || b.type ||
      source.results[0] != a.name || source.results[1] != b.name) {
    return false;
  }
  size_t differing = 0;
  for (size_t i = 0; i != a.operands.size(); ++i) {
    if (!rule_.findVariable(a.operands[i]) ||
        !rule_.findVariable(b.operands[i])) {
      return false;
    }
    if (a.operands[i] != b.operands[i]) {
      ++differing;
      parts_.position = i;
    }
  }
  parts_.first = a.operands[parts_.position];
  parts_.second = b.operands[parts_.position];
  auto reads = [](const Node &node, const std::string &name) {
    return std::count(node.operands.begin(), node.operands.end(), name);
  };
  return differing == 1 && reads(a, parts_.first) == 1 &&
         reads(b, parts_.second) == 1;
}

/// They are of one shape but for an extent of their own.
bool Splitter::findExtents() {
  const Variable &a = *rule_.findVariable(parts_.first),
                 &b = *rule_.findVariable(parts_.second);
  const Items &x = a.type.shape, &y = b.type.shape;
  if (a.kind != b.kind || a.type.element != b.type.element ||
      x.size() != y.size()) {
    return false;
  }
  for (size_t i = 0; i != x.size(); ++i) {
    if (printValue(Items{x[i]}) == printValue(Items{y[i]})) {
      continue;
    }
    bool areNames = x[i].shape.empty() && y[i].shape.empty() &&
                    x[i].value.kind == Expr::Kind::Name &&
                    y[i].value.kind == Expr::Kind::Name;
    if (!areNames || !parts_.extent.empty()) {
      return false;
    }
    parts_.extent = x[i].value.name;
    parts_.otherExtent = y[i].value.name;
  }
  return true;
}

bool Splitter::isAboutExtents(const Value &value) const {
  auto isOfThem = [&](const Expr &expr) {
    return mentions(expr, parts_.extent) || mentions(expr, parts_.otherExtent);
  };
  if (const auto *items = std::get_if<Items>(&value)) {
    return llvm::any_of(*items,
                        [&](const Item &item) { return isOfThem(item.value); });
  }
  const auto *expr = std::get_if<Expr>(&value);
  return expr && isOfThem(*expr);
}

/// Whether the extents stand where every branch would need them.
bool Splitter::areExtentsApart() const {
  return llvm::none_of(rule_.conditions,
                       [&](const Condition &condition) {
                         return isAboutExtents(condition.left) ||
                                isAboutExtents(condition.right);
                       }) &&
         llvm::none_of(rule_.source.nodes[0].attributes,
                       [&](const auto &attribute) {
                         return isAboutExtents(attribute.second);
                       }) &&
         llvm::none_of(rule_.variables, [&](const Variable &variable) {
           return variable.name != parts_.first &&
                  variable.name != parts_.second &&
                  isAboutExtents(variable.type.shape);
         });
}

/// By which of the two variables a node is made of, and which of the two
/// results are made of it.
bool Splitter::splitTarget() {
  const Graph &target = rule_.target;
  std::map<std::string, int> from{{parts_.first, 1}, {parts_.second, 2}}, to;
  for (const Node &node : target.nodes) {
    for (const std::string &operand : node.operands) {
      from[node.name] |= from[operand];
    }
  }
  to[target.results[0]] |= 1;
  to[target.results[1]] |= 2;
  for (size_t i = target.nodes.size(); i-- != 0;) {
    for (const std::string &operand : target.nodes[i].operands) {
      to[operand] |= to[target.nodes[i].name];
    }
  }
  bool isJoined = false;
  for (const Node &node : target.nodes) {
    int ends = to[node.name], begins = from[node.name];
    bool reads = std::any_of(
        node.operands.begin(), node.operands.end(),
        [&](auto &name) { return from[name] == 1 || from[name] == 2; });
    if (begins == 1 || begins == 2) {
      (begins == 1 ? parts_.before : parts_.otherBefore).push_back(&node);
    } else if (ends == 3) {
      // Both come together in one place.
      bool joins = node.op == "concat" && node.operands.size() == 2 &&
                   from[node.operands[0]] == 1 && from[node.operands[1]] == 2;
      if (reads && (!joins || isJoined)) {
        return false;
      }
      isJoined |= reads;
      parts_.shared.push_back(&node);
    } else if (begins != 3 || reads || ends == 0) {
      return false;
    } else {
      (ends == 1 ? parts_.behind : parts_.otherBehind).push_back(&node);
    }
  }
  auto areAlike = [](auto &a, auto &b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const Node *x, const Node *y) {
                        return x->op == y->op &&
                               x->attributes.size() == y->attributes.size();
                      });
  };
  return isJoined && !parts_.behind.empty() && !parts_.otherBehind.empty() &&
         parts_.behind.back()->name == target.results[0] &&
         parts_.otherBehind.back()->name == target.results[1] &&
         areAlike(parts_.before, parts_.otherBefore) &&
         areAlike(parts_.behind, parts_.otherBehind);
}

std::optional<Parts> Splitter::run() {
  bool merges = !rule_.isAxiom && rule_.operators.empty() && findVariables() &&
                findExtents() && areExtentsApart() && splitTarget();
  return merges ? std::optional(parts_) : std::nullopt;
}

bool divisi::rewrite::mergesTwo(const Rule &rule) {
  return Splitter(rule).run().has_value();
}

namespace {

/// Writes what a rule says of more than two.
class Writer {
public:
  Writer(const Rule &rule, const Parts &parts, size_t count)
      : rule_(rule), parts_(parts), count_(count) {}
  std::optional<Rule> run();

private:
  /// What stands for what in the branch that is written.
  struct Branch {
    size_t number = 0; ///< From 0 on; count_ of what is shared.
    std::map<std::string, std::string> names; ///< Of values.
  };

  static std::string numbered(const std::string &name, size_t number) {
    return name + "_" + std::to_string(number + 1);
  }
  Expr extentBefore(size_t number) const;
  Expr extentOf(size_t number) const;
  Expr write(const Expr &first, const Expr &second, size_t number);
  Items write(const Items &first, const Items &second, size_t number);
  Value write(const Value &first, const Value &second, size_t number);
  Node write(const Node &first, const Node &second, const Branch &branch);
  Branch branchOf(size_t number) const;
  void writeVariables();
  void writeBranch(size_t number, const std::vector<const Node *> &first,
                   const std::vector<const Node *> &second);

  const Rule &rule_;
  const Parts &parts_;
  const size_t count_;
  Rule result_;
  bool isPossible_ = true;
};

} // namespace

static Expr nameOf(const std::string &name) {
  Expr expr;
  expr.kind = Expr::Kind::Name;
  expr.name = name;
  return expr;
}

Expr Writer::extentOf(size_t number) const {
  return nameOf(numbered(parts_.extent, number));
}

/// Of all branches before: at least one.
Expr Writer::extentBefore(size_t number) const {
  Expr sum = extentOf(0);
  for (size_t i = 1; i < number; ++i) {
    Expr next;
    next.kind = Expr::Kind::Add;
    next.operands = {std::move(sum), extentOf(i)};
    sum = std::move(next);
  }
  return sum;
}

/// What stands in branch `number` where `first` and `second` stand in those of
/// the rule. Numbers go on; sizes are those of the branch and of all before.
Expr Writer::write(const Expr &first, const Expr &second, size_t number) {
  if (first.kind == Expr::Kind::Number && second.kind == Expr::Kind::Number) {
    Expr expr = first;
    expr.value += int64_t(number) * (second.value - first.value);
    return expr;
  }
  const Expr &form = number == 0 ? first : second;
  if (form.kind == Expr::Kind::Name && !parts_.extent.empty()) {
    bool isFirst = form.name == parts_.extent;
    if (number == 0 && isFirst) {
      return extentOf(0);
    }
    if (isFirst || form.name == parts_.otherExtent) {
      isPossible_ &= number != 0;
      return isFirst ? extentBefore(number) : extentOf(number);
    }
  }
  Expr expr = form;
  for (Expr &operand : expr.operands) {
    operand = write(operand, operand, number);
  }
  return expr;
}

Items Writer::write(const Items &first, const Items &second, size_t number) {
  isPossible_ &= first.size() == second.size();
  Items items = number == 0 ? first : second;
  for (size_t i = 0; isPossible_ && i != items.size(); ++i) {
    items[i].value = write(first[i].value, second[i].value, number);
  }
  return items;
}

Value Writer::write(const Value &first, const Value &second, size_t number) {
  if (first.index() != second.index()) {
    isPossible_ = false;
  } else if (const auto *items = std::get_if<Items>(&first)) {
    return write(*items, std::get<Items>(second), number);
  } else if (const auto *expr = std::get_if<Expr>(&first)) {
    return write(*expr, std::get<Expr>(second), number);
  }
  isPossible_ &= first.index() != second.index() ||
                 printValue(first) == printValue(second);
  return first;
}

Node Writer::write(const Node &first, const Node &second,
                   const Branch &branch) {
  // What is shared has the last branch behind all others.
  size_t number = std::min(branch.number, count_ - 1);
  Node node = number == 0 ? first : second;
  node.comments.clear();
  auto rename = [&](std::string &name) {
    auto at = branch.names.find(name);
    name = at == branch.names.end() ? name : at->second;
  };
  rename(node.name);
  llvm::for_each(node.operands, rename);
  for (size_t i = 0; i != node.attributes.size(); ++i) {
    isPossible_ &= first.attributes[i].first == second.attributes[i].first;
    node.attributes[i].second =
        write(first.attributes[i].second, second.attributes[i].second, number);
  }
  isPossible_ &= first.type.has_value() == second.type.has_value();
  if (isPossible_ && node.type) {
    node.type->shape = write(first.type->shape, second.type->shape, number);
  }
  return node;
}

/// The values of a branch, by their names in the rule.
Writer::Branch Writer::branchOf(size_t number) const {
  Branch branch{number, {}};
  for (const std::string &name : {parts_.first, parts_.second}) {
    branch.names[name] = numbered(parts_.first, number);
  }
  auto add = [&](auto &first, auto &second) {
    for (size_t i = 0; i != first.size(); ++i) {
      branch.names[first[i]->name] = numbered(first[i]->name, number);
      branch.names[second[i]->name] = numbered(first[i]->name, number);
    }
  };
  add(parts_.before, parts_.otherBefore);
  add(parts_.behind, parts_.otherBehind);
  return branch;
}

void Writer::writeVariables() {
  const Variable joined = *rule_.findVariable(parts_.first);
  std::erase_if(result_.variables, [&](const Variable &variable) {
    return variable.name == parts_.first || variable.name == parts_.second;
  });
  std::erase_if(result_.sizes, [&](const std::string &size) {
    return size == parts_.extent || size == parts_.otherExtent;
  });
  for (size_t i = 0; i != count_; ++i) {
    if (!parts_.extent.empty()) {
      result_.sizes.push_back(numbered(parts_.extent, i));
    }
    Variable variable = joined;
    variable.name = numbered(parts_.first, i);
    for (Item &item : variable.type.shape) {
      if (item.value.kind == Expr::Kind::Name &&
          item.value.name == parts_.extent && item.shape.empty()) {
        item.value = extentOf(i);
      }
    }
    result_.variables.push_back(std::move(variable));
  }
}

void Writer::writeBranch(size_t number, const std::vector<const Node *> &first,
                         const std::vector<const Node *> &second) {
  for (size_t i = 0; i != first.size(); ++i) {
    result_.target.nodes.push_back(
        write(*first[i], *second[i], branchOf(number)));
  }
}

std::optional<Rule> Writer::run() {
  result_ = rule_;
  result_.name += "-" + std::to_string(count_);
  result_.comments.clear();
  result_.source.nodes.clear();
  result_.source.results.clear();
  result_.target.nodes.clear();
  result_.target.results.clear();
  writeVariables();
  for (size_t i = 0; i != count_; ++i) {
    Node node = rule_.source.nodes[0];
    node.name = numbered(node.name, i);
    node.operands[parts_.position] = numbered(parts_.first, i);
    result_.source.results.push_back(node.name);
    result_.source.nodes.push_back(std::move(node));
    writeBranch(i, parts_.before, parts_.otherBefore);
  }
  for (const Node *shared : parts_.shared) {
    Node node = write(*shared, *shared, {count_, {}});
    bool joins = node.op == "concat" && node.operands.size() == 2 &&
                 (parts_.before.empty()
                      ? node.operands[0] == parts_.first
                      : node.operands[0] == parts_.before.back()->name);
    if (joins) {
      std::string name = node.operands[0];
      node.operands.clear();
      for (size_t i = 0; i != count_; ++i) {
        node.operands.push_back(numbered(name, i));
      }
    }
    result_.target.nodes.push_back(std::move(node));
  }
  for (size_t i = 0; i != count_; ++i) {
    writeBranch(i, parts_.behind, parts_.otherBehind);
    result_.target.results.push_back(
        branchOf(i).names.at(rule_.target.results[0]));
  }
  return isPossible_ ? std::optional(std::move(result_)) : std::nullopt;
}

std::optional<Rule> divisi::rewrite::mergeOf(const Rule &rule, size_t count) {
  std::optional<Parts> parts = Splitter(rule).run();
  return parts && count >= 2 ? Writer(rule, *parts, count).run() : std::nullopt;
}
