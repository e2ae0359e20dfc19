//===- StageCut.cpp - Which nodes are on which stage ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StageCut.h"

#include "dialects/NN/Batches.h"
#include "dialects/NN/Locations.h"
#include "dialects/NN/Shapes.h"
#include "dialects/Pipe/Pipe.h"
#include "dialects/SPMD/Strategy.h"
#include "divisi/Cost/OperationCost.h"
#include "divisi/Plan/WantedLayouts.h"
#include "divisi/Stages/StagePlanner.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace divisi::plan {

/// The most layers between which stages are cut: nodes are joined to so many.
static constexpr size_t kMostLayers = 96;

/// Those of which the results are made are nodes, of one micro-batch if it
/// stands for all; operators without a name belong to the one before. Others,
/// which training has derived from them, have their names.
void StageCut::findNodes(func::FuncOp entry) {
  llvm::DenseSet<Operation *> forward;
  SmallVector<Operation *> list;
  Operation *end = entry.front().getTerminator();
  auto visit = [&](Operation *op) {
    for (Value operand : op->getOperands()) {
      Operation *maker = operand.getDefiningOp();
      if (maker && forward.insert(maker).second) {
        list.push_back(maker);
      }
    }
  };
  visit(end);
  while (!list.empty()) {
    visit(list.pop_back_val());
  }
  std::optional<size_t> last;
  bool isFolded = pipe::getFoldedBatches(entry).has_value();
  for (Operation &op : entry.front()) {
    std::string name = nn::nodeName(op.getLoc());
    if (!forward.contains(&op) || isa<nn::ReadOp>(op) ||
        name == nn::kBatchNode ||
        (isFolded && !op.hasAttr(pipe::PipeDialect::kEach))) {
      continue;
    }
    if (!name.empty() || !last) {
      auto [known, isNew] = nodeOf_.try_emplace(name, nodes_.size());
      if (isNew) {
        nodes_.emplace_back().nanoseconds.resize(kinds_.size());
      }
      last = known->second;
    }
    nodeOfOp_[&op] = *last;
  }
  for (Operation &op : entry.front()) {
    if (!nodeOfOp_.contains(&op) && !isa<nn::ReadOp>(op)) {
      // Training calls what it derives so.
      std::string name = nn::nodeName(op.getLoc());
      StringRef node = name;
      node.consume_back(nn::kGradientSuffix);
      if (auto known = nodeOf_.find(node); known != nodeOf_.end()) {
        nodeOfOp_[&op] = known->second;
      }
    }
  }
}

void StageCut::priceNodes(func::FuncOp entry) {
  OperationCost cost(entry->getParentOfType<ModuleOp>(), cluster_);
  cost.enter(entry.front());
  for (auto op : entry.front().getOps<nn::LoopInterface>()) {
    auto node = nodeOfOp_.find(op);
    if (node == nodeOfOp_.end() || !spmd::getSplit(op)) {
      continue;
    }
    auto strategy = spmd::requireStrategy(op);
    for (size_t kind = 0; kind < kinds_.size() && succeeded(strategy); ++kind) {
      strategy->grid = kinds_[kind].grid;
      nodes_[node->second].nanoseconds[kind] +=
          cost.ofOperator(op, *strategy) * pipe::timesPerCall(op);
    }
  }
}

/// Counts a value that a later node uses between its own and that one.
void StageCut::addCrossing(func::FuncOp entry) {
  std::vector<int64_t> change(nodes_.size()), count(nodes_.size());
  for (Operation &op : entry.front()) {
    auto own = nodeOfOp_.find(&op);
    if (own == nodeOfOp_.end()) {
      continue;
    }
    for (Value result : op.getResults()) {
      size_t last = own->second;
      for (Operation *user : result.getUsers()) {
        if (auto node = nodeOfOp_.find(user); node != nodeOfOp_.end()) {
          last = std::max(last, node->second);
        }
      }
      auto type = dyn_cast<RankedTensorType>(result.getType());
      int64_t times = pipe::timesPerCall(&op);
      int64_t bytes = type ? nn::byteCount(type).value_or(0) * times : 0;
      change[own->second] += bytes;
      change[last] -= bytes;
      count[own->second] += times;
      count[last] -= times;
    }
  }
  int64_t bytes = 0, values = 0;
  for (size_t node = 0; node < nodes_.size(); ++node) {
    nodes_[node].crossing += bytes += change[node];
    nodes_[node].values += values += count[node];
  }
}

