//===- Why.cpp - Why an operator is split as it is ------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Report/Why.h"

#include "Describe.h"
#include "LayerGroups.h"
#include "WhyMatch.h"
#include "dialects/NN/NN.h"

#include <map>

using namespace mlir;
using namespace divisi;

/// So many operators and tensors are priced.
static constexpr size_t kMostItems = 8;

namespace {

/// Finds the decision behind a row or tensor. Names need not be unique, so the
/// n-th row of a name is the n-th operator of that name.
class DecisionFinder {
public:
  DecisionFinder(const PlanAlternatives &plan, const Report &report);

  std::optional<size_t> find(const ReportRow &row) const;
  std::optional<size_t> find(const ReportTensor &tensor) const;

private:
  /// Entry, operator and node; entry, kind and name of a tensor.
  using Key = std::tuple<std::string, std::string, std::string>;
  static Key keyOf(const ReportRow &row) {
    return {row.entry, row.op, row.node};
  }

  const Report &report_;
  std::map<Key, std::vector<size_t>> operators_;
  std::map<Key, size_t> tensors_;
};

} // namespace

DecisionFinder::DecisionFinder(const PlanAlternatives &plan,
                               const Report &report)
    : report_(report) {
  for (auto [index, decision] : llvm::enumerate(plan.decisions())) {
    switch (decision.kind) {
    case Decision::Kind::Operator: {
      ReportRow row = describe(*decision.op);
      row.entry = entryOf(decision.op);
      operators_[keyOf(row)].push_back(index);
      break;
    }
    case Decision::Kind::Global:
      tensors_[{"", "", cast<nn::GlobalOp>(decision.op).getSymName().str()}] =
          index;
      break;
    case Decision::Kind::Input:
    case Decision::Kind::Output: {
      auto entry = cast<func::FuncOp>(decision.op);
      bool isInput = decision.kind == Decision::Kind::Input;
      tensors_[{entry.getSymName().str(), isInput ? "input" : "output",
                isInput ? argumentName(entry, decision.number)
                        : resultName(entry, decision.number)}] = index;
      break;
    }
    case Decision::Kind::Value:
      break;
    }
  }
}

std::optional<size_t> DecisionFinder::find(const ReportRow &row) const {
  auto known = operators_.find(keyOf(row));
  if (known == operators_.end() || row.isCollective()) {
    return std::nullopt;
  }
  size_t before = 0;
  for (const ReportRow &other : report_.rows) {
    if (&other == &row) {
      break;
    }
    before += keyOf(other) == keyOf(row);
  }
  return before < known->second.size()
             ? std::optional<size_t>(known->second[before])
             : std::nullopt;
}

std::optional<size_t> DecisionFinder::find(const ReportTensor &tensor) const {
  bool isGlobal = tensor.entry.empty();
  auto known =
      tensors_.find({tensor.entry, isGlobal ? "" : tensor.kind, tensor.name});
  return known == tensors_.end() ? std::nullopt
                                 : std::optional<size_t>(known->second);
}

static constexpr StringLiteral kNotKept =
    "the strategies to choose from are not kept after the stage plan; explain "
    "the model, or its dump after plan";

/// The rules that led to `row`, in their order.
static std::vector<rewrite::RuleRecord> rulesOf(const Report &report,
                                                const ReportRow &row) {
  std::vector<rewrite::RuleRecord> rules;
  for (const std::string &name : row.rules) {
    auto record = llvm::find_if(
        report.rules, [&](const auto &each) { return each.name == name; });
    if (record != report.rules.end()) {
      rules.push_back(*record);
    }
  }
  return rules;
}

/// One item for all rows of a group that differ in numbers only; `rows` gets
/// the first of each.
static std::vector<WhyItem> itemsOf(const Report &report, const WhyMatch &match,
                                    std::vector<const ReportRow *> &rows) {
  std::vector<WhyItem> items;
  for (const EntryGroups &entry : groupLayers(report.rows)) {
    for (const LayerGroup &group : entry.groups) {
      for (size_t i = 0; i < group.blocks.front().size(); ++i) {
        WhyItem item;
        item.alike = 0;
        for (auto [heading, block] : llvm::zip(group.headings, group.blocks)) {
          if (!match.rows[&block[i] - report.rows.data()]) {
            continue;
          }
          if (item.alike++ == 0) {
            item.heading = heading;
            item.row = block[i];
            item.rules = rulesOf(report, block[i]);
            rows.push_back(&block[i]);
          }
        }
        if (item.alike > 0) {
          items.push_back(std::move(item));
        }
      }
    }
  }
  return items;
}

static WhyItem itemOf(const ReportTensor &tensor) {
  WhyItem item;
  item.heading = tensor.kind;
  item.tensor = tensor;
  return item;
}

/// What takes most time first; tensors, which take none, come last.
static WhyAnswer itemsByTime(const Report &report, const WhyMatch &match,
                             std::vector<const ReportRow *> &rows,
                             std::vector<const ReportTensor *> &tensors) {
  WhyAnswer answer;
  std::vector<const ReportRow *> unsorted;
  std::vector<WhyItem> items = itemsOf(report, match, unsorted);
  std::vector<size_t> order(items.size());
  for (size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
  }
  auto timeOf = [&](size_t i) {
    return items[i].row.nanoseconds * int64_t(items[i].alike);
  };
  llvm::stable_sort(order,
                    [&](size_t a, size_t b) { return timeOf(a) > timeOf(b); });
  size_t all = items.size() + match.tensors.size();
  for (size_t i : order) {
    if (answer.items.size() < kMostItems) {
      answer.items.push_back(std::move(items[i]));
      rows.push_back(unsorted[i]);
      tensors.push_back(nullptr);
    }
  }
  for (const ReportTensor *tensor : match.tensors) {
    if (answer.items.size() < kMostItems) {
      answer.items.push_back(itemOf(*tensor));
      rows.push_back(nullptr);
      tensors.push_back(tensor);
    }
  }
  answer.leftOut = all - answer.items.size();
  return answer;
}

divisi::Expected<WhyAnswer> divisi::answerWhy(const Report &report,
                                              llvm::StringRef name,
                                              ModuleOp planned,
                                              const Cluster &cluster) {
  divisi::Expected<WhyMatch> match = matchName(report, name);
  if (!match) {
    return match.status();
  }
  std::vector<const ReportRow *> rows;
  std::vector<const ReportTensor *> tensors;
  WhyAnswer answer = itemsByTime(report, *match, rows, tensors);
  answer.name = name.str();
  if (!planned) {
    answer.unknown = kNotKept.str();
    return answer;
  }
  divisi::Expected<PlanAlternatives> plan =
      PlanAlternatives::of(planned, cluster);
  if (!plan) {
    if (plan.status().code() != ExitCode::Usage) {
      return plan.status();
    }
    answer.unknown = plan.status().message();
    return answer;
  }
  DecisionFinder finder(*plan, report);
  for (auto [item, row, tensor] : llvm::zip(answer.items, rows, tensors)) {
    std::optional<size_t> decision =
        row ? finder.find(*row) : finder.find(*tensor);
    if (decision) {
      item.alternatives = plan->alternatives(*decision);
    }
  }
  return answer;
}
