//===- BranchNodes.cpp - Nodes that may run beside each other -------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StageCut.h"
#include "dialects/NN/Shapes.h"

using namespace mlir;

namespace divisi::plan {

/// The number of an operator's node.
std::optional<size_t> StageCut::nodeOf(Operation *op) const {
  auto node = nodeOfOp_.find(op);
  return node == nodeOfOp_.end() ? std::nullopt : std::optional(node->second);
}

std::vector<std::set<size_t>> StageCut::readsOfNodes(ModuleOp module) const {
  std::vector<std::set<size_t>> reads(nodes_.size());
  for (func::FuncOp entry : entriesOf(module)) {
    for (Operation &op : entry.front()) {
      std::optional<size_t> own = nodeOf(&op);
      for (Value operand : op.getOperands()) {
        Operation *maker = operand.getDefiningOp();
        std::optional<size_t> from = maker ? nodeOf(maker) : std::nullopt;
        if (own && from && *own != *from && forward_.contains(&op)) {
          reads[*own].insert(*from);
        }
      }
    }
  }
  return reads;
}

/// Joins a node that reads of a later one, as operators of one name may stand
/// before and behind others, with all up to that.
void StageCut::joinLoops(ModuleOp module) {
  std::vector<size_t> last(nodes_.size());
  for (auto [node, reads] : llvm::enumerate(readsOfNodes(module))) {
    last[node] = reads.empty() ? node : std::max(node, *reads.rbegin());
  }
  // Ranges of nodes that become one.
  std::vector<size_t> numbers(nodes_.size());
  size_t count = 0, end = 0;
  for (size_t node = 0; node < nodes_.size(); ++node) {
    count += node > end || node == 0 ? 1 : 0;
    end = std::max(node > end ? node : end, last[node]);
    numbers[node] = count - 1;
  }
  nodes_.resize(count);
  for (auto &[op, node] : nodeOfOp_) {
    node = numbers[node];
  }
  for (auto &entry : nodeOf_) {
    entry.second = numbers[entry.second];
  }
}

void StageCut::findBranchNodes(ModuleOp module) {
  for (func::FuncOp entry : entriesOf(module)) {
    findNodes(entry);
  }
  joinLoops(module);
}

BranchProblem StageCut::branches(ModuleOp module) {
  findBranchNodes(module);
  price(module);
  BranchProblem problem;
  for (const StageKind &kind : kinds_.kinds) {
    problem.sizes.push_back(size_t(kind.devices));
  }
  for (const Node &node : nodes_) {
    BranchNode &made = problem.nodes.emplace_back();
    for (const NodeCost &cost : node.costs) {
      made.nanoseconds.push_back(cost.nanoseconds + cost.once);
    }
  }
  const LinkLevel &links = cluster_.levels.front();
  std::vector<llvm::DenseSet<size_t>> operands(nodes_.size());
  for (func::FuncOp entry : entriesOf(module)) {
    for (Operation &op : entry.front()) {
      std::optional<size_t> own = nodeOf(&op);
      bool isUsed = false;
      for (Operation *user : op.getUsers()) {
        std::optional<size_t> to = nodeOf(user);
        if (!own || !to || *to == *own) {
          continue;
        }
        isUsed = true;
        if (forward_.contains(&op) && forward_.contains(user)) {
          operands[*to].insert(*own);
        }
      }
      // Also what goes back, between the gradients of both.
      if (!isUsed) {
        continue;
      }
      for (Type type : op.getResultTypes()) {
        auto tensor = dyn_cast<RankedTensorType>(type);
        double bytes = tensor ? double(nn::byteCount(tensor).value_or(0)) : 0;
        problem.nodes[*own].move +=
            int64_t(bytes * 1e9 / links.bytesPerSecond) +
            links.latencyNanoseconds;
      }
    }
  }
  for (auto [node, from] : llvm::zip_equal(problem.nodes, operands)) {
    node.operands.assign(from.begin(), from.end());
    llvm::sort(node.operands);
  }
  return problem;
}

} // namespace divisi::plan