/// The last node of each layer: of about as much work each, where little
/// crosses.
std::vector<size_t> StageCut::findLayers() const {
  int64_t all = 0;
  for (const Node &node : nodes_) {
    all += node.nanoseconds.front();
  }
  std::vector<size_t> ends;
  int64_t work = 0;
  size_t best = 0;
  bool isFirst = true;
  for (size_t i = 0; i + 1 < nodes_.size(); ++i) {
    work += nodes_[i].nanoseconds.front();
    if (isFirst || nodes_[i].crossing <= nodes_[best].crossing) {
      best = i;
    }
    isFirst = false;
    size_t left = nodes_.size() - 1 - i;
    bool isMany = nodes_.size() > kMostLayers;
    if (!isMany || work * int64_t(kMostLayers) >= all || left == 0) {
      ends.push_back(best);
      isFirst = true;
      work = 0;
    }
  }
  ends.push_back(nodes_.size() - 1);
  return ends;
}

/// Gives each node a chunk.
Status StageCut::cut() {
  if (int64_t(nodes_.size()) < chunks_) {
    return makeError(ExitCode::Usage, "a pipeline of ", chunks_,
                     " chunks is asked for (--pipeline-parallel-size times "
                     "--num-stages-per-device), and the program has ",
                     nodes_.size(), " nodes: each chunk needs one");
  }
  std::vector<size_t> ends = findLayers();
  if (int64_t(ends.size()) < chunks_) { // too few are worth more than one
    ends.clear();
    for (size_t node = 0; node < nodes_.size(); ++node) {
      ends.push_back(node);
    }
  }
  // Per layer, of all before it.
  std::vector<std::vector<int64_t>> work(kinds_.size(), {0});
  for (size_t kind = 0; kind < kinds_.size(); ++kind) {
    size_t node = 0;
    for (size_t end : ends) {
      work[kind].push_back(work[kind].back());
      for (; node <= end; ++node) {
        work[kind].back() += nodes_[node].nanoseconds[kind];
      }
    }
  }
  // Links of one pace are enough to tell much from little.
  const LinkLevel &links = cluster_.levels.back();
  StageProblem problem;
  problem.layers = ends.size();
  for (size_t kind = 0; kind < kinds_.size(); ++kind) {
    problem.devices.push_back(kinds_.size() == 1 ? size_t(chunks_)
                                                 : size_t(kinds_[kind].count));
    problem.memory.push_back(0);
    problem.subGrids.push_back({kind, 1});
  }
  problem.microBatches = 4;
  problem.minStages = problem.maxStages = size_t(chunks_);
  problem.inFlight = [](size_t, size_t) { return 1; };
  problem.cost = [&](size_t begin, size_t end, const SubGrid &subGrid) {
    const Node &last = nodes_[ends[end - 1]];
    double bytes = double(last.crossing) * 1e9 / links.bytesPerSecond;
    return std::optional(StageCost{
        .nanoseconds = work[subGrid.kind][end] - work[subGrid.kind][begin],
        .sends = int64_t(bytes) + last.values * links.latencyNanoseconds});
  };
  std::optional<StagePlan> plan = planStages(problem);
  size_t node = 0;
  for (size_t chunk = 0; chunk < plan->stages.size(); ++chunk) {
    kindOfChunk_.push_back(plan->stages[chunk].subGrid.kind);
    for (; node <= ends[plan->stages[chunk].end - 1]; ++node) {
      chunkOfNode_.push_back(int64_t(chunk));
    }
  }
  return Status();
}

Status StageCut::run(ArrayRef<func::FuncOp> entries) {
  for (func::FuncOp entry : entries) {
    findNodes(entry);
  }
  if (cutAsAnnotated(entries)) {
    return Status();
  }
  for (func::FuncOp entry : entries) {
    priceNodes(entry);
    addCrossing(entry);
  }
  return cut();
}

/// Nodes of which the model says nothing stay with those before them. False
/// where it says no stage, too few, or a stage after a later one.
bool StageCut::cutAsAnnotated(ArrayRef<func::FuncOp> entries) {
  auto module = entries.front()->getParentOfType<ModuleOp>();
  std::vector<int64_t> chunks(nodes_.size(), 0);
  int64_t last = 0;
  for (const auto &[name, wanted] : wantedNodes(module)) {
    auto node = nodeOf_.find(name);
    if (wanted.stage && node != nodeOf_.end()) {
      chunks[node->second] = *wanted.stage;
      last = std::max(last, *wanted.stage);
    }
  }
  for (size_t node = 1; node < chunks.size(); ++node) {
    chunks[node] = std::max(chunks[node], chunks[node - 1]);
  }
  if (last == 0 || last + 1 != chunks_ || kinds_.size() != 1) {
    return false;
  }
  for (int64_t chunk = 0; chunk < chunks_; ++chunk) {
    if (!llvm::is_contained(chunks, chunk)) {
      return false;
    }
  }
  chunkOfNode_ = std::move(chunks);
  kindOfChunk_.assign(size_t(chunks_), 0);
  return true;
}

std::optional<int64_t> StageCut::chunkOf(Operation *op) const {
  auto node = nodeOfOp_.find(op);
  return node == nodeOfOp_.end() ? std::nullopt
                                 : std::optional(chunkOfNode_[node->second]);
}

} // namespace divisi::plan
