//===- Saturation.cpp - Applies rules to an e-graph -----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Optimize/Saturation.h"

#include "divisi/Rewrite/MergeRules.h"

#include "llvm/ADT/STLExtras.h"

using namespace divisi;
using namespace divisi::optimize;
using mlir::Operation;
using mlir::Value;

/// Whether the rule merges three operators or more, of which what it says
/// follows from that about two.
static bool mergesMore(const rewrite::Rule &rule) {
  const rewrite::Graph &source = rule.source;
  return source.nodes.size() >= 3 &&
         source.nodes.size() == source.results.size() &&
         llvm::all_of(source.nodes, [&](const rewrite::Node &node) {
           return node.op == source.nodes.front().op &&
                  llvm::is_contained(source.results, node.name);
         });
}

Saturation::Saturation(EGraph &graph, rewrite::SiteFinder &sites,
                       const std::vector<rewrite::ProvedRule> &rules,
                       SaturationLimits limits)
    : graph_(graph), sites_(sites), rules_(rules), limits_(limits),
      forms_(graph, rules),
      backOff_(rules.size(), BackOff{limits.matches, 0, 0}) {
  for (auto [i, proved] : llvm::enumerate(rules)) {
    if (rewrite::mergesTwo(proved.rule)) {
      merges_.insert(i);
    } else if (!mergesMore(proved.rule) && !forms_.covers(i)) {
      others_.push_back(i);
    }
  }
}

bool Saturation::isNew(size_t rule, llvm::ArrayRef<Operation *> nodes,
                       llvm::ArrayRef<Value> variables) {
  std::vector<const void *> key{&rules_[rule]};
  llvm::append_range(key, nodes);
  for (Value variable : variables) {
    key.push_back(variable.getAsOpaquePointer());
  }
  return seen_.insert(std::move(key)).second;
}

/// Finds where a rule may be applied; whether all such places were found.
bool Saturation::find(size_t rule, int round) {
  BackOff &backOff = backOff_[rule];
  if (round < backOff.until) {
    return false;
  }
  size_t before = pending_.size();
  bool isEnough = false;
  for (Operation *root : graph_.named(sites_.rootOf(rule))) {
    isEnough = sites_.findIn(
        graph_, graph_, rule, root,
        [&](auto nodes, auto variables) {
          return isNew(rule, nodes, variables);
        },
        [&](rewrite::ClassSite site) {
          pending_.push_back({rule, std::move(site), std::nullopt});
          return pending_.size() - before == backOff.most;
        });
    if (isEnough) {
      break;
    }
  }
  if (isEnough) {
    backOff.until = round + 1 + (1 << backOff.pauses);
    ++backOff.pauses;
    backOff.most *= 2;
  }
  return !isEnough;
}

/// All that a merging rule may join with `first`, with it, one for each class.
std::vector<Operation *> Saturation::partnersOf(size_t rule, Operation *first) {
  std::vector<Operation *> group{first};
  llvm::SmallPtrSet<const void *, 8> classes;
  auto classOf = [&](Operation *op) {
    return graph_.classOf(op->getResult(0)).getAsOpaquePointer();
  };
  classes.insert(classOf(first));
  sites_.findIn(
      graph_, graph_, rule, first,
      [&](llvm::ArrayRef<Operation *> nodes, auto) {
        // What was merged is not merged again.
        return llvm::none_of(nodes,
                             [&](Operation *node) {
                               const Origin *origin = graph_.originOf(node);
                               return origin && merges_.count(origin->rule);
                             }) &&
               !classes.contains(classOf(nodes[1]));
      },
      [&](const rewrite::ClassSite &site) {
        classes.insert(classOf(site.nodes[1]));
        group.push_back(site.nodes[1]);
        return false;
      });
  return group;
}

/// Plans to merge a group, if the rule holds of it as a whole.
void Saturation::addMerge(size_t rule, const std::vector<Operation *> &group) {
  if (!isNew(rule, group, {})) {
    return;
  }
  auto merged = rewrite::mergeOf(rules_[rule].rule, group.size());
  if (!merged) {
    return;
  }
  // Its variables are those of the rule, but that the joined ones are last.
  std::vector<Value> variables;
  for (const rewrite::Variable &variable : merged->variables) {
    for (auto [node, op] : llvm::zip(merged->source.nodes, group)) {
      auto at = llvm::find(node.operands, variable.name);
      if (at != node.operands.end()) {
        variables.push_back(
            op->getOperand(unsigned(at - node.operands.begin())));
        break;
      }
    }
  }
  rewrite::ProvedRule proved{*merged, rules_[rule].ranks, rules_[rule].file};
  auto site = sites_.at(proved, graph_, group, std::move(variables));
  if (site) {
    pending_.push_back({rule, std::move(*site), std::move(*merged)});
  }
}

void Saturation::findMerges(size_t rule) {
  llvm::SmallPtrSet<Operation *, 16> grouped;
  for (Operation *root : graph_.named(sites_.rootOf(rule))) {
    if (grouped.contains(root)) {
      continue;
    }
    std::vector<Operation *> group = partnersOf(rule, root);
    grouped.insert(group.begin(), group.end());
    if (group.size() >= 2 && group.size() <= limits_.merged) {
      addMerge(rule, group);
    }
  }
}

Status Saturation::apply(const Pending &pending) {
  const rewrite::Rule &rule =
      pending.merged ? *pending.merged : rules_[pending.rule].rule;
  mlir::OpBuilder builder = graph_.end();
  auto built = rewrite::SiteFinder::build(
      builder, pending.site.results.front().getLoc(), rule, pending.site);
  if (!built) {
    return built.status();
  }
  Origin origin{pending.rule, {}, pending.site.nodes};
  for (auto [result, old] :
       llvm::zip_equal(built->results, pending.site.results)) {
    origin.results.push_back(old.getLoc());
    if (Operation *op = result.getDefiningOp();
        op && llvm::is_contained(built->operators, op)) {
      op->setLoc(old.getLoc());
    }
  }
  graph_.addTarget(std::move(*built), origin, pending.site.results);
  return Status();
}

Expected<bool> Saturation::run() {
  for (int round = 0; round != limits_.rounds; ++round) {
    bool isComplete = !forms_.grow(limits_.nodes);
    graph_.rebuild();
    pending_.clear();
    llvm::for_each(merges_, [&](size_t rule) { findMerges(rule); });
    for (size_t rule : others_) {
      isComplete &= find(rule, round);
    }
    if (pending_.empty() && isComplete) {
      return true;
    }
    for (const Pending &pending : pending_) {
      if (graph_.countNodes() >= limits_.nodes) {
        graph_.rebuild();
        return false;
      }
      if (Status status = apply(pending); !status.isOk()) {
        return status;
      }
    }
    graph_.rebuild();
  }
  return false;
}
